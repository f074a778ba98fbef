//! A person's operation on contexts.
//!
//! It goes through the ledger, like a message: the holder of the lane performs it in its order, at the next boundary
//! between steps, and writes the outcome to the ledger.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_store::{
    About, ChatKey, Explain, LaneError, LedgerBody, LedgerEntry, LedgerLine, StorageError, View,
};

use super::lane_loop::LaneLoop;
use crate::context_operation::{ContextOperation, ONE_CONTEXT, OperationOutcome, OperationRefusal};
use crate::contexts::announce_outcome;
use crate::engine::{Agent, LockedChat};
use crate::error::RunError;
use crate::inbox::{COMMAND, outcome_of};

impl Agent {
    /// Performs an operation on the contexts of a chat: now if the lane is free, otherwise at the next step of the
    /// run that holds it. When this returns, the operation is done or queued durably. Messages that wait in the chat and
    /// that no other caller runs are answered before it returns.
    ///
    /// # Errors
    /// Fails if the chat cannot be read or written.
    pub async fn operate(
        &self,
        key: &ChatKey,
        operation: ContextOperation,
        channel: &str,
    ) -> Result<OperationOutcome, RunError> {
        let agent = &self.engine;
        let nothing = || OperationOutcome::refused(format!("Nothing was said in `{key}` yet."));
        if operation.leaves_context() && !agent.rules.contexts.enabled {
            return Ok(OperationOutcome::refused(ONE_CONTEXT));
        }
        let chat = match agent.store.open(key).await? {
            Some(chat) if operation.begins_chat() || chat.log().is_begun().await? => chat,
            None if operation.begins_chat() => {
                let channel = Some(channel.to_owned());
                agent.store.create(key, About { channel, ..About::default() }).await?
            }
            _ => return Ok(nothing()),
        };
        let request_line = format!("operation:{:016x}", agent.ids.next());
        let mut entry =
            Object::from([("v", Json::from(1u64)), ("ts", agent.clock.now().to_json())]);
        entry.set("role", COMMAND);
        entry.set("text", format!("/{}", operation.name()));
        entry.set("chatKey", key.as_str());
        entry.set("channel", channel);
        entry.set("meta", Object::from([("operation", operation.to_object())]));
        let entry = LedgerEntry { key: request_line.clone(), entry };
        let copied_to = match operation {
            ContextOperation::Fork { to, .. } => to.filter(|to| to != key),
            _ => None,
        };
        // From here on it will be done, even if this process is killed.
        let accepted = chat.ledger().accept(entry.clone()).await?;
        let line = LedgerLine { seq: accepted.seq, body: LedgerBody::Entry(entry) };
        let patience = tokio::time::Instant::now() + agent.rules.operation_wait;
        loop {
            let moment = chat.moment();
            match chat.lane_now("operate").await {
                Ok(lane) => {
                    let (engine, chat) = (Arc::clone(agent), Arc::clone(&chat));
                    let locked = LockedChat { engine, chat, lane };
                    let work = async |view| operate_now(&locked, view, &line).await;
                    self.work_and_release(&locked, work).await?;
                }
                // The holder of the lane performs it, and the outcome is looked up below.
                Err(LaneError::Storage(StorageError::Busy(_))) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(operated) = outcome_of(&*chat, accepted.seq, &request_line).await? {
                // The lane of the other chat was held to make the copy.
                if let Some(copied_to) = &copied_to
                    && let Some(copy) = agent.store.open(copied_to).await?
                {
                    self.run_unread(&*copy).await;
                }
                return Ok(operated);
            }
            if tokio::time::timeout_at(patience, chat.changed(moment)).await.is_err() {
                return Ok(OperationOutcome::Queued);
            }
        }
    }
}

/// Performs the operations that wait in a locked chat; the entry `request_line` asks for one of them.
async fn operate_now(
    locked: &LockedChat,
    view: Option<View>,
    request_line: &LedgerLine,
) -> Result<(), RunError> {
    let done = match locked.engine.repair_once(&*locked.chat, &*locked.lane).await {
        Ok(repaired) => {
            let held = LaneLoop::new(locked.clone(), repaired.or(view));
            locked.with_heartbeat(Box::pin(held.do_operations())).await.map(|_| ())
        }
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => Ok(()),
        Err(error) => Err(answer_not_done(locked, request_line, error).await),
    }
}

/// Answers a failed operation as not done while the lane is held. Without an answer in the ledger it would be
/// performed later, and twice if the person asks again. If the answer cannot be written, the error says that the
/// operation is kept.
async fn answer_not_done(
    locked: &LockedChat,
    request_line: &LedgerLine,
    error: RunError,
) -> RunError {
    let view = locked.chat.log().view().await;
    // An operation that the cursor has passed is done; only its outcome could not be recorded.
    let is_done =
        view.is_ok_and(|view| view.is_some_and(|view| view.inbox >= Some(request_line.seq)));
    let not_done = OperationOutcome::NotDone(OperationRefusal::explained(error.explain(), ""));
    match !is_done && announce_outcome(locked, request_line, &not_done).await.is_ok() {
        true => error,
        false => RunError::Kept(Box::new(error)),
    }
}
