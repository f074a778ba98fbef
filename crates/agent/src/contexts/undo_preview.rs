//! Tells what an undo would take back, before it is asked for.

use ship_store::{ChatKey, View};

use super::target_origin::is_question;
use super::undo_in_place::names_compaction;
use crate::chat::{LastOperation, last_operation, messages_since_operation};
use crate::engine::{Agent, Engine};
use crate::error::RunError;

/// The operation that an undo would take back, and how much was said since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPreview {
    /// The name of the operation that has led to this context, if an undo would take that one back.
    pub switch: Option<String>,
    /// The number of messages of the person since the operation, or in all if there was none. None count directly
    /// after a compaction. A question that was asked again because it got no answer counts, because a person said it once.
    pub questions_since: usize,
}

impl UndoPreview {
    fn new(engine: &Engine, view: &View) -> Self {
        let is_switch = last_operation(view) == LastOperation::Switch;
        let by = view.head.carry.published_by().filter(|_| is_switch);
        let questions = messages_since_operation(view).filter(|message| is_question(message));
        // A retry drops what it leaves only if that has no answer.
        let is_first_answer =
            by.as_ref().is_some_and(|by| by.operation.as_deref() == Some("retry") && by.drops_left);
        let questions_since = match names_compaction(engine, view) {
            true => 0,
            false => questions.count() + usize::from(is_first_answer),
        };
        Self { switch: by.and_then(|by| by.operation), questions_since }
    }
}

impl Agent {
    /// Tells what [`ContextOperation::Undo`](crate::ContextOperation::Undo) would take back; `None` before
    /// the first message.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn preview_undo(&self, chat: &ChatKey) -> Result<Option<UndoPreview>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        let view = chat.log().view().await?;
        Ok(view.map(|view| UndoPreview::new(&self.engine, &view)))
    }
}
