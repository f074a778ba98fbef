//! Reads lines of the ledger: which are messages, and the messages they become in a context.

use ship_message::json::Json;
use ship_store::{Chat, Head, LedgerBody, LedgerLine, LedgerSeq, NewLine, NewMessage, ReadError};

use super::ledger_pages::LaterPages;
use super::message_ids::{MessageIds, inbound_id_in};
use crate::inbound::promoted_message;

/// Reads all lines after `after` up to `last`, any number of them.
pub(crate) async fn lines_up_to(
    chat: &dyn Chat,
    after: Option<LedgerSeq>,
    last: Option<LedgerSeq>,
) -> Result<Vec<LedgerLine>, ReadError> {
    let (mut lines, mut pages) = (Vec::new(), LaterPages::new(chat, after));
    while pages.read_up_to() < last
        && let Some(page) = pages.next().await?
    {
        lines.extend(page.into_iter().filter(|line| Some(line.seq) <= last));
    }
    Ok(lines)
}

/// Returns the messages that ledger lines become in a context, in order, each with its ledger position. The
/// model gets the `note` with the first of them.
pub(crate) fn promoted_messages<'a>(
    names: &dyn MessageIds,
    head: &Head,
    note: Option<&str>,
    lines: impl Iterator<Item = &'a LedgerLine>,
) -> Vec<NewMessage> {
    let question = |(nth, line): (usize, &LedgerLine)| {
        let LedgerBody::Entry(entry) = &line.body else { return None };
        let id = inbound_id_in(names, head, line.seq, nth);
        let note = note.filter(|_| nth == 0);
        let Json::Object(message) = promoted_message(entry, id, note).into_json() else {
            return None;
        };
        Some(NewMessage { message, rev: 0, inbox: Some(line.seq) })
    };
    lines.filter(|line| is_message(line)).enumerate().filter_map(question).collect()
}

/// Returns the lines that put messages into a context.
pub(crate) fn message_lines(questions: Vec<NewMessage>) -> Vec<NewLine> {
    questions.into_iter().map(NewLine::from).collect()
}

/// Whether a line of the ledger is a message that wants an answer.
pub(crate) fn is_message(line: &LedgerLine) -> bool {
    ship_context::is_question(line)
}
