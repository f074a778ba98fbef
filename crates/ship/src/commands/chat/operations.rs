//! Performs what a person asks for about contexts, and shows where the chat is then.

use ship_agent::{ContextChange, ContextOperation, OperationOutcome};
use ship_store::ContextId;

use super::keyboard::collect_keys_beside;
use super::recap::RecapOf;
use super::{ChatAction, ChatScreen};
use crate::commands::context;
use crate::commands::frozen_holder::command_failure;
use crate::commands::interrupt::unless_interrupted;
use crate::failure::Failure;
use crate::output;
use crate::progress_line::ProgressLine;
use crate::style::Style;
use crate::table;

impl ChatScreen<'_> {
    /// Performs an operation on the contexts. After it, a waiting message may be left to answer.
    pub(super) async fn operate(&self, operation: ContextOperation) -> Result<ChatAction, Failure> {
        self.operate_and_tell(operation, |_| None).await
    }

    /// Performs an operation on the contexts, and tells of its effect in these words, if there are any.
    pub(super) async fn operate_and_tell(
        &self,
        operation: ContextOperation,
        tell: impl Fn(&ContextChange) -> Option<String>,
    ) -> Result<ChatAction, Failure> {
        let (session, agent) = (self.session, &self.agent);
        let before = self.active_context().await;
        let operating = agent.operate(&session.chat, operation.clone(), "terminal");
        let progress = ProgressLine::begin("working");
        let operating = collect_keys_beside(self.input.keyboard(), progress, operating);
        let Some(operated) = unless_interrupted(operating).await else {
            self.note_interrupt();
            self.print_note("(left; what you asked for may be done all the same)")?;
            return Ok(ChatAction::Listen);
        };
        let is_done = matches!(operated, Ok(OperationOutcome::Done(_)));
        let printed = match operated {
            Err(error) => Err(command_failure(error)),
            Ok(OperationOutcome::NotDone(not_done)) if !self.input.is_interactive() => {
                Err(context::refusal_failure(session, not_done))
            }
            Ok(operated) if session.json => {
                context::print_outcome(session, agent, &operation, operated).await
            }
            Ok(mut operated) => {
                if let OperationOutcome::Done(change) = &mut operated
                    && let Some(line) = tell(change)
                {
                    (change.line, change.way_back) = (line, None);
                }
                context::print_outcome_in_chat(session, agent, &operation, operated).await
            }
        };
        if let Err(failure) = printed {
            self.print_failure(failure)?;
        } else if is_done && self.input.is_interactive() && !session.json && leads_back(&operation)
        {
            self.print_place(before.as_ref()).await?;
        }
        Ok(if is_done && !session.json { ChatAction::Resume } else { ChatAction::Listen })
    }

    /// Returns the active context; `None` if there is none, or it cannot be read.
    async fn active_context(&self) -> Option<ContextId> {
        let chat = self.session.store().ok()?.open(&self.session.chat).await.ok()??;
        Some(chat.log().view().await.ok()??.head.context)
    }

    /// Shows the end of the context that the person has gone to, if it is another one than before.
    async fn print_place(&self, before: Option<&ContextId>) -> Result<(), Failure> {
        if self.active_context().await.as_ref() == before {
            return Ok(());
        }
        let style = Style::of_stdout();
        // A context that cannot be read is reported when it is used.
        for line in self.recap(RecapOf::Context).await.unwrap_or_default() {
            output::print_line(&style.dim(&table::fit(&format!("  {line}"), table::columns())))?;
        }
        Ok(())
    }
}

/// Whether an operation leads to a place with earlier messages that the person may not remember.
fn leads_back(operation: &ContextOperation) -> bool {
    matches!(
        operation,
        ContextOperation::Load { .. }
            | ContextOperation::Rewind { .. }
            | ContextOperation::Fork { at: Some(_), to: None }
            | ContextOperation::Undo
    )
}
