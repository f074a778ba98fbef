//! Undoes an operation that did not leave the context: a title, a checkpoint, or a reference.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_store::{
    Checkpoint, ContextBody, ContextEvent, ContextLine, Explanation, LogPiece, MessageId, Rotation,
    View,
};

use super::list::active_snapshot;
use super::operate::OperationInProgress;
use super::target_log::spans;
use crate::chat::{
    AT, CHECKPOINT, CheckpointChange, LastOperation, OF, OPERATED, Places, RENAMED, UNSHOWN, WAS,
    head_after_events, is_just_compacted, is_switch, last_operation, place_to_json,
    sealed_by_last_compaction,
};
use crate::context_operation::{
    ContextOperation, NOTHING_CHANGED, OperationOutcome, OperationRefusal,
};
use crate::engine::Engine;
use crate::error::RunError;

const SHOWN_AGAIN: &str = "The reference is shown again.";

/// Whether an undo stays in the context: the last operation did not leave one, or the undo is refused.
pub(crate) fn undo_stays(engine: &Engine, view: &View) -> bool {
    names_compaction(engine, view) || last_operation(view) != LastOperation::Switch
}

/// Whether an undo refers the person to `/compact --undo`. If originals are purged, that would not work either.
pub(super) fn names_compaction(engine: &Engine, view: &View) -> bool {
    engine.rules.archive_on_compact && is_just_compacted(view)
}

fn refuse_undo(why: Explanation) -> Result<Option<OperationOutcome>, RunError> {
    let refused = OperationRefusal::explained(why, NOTHING_CHANGED);
    Ok(Some(OperationOutcome::NotDone(refused)))
}

impl OperationInProgress<'_> {
    /// Undoes the last operation; `None` if it was a switch. A second undo restores it.
    pub(super) async fn undo_in_place(&self) -> Result<Option<OperationOutcome>, RunError> {
        if names_compaction(&self.locked.engine, self.view) {
            // The compaction itself is not undone, because that allows the whole window to be used, and another undo
            // could not take it back.
            let why = Explanation::new("The last change here was a compaction");
            return refuse_undo(why.with_remedy("`/compact --undo` undoes it"));
        }
        let (event, text) = match last_operation(self.view) {
            LastOperation::Switch => return Ok(None),
            LastOperation::Renamed { before } => self.previous_title(before),
            LastOperation::Checkpoint(change) => match self.toggle_checkpoint(change).await? {
                Some(back) => back,
                None => {
                    let problem = "The log of this checkpoint is gone";
                    return refuse_undo(Explanation::new(problem));
                }
            },
            LastOperation::Shown { id } => return self.remove_reference(&id).await,
            LastOperation::Unshown { id, after } => {
                return self.restore_reference(&id, after.as_deref()).await;
            }
            LastOperation::Copied { to } => {
                let copy = format!("The copy in `{to}` is a separate chat, and stays");
                let why = Explanation::new(copy);
                return refuse_undo(why.with_remedy("undo again for the change before it"));
            }
        };
        self.locked.lane.append(vec![event.into()], self.view.position).await?;
        self.undone_outcome(text).await.map(Some)
    }

    async fn undone_outcome(&self, text: String) -> Result<OperationOutcome, RunError> {
        let view = self.locked.chat.log().view().await?;
        let view = view.as_ref().unwrap_or(self.view);
        let active = active_snapshot(&self.locked.engine, view);
        let change = self.unchanged_context("undo", active.title().to_owned(), text);
        Ok(OperationOutcome::Done(change))
    }

    /// Makes the event that restores an earlier title.
    fn previous_title(&self, title: Option<String>) -> (ContextEvent, String) {
        let text = match &title {
            Some(title) => format!("This context is “{title}” again."),
            None => "The title is removed.".to_owned(),
        };
        let title = title.map_or(Json::Null, Json::from);
        (self.new_event(RENAMED, Object::from([("title", title)]), None), text)
    }

    /// Makes the event that removes a checkpoint or restores it; `None` if the log of its place is gone.
    async fn toggle_checkpoint(
        &self,
        change: CheckpointChange,
    ) -> Result<Option<(ContextEvent, String)>, RunError> {
        let name = change.name.as_str();
        let mut data = Object::from([("name", name), (OF, &change.of)]);
        let text = match change.is_removed {
            true => format!("The checkpoint “{name}” is back where it was."),
            false => {
                data.set("removed", true);
                format!("The checkpoint “{name}” is removed.")
            }
        };
        if let Some(Places { at, was }) = change.places {
            let Some(at) = self.with_sealed_log(at).await? else { return Ok(None) };
            data.set(AT, place_to_json(&at));
            if let Some(was) = was {
                let was = self.with_sealed_log(was).await?;
                data.set_or_remove(WAS, was.as_ref().map(place_to_json));
            }
        }
        Ok(Some((self.new_event(CHECKPOINT, data, change.message), text)))
    }

    /// Adds the sealed log to a place that was in the live log before the last compaction.
    async fn with_sealed_log(&self, place: Checkpoint) -> Result<Option<Checkpoint>, RunError> {
        if place.sealed.is_some() {
            return Ok(Some(place));
        }
        let sealed = sealed_by_last_compaction(&*self.locked.chat, self.view).await?;
        Ok(sealed.map(|log| Checkpoint { sealed: Some(log), ..place }))
    }

    /// Publishes this context without a reference.
    async fn remove_reference(&self, id: &str) -> Result<Option<OperationOutcome>, RunError> {
        let lines = &self.view.lines;
        let Some(at) = lines.iter().position(|line| line.id() == id) else {
            let why = Explanation::new("The reference is part of the summary by now");
            return refuse_undo(
                why.with_remedy("`/compact --undo` brings the originals back; then undo again"),
            );
        };
        let before = lines[..at].iter().rev().find(|line| line.message().is_some());
        let after = before.map(|line| line.id());
        let mut data = Object::from([(OF, id)]);
        data.set_or_remove("after", after.map(Json::from));
        let mut pieces = pieces_that_stay(lines, |line| line.id() != id);
        pieces.push(LogPiece::New(self.new_event(UNSHOWN, data, None).into()));
        self.publish_in_place(pieces).await?;
        self.undone_outcome("The reference is removed.".to_owned()).await.map(Some)
    }

    /// Publishes this context with a reference that an undo had removed, at its old place.
    async fn restore_reference(
        &self,
        id: &str,
        after: Option<&str>,
    ) -> Result<Option<OperationOutcome>, RunError> {
        let found = match MessageId::new(id) {
            Some(id) => self.locked.chat.log().find(&id, None).await?,
            None => None,
        };
        let Some((log, seq)) = found.and_then(|place| Some((place.log?, place.seq))) else {
            let why = Explanation::new("The reference is gone");
            return refuse_undo(why.with_remedy("recall it again"));
        };
        let lines = &self.view.lines;
        let behind = |after: &str| lines.iter().position(|line| line.id() == after);
        let at = after.map_or(0, |after| behind(after).map_or(lines.len(), |at| at + 1));
        // The reference was shown after the last switch. Before the line of that switch, another undo would not
        // find it.
        let at = at.max(lines.iter().rposition(|line| is_switch(line)).map_or(0, |at| at + 1));
        let is_kept = |line: &ContextLine| !matches!(&line.body, ContextBody::Event(event) if event.event == UNSHOWN);
        let mut pieces = pieces_that_stay(&lines[..at], is_kept);
        pieces.push(LogPiece::Sealed { log, first: seq, last: seq });
        pieces.extend(pieces_that_stay(&lines[at..], is_kept));
        // The same write must move the inbox cursor past the entry that asked for this.
        let mut data = ContextOperation::Undo.to_object();
        data.set("line", SHOWN_AGAIN);
        data.set("done", true);
        pieces.push(LogPiece::New(self.new_event(OPERATED, data, None).into()));
        self.publish_in_place(pieces).await?;
        self.undone_outcome(SHOWN_AGAIN.to_owned()).await.map(Some)
    }

    async fn publish_in_place(&self, pieces: Vec<LogPiece>) -> Result<(), RunError> {
        let expected = Some(self.view.head.generation);
        let head = head_after_events(self.view);
        let rotation = Rotation { expected, head, pieces };
        self.locked.lane.rotate(rotation).await?;
        Ok(())
    }
}

/// Returns the lines that stay as pieces of the next log.
fn pieces_that_stay(
    lines: &[Arc<ContextLine>],
    stays: impl Fn(&ContextLine) -> bool,
) -> Vec<LogPiece> {
    spans(lines, stays).into_iter().map(|(first, last)| LogPiece::Keep(first, last)).collect()
}
