//! The entry points of runs: accepting a message, running a chat, and answering a parked run.

use std::sync::Arc;

use ship_context::Journal;
use ship_message::json::Json;
use ship_store::{
    About, AcceptError, Accepted, Chat, ChatKey, Lane, LedgerBody, LedgerSeq, ReadError,
    RefusedInput, Synced,
};

use super::lane_loop::{LaneLoop, LaneResult};
use super::tool_calls::journal_line_for;
use crate::engine::{Agent, Engine, LockedChat};
use crate::error::RunError;
use crate::inbound::{AcceptedMessage, CallAnswer, Inbound};
use crate::inbox::has_input;
use crate::reply::Outcome;
use crate::run_log::{RunLogEntry, RunLogKind};
use crate::stop::{Stop, lane_unless_stopped};

impl Agent {
    /// Makes a message durable. When this returns, the message is accepted; another call with the same key
    /// accepts nothing new. So a server that may get a message twice gives it a key ([`Inbound::key`]).
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, Inbound, Stop};
    ///
    /// let (agent, chat) = (Agent::builder().build(), "http:main".parse()?);
    /// let message = Inbound { key: "post-17".into(), channel: "http".into(), ..Inbound::from("hello") };
    /// let accepted = agent.accept(&chat, message.clone()).await?;
    /// // The message is on disk now, and a server may acknowledge it.
    /// assert!(!agent.accept(&chat, message).await?.is_new);
    /// let reply = agent.reply_to(&chat, &accepted, &Stop::default()).await?;
    /// assert!(reply.text().ends_with("You said: hello"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the text with its files is longer than the rules allow, or the chat or its ledger cannot be written. The message
    /// is not accepted then.
    pub async fn accept(
        &self,
        chat: &ChatKey,
        inbound: Inbound,
    ) -> Result<AcceptedMessage, RunError> {
        let inbound = inbound.with_ids(|| self.engine.ids.next());
        let (bytes, max) = (inbound.bytes(), self.engine.rules.message_bytes);
        if bytes > max {
            let refused = RefusedInput::TooLarge { id: inbound.key, bytes, max };
            return Err(AcceptError::Refused(refused).into());
        }
        let (channel, target) = (Some(inbound.channel.clone()), inbound.target.clone());
        let about = About { channel, target: target.clone(), ..About::default() };
        let (request_id, observed) = (inbound.request_id.clone(), inbound.observed);
        let entry = inbound.into_entry(chat, self.engine.clock.now());
        let chat = self.engine.store.create(chat, about).await?;
        if target.is_some() {
            keep_target(&*chat, target).await?;
        }
        let key = observed.then(|| entry.key.clone());
        let Accepted { seq, new: is_new } = chat.ledger().accept(entry).await?;
        if let Some(key) = key.filter(|_| is_new) {
            self.engine.observed_talk.note_accepted(chat.key(), seq, &key);
        }
        let request_id = match is_new {
            true => request_id,
            // The answer is found under the id of the first acceptance.
            false => request_id_of(&*chat, seq).await?.unwrap_or(request_id),
        };
        Ok(AcceptedMessage { seq, request_id, is_new })
    }

    /// Runs a chat until nothing is left to do. Returns the outcome of the last run; `None` if there was
    /// nothing to do, or if it was stopped while another caller held the lane.
    ///
    /// # Errors
    /// Fails if another caller keeps the lane, or the chat cannot be read or written. A failure of a model or a
    /// tool is no error here: the person is told, and the outcome has it.
    pub async fn run(&self, chat: &ChatKey, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        self.run_with(chat, stop, LaneWait::Waits, None).await
    }

    /// Runs a chat like [`Agent::run`], but fails at once if another caller holds the lane.
    ///
    /// # Errors
    /// Fails like [`Agent::run`].
    pub async fn run_now(&self, chat: &ChatKey, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        self.run_with(chat, stop, LaneWait::None, None).await
    }

    /// Runs a chat until a message is answered. What waits behind it is left to its sender.
    pub(super) async fn run_until_answered(
        &self,
        chat: &ChatKey,
        stop: &Stop,
        message: LedgerSeq,
    ) -> Result<Option<Outcome>, RunError> {
        self.run_with(chat, stop, LaneWait::Waits, Some(message)).await
    }

    async fn run_with(
        &self,
        chat: &ChatKey,
        stop: &Stop,
        patience: LaneWait,
        wanted: Option<LedgerSeq>,
    ) -> Result<Option<Outcome>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        let mut outcome = None;
        loop {
            let lane = match patience {
                LaneWait::None => chat.lane_now("run").await?,
                LaneWait::Waits => match lane_unless_stopped(&*chat, stop).await? {
                    Some(lane) => lane,
                    None => return Ok(outcome),
                },
            };
            let engine = Arc::clone(&self.engine);
            let locked = LockedChat { engine, chat: Arc::clone(&chat), lane };
            let done = match run_locked(&locked, stop, wanted).await {
                // Taken before the look below, which sees everything up to these sizes.
                Ok(done) => chat.sizes().await.map(|sizes| (done, sizes)).map_err(RunError::from),
                Err(error) => Err(error),
            };
            locked.lane.release().await;
            self.engine.index_after_commit(chat.key());
            let (done, sizes) = done?;
            outcome = done.outcome.or(outcome);
            // A message that arrived between the last look and the release of the lane would have no run.
            let goes_on = match &outcome {
                Some(Outcome::Parked) => {
                    Some(self.engine.goes_on_undecided(&*chat, done.inbox).await?)
                }
                answered => {
                    self.engine.has_pending_input(&*chat, done.inbox, answered.as_ref()).await?
                }
            };
            // A run that was told to stop may have left something to do.
            if stop.is_stopped() || stop.is_leaving() {
                return Ok(outcome);
            }
            match goes_on {
                Some(true) => {}
                None => return Ok(outcome),
                Some(false) => {
                    if let Err(error) = chat.note_idle(sizes).await {
                        self.engine.log_error(&*chat, &error);
                    }
                    return Ok(outcome);
                }
            }
            // The sender of the next message waits for the lane. If it does not take it, its process is gone.
            let is_answered = wanted.is_some() && done.inbox >= wanted;
            if is_answered && self.engine.is_taken_over(&*chat, done.inbox).await? {
                return Ok(outcome);
            }
        }
    }

    /// Gives a parked run the approval or output that it waits for, and continues it.
    ///
    /// # Errors
    /// Fails if no run waits for this answer, and like [`Agent::run`].
    pub async fn answer(
        &self,
        chat: &ChatKey,
        answer: CallAnswer,
        stop: &Stop,
    ) -> Result<Option<Outcome>, RunError> {
        self.answer_all(chat, vec![answer], stop).await
    }

    /// Gives a parked run several answers at once, and continues it. Either all are taken or none.
    ///
    /// # Errors
    /// Fails if no run waits for one of the answers, and like [`Agent::run`].
    pub async fn answer_all(
        &self,
        chat: &ChatKey,
        answers: Vec<CallAnswer>,
        stop: &Stop,
    ) -> Result<Option<Outcome>, RunError> {
        if !answers.is_empty() {
            self.journal_answers(chat, answers).await?;
        }
        // The run takes the lane itself.
        self.run(chat, stop).await
    }

    async fn journal_answers(
        &self,
        chat: &ChatKey,
        answers: Vec<CallAnswer>,
    ) -> Result<(), RunError> {
        let Some(open) = self.engine.store.open(chat).await? else {
            let id = answers.first().map(CallAnswer::id).unwrap_or_default();
            return Err(not_waiting(chat, id));
        };
        let lane = open.lane("answer").await?;
        let taken = take_answers(&*open, &*lane, answers).await;
        lane.release().await;
        if taken.is_err() {
            // No run of this caller follows that would look at the ledger.
            self.run_unread(&*open).await;
        }
        taken
    }
}

impl Engine {
    /// Whether messages wait behind the inbox cursor. If the ledger cannot be read after an answer, the answer
    /// still counts: the error goes to the log, the result is `None`, and the next run of the chat looks again.
    pub(crate) async fn has_pending_input(
        &self,
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
        answered: Option<&Outcome>,
    ) -> Result<Option<bool>, ReadError> {
        match has_input(self, chat, inbox).await {
            Ok(has_input) => Ok(Some(has_input)),
            Err(error) if answered.is_some() => {
                self.log_error(chat, &error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes an error to the log that does not stop a run.
    pub(super) fn log_error(&self, chat: &dyn Chat, error: &dyn std::error::Error) {
        let fields = vec![("message", Json::from(self.project.mask(&error.to_string())))];
        let entry = RunLogEntry { kind: RunLogKind::Error, fields, ..RunLogEntry::default() };
        self.log.write(chat.key(), entry);
    }
}

/// Stores another delivery target of a chat. It is there before the message, so that every answer has one.
async fn keep_target(chat: &dyn Chat, target: Option<Json>) -> Result<(), RunError> {
    let about = chat.about().await?;
    if about.target != target {
        chat.set_about(About { target, ..about }).await?;
    }
    Ok(())
}

/// Reads the request id of a message that was accepted before.
async fn request_id_of(chat: &dyn Chat, seq: LedgerSeq) -> Result<Option<String>, ReadError> {
    let line = chat.ledger().before(Some(LedgerSeq::new(seq.get() + 1)), 1).await?.pop();
    Ok(line.filter(|line| line.seq == seq).and_then(|line| match line.body {
        LedgerBody::Entry(entry) => entry.entry.str("requestId").map(str::to_owned),
        _ => None,
    }))
}

/// Journals the answers to calls that wait, all or none.
async fn take_answers(
    chat: &dyn Chat,
    lane: &dyn Lane,
    answers: Vec<CallAnswer>,
) -> Result<(), RunError> {
    let mut journal = Journal::read(&chat.runs().journal().await?);
    let mut lines = Vec::with_capacity(answers.len());
    for answer in answers {
        let error = not_waiting(chat.key(), answer.id());
        let Some(journal) = &mut journal else { return Err(error) };
        let Some(line) = journal_line_for(journal, answer) else { return Err(error) };
        // A second answer to the same call finds it decided.
        journal.apply(line.clone());
        lines.push(line.into_object());
    }
    Ok(lane.journal(lines, Synced::Now).await?)
}

fn not_waiting(chat: &ChatKey, id: &str) -> RunError {
    RunError::NotWaiting { chat: chat.clone(), id: id.to_owned() }
}

/// Repairs a locked chat if it must be, and runs it.
async fn run_locked(
    locked: &LockedChat,
    stop: &Stop,
    wanted: Option<LedgerSeq>,
) -> Result<LaneResult, RunError> {
    let view = locked.engine.repair_once(&*locked.chat, &*locked.lane).await?;
    let held = LaneLoop::new(locked.clone(), view);
    locked.with_heartbeat(Box::pin(held.run_until_idle(stop, wanted))).await
}

/// Whether to wait for a lane that another caller holds.
#[derive(Clone, Copy)]
enum LaneWait {
    /// The caller waits up to `lock.waitMs`.
    Waits,
    None,
}
