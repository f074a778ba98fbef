//! Recalls a message: it is shown in the active context for reference, with what was said around it.
//!
//! So a hit of a search comes into the present turn without leaving the context. A message that the model sees anyway is
//! not shown again.

use ship_context::contexts::{
    MessageInPast, Reference, ReferenceBudget, is_reference_around, message_reference,
    reference_content,
};
use ship_message::UiMessage;
use ship_store::{ChatKey, Explanation, View};

use super::list::active_snapshot;
use super::operate::OperationInProgress;
use super::recall::{NO_ROOM, SHARE, append_reference};
use crate::blocking_work::in_place;
use crate::chat::OpenRequest;
use crate::context_operation::{NOTHING_CHANGED, OperationOutcome, OperationRefusal};
use crate::engine::{Agent, LockedChat};
use crate::error::RunError;
use crate::search::NeighbourMessage;

/// The messages that are shown before and behind one, if there is room for them.
const NEIGHBOURS: usize = 4;

/// Puts a reference to a message and its neighbours into the active context.
pub(super) async fn recall_message(
    locked: &LockedChat,
    view: &View,
    id: &str,
    moving: &OpenRequest,
) -> Result<OperationOutcome, RunError> {
    let id = id.trim().trim_start_matches('#');
    if let Some(why) = reason_against(view, id) {
        return Ok(OperationOutcome::NotDone(OperationRefusal::new(why)));
    }
    let search = &locked.engine.search;
    let around = search.around_in(&*locked.chat, id, NEIGHBOURS, NEIGHBOURS).await?;
    let Some(past) = around.and_then(|around| OutsideView::of(around, view)) else {
        let why = Explanation::new(format!("There is no message `{id}` in this chat"));
        let why = why.with_remedy("`/search WORDS` finds messages and tells their ids");
        return Ok(OperationOutcome::NotDone(OperationRefusal::explained(why, NOTHING_CHANGED)));
    };
    let count = |text: &str| locked.engine.token_meter.count(text);
    let tokens = locked.engine.budget_tokens() / SHARE;
    // A message may have megabytes.
    let made = in_place(|| past.reference(ReferenceBudget { tokens, count: &count }));
    let Some(reference) = made else { return Ok(OperationOutcome::refused(NO_ROOM)) };
    append_reference(locked, view, reference, moving).await?;
    let active = active_snapshot(&locked.engine, view);
    let line = format!("`{id}` is shown here with what was said around it, for reference.");
    let in_progress = OperationInProgress { locked, view, moving };
    let change = in_progress.unchanged_context("recall", active.title().to_owned(), line);
    Ok(OperationOutcome::Done(change))
}

/// Returns the reason why the model needs no reference to a message: it sees the message.
fn reason_against(view: &View, id: &str) -> Option<String> {
    if view.messages().any(|message| is_reference_around(message, id)) {
        return Some(format!("`{id}` is already shown in this context."));
    }
    let is_here = view.messages().any(|message| message.id() == Some(id));
    is_here.then(|| format!("The model sees `{id}` already: it stands in this context."))
}

/// A message and those of its neighbours that the model does not see.
struct OutsideView {
    messages: Vec<NeighbourMessage>,
    found: usize,
}

impl OutsideView {
    /// Leaves out what is in view; `None` if the message itself is gone.
    fn of(mut messages: Vec<NeighbourMessage>, view: &View) -> Option<Self> {
        let is_in_view = |id: Option<&str>| view.messages().any(|message| message.id() == id);
        messages.retain(|it| it.is_asked_for || !is_in_view(it.message.id()));
        let found = messages.iter().position(|it| it.is_asked_for)?;
        Some(Self { messages, found })
    }

    /// Makes the reference; `None` if there is no room for it.
    fn reference(&self, room: ReferenceBudget<'_>) -> Option<Reference> {
        let messages: Vec<&UiMessage> = self.messages.iter().map(|it| &it.message).collect();
        let context = self.messages.get(self.found).and_then(|it| it.context.as_ref());
        message_reference(MessageInPast { messages: &messages, found: self.found, context }, room)
            .ok()
    }
}

impl Agent {
    /// Returns what the model is shown of an earlier message and its neighbours; `None` if the active context has no
    /// reference to the message.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn recalled_message(
        &self,
        chat: &ChatKey,
        id: &str,
    ) -> Result<Option<String>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        let Some(view) = chat.log().view().await? else { return Ok(None) };
        let id = id.trim().trim_start_matches('#');
        let reference = view.messages().rfind(|message| is_reference_around(message, id));
        let text = reference.map(UiMessage::text);
        Ok(text.as_deref().and_then(reference_content).map(str::to_owned))
    }
}
