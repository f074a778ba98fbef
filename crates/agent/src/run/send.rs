//! Sends a message and waits for its reply, for programs that do not call `accept` and `run` themselves.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use ship_context::Journal;
use ship_provider::Usage;
use ship_store::{ChatKey, Moment};
use tokio::task::JoinHandle;

use super::lane_watch::LaneWatch;
use super::reply::{find_reply, find_usage};
use crate::engine::Agent;
use crate::error::RunError;
use crate::events::{LaneWaiting, Listener, RunEvent};
use crate::inbound::{AcceptedMessage, Inbound};
use crate::reply::{Outcome, Reply};
use crate::stop::Stop;

impl Agent {
    /// Sends a message to a chat and waits for the reply.
    ///
    /// The message is durable before the model is asked. When another process runs the chat, it may answer this
    /// message, too, and then its answer is the reply. A model or a tool that fails is no error: the reply's outcome says so.
    ///
    /// The key of a chat is any short text without control characters, parsed: `let chat: ChatKey = "main".parse()?`.
    /// A message without text is answered like any other; a program that wants none checks it before.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let agent = ship_agent::Agent::builder().build();
    /// let reply = agent.send(&"api:main".parse()?, "hello").await?;
    /// assert!(reply.text().ends_with("You said: hello"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the message cannot be accepted ([`RunError::Accept`], [`RunError::Storage`]). Otherwise it fails like
    /// [`Agent::run`]; the message is kept then, and the next run answers it.
    pub async fn send(
        &self,
        chat: &ChatKey,
        message: impl Into<Inbound>,
    ) -> Result<Reply, RunError> {
        self.send_until(chat, message, &Stop::default()).await
    }

    /// Sends a message like [`Agent::send`], and can be stopped. What the agent said until then is kept.
    ///
    /// # Errors
    /// Fails like [`Agent::send`].
    pub async fn send_until(
        &self,
        chat: &ChatKey,
        message: impl Into<Inbound>,
        stop: &Stop,
    ) -> Result<Reply, RunError> {
        let accepted = self.accept(chat, message.into()).await?;
        self.reply_to(chat, &accepted, stop).await
    }

    /// Sends a message and returns a stream of events: the chunks of the answer as they arrive, and the reply last.
    ///
    /// The message is sent and answered whether the stream is read or not; dropping the stream stops nothing.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, Chunk, RunEvent};
    ///
    /// let agent = Agent::builder().build();
    /// let mut events = agent.stream(&"api:main".parse()?, "hello");
    /// while let Some(event) = events.next().await {
    ///     match &*event? {
    ///         RunEvent::Chunk(Chunk::TextDelta(_, text)) => print!("{}", text.as_str()),
    ///         RunEvent::Reply(reply) => println!("\n{:?}", reply.usage),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside a Tokio runtime.
    pub fn stream(&self, chat: &ChatKey, message: impl Into<Inbound>) -> ReplyStream {
        let (agent, chat, message) = (self.clone(), chat.clone(), message.into());
        // The listener is there before the task begins, so that it misses no event.
        let events = agent.listen(&chat);
        let stop = Stop::default();
        let stopped = stop.clone();
        let sending = async move { agent.send_until(&chat, message, &stopped).await };
        ReplyStream::spawn(events, sending, stop)
    }

    /// Runs a chat until an accepted message is answered, or waits for the process that runs it. Messages that other
    /// callers have sent meanwhile are left to them, unless they are gone.
    ///
    /// A reply without messages means that the message is kept and not answered: it was stopped while it waited
    /// for another process, or nothing in the chat answers it.
    ///
    /// # Errors
    /// Fails like [`Agent::run`], and with [`RunError::Frozen`] if the process that runs the chat is frozen.
    pub async fn reply_to(
        &self,
        chat: &ChatKey,
        message: &AcceptedMessage,
        stop: &Stop,
    ) -> Result<Reply, RunError> {
        let mut watch = LaneWatch::new(self, chat);
        loop {
            let running = self.run_until_answered(chat, stop, message.seq);
            let ran = watch.wait(running).await;
            let outcome = match ran {
                Ok(outcome) => Some(outcome),
                // The process that has the lane finds the message in the ledger.
                Err(error) if error.is_elsewhere() => None,
                Err(error) => return Err(error),
            };
            let moment = self.engine.store.moment();
            if let Some(reply) = self.find_reply(chat, message).await? {
                let is_from_here = matches!(outcome, Some(Some(_)));
                return Ok(Reply { is_from_here, ..reply });
            }
            match outcome {
                Some(Some(Outcome::Parked)) => return self.parked_reply(chat).await,
                Some(outcome) => return Ok(Reply::without_answer(outcome)),
                None => watch.check_holder(LaneWaiting::OtherProcess).await?,
            }
            tokio::select! {
                () = stop.until_over() => return Ok(Reply::without_answer(None)),
                () = self.until_changed(chat, moment) => {}
            }
        }
    }

    /// Waits for a change of a chat. A chat that cannot be opened is reported by the next run.
    async fn until_changed(&self, chat: &ChatKey, after: Moment) {
        if let Ok(Some(chat)) = self.engine.store.open(chat).await {
            chat.changed(after).await;
        }
    }

    /// Finds the reply to an accepted message; `None` if it is not answered yet.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn find_reply(
        &self,
        chat: &ChatKey,
        message: &AcceptedMessage,
    ) -> Result<Option<Reply>, RunError> {
        match self.engine.store.open(chat).await? {
            Some(chat) => find_reply(&self.engine, &*chat, message).await,
            None => Ok(None),
        }
    }

    /// Returns the tokens that the provider counted for a run, which [`RunEvent::Ended`] names. See [`Reply::usage`].
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn usage_of_run(
        &self,
        chat: &ChatKey,
        run_id: &str,
    ) -> Result<Option<Usage>, RunError> {
        match self.engine.store.open(chat).await? {
            Some(chat) => find_usage(&self.engine, &*chat, run_id).await,
            None => Ok(None),
        }
    }

    /// Makes a reply of the unfinished message of a parked run, with the calls that wait for an answer.
    async fn parked_reply(&self, chat: &ChatKey) -> Result<Reply, RunError> {
        let journal = match self.engine.store.open(chat).await? {
            Some(chat) => Journal::read(&chat.runs().journal().await?),
            None => None,
        };
        let messages = journal.map(|journal| journal.message).into_iter().collect();
        Ok(Reply { messages, ..Reply::without_answer(Some(Outcome::Parked)) })
    }
}

/// The events of a chat or conversation from a message to its reply; see [`Agent::stream`].
#[derive(Debug)]
pub struct ReplyStream<E = RunError> {
    events: Listener,
    sending: Option<JoinHandle<Result<Reply, E>>>,
    last: Option<Result<Reply, E>>,
    stop: Stop,
}

impl<E: Unpin + Send + 'static> ReplyStream<E> {
    /// Sends a message in a task of its own. `events` are those of its chat.
    pub(crate) fn spawn(
        events: Listener,
        sending: impl Future<Output = Result<Reply, E>> + Send + 'static,
        stop: Stop,
    ) -> Self {
        Self { events, sending: Some(tokio::spawn(sending)), last: None, stop }
    }

    /// Waits for the next event; `None` after the reply. As a [`Stream`], it gives the same events.
    pub async fn next(&mut self) -> Option<Result<Arc<RunEvent>, E>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Stops the answer. The stream ends with the reply, which holds what was said until then.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Waits for the reply, and skips the events before it.
    ///
    /// # Errors
    /// Fails like [`Agent::send`].
    pub async fn reply(mut self) -> Result<Reply, E> {
        match (self.last.take(), self.sending.take()) {
            (Some(reply), _) => reply,
            (None, Some(sending)) => join_result(sending.await),
            (None, None) => Ok(Reply::without_answer(None)),
        }
    }
}

impl<E: Unpin> Stream for ReplyStream<E> {
    type Item = Result<Arc<RunEvent>, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Events come first, because all of them were sent before the reply.
        if let Poll::Ready(Some(event)) = self.events.poll_next(context) {
            return Poll::Ready(Some(Ok(event)));
        }
        if let Some(sending) = &mut self.sending {
            let reply = join_result(ready!(Pin::new(sending).poll(context)));
            self.sending = None;
            self.last = Some(reply);
        }
        // The task may have sent events between the look above and its end.
        if let Some(event) = self.events.try_next() {
            return Poll::Ready(Some(Ok(event)));
        }
        let last = self.last.take();
        Poll::Ready(last.map(|reply| reply.map(|reply| Arc::new(RunEvent::Reply(Box::new(reply))))))
    }
}

/// Returns the result of the task that sent the message, and passes on its panic.
fn join_result<E>(ended: Result<Result<Reply, E>, tokio::task::JoinError>) -> Result<Reply, E> {
    match ended {
        Ok(reply) => reply,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down: the message is kept, and no caller waits any more.
            Err(_) => Ok(Reply::without_answer(None)),
        },
    }
}
