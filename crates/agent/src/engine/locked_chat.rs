//! A chat whose lane is held, with the engine that works on it.

use std::sync::Arc;

use ship_context::note_about_last_answer;
use ship_message::UiMessage;
use ship_store::{Chat, Lane, LedgerLine, NewMessage, NewMetadata, View};

use super::Engine;
use crate::chat::{message_lines, promoted_messages};
use crate::error::RunError;

/// A chat whose lane we hold, so that no other process writes it.
#[derive(Clone)]
pub(crate) struct LockedChat {
    pub(crate) engine: Arc<Engine>,
    pub(crate) chat: Arc<dyn Chat>,
    pub(crate) lane: Arc<dyn Lane>,
}

impl LockedChat {
    /// Reads the context, which must exist.
    pub(crate) async fn read_view(&self) -> Result<View, RunError> {
        let view = self.chat.log().view().await?;
        view.ok_or_else(|| RunError::Vanished { chat: self.chat.key().clone() })
    }

    /// Puts new ledger entries into the context, in their order and exactly once.
    pub(crate) async fn promote(&self, view: View, lines: &[LedgerLine]) -> Result<View, RunError> {
        let note = note_about_last_answer(view.messages());
        let ids = &*self.engine.message_ids;
        let mut questions = promoted_messages(ids, &view.head, note, lines.iter());
        if questions.is_empty() {
            return Ok(view);
        }
        if self.engine.rules.recall_hint {
            self.add_recall_hint(&view, &mut questions).await;
        }
        self.lane.append(message_lines(questions), view.position).await?;
        // The log decides how a message reads once it is in: a conversation keeps little of its metadata.
        self.read_view().await
    }

    /// Adds the hint at earlier messages to the newest of these. Nothing is fetched.
    async fn add_recall_hint(&self, view: &View, questions: &mut [NewMessage]) {
        let all: Vec<UiMessage> =
            questions.iter().map(|new| UiMessage::from_object(new.message.clone())).collect();
        let hint = self.engine.recall_hint(&*self.chat, view, &all).await;
        if let Some(newest) = questions.last_mut().filter(|_| hint.is_some()) {
            let mut message = UiMessage::from_object(std::mem::take(&mut newest.message));
            NewMetadata::edit(&mut message, |metadata| metadata.set_recall_hint(hint.as_deref()));
            newest.message = message.into_object();
        }
    }
}
