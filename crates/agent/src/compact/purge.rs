//! `context.history.archiveOnCompact: false`: what a compaction seals is purged.
//!
//! The log is sealed as always, so that a crash loses nothing, and then its lines go. The head of the new log
//! says that this is due; whoever takes the lane after a crash in between does it.

use ship_message::json::Json;
use ship_store::{Chat, Head, Lane};

use crate::run::RunError;

/// What purges, as the tombstone tells it.
pub(super) const BY: &str = "compaction";

const DUE: &str = "purge";

/// Says in a head whether the log before it is to be purged.
pub(super) fn set_due(head: &mut Head, is_due: bool) {
    head.carry.set_or_remove(DUE, is_due.then(|| Json::from(true)));
}

/// Purges what a compaction that was cut off has left to purge. What is purged already stays so.
pub(crate) async fn finish_purge(chat: &dyn Chat, lane: &dyn Lane) -> Result<(), RunError> {
    let Some(view) = chat.view().await? else { return Ok(()) };
    let is_due = view.head.carry.get(DUE).and_then(Json::as_bool) == Some(true);
    if let Some(sealed) = view.head.sealed.as_ref().filter(|_| is_due) {
        lane.purge(sealed, BY).await?;
    }
    Ok(())
}
