//! Tells which answers of the log the ledger has.
//!
//! The message of a run goes into the log first and its answer into the ledger after that, so after a crash the log may
//! have an answer that the ledger lacks. The journal names its run, unless a power cut has taken the journal, too.

use ship_context::{RunStart, lost_run};
use ship_message::UiMessage;
use ship_store::{Chat, ChatState, LedgerBody, LedgerLine, ReadError, View};

use super::finish::answer_entries;
use crate::inbox::answer_key;

/// Whether the ledger has the answer of a run, searched by its key behind the entries that the run had read when it
/// began. Without a run there is no answer to deliver.
pub(super) async fn is_recorded(
    chat: &dyn Chat,
    view: Option<&View>,
    run: Option<&RunStart>,
) -> Result<bool, ReadError> {
    let Some(start) = run else { return Ok(true) };
    let key = last_answer_key(view, start);
    Ok(chat.ledger().entry_of(&key, start.inbox).await?.is_some())
}

/// Whether ledger lines have the answer of a run.
pub(super) fn has_answer_of(lines: &[LedgerLine], view: Option<&View>, start: &RunStart) -> bool {
    let key = last_answer_key(view, start);
    lines.iter().any(|line| matches!(&line.body, LedgerBody::Entry(entry) if entry.key == key))
}

/// Returns the run whose answer ends the context, if a power cut has taken its journal, so that neither the journal nor
/// the ledger knows it.
pub(super) async fn unrecorded_run(
    chat: &dyn Chat,
    state: &ChatState,
) -> Result<Option<RunStart>, ReadError> {
    let Some(view) = &state.view else { return Ok(None) };
    let journaled = state.journal.first().and_then(|start| start.str("runId"));
    let Some(start) = lost_run(view, journaled, chat.key()) else { return Ok(None) };
    let is_known = has_answer_of(&state.new_lines, Some(view), &start)
        || is_recorded(chat, Some(view), Some(&start)).await?;
    Ok((!is_known).then_some(start))
}

/// Returns the key of the last ledger entry about the answer of a run.
fn last_answer_key(view: Option<&View>, start: &RunStart) -> String {
    let is_it = |message: &&UiMessage| message.id() == Some(start.message_id.as_str());
    let message = view.and_then(|view| view.messages().find(is_it));
    let entries = message.map(|it| answer_entries(&start.run_id, it, &start.earlier));
    let last = entries.unwrap_or_default().pop();
    last.map_or_else(|| answer_key(&start.run_id), |entry| entry.key)
}
