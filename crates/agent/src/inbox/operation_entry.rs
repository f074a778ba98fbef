//! An operation on contexts in the ledger: the entry that asks for it, and the one with its outcome.

use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, ReadError};

use crate::context_operation::{ContextOperation, OperationOutcome};

/// The role of a ledger entry that asks for an operation.
pub(crate) const COMMAND: &str = "command";

/// Returns the operation that a ledger line asks for.
pub(crate) fn operation_of(line: &LedgerLine) -> Option<ContextOperation> {
    let LedgerBody::Entry(entry) = &line.body else { return None };
    if entry.entry.str("role") != Some(COMMAND) {
        return None;
    }
    let operation = entry.entry.get("meta")?.get("operation")?.as_object()?;
    ContextOperation::from_object(operation)
}

/// Returns the key of the ledger entry with the outcome of an operation.
pub(crate) fn outcome_key(key: &str) -> String {
    format!("done:{key}")
}

/// Whether the ledger has the outcome of the operation that a line asks for.
pub(crate) async fn has_outcome(chat: &dyn Chat, line: &LedgerLine) -> Result<bool, ReadError> {
    let LedgerBody::Entry(entry) = &line.body else { return Ok(false) };
    Ok(chat.ledger().entry_of(&outcome_key(&entry.key), Some(line.seq)).await?.is_some())
}

/// Returns the outcome in the ledger of an operation that was asked for at `request_seq`.
pub(crate) async fn outcome_of(
    chat: &dyn Chat,
    request_seq: LedgerSeq,
    key: &str,
) -> Result<Option<OperationOutcome>, ReadError> {
    let Some(outcome_seq) = chat.ledger().entry_of(&outcome_key(key), Some(request_seq)).await?
    else {
        return Ok(None);
    };
    let before = LedgerSeq::new(outcome_seq.get().saturating_sub(1));
    let lines = chat.ledger().after(Some(before), 1).await?;
    Ok(lines.iter().find_map(|line| match &line.body {
        LedgerBody::Entry(entry) => {
            OperationOutcome::from_object(entry.entry.get("meta")?.get("operated")?.as_object()?)
        }
        LedgerBody::Delivery(_) => None,
    }))
}
