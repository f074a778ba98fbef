//! Operations that stay in the context: renaming it, and naming a place in it.

use ship_context::contexts::clean_title;
use ship_message::UiMessage;
use ship_message::json::Object;
use ship_store::MessageId;

use super::list::active_snapshot;
use super::operate::OperationInProgress;
use crate::chat::{CHECKPOINT, RENAMED, head_after_events};
use crate::context_operation::{
    ContextChange, ContextName, Destination, OperationOutcome, WayBack,
};
use crate::error::RunError;

impl OperationInProgress<'_> {
    pub(super) async fn rename(&self, title: &str) -> Result<OperationOutcome, RunError> {
        self.give_title("rename", title, "This context is now").await
    }

    /// Gives a title to a context in which nothing was said, for a person that asked for a new one.
    pub(super) async fn name_clean_context(
        &self,
        title: &str,
    ) -> Result<OperationOutcome, RunError> {
        self.give_title("new", title, "Now in").await
    }

    async fn give_title(
        &self,
        operation: &str,
        title: &str,
        introduction: &str,
    ) -> Result<OperationOutcome, RunError> {
        let Some(title) = clean_title(title) else {
            return Ok(OperationOutcome::refused("A title needs at least one letter."));
        };
        let event = self.new_event(RENAMED, Object::from([("title", title.as_str())]), None);
        self.locked.lane.append(vec![event.into()], self.view.position).await?;
        let line = format!("{introduction} “{title}”.");
        Ok(OperationOutcome::Done(self.unchanged_context(operation, title, line)))
    }

    /// Names the present end of the context, behind its last message.
    pub(super) async fn checkpoint(&self, name: &str) -> Result<OperationOutcome, RunError> {
        let name = name.trim();
        let last = self.view.messages().next_back();
        let last = last.and_then(UiMessage::id).and_then(MessageId::new);
        if name.is_empty() || name.chars().any(char::is_control) {
            return Ok(OperationOutcome::refused("A checkpoint needs a name, on one line."));
        }
        // A command line would take such a name for a flag.
        if name.starts_with('-') {
            return Ok(OperationOutcome::refused(
                "A checkpoint's name does not begin with a dash.",
            ));
        }
        let known = head_after_events(self.view).checkpoints;
        let known = known.into_iter().find(|known| known.name == name);
        let is_moved = known.is_some_and(|known| known.message != last);
        let event = self.new_event(CHECKPOINT, Object::from([("name", name)]), last);
        self.locked.lane.append(vec![event.into()], self.view.position).await?;
        let was = if is_moved { " It was somewhere else before." } else { "" };
        let way_back = WayBack {
            introduction: format!("Checkpoint “{name}” is here.{was} To come back: "),
            destination: Destination::Checkpoint(name.to_owned()),
        };
        let title = active_snapshot(&self.locked.engine, self.view).title().to_owned();
        let change = self.unchanged_context("checkpoint", title, way_back.line_in_chat());
        Ok(OperationOutcome::Done(ContextChange { way_back: Some(way_back), ..change }))
    }

    pub(super) fn unchanged_context(
        &self,
        operation: &str,
        title: String,
        line: String,
    ) -> ContextChange {
        ContextChange {
            operation: operation.to_owned(),
            left: None,
            active: ContextName { context: self.view.head.context.clone(), title },
            chat: None,
            line,
            way_back: None,
        }
    }
}
