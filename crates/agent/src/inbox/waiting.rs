//! Reads the messages that wait in the ledger, and makes what a history shows of them.

use ship_context::is_from_person;
use ship_message::UiMessage;
use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, ReadError, View};

use crate::chat::{EarlierPages, inbound_message_id};
use crate::inbound;

/// Returns the newest `limit` messages behind the inbox cursor, in order; with `before`, only those with lower numbers.
/// Only the end of the ledger is read.
pub(crate) async fn newest_waiting(
    chat: &dyn Chat,
    inbox: Option<LedgerSeq>,
    before: Option<LedgerSeq>,
    limit: usize,
) -> Result<Vec<LedgerLine>, ReadError> {
    let (mut newest, mut pages) = (Vec::new(), EarlierPages::new(chat, before).with_at_most(limit));
    while newest.len() < limit
        && let Some(page) = pages.next().await?
    {
        let is_last = page.first().is_some_and(|line| Some(line.seq) <= inbox);
        let waits = |line: &LedgerLine| Some(line.seq) > inbox && is_from_person(line);
        newest.extend(page.into_iter().rev().filter(waits));
        if is_last {
            break;
        }
    }
    newest.truncate(limit);
    newest.reverse();
    Ok(newest)
}

/// Returns the message that a waiting line becomes, marked as queued. `view` is the context that it will join.
pub(crate) fn queued_message(view: Option<&View>, line: &LedgerLine) -> Option<UiMessage> {
    let LedgerBody::Entry(entry) = &line.body else { return None };
    let first = || format!("u_{}", line.seq);
    let id = view.map_or_else(first, |view| inbound_message_id(view, line.seq));
    Some(inbound::queued_message(entry.clone(), id))
}
