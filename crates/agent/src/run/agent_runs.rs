//! An agent's runs: accepting a message, running a chat, answering what a run waits for.

use std::sync::Arc;

use ship_context::Journal;
use ship_message::json::Json;
use ship_store::{About, AcceptError, Accepted, Chat, ChatKey, LedgerSeq, ReadError, RefusedInput};

use super::lane_loop::LaneLoop;
use crate::engine::{Agent, Engine, LockedChat};
use crate::error::RunError;
use crate::events::Outcome;
use crate::inbound::{CallAnswer, Inbound};
use crate::inbox::NextInput;
use crate::run_log::RunLogEntry;
use crate::stop::{Stop, lane_unless_stopped};

impl Agent {
    /// Makes a message durable. When this returns, the message is accepted; the same key again is the same
    /// message.
    ///
    /// # Errors
    /// When the text is longer than the rules allow, or the chat or its ledger cannot be written. The message
    /// is not accepted then.
    pub async fn accept(&self, chat: &ChatKey, inbound: Inbound) -> Result<Accepted, RunError> {
        let (bytes, max) = (inbound.text.len(), self.inner.rules.message_bytes);
        if bytes > max {
            let refused = RefusedInput::TooLarge { id: inbound.key, bytes, max };
            return Err(AcceptError::Refused(refused).into());
        }
        let about = About { channel: Some(inbound.channel.clone()), target: None };
        let entry = inbound.into_entry(chat, self.inner.clock.now());
        let chat = self.inner.store.create(chat, about).await?;
        Ok(chat.accept(entry).await?)
    }

    /// Does whatever is to be done in a chat, until nothing is. Tells how the last run ended; `None` when
    /// there was nothing to do, or it was stopped while somebody else ran the chat.
    ///
    /// # Errors
    /// When somebody else runs the chat, or it cannot be read or written. A model or a tool that fails is no
    /// error here: the person is told, and the outcome says so.
    pub async fn run(&self, chat: &ChatKey, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        self.run_with(chat, stop, LaneWait::Waits).await
    }

    /// As [`Agent::run`], but waits for nobody: when somebody else runs the chat, that is said at once.
    ///
    /// # Errors
    /// As [`Agent::run`].
    pub async fn run_now(&self, chat: &ChatKey, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        self.run_with(chat, stop, LaneWait::None).await
    }

    async fn run_with(
        &self,
        chat: &ChatKey,
        stop: &Stop,
        patience: LaneWait,
    ) -> Result<Option<Outcome>, RunError> {
        let Some(chat) = self.inner.store.open(chat).await? else { return Ok(None) };
        let mut outcome = None;
        loop {
            let lane = match patience {
                LaneWait::None => chat.lane_now("run").await?,
                LaneWait::Waits => match lane_unless_stopped(&*chat, stop).await? {
                    Some(lane) => lane,
                    None => return Ok(outcome),
                },
            };
            self.inner.repair_once(&*chat, &*lane).await?;
            let engine = Arc::clone(&self.inner);
            let held = LaneLoop::new(LockedChat { engine, chat: Arc::clone(&chat), lane });
            let done = held.do_all(stop).await?;
            outcome = done.outcome.or(outcome);
            drop(held);
            // What came in between the last look and the release would wait for nobody.
            if outcome == Some(Outcome::Parked)
                || !self.inner.is_waiting(&*chat, done.inbox, outcome.as_ref()).await?
            {
                return Ok(outcome);
            }
        }
    }

    /// Answers what a parked run waits for, and goes on with it.
    ///
    /// # Errors
    /// When nothing waits for it, and as [`Agent::run`].
    pub async fn answer(
        &self,
        chat: &ChatKey,
        answer: CallAnswer,
        stop: &Stop,
    ) -> Result<Option<Outcome>, RunError> {
        let not_waiting = |id: &str| RunError::NotWaiting { chat: chat.clone(), id: id.to_owned() };
        let id = match &answer {
            CallAnswer::Approval { approval_id, .. } => approval_id.clone(),
            CallAnswer::Output { call_id, .. } => call_id.clone(),
        };
        let open = self.inner.store.open(chat).await?.ok_or_else(|| not_waiting(&id))?;
        let lane = open.lane("answer").await?;
        let journal = Journal::read(&open.journal().await?).ok_or_else(|| not_waiting(&id))?;
        let line = super::tool_calls::answered(&journal, answer).ok_or_else(|| not_waiting(&id))?;
        lane.journal(vec![line.into_object()], ship_store::Synced::Now).await?;
        drop(lane);
        self.run(chat, stop).await
    }
}

impl Engine {
    /// Whether messages wait behind the inbox cursor. What was answered stays answered when that cannot be
    /// read: it is told to the log, and whoever runs the chat next looks again.
    pub(crate) async fn is_waiting(
        &self,
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
        answered: Option<&Outcome>,
    ) -> Result<bool, ReadError> {
        match NextInput::read(self, chat, inbox).await {
            Ok(queue) => Ok(!queue.is_empty()),
            Err(error) if answered.is_some() => {
                let fields =
                    vec![("message", Json::from(self.surroundings.mask(&error.to_string())))];
                self.log.write(
                    chat.key(),
                    RunLogEntry { kind: "error", fields, ..RunLogEntry::default() },
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether to wait for a lane that somebody else holds.
#[derive(Clone, Copy)]
enum LaneWait {
    /// Up to `lock.waitMs`.
    Waits,
    None,
}
