//! Performs operations on contexts.

use ship_store::{RotateError, StorageError, View};

use crate::chat::{OPERATED, OpenRequest};
use crate::context_operation::{ContextOperation, OperationOutcome, OperationRefusal};
use crate::engine::LockedChat;
use crate::error::RunError;

/// An operation in progress, with the chat and its view.
pub(super) struct OperationInProgress<'a> {
    pub(super) locked: &'a LockedChat,
    pub(super) view: &'a View,
    pub(super) moving: &'a OpenRequest,
}

/// Performs an operation. The caller holds the lane, and no run writes to the log meanwhile.
pub(crate) async fn operate(
    locked: &LockedChat,
    wanted: &ContextOperation,
    moving: &OpenRequest,
) -> Result<OperationOutcome, RunError> {
    let Some(view) = locked.chat.log().view().await? else {
        let line = "Nothing was said in this chat yet.";
        return Ok(OperationOutcome::NotDone(OperationRefusal::because(line)));
    };
    let turning = OperationInProgress { locked, view: &view, moving };
    if *wanted == ContextOperation::Undo
        && let Some(operated) = turning.undo_in_place().await?
    {
        return Ok(operated);
    }
    match wanted {
        ContextOperation::Rename { title } => turning.rename(title).await,
        ContextOperation::Checkpoint { name } => turning.checkpoint(name).await,
        ContextOperation::Recall { which, mode } => {
            super::recall::recall(locked, &view, which, *mode, moving).await
        }
        ContextOperation::Fork { at, to: Some(to) } if to != locked.chat.key() => {
            turning.fork_to(at.as_deref(), to).await
        }
        wanted => match turning.target(wanted).await? {
            Ok(target) => turning.publish(wanted, target).await,
            Err(not_done) => Ok(OperationOutcome::NotDone(not_done)),
        },
    }
}

/// Whether an operation that leaves this context would be refused. A run must know this before it writes the
/// message that it leaves behind.
pub(crate) async fn is_refused(
    locked: &LockedChat,
    wanted: &ContextOperation,
    moving: &OpenRequest,
) -> Result<bool, RunError> {
    let Some(view) = locked.chat.log().view().await? else { return Ok(true) };
    match (OperationInProgress { locked, view: &view, moving }).target(wanted).await {
        Ok(target) => Ok(target.is_err()),
        Err(error) => not_done(error).map(|_| true),
    }
}

/// Performs an operation from the ledger. Whether it succeeds or not, the inbox cursor moves past its entry.
pub(crate) async fn operate_asked(
    locked: &LockedChat,
    wanted: &ContextOperation,
    moving: &OpenRequest,
) -> Result<OperationOutcome, RunError> {
    let operated = match operate(locked, wanted, moving).await {
        Err(error) => OperationOutcome::NotDone(not_done(error)?),
        Ok(operated) => operated,
    };
    let view = locked.chat.log().view().await?;
    if let Some(view) = view.filter(|view| view.inbox < moving.inbox) {
        let mut data = wanted.to_object();
        data.set("line", operated.line());
        data.set("done", matches!(operated, OperationOutcome::Done(_)));
        let turning = OperationInProgress { locked, view: &view, moving };
        let event = turning.event(OPERATED, data, None);
        locked.lane.append(vec![event.into()], view.position).await?;
    }
    Ok(operated)
}

/// Turns the error about a target that cannot be read, because it was purged or lost, into a refusal. As an error of
/// the chat it would come back with every run.
pub(super) fn not_done(error: RunError) -> Result<OperationRefusal, RunError> {
    match error {
        RunError::Read(_) | RunError::Open(_) | RunError::Rotate(RotateError::Source(_)) => {
            Ok(OperationRefusal::because(error.to_string()))
        }
        RunError::Rotate(RotateError::Storage(StorageError::CannotSeal { .. })) => {
            Ok(OperationRefusal::because(error.to_string()))
        }
        error => Err(error),
    }
}
