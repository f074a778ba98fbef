//! Performs operations on contexts.

use ship_store::{Explain, RotateError, StorageError, View};

use super::target_origin::OperationPlan;
use crate::chat::{OPERATED, OpenRequest, has_content};
use crate::context_operation::{ContextOperation, OperationOutcome, OperationRefusal};
use crate::engine::LockedChat;
use crate::error::RunError;

/// An operation in progress, with the chat and its view.
pub(super) struct OperationInProgress<'a> {
    pub(super) locked: &'a LockedChat,
    pub(super) view: &'a View,
    pub(super) moving: &'a OpenRequest,
}

/// The outcome of an operation, and the view of the log that it has published.
pub(crate) struct OperationResult {
    pub(crate) outcome: OperationOutcome,
    /// The view after the operation; `None` if it must be read again.
    pub(crate) view: Option<View>,
}

impl From<OperationOutcome> for OperationResult {
    fn from(outcome: OperationOutcome) -> Self {
        Self { outcome, view: None }
    }
}

/// Performs an operation on the live log, which has this view. The caller holds the lane, and no run writes to the
/// log in the meantime.
pub(crate) async fn operate(
    locked: &LockedChat,
    view: &View,
    wanted: &ContextOperation,
    moving: &OpenRequest,
) -> Result<OperationResult, RunError> {
    let in_progress = OperationInProgress { locked, view, moving };
    if *wanted == ContextOperation::Undo
        && let Some(operated) = in_progress.undo_in_place().await?
    {
        return Ok(operated.into());
    }
    let outcome = match wanted {
        ContextOperation::Rename { title } => in_progress.rename(title).await?,
        // A context in which nothing was said is the new one already.
        ContextOperation::New { title: Some(title), .. } if !has_content(view, &moving.current) => {
            in_progress.name_clean_context(title).await?
        }
        ContextOperation::Checkpoint { name } => in_progress.checkpoint(name).await?,
        ContextOperation::Recall { which, mode } => {
            super::recall::recall(locked, view, which, *mode, moving).await?
        }
        ContextOperation::RecallMessage { id } => {
            super::recall_message::recall_message(locked, view, id, moving).await?
        }
        // A fork to this chat itself is a fork like any other.
        ContextOperation::Fork { at, to: Some(to) } if to != locked.chat.key() => {
            in_progress.fork_to(at.as_deref(), to).await?
        }
        wanted => {
            let (view, moving) = (view.clone(), moving.clone());
            match OperationPlan::find(locked, view, wanted.clone(), moving).await? {
                Ok(plan) => return plan.carry_out(locked).await,
                Err(not_done) => OperationOutcome::NotDone(not_done),
            }
        }
    };
    Ok(outcome.into())
}

/// Finds what an operation that leaves this context continues with; `None` if it would be refused. A run must know
/// this before it writes the message that it leaves behind.
pub(crate) async fn plan(
    locked: &LockedChat,
    view: View,
    operation: ContextOperation,
    moving: OpenRequest,
) -> Result<Option<OperationPlan>, RunError> {
    match OperationPlan::find(locked, view, operation, moving).await {
        Ok(plan) => Ok(plan.ok()),
        Err(error) => refusal_from_error(error).map(|_| None),
    }
}

/// Performs an operation from the ledger. Whether it succeeds or not, the inbox cursor moves past its entry.
pub(crate) async fn operate_from_ledger(
    locked: &LockedChat,
    view: &View,
    wanted: &ContextOperation,
    moving: &OpenRequest,
) -> Result<OperationResult, RunError> {
    let operated = operate(locked, view, wanted, moving).await;
    move_cursor(locked, wanted, moving, operated).await
}

/// Moves the inbox cursor past the entry of an operation, unless the operation has done so itself.
pub(crate) async fn move_cursor(
    locked: &LockedChat,
    wanted: &ContextOperation,
    moving: &OpenRequest,
    operated: Result<OperationResult, RunError>,
) -> Result<OperationResult, RunError> {
    let OperationResult { outcome, view } = match operated {
        Err(error) => OperationOutcome::NotDone(refusal_from_error(error)?).into(),
        Ok(operated) => operated,
    };
    let view = match view {
        Some(view) => Some(view),
        None => locked.chat.log().view().await?,
    };
    let Some(behind) = view.as_ref().filter(|view| view.inbox < moving.inbox) else {
        return Ok(OperationResult { outcome, view });
    };
    let mut data = wanted.to_object();
    data.set("line", outcome.line());
    data.set("done", matches!(outcome, OperationOutcome::Done(_)));
    let in_progress = OperationInProgress { locked, view: behind, moving };
    let event = in_progress.new_event(OPERATED, data, None);
    locked.lane.append(vec![event.into()], behind.position).await?;
    Ok(outcome.into())
}

/// Turns the error about a target that cannot be read, because it was purged or lost, into a refusal. As an error of
/// the chat it would come back with every run.
pub(super) fn refusal_from_error(error: RunError) -> Result<OperationRefusal, RunError> {
    match error {
        RunError::Read(_)
        | RunError::Rotate(
            RotateError::Source(_) | RotateError::Storage(StorageError::CannotSeal { .. }),
        ) => Ok(OperationRefusal::explained(error.explain(), "")),
        error => Err(error),
    }
}
