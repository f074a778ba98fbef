//! Builds what readers get from the lines of a log.

use std::collections::HashMap;
use std::sync::Arc;

use ship_message::UiMessage;

use super::blob_texts::restore_texts;
use super::log_head::read_head;
use crate::line::{LineKind, RawLine};
use crate::{
    BlobError, ContextBody, ContextEvent, ContextLine, Delivery, Head, LedgerBody, LedgerEntry,
    LedgerLine, LedgerSeq, Position, Seq, StorageError, StorageProblem, StorageProblemKind, View,
};

/// Returns the lines of a log, each id once: its newest revision at its first place, with the number of that place. A
/// later revision counts even if an earlier one cannot be read.
pub fn newest_revisions(lines: impl Iterator<Item = RawLine>) -> Vec<RawLine> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut collapsed: Vec<RawLine> = Vec::new();
    for line in lines {
        let id = line.body.str("id").unwrap_or_default().to_owned();
        match places.get(&id).map(|&at| &mut collapsed[at]) {
            Some(known) if line.rev > known.rev => *known = RawLine { seq: known.seq, ..line },
            Some(_) => {}
            None => {
                places.insert(id, collapsed.len());
                collapsed.push(line);
            }
        }
    }
    collapsed
}

/// Builds the view of a whole log, whose first line is its head; `None` if it is not. `place` names the log in
/// problems, and `read` gives the bytes of a blob by its digest.
pub fn view_of_log(
    lines: Vec<RawLine>,
    place: &str,
    read: impl FnMut(&str) -> Result<Vec<u8>, BlobError>,
) -> Result<Option<View>, StorageError> {
    let Some(head) = lines.first().and_then(read_head) else { return Ok(None) };
    view_below(head, lines, 1, place, read).map(Some)
}

/// Builds the view of the lines of a log below a head. The first `skip` of them hold the head itself.
pub(crate) fn view_below(
    head: Head,
    lines: Vec<RawLine>,
    skip: usize,
    place: &str,
    mut read: impl FnMut(&str) -> Result<Vec<u8>, BlobError>,
) -> Result<View, StorageError> {
    let (seq, crc) = lines.last().map_or((0, 0), |last| (last.seq, last.crc));
    let promoted = lines.iter().filter_map(|line| line.inbox).max();
    let mut view = View {
        position: Position { generation: head.generation, seq: Seq::new(seq) },
        crc,
        inbox: head.inbox.max(promoted.map(LedgerSeq::new)),
        head,
        lines: Vec::new(),
        problems: Vec::new(),
    };
    for mut raw in newest_revisions(lines.into_iter().skip(skip)) {
        let lost = restore_texts(&mut raw, &mut read)?;
        view.problems.extend(lost.into_iter().map(|text| text.into_problem(place)));
        let seq = raw.seq;
        match context_line(raw) {
            Some(line) => view.lines.push(Arc::new(line)),
            None => view.problems.push(odd_event(place, seq)),
        }
    }
    Ok(view)
}

/// Describes an event that lacks a field.
pub(super) fn odd_event(place: &str, seq: u64) -> StorageProblem {
    StorageProblem::new(
        place,
        StorageProblemKind::Damage,
        format!("line {seq} is whole, but its event lacks a field"),
        "check what wrote it; the lines around it are read",
    )
}

/// Converts a line into the form of a view; `None` if it is an event that lacks a field.
pub(super) fn context_line(raw: RawLine) -> Option<ContextLine> {
    let body = match raw.kind {
        LineKind::Message => ContextBody::Message(UiMessage::from_object(raw.body)),
        LineKind::Event => ContextBody::Event(ContextEvent::from_body(&raw.body)?),
    };
    let (seq, inbox) = (Seq::new(raw.seq), raw.inbox.map(LedgerSeq::new));
    Some(ContextLine { seq, rev: raw.rev, inbox, body })
}

/// Reads a line of the ledger; `None` if it is neither an entry nor a delivery. `read` gives the bytes of a blob by its
/// digest; without its blob, a text stays a preview, and a verification reports it.
pub fn ledger_line(
    mut raw: RawLine,
    read: impl FnMut(&str) -> Result<Vec<u8>, BlobError>,
) -> Result<Option<LedgerLine>, StorageError> {
    restore_texts(&mut raw, read)?;
    Ok(entry_or_delivery(raw))
}

fn entry_or_delivery(mut raw: RawLine) -> Option<LedgerLine> {
    let body = match raw.kind {
        LineKind::Message => {
            let key = raw.body.remove("key")?.as_str()?.to_owned();
            LedgerBody::Entry(LedgerEntry { key, entry: raw.body })
        }
        LineKind::Event => LedgerBody::Delivery(Delivery::from_body(&raw.body)?),
    };
    Some(LedgerLine { seq: LedgerSeq::new(raw.seq), body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::line::UnnumberedLine;
    use crate::rules::log_head::head_line;
    use crate::rules::test_lines::{log, no_blobs, numbered, prepared, promoted, revised};
    use ship_message::json::Object;

    #[test]
    fn a_view_has_each_message_once_in_its_newest_revision() {
        let said = [prepared("m1", "a"), promoted("m2", 7), revised("m1", "b", 1)];
        let lines = log(&said);
        let crc = lines[3].crc;
        let view = view_of_log(lines, "here", no_blobs).expect("blobs").expect("a head");
        let told: Vec<_> =
            view.lines.iter().map(|line| (line.seq.get(), line.id(), line.rev)).collect();
        assert_eq!(told, [(2, "m1", 1), (3, "m2", 0)]);
        assert_eq!((view.position.seq, view.crc), (Seq::new(4), crc));
        assert_eq!((view.inbox, view.problems.len()), (Some(LedgerSeq::new(7)), 0));
    }

    #[test]
    fn an_event_that_lacks_a_field_is_a_problem_of_its_log() {
        let mut lines = log(&[prepared("m1", "a")]);
        let event = Object::from([("id", "e3"), ("event", "checkpoint")]);
        let event = UnnumberedLine::new(LineKind::Event, event);
        lines.push(numbered(&event, 3));
        let view = view_of_log(lines, "here", no_blobs).expect("blobs").expect("a head");
        assert_eq!((view.lines.len(), view.problems[0].place.as_str()), (1, "here"));
    }

    #[test]
    fn lines_without_a_head_are_no_log() {
        let lines = log(&[prepared("m1", "a")]);
        assert_eq!(view_of_log(lines[1..].to_vec(), "here", no_blobs).expect("blobs"), None);
        let without_context =
            numbered(&head_line(Object::new(), Seq::FIRST, Timestamp::from_millis(0)), 1);
        assert_eq!(view_of_log(vec![without_context], "here", no_blobs).expect("blobs"), None);
    }
}
