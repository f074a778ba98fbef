//! Finds and keeps a summary that is not published yet.

use ship_store::{Derived, View};

use super::meta_file;
use crate::engine::{ActiveRun, SummaryDraft, SummaryRange};

/// Keeps a draft on disk and in memory.
pub(super) async fn save_draft(work: &ActiveRun, view: &View, draft: SummaryDraft) {
    meta_file::write(work, view, Some(&draft)).await;
    work.locked.engine.drafts.remember(work.locked.chat.key(), draft);
}

/// Returns the draft for exactly this range, if there is one.
pub(super) async fn find_draft(work: &ActiveRun, range: &SummaryRange) -> Option<SummaryDraft> {
    let known = work.locked.engine.drafts.last_for(work.locked.chat.key());
    if let Some(draft) = known.filter(|draft| draft.range == *range) {
        return Some(draft);
    }
    // If the derived state cannot be read, the model is simply asked again.
    let kept = work.locked.chat.derived().read(Derived::Meta).await.ok()??;
    let draft = SummaryDraft::from_object(kept.value.get(meta_file::DRAFT)?.as_object()?)?;
    (draft.range == *range).then_some(draft)
}
