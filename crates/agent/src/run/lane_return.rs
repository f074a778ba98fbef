//! Gives a lane back, and runs the messages that wait then.
//!
//! A caller that accepts a message and finds the lane held leaves the message to the holder of the lane. So every holder
//! looks at the ledger once more after it has given the lane back, whatever it has done meanwhile. A run does so itself;
//! the holders that do something else do it here: operations, stops, compactions and their previews, and repairs.
//!
//! They answer for each message that waited while they held the lane, also for one that came before: its sender may have
//! tried to run it only after they had begun, and may have left. A sender that waits for the lane comes first.

use std::time::Duration;

use ship_store::{Chat, LedgerSeq, View};
use tokio::time::{Instant, timeout_at};

use crate::engine::{Agent, Engine, LockedChat};
use crate::error::RunError;
use crate::inbox::{has_operation, has_question, last_read};
use crate::stop::Stop;

impl Agent {
    /// Works on a locked chat, gives its lane back, and runs the messages that wait then. The work gets the view of the
    /// log, as it is before any repair. A failure of the later run does not concern the caller, and goes to the log.
    pub(crate) async fn work_and_release<T>(
        &self,
        locked: &LockedChat,
        work: impl AsyncFnOnce(Option<View>) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        // A chat that cannot be read cannot be run either, and the work meets the same error.
        let view = locked.chat.log().view().await.ok();
        // An operation puts messages into the context without answering them, so the cursor is read before.
        let read = match &view {
            Some(view) => last_read(&*locked.chat, view.as_ref()).await.ok(),
            None => None,
        };
        let done = work(view.flatten()).await;
        locked.lane.release().await;
        if let Some(read) = read {
            self.log_failure(&*locked.chat, self.run_waiting(&*locked.chat, read).await);
        }
        done
    }

    /// Runs the messages that wait in a chat whose lane was held and whose cursor has not moved meanwhile.
    pub(super) async fn run_unread(&self, chat: &dyn Chat) {
        let running = async {
            let read = last_read(chat, chat.log().view().await?.as_ref()).await?;
            self.run_waiting(chat, read).await
        };
        self.log_failure(chat, running.await);
    }

    /// Runs the messages that wait behind an entry of the ledger, unless another caller does.
    async fn run_waiting(&self, chat: &dyn Chat, read: Option<LedgerSeq>) -> Result<(), RunError> {
        if !has_question(&self.engine, chat, read).await? {
            return Ok(());
        }
        let inbox = chat.log().view().await?.and_then(|view| view.inbox);
        if !self.engine.is_taken_over(chat, inbox).await? {
            Box::pin(self.run_now(chat.key(), &Stop::default())).await?;
        }
        Ok(())
    }

    fn log_failure(&self, chat: &dyn Chat, ran: Result<(), RunError>) {
        if let Err(error) = ran
            && !error.is_elsewhere()
        {
            self.engine.log_error(chat, &error);
        }
    }
}

impl Engine {
    /// Whether another caller begins with the messages behind the inbox cursor, now that the lane is free. A caller that
    /// waits for the lane takes it at once. If none does, the senders of the messages are gone.
    pub(super) async fn is_taken_over(
        &self,
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
    ) -> Result<bool, RunError> {
        let until = Instant::now() + TAKEOVER;
        let mut moment = self.store.moment();
        while !self.has_new_holder(chat, inbox).await? {
            loop {
                let Ok(changed) = timeout_at(until, self.store.changed(moment)).await else {
                    return Ok(false);
                };
                moment = changed.moment;
                if changed.is_partial || changed.chats.contains(chat.key()) {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Whether another caller has taken the lane: one of this process puts the waiting messages into the context, and
    /// another process notes that it is the holder. While an operation waits, the note is not enough: the caller tells
    /// its person in which context the answer is, and the operation may be about to leave it.
    async fn has_new_holder(
        &self,
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
    ) -> Result<bool, RunError> {
        let view = chat.log().view().await?;
        if view.is_some_and(|view| view.inbox > inbox) {
            return Ok(true);
        }
        let holder = chat.lane_holder().await?;
        let process = holder.and_then(|holder| holder.holder.pid());
        Ok(process.is_some_and(|process| process != std::process::id())
            && !has_operation(self, chat, inbox).await?)
    }
}

/// The time within which a caller that waits for the lane has taken it, also on a busy machine.
const TAKEOVER: Duration = Duration::from_secs(1);
