//! Stores the texts of a request beside its record, and finds the request before it.

use std::sync::Arc;

use ship_message::Role;
use ship_store::{Metadata, ReadError};

use crate::digest::digest;
use crate::engine::ActiveRun;
use crate::records::{RECENT_LINES, RequestRecord, last_context_request, read_records};
use crate::run_log::{RunLogEntry, RunLogKind};

/// Returns the last request for an answer in the chat, also one of another process.
pub(crate) async fn last_request(
    work: &ActiveRun,
) -> Result<Option<Arc<RequestRecord>>, ReadError> {
    let (cache, chat) = (&work.locked.engine.request_cache, work.locked.chat.key());
    if let Some(known) = cache.last(chat)
        && (known.run_id == work.run_id || last_run(work).await.as_ref() == Some(&known.run_id))
    {
        return Ok(Some(known));
    }
    let calls = read_records(&*work.locked.engine.store, &*work.locked.chat, RECENT_LINES).await?;
    for record in calls.iter().map(|call| &call.record) {
        cache.mark_stored(&record.tools);
        cache.mark_stored(&digest(record.frame_text().as_bytes()));
        record.system.iter().for_each(|(_, sha256)| cache.mark_stored(sha256));
    }
    work.locked.engine.token_meter.learn_from(&calls);
    let last = last_context_request(calls);
    if let Some(last) = &last {
        cache.remember(chat, Arc::clone(last));
    }
    Ok(last)
}

/// Stores a text as a blob, unless it is known to be stored. A request is sent even if that fails, and the
/// log gets a warning.
pub(crate) async fn keep_text(work: &ActiveRun, sha256: &str, text: &str, media_type: &str) {
    if work.locked.engine.request_cache.is_stored(sha256) {
        return;
    }
    match work.locked.engine.store.put_blob(text.as_bytes().to_vec(), media_type).await {
        Ok(_) => work.locked.engine.request_cache.mark_stored(sha256),
        Err(error) => log_not_recorded(work, &error),
    }
}

/// Logs that a call could not be recorded; the call is made all the same.
pub(crate) fn log_not_recorded(work: &ActiveRun, error: &dyn std::error::Error) {
    let error_text = work.locked.engine.project.mask(&error.to_string());
    let fields = vec![("message", error_text.into())];
    work.log(RunLogEntry { kind: RunLogKind::Warning, fields, ..RunLogEntry::default() });
}

/// Returns the run of the last answer. If another process ran the chat, it is not one of ours.
async fn last_run(work: &ActiveRun) -> Option<String> {
    let messages = work.messages().await;
    let last = messages.iter().rev().find(|message| message.role() == Role::Assistant)?;
    Some(Metadata::of(last).run_id()?.to_owned())
}
