//! A person's operation on contexts.
//!
//! It goes through the ledger, like a message: the holder of the lane does it in its order, at the next boundary between
//! steps, and the ledger has what came of it.

use std::sync::Arc;
use std::time::Duration;

use ship_message::json::{Json, Object};
use ship_store::{ChatKey, LaneError, LedgerBody, LedgerEntry, LedgerLine, StorageError};

use super::lane_loop::LaneLoop;
use crate::context_operation::{ContextOperation, OperationOutcome, OperationRefusal};
use crate::contexts::tell;
use crate::engine::{Agent, LockedChat};
use crate::error::RunError;
use crate::inbound::millis;
use crate::inbox::{COMMAND, outcome_of};

/// How often the ledger is looked at for what became of an operation.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Agent {
    /// Does something to the contexts of a chat: now if nobody runs it, or else at the next step of who does.
    /// When it returns, it is done or asked for durably.
    ///
    /// # Errors
    /// When the chat cannot be read or written.
    pub async fn operate(
        &self,
        key: &ChatKey,
        operation: ContextOperation,
        channel: &str,
    ) -> Result<OperationOutcome, RunError> {
        let agent = &self.inner;
        let nothing = || {
            OperationOutcome::NotDone(OperationRefusal::because(format!(
                "Nothing was said in `{key}` yet."
            )))
        };
        let Some(chat) = agent.store.open(key).await? else { return Ok(nothing()) };
        if chat.view().await?.is_none() {
            return Ok(nothing());
        }
        let asked = format!("operation:{:016x}", agent.ids.next());
        let mut entry = Object::from([("v", Json::from(1u64)), ("ts", millis(agent.clock.now()))]);
        entry.set("role", COMMAND);
        entry.set("text", format!("/{}", operation.name()));
        entry.set("chatKey", key.as_str());
        entry.set("channel", channel);
        entry.set("meta", Object::from([("operation", operation.to_object())]));
        let entry = LedgerEntry { key: asked.clone(), entry };
        let accepted = chat.accept(entry.clone()).await?;
        let line = LedgerLine { seq: accepted.seq, body: LedgerBody::Entry(entry) };
        let patience = tokio::time::Instant::now() + agent.rules.operation_wait;
        loop {
            match chat.lane_now("operate").await {
                Ok(lane) => {
                    let (engine, chat) = (Arc::clone(agent), Arc::clone(&chat));
                    let locked = LockedChat { engine, chat, lane };
                    let repaired = agent.repair_once(&*locked.chat, &*locked.lane).await;
                    let done = match repaired {
                        Ok(()) => LaneLoop::new(locked.clone()).do_operations().await,
                        Err(error) => Err(error),
                    };
                    if let Err(error) = done {
                        return Err(give_up(&locked, &line, error).await);
                    }
                }
                Err(LaneError::Storage(StorageError::Busy(_))) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(operated) = outcome_of(&*chat, accepted.seq, &asked).await? {
                return Ok(operated);
            }
            if tokio::time::Instant::now() >= patience {
                return Ok(OperationOutcome::Queued);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Answers an operation that failed as not done, while the lane is held: left in the ledger it would be done later,
/// and twice when the person asks again. Where not even that can be written, the error says that it is kept.
async fn give_up(locked: &LockedChat, asked: &LedgerLine, error: RunError) -> RunError {
    let view = locked.chat.view().await;
    let is_done = view.is_ok_and(|view| view.is_some_and(|view| view.inbox >= Some(asked.seq)));
    let not_done = OperationOutcome::NotDone(OperationRefusal::because(error.to_string()));
    match !is_done && tell(locked, asked, &not_done).await.is_ok() {
        true => error,
        false => RunError::Kept(Box::new(error)),
    }
}
