//! Taking back what was done in a context without leaving it: a title, a checkpoint, something that was shown.

use std::sync::Arc;

use ship_context::contexts::is_reference_line;
use ship_message::json::{Json, Object};
use ship_store::{Body, Line, NewEvent, Piece, Rotation, Seq, View};

use super::operation::{NotDone, Operated};
use super::shelf::Shelf;
use super::target::spans;
use super::title::{CHECKPOINT, OF, RENAMED, folded};
use super::turn::{OPERATED, SWITCHED, Turning};
use crate::run::RunError;

/// The last thing that was done in a context without leaving it, if nothing else was done since.
pub(super) fn last_in_place(view: &View) -> Option<&Arc<Line>> {
    for line in view.lines.iter().rev() {
        match &line.body {
            Body::Event(event) => match event.event.as_str() {
                SWITCHED => return None,
                RENAMED | CHECKPOINT => return Some(line),
                OPERATED if is_copy(event) => return Some(line),
                _ => {}
            },
            Body::Message(message) => {
                let run = message.get("metadata").and_then(|metadata| metadata.get("runId"));
                if is_reference_line(message) && run.is_none() {
                    return Some(line);
                }
            }
        }
    }
    None
}

/// Whether an event tells of a copy that another chat has got.
fn is_copy(event: &NewEvent) -> bool {
    let field = |key: &str| event.data.get(key);
    field("op").and_then(Json::as_str) == Some("fork")
        && field("to").is_some()
        && field("done").and_then(Json::as_bool) == Some(true)
}

impl Turning<'_> {
    /// Takes it back; none when the last thing that was done was a switch. Taken back twice it is there again,
    /// but for what was shown, which can be shown again.
    pub(super) async fn undo_in_place(&self) -> Result<Option<Operated>, RunError> {
        let Some(line) = last_in_place(self.view) else { return Ok(None) };
        let (event, told) = match &line.body {
            Body::Message(_) => return self.unshow(line.seq).await.map(Some),
            Body::Event(event) if event.event == RENAMED => self.renamed_before(line.seq),
            Body::Event(event) if event.event == CHECKPOINT => self.checkpoint_back(event),
            Body::Event(event) => {
                let to = event.data.get("to").and_then(Json::as_str).unwrap_or_default();
                let sentence = format!(
                    "The copy in `{to}` is a chat of its own, and stays. Nothing has changed."
                );
                return Ok(Some(Operated::NotDone(NotDone::because(sentence))));
            }
        };
        self.ground.lane.append(vec![event.into()], self.view.position).await?;
        self.taken_back(told).await.map(Some)
    }

    async fn taken_back(&self, told: String) -> Result<Operated, RunError> {
        let view = self.ground.chat.view().await?;
        let view = view.as_ref().unwrap_or(self.view);
        let shelf = Shelf::open(self.ground.agent, self.ground.chat, view).await?;
        Ok(self.stays("undo", shelf.active(view).title().to_owned(), told))
    }

    /// The title that the context had before a line.
    fn renamed_before(&self, seq: Seq) -> (NewEvent, String) {
        let mut before = self.view.clone();
        before.lines.retain(|line| line.seq < seq);
        let title = folded(&before).title;
        let told = match &title {
            Some(title) => format!("This context is “{title}” again."),
            None => "The title is taken back.".to_owned(),
        };
        let title = title.map_or(Json::Null, Json::from);
        (self.event(RENAMED, Object::from([("title", title)]), None), told)
    }

    /// Takes a checkpoint back, or puts it back where it was.
    fn checkpoint_back(&self, event: &NewEvent) -> (NewEvent, String) {
        let name = event.data.get("name").and_then(Json::as_str).unwrap_or_default();
        let of = event.data.get(OF).and_then(Json::as_str).unwrap_or(&event.id);
        let mut data = Object::from([("name", name), (OF, of)]);
        let told = match event.data.get("removed").is_some() {
            true => format!("The checkpoint “{name}” is back where it was."),
            false => {
                data.set("removed", true);
                format!("The checkpoint “{name}” is taken back.")
            }
        };
        (self.event(CHECKPOINT, data, event.ref_msg_id.clone()), told)
    }

    /// Publishes this context without something that was shown.
    async fn unshow(&self, gone: Seq) -> Result<Operated, RunError> {
        let pieces = spans(&self.view.lines, |line| line.seq != gone);
        let pieces = pieces.into_iter().map(|(first, last)| Piece::Keep(first, last)).collect();
        let expected = Some(self.view.head.generation);
        let head = folded(self.view);
        let rotation = Rotation { expected, head, pieces };
        self.ground.lane.rotate(rotation).await?;
        self.taken_back("What was shown for reference is taken back.".to_owned()).await
    }
}
