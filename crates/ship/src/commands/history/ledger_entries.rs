//! Prints the last entries of the ledger of a chat.

use ship_message::json::Json;
use ship_store::{Chat, LedgerBody, LedgerEntry, LedgerLine, LedgerSeq};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// Prints the last entries, oldest first.
pub(super) async fn print_ledger(
    session: &Session,
    chat: &dyn Chat,
    last: usize,
) -> Result<(), Failure> {
    visit_last_entries(chat, last, |seq, entry| print_entry(session, seq, entry)).await
}

/// Calls `visit` with the last entries of the ledger, in order.
async fn visit_last_entries(
    chat: &dyn Chat,
    last: usize,
    mut visit: impl FnMut(LedgerSeq, LedgerEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(newest) = chat.ledger().before(None, 1).await?.first().map(|line| line.seq) else {
        return Ok(());
    };
    let (after, mut to_skip) = find_last_entries(chat, newest.get(), last).await?;
    visit_entries(chat, after, u64::MAX, |seq, entry| match to_skip {
        0 => visit(seq, entry),
        _ => {
            to_skip -= 1;
            Ok(())
        }
    })
    .await
}

/// Returns a number after which the last entries are, and how many others are before them. Heads, voids and deliveries
/// have numbers too, so the numbers alone do not tell.
async fn find_last_entries(
    chat: &dyn Chat,
    newest: u64,
    last: usize,
) -> Result<(u64, usize), Failure> {
    let mut width = last as u64;
    if newest <= width {
        return Ok((0, 0));
    }
    let (mut after, mut found) = (newest, 0);
    while found < last && after > 0 {
        let end = after;
        after = end.saturating_sub(width);
        visit_entries(chat, after, end, |_, _| {
            found += 1;
            Ok(())
        })
        .await?;
        // Doubled, because numbers can be far apart.
        width = width.saturating_mul(2);
    }
    Ok((after, found.saturating_sub(last)))
}

/// Calls `visit` with each entry of the ledger after one number and up to another.
async fn visit_entries(
    chat: &dyn Chat,
    mut after: u64,
    end: u64,
    mut visit: impl FnMut(LedgerSeq, LedgerEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// The number of lines that are in memory at once.
    const PAGE: usize = 500;
    loop {
        let page = chat.ledger().after(Some(LedgerSeq::new(after)), PAGE).await?;
        let is_end = page.len() < PAGE;
        for LedgerLine { seq, body } in page {
            if seq.get() > end {
                return Ok(());
            }
            after = seq.get();
            if let LedgerBody::Entry(entry) = body {
                visit(seq, entry)?;
            }
        }
        if is_end {
            return Ok(());
        }
    }
}

fn print_entry(session: &Session, seq: LedgerSeq, entry: LedgerEntry) -> Result<(), Failure> {
    if session.json {
        let mut object = entry.entry;
        object.set("seq", seq.get());
        return output::print_json(&Json::Object(object));
    }
    let role = table::pad(entry.entry.str("role").unwrap_or("?"), 9);
    let text = output::escape_unprintable(entry.entry.str("text").unwrap_or_default());
    let files = entry.entry.get("attachments").and_then(Json::as_array).map_or(0, <[Json]>::len);
    let text = match files {
        0 => text,
        1 => format!("{text}\n[1 file]"),
        _ => format!("{text}\n[{files} files]"),
    };
    // Further lines are indented, so that a text cannot pose as an entry.
    let text = text.replace('\n', &format!("\n{:17}", ""));
    output::print_line(&format!("{:>5}  {} {text}", seq.get(), Style::of_stdout().bold(&role)))
}

#[cfg(test)]
mod tests {
    use ship_message::json::Object;
    use ship_store::{Delivery, DeliveryState, FileStore, Timestamp};
    use ship_testkit::chat::{Begun, entry, options};

    use super::*;

    #[tokio::test]
    async fn as_many_entries_of_the_ledger_as_asked_for_are_printed_whatever_is_between_them() {
        let begun = Begun::new(&FileStore::in_memory(options()), "terminal:main").await;
        for nth in 0..30 {
            let accepted = begun.chat.ledger().accept(entry(&format!("k{nth}"), "x")).await;
            // One entry has a long row of deliveries behind it.
            let rows = if nth == 20 { 60 } else { nth % 3 };
            let planned = (0..rows).map(|id| Delivery {
                entry: accepted.as_ref().unwrap().seq,
                id: id.to_string(),
                ts: Timestamp::from_millis(0),
                state: DeliveryState::Planned,
                data: Object::new(),
            });
            let planned: Vec<Delivery> = planned.collect();
            if !planned.is_empty() {
                begun.lane.deliver(planned).await.unwrap();
            }
        }
        for last in 0..40 {
            let mut keys = Vec::new();
            let visit = |_, entry: LedgerEntry| {
                keys.push(entry.key);
                Ok(())
            };
            visit_last_entries(&*begun.chat, last, visit).await.unwrap();
            let expected: Vec<String> =
                (30usize.saturating_sub(last)..30).map(|nth| format!("k{nth}")).collect();
            assert_eq!(keys, expected, "the last {last}");
        }
    }
}
