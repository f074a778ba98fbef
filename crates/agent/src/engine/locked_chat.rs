//! A chat whose lane is held, with the engine that works on it.

use std::sync::Arc;

use ship_store::{Chat, ContextBody, ContextLine, Lane, LedgerLine, NewMessage, Seq, View};

use super::Engine;
use crate::chat::{entries, questions};
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
    pub(crate) async fn promote(
        &self,
        mut view: View,
        lines: &[LedgerLine],
    ) -> Result<View, RunError> {
        let questions = questions(&*self.engine.names, &view.head, lines.iter());
        if questions.is_empty() {
            return Ok(view);
        }
        let next = view.position.seq.get() + 1;
        let line = |(nth, question): (u64, &NewMessage)| {
            let NewMessage { message, rev, inbox } = question.clone();
            Arc::new(ContextLine {
                seq: Seq::new(next + nth),
                rev,
                inbox,
                body: ContextBody::Message(message),
            })
        };
        let promoted: Vec<Arc<ContextLine>> = (0..).zip(&questions).map(line).collect();
        // The view is updated from the appended lines, because reading it again would cost as much
        // as the whole window.
        view.position = self.lane.append(entries(questions), view.position).await?;
        if !self.engine.names.keeps_messages_whole() {
            return self.read_view().await;
        }
        view.inbox = view.inbox.max(promoted.last().and_then(|line| line.inbox));
        view.lines.extend(promoted);
        Ok(view)
    }
}
