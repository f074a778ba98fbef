//! `context.history.archiveOnCompact: false`: purges the log that a compaction has sealed.
//!
//! The log is sealed as always, so that a crash loses nothing, and then its lines are purged. The head of the new
//! log says that this is due; after a crash in between, the next holder of the lane does it.

use ship_store::{ContextBody, ContextLine, Lane, PurgeError, View};

use crate::chat::{COMPACTED, SEALED_GENERATION};
use crate::error::RunError;

/// The author of the purge, as the tombstone names it.
pub(super) const BY: &str = "compaction";

/// Completes the purge of an interrupted compaction. A purged log stays so, and a missing one needs no purge.
///
/// Every later operation copies the head with its values. So the mark counts only if a compaction sealed the
/// log before this one.
pub(crate) async fn finish_purge(lane: &dyn Lane, view: &View) -> Result<(), RunError> {
    let is_due = view.head.carry.is_purge_due();
    if let Some(sealed) = view.head.sealed.as_ref().filter(|_| is_due && began_by_compaction(view))
    {
        match lane.purge(sealed, BY).await {
            Ok(_) | Err(PurgeError::NotSealed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether a compaction began the log of this view. After an older log is restored, generations repeat, and the
/// event of a compaction in a loaded log may name the generation just before it.
fn began_by_compaction(view: &View) -> bool {
    let operation = view.head.carry.published_by().and_then(|by| by.generation);
    if operation == Some(view.position.generation) {
        return false;
    }
    let sealed_by = |line: &ContextLine| match &line.body {
        ContextBody::Event(event) if event.event == COMPACTED => {
            event.data.get(SEALED_GENERATION)?.as_u64()
        }
        _ => None,
    };
    let before = view.position.generation.get().checked_sub(1);
    before.is_some() && view.lines.iter().any(|line| sealed_by(line) == before)
}
