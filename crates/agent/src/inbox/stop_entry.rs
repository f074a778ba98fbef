//! A stop in the ledger: the entry names the run that it stops, so no other run is stopped by it, however
//! late it is read.

use ship_message::json::{Json, Object};
use ship_store::{ChatKey, LedgerBody, LedgerEntry, LedgerLine, ReadError, Timestamp};

use super::operation_entry::COMMAND;
use super::unread_lines::UnreadLines;
use crate::engine::ActiveRun;

/// The field of an entry's `meta` with the id of the run to stop.
const STOP: &str = "stop";

/// Makes the entry that stops a run.
pub(crate) fn stop_entry(
    chat: &ChatKey,
    run_id: &str,
    channel: &str,
    now: Timestamp,
) -> LedgerEntry {
    let mut entry = Object::from([("v", Json::from(1u64)), ("ts", now.to_json())]);
    entry.set("role", COMMAND);
    entry.set("text", "/stop");
    entry.set("chatKey", chat.as_str());
    entry.set("channel", channel);
    entry.set("meta", Object::from([(STOP, run_id)]));
    // Stopping a run twice is stopping it once.
    LedgerEntry { key: format!("stop:{run_id}"), entry }
}

fn stops(line: &LedgerLine, run_id: &str) -> bool {
    let LedgerBody::Entry(entry) = &line.body else { return false };
    let stopped = entry.entry.get("meta").and_then(|meta| meta.get(STOP)).and_then(Json::as_str);
    entry.entry.str("role") == Some(COMMAND) && stopped == Some(run_id)
}

/// Whether an entry of the ledger that a run has not read yet stops it.
pub(crate) async fn is_stopped(work: &ActiveRun) -> Result<bool, ReadError> {
    let (engine, chat) = (&work.locked.engine, &*work.locked.chat);
    let mut unread = UnreadLines::new(engine, chat, work.inbox().await);
    while let Some(page) = unread.next_page().await? {
        if page.iter().any(|line| stops(line, &work.run_id)) {
            return Ok(true);
        }
    }
    Ok(false)
}
