//! Performs a person's operation from the ledger in a chat at rest, and reports its outcome.

use ship_message::json::{Json, Object};
use ship_store::{LedgerBody, LedgerEntry, LedgerLine, View};

use super::operate::operate_from_ledger;
use crate::chat::{OpenRequest, open_request_ids};
use crate::context_operation::{ContextOperation, OperationOutcome, WayBack};
use crate::engine::LockedChat;
use crate::error::RunError;
use crate::events::RunEvent;
use crate::inbox::outcome_key;
use crate::run_notice::context_notice;

/// Performs an operation from the ledger in a chat without a run, whose log has this view. Messages that wait for an
/// answer move along. Returns the view after it, unless the log must be read again.
pub(crate) async fn operate_idle(
    locked: &LockedChat,
    view: &View,
    request_line: &LedgerLine,
    operation: &ContextOperation,
) -> Result<Option<View>, RunError> {
    let current = open_request_ids(view, "");
    let moving = OpenRequest { current, inbox: Some(request_line.seq), ..OpenRequest::default() };
    let operated = operate_from_ledger(locked, view, operation, &moving).await?;
    announce_outcome(locked, request_line, &operated.outcome).await?;
    Ok(operated.view)
}

/// Reports the outcome of an operation: in the ledger to the person, and in an event to the subscribers of the chat.
pub(crate) async fn announce_outcome(
    locked: &LockedChat,
    request_line: &LedgerLine,
    operated: &OperationOutcome,
) -> Result<(), RunError> {
    let LedgerBody::Entry(entry) = &request_line.body else { return Ok(()) };
    let line = operated.line();
    let chat = locked.chat.key();
    let mut notice_entry = Object::from([
        ("v", Json::from(1u64)),
        ("ts", locked.engine.clock.now().to_json()),
        ("role", "assistant".into()),
        ("text", line.as_str().into()),
        ("chatKey", chat.as_str().into()),
    ]);
    notice_entry.set_or_remove("channel", entry.entry.get("channel").cloned());
    let meta =
        Object::from([("via", Json::from("operation")), ("operated", operated.to_object().into())]);
    notice_entry.set("meta", meta);
    let key = outcome_key(&entry.key);
    locked.lane.record(LedgerEntry { key, entry: notice_entry }).await?;
    let way_back = operated.way_back().map(WayBack::to_json);
    locked.engine.hub.send(chat, RunEvent::Chunk(context_notice(&line, way_back)));
    Ok(())
}
