//! An agent in a conversation: in memory, or in a file that other programs read.
//!
//! The conversation of an agent is in memory until it is given a file. [`Agent::new_conversation`],
//! [`Agent::load_conversation`], [`Agent::open_conversation`] and [`Agent::fork_conversation`] move the agent between
//! files, each a [`Conversation`]; [`Agent::conversation`] returns the current one.
//!
//! The engine is that of chats. A conversation is a chat in a store of its own. The file of the conversation is its
//! context; its ledger and journal are in memory.

mod active_conversation;
mod error;
mod store;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use ship_message::UiMessage;
use ship_store::conversation::{Conversation, ForkError, LoadConversationError, Repair};

pub use error::ConversationError;

use crate::conversation_log::{blocking, conversation_chat};
use crate::engine::{ActiveConversation, Agent, CurrentConversation};
use crate::events::Listener;
use crate::inbound::{CallAnswer, Inbound};
use crate::reply::Reply;
use crate::run::ReplyStream;
use crate::stop::Stop;

/// An agent in a conversation, in memory or in a file.
///
/// A message is on disk before the model is asked. The answer, with all its steps and the results of tools, is on
/// disk when [`ConversationHandle::send`] returns. Loading a file restores messages and active skills. Only one agent
/// at a time uses a file. A message is answered in its conversation, even if the agent moves to another meanwhile.
///
/// The file begins with the agent's system prompt, for other programs.
///
/// A conversation has no journal. If an agent is killed while it answers, the question stays without an answer, and
/// the next message is answered together with it. The effects of tools until then are not in the file.
impl Agent {
    /// Begins a conversation in a new file, with the folders above it.
    ///
    /// # Errors
    /// Fails if the path is taken already, or no file can be made there.
    pub async fn new_conversation(&self, path: impl AsRef<Path>) -> Result<(), ConversationError> {
        let mut current = self.current.lock().await;
        let (path, clock) = (path.as_ref().to_owned(), Arc::clone(&self.engine.clock));
        let conversation = blocking(move || Conversation::create(path, clock)).await?;
        *current = self.enter_conversation(conversation);
        Ok(())
    }

    /// Continues the conversation in a file, with its messages and active skills. Returns the repair, if a crash had
    /// left a line half written.
    ///
    /// # Errors
    /// Fails if there is no such file, it is damaged, or another process has it open.
    pub async fn load_conversation(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<Option<Repair>, ConversationError> {
        let mut current = self.current.lock().await;
        let (path, clock) = (path.as_ref().to_owned(), Arc::clone(&self.engine.clock));
        let left = current.leave(&path).await;
        let loaded = blocking(move || Conversation::load(path, clock)).await;
        // A run that still answers keeps the conversation alive, and the agent stays in it.
        if let (Err(_), Some(talk)) = (&loaded, left.upgrade()) {
            *current = CurrentConversation::In(talk);
        }
        let conversation = loaded?;
        let repair = conversation.repair().cloned();
        *current = self.enter_conversation(conversation);
        Ok(repair)
    }

    /// Continues the conversation in a file, or begins it if there is no such file. Returns the repair of the file,
    /// as [`Agent::load_conversation`] does.
    ///
    /// # Errors
    /// Fails like [`Agent::load_conversation`] and [`Agent::new_conversation`].
    pub async fn open_conversation(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<Option<Repair>, ConversationError> {
        let path = path.as_ref().to_owned();
        match self.load_conversation(&path).await {
            Err(ConversationError::Load(LoadConversationError::NotFound { .. })) => {
                self.new_conversation(path).await.map(|()| None)
            }
            loaded => loaded,
        }
    }

    /// Copies the conversation to a new file and continues in the copy. The original stays unchanged.
    ///
    /// # Errors
    /// Fails if the path is taken already, or no file can be made there.
    pub async fn fork_conversation(&self, path: impl AsRef<Path>) -> Result<(), ConversationError> {
        let path = path.as_ref().to_owned();
        self.fork(move |conversation| conversation.fork(path)).await
    }

    /// Copies everything before a checkpoint to a new file and continues there. The original stays unchanged.
    ///
    /// # Errors
    /// Fails if there is no such checkpoint, and like [`Agent::fork_conversation`].
    pub async fn fork_conversation_from(
        &self,
        checkpoint: &str,
        path: impl AsRef<Path>,
    ) -> Result<(), ConversationError> {
        let (name, path) = (checkpoint.to_owned(), path.as_ref().to_owned());
        self.fork(move |conversation| conversation.fork_from_checkpoint(&name, path)).await
    }

    async fn fork(
        &self,
        fork: impl FnOnce(&Conversation) -> Result<Conversation, ForkError> + Send + 'static,
    ) -> Result<(), ConversationError> {
        let mut current = self.current.lock().await;
        let talk = self.begin_if_none(&mut current)?;
        let copy = talk.log.with(|context| fork(&context.conversation)).await?;
        *current = self.enter_conversation(copy);
        Ok(())
    }

    /// Returns the conversation that the agent is in, to talk in it.
    pub fn conversation(&self) -> ConversationHandle<'_> {
        ConversationHandle { agent: self }
    }

    /// Returns the current conversation, which is begun in memory if there is none.
    async fn current_conversation(&self) -> Result<Arc<ActiveConversation>, ConversationError> {
        self.begin_if_none(&mut *self.current.lock().await)
    }

    fn begin_if_none(
        &self,
        current: &mut CurrentConversation,
    ) -> Result<Arc<ActiveConversation>, ConversationError> {
        match current {
            CurrentConversation::In(talk) => Ok(Arc::clone(talk)),
            CurrentConversation::Left(path) => {
                Err(ConversationError::Nowhere { path: path.clone() })
            }
            CurrentConversation::Unbegun => {
                let conversation = Conversation::in_memory(Arc::clone(&self.engine.clock));
                let talk = Arc::new(ActiveConversation::new(&self.engine, conversation));
                *current = CurrentConversation::In(Arc::clone(&talk));
                Ok(talk)
            }
        }
    }

    fn enter_conversation(&self, conversation: Conversation) -> CurrentConversation {
        CurrentConversation::In(Arc::new(ActiveConversation::new(&self.engine, conversation)))
    }
}

/// The current conversation of an agent, at the time of each call. Operations on contexts and compactions on request
/// exist for chats only.
///
/// Of an [`Inbound`], a conversation takes the text, the attachments and the request id. Every message is a new one,
/// and the rest is about the channel of a chat.
#[derive(Clone, Copy)]
pub struct ConversationHandle<'a> {
    agent: &'a Agent,
}

impl ConversationHandle<'_> {
    /// Names this point of the conversation, to fork from it later.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub async fn checkpoint(&self, name: &str) -> Result<(), ConversationError> {
        let name = name.to_owned();
        let talk = self.agent.current_conversation().await?;
        talk.log.with(move |context| context.conversation.checkpoint(&name)).await?;
        Ok(())
    }

    /// Sends a message and waits for the reply.
    ///
    /// A failure of a model or a tool is no error here: the answer says so.
    ///
    /// # Errors
    /// Fails if the conversation cannot be written, or waits for an answer to a tool call.
    pub async fn send(&self, message: impl Into<Inbound>) -> Result<Reply, ConversationError> {
        self.send_until(message, &Stop::default()).await
    }

    /// Sends a message like [`ConversationHandle::send`], and can be stopped. The answer until then is kept.
    ///
    /// # Errors
    /// Fails like [`ConversationHandle::send`].
    pub async fn send_until(
        &self,
        message: impl Into<Inbound>,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        let talk = self.agent.current_conversation().await?;
        talk.send(message.into(), stop).await
    }

    /// Sends a message and returns a stream of events, as [`Agent::stream`] does: the chunks of the answer as they
    /// arrive, and the reply last. The message is sent and answered whether the stream is read or not.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime.
    pub fn stream(&self, message: impl Into<Inbound>) -> ReplyStream<ConversationError> {
        let (agent, message, stop) = (self.agent.clone(), message.into(), Stop::default());
        // The conversation of now, if no other task is moving the agent.
        let current = self.agent.current.try_lock().ok();
        let found = current.map(|mut current| self.agent.begin_if_none(&mut current));
        let stopped = stop.clone();
        let sending = async move {
            let talk = match found {
                Some(talk) => talk?,
                None => agent.current_conversation().await?,
            };
            talk.send(message, &stopped).await
        };
        ReplyStream::spawn(self.listen(), sending, stop)
    }

    /// Gives a parked run the approval or output that it waits for, and continues it.
    ///
    /// # Errors
    /// Fails if no run waits for this answer, or the conversation cannot be written.
    pub async fn answer(
        &self,
        answer: CallAnswer,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        self.answer_all(vec![answer], stop).await
    }

    /// Gives a parked run several answers at once, and continues it. Either all are taken or none.
    ///
    /// # Errors
    /// Fails like [`ConversationHandle::answer`].
    pub async fn answer_all(
        &self,
        answers: Vec<CallAnswer>,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        let talk = self.agent.current_conversation().await?;
        talk.answer_calls(answers, stop).await
    }

    /// Listens to the events of this conversation and of all later ones of the agent, from now on.
    pub fn listen(&self) -> Listener {
        self.agent.listen(&conversation_chat())
    }

    /// Returns the messages of the conversation that a model is shown besides the system prompt, each with its time in
    /// `metadata.ts`. The text of a loaded skill has its name in `metadata.promptOfSkill` instead.
    ///
    /// # Errors
    /// Fails if the agent has no conversation, because it could not load its own file again.
    pub async fn messages(&self) -> Result<Vec<UiMessage>, ConversationError> {
        let talk = self.agent.current_conversation().await?;
        Ok(talk.log.with(|context| context.messages()).await)
    }

    /// Returns the active skills of the conversation, in the order in which they were activated.
    ///
    /// # Errors
    /// Fails like [`ConversationHandle::messages`].
    pub async fn active_skills(&self) -> Result<Vec<String>, ConversationError> {
        let talk = self.agent.current_conversation().await?;
        let names =
            |conversation: &Conversation| conversation.active_skills().map(str::to_owned).collect();
        Ok(talk.log.with(move |context| names(&context.conversation)).await)
    }

    /// Returns the path of the conversation's file; `None` if it is in memory.
    ///
    /// # Errors
    /// Fails like [`ConversationHandle::messages`].
    pub async fn path(&self) -> Result<Option<PathBuf>, ConversationError> {
        let talk = self.agent.current_conversation().await?;
        Ok(talk.log.with(|context| context.conversation.path().map(Path::to_owned)).await)
    }
}

impl CurrentConversation {
    /// Leaves the conversation if it is in this file, under any path, so that the file can be opened and read
    /// again. A run that still answers in the conversation keeps it alive.
    async fn leave(&mut self, path: &Path) -> Weak<ActiveConversation> {
        let Self::In(talk) = self else { return Weak::new() };
        let wanted = path.to_owned();
        let is_wanted = move |own: &Path| match (own.canonicalize(), wanted.canonicalize()) {
            (Ok(own), Ok(wanted)) => own == wanted,
            (Err(_), _) | (_, Err(_)) => false,
        };
        let is_in = |conversation: &Conversation| conversation.path().is_some_and(is_wanted);
        if !talk.log.with(move |context| is_in(&context.conversation)).await {
            return Weak::new();
        }
        let left = Arc::downgrade(talk);
        *self = Self::Left(path.to_owned());
        left
    }
}
