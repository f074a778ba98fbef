//! Encodes and decodes the head of a context log, with the record of its publication.
//!
//! The record has the lines that the log began with, and the logs that they were copied from. A log gets its name when
//! it is whole, so no crash leaves one that ends before its last published line. Such a log was cut, and its copied
//! lines are still in the logs that they came from.

use ship_message::json::{Array, Json, Object};

use crate::line::{HEAD, LineKind, RawLine, UnnumberedLine};
use crate::{ChatKey, Head, SealedName, Seq, Timestamp};

/// The field of a head for the record.
const PUBLISHED: &str = "published";

/// Lines that were copied from a sealed log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedRange {
    /// The log; `None` for the one that the new log has replaced.
    pub log: Option<SealedName>,
    /// The first line.
    pub first: Seq,
    /// The last line.
    pub last: Seq,
}

/// A log that is about to be published.
#[derive(Debug, Clone)]
pub struct NewLog {
    /// The head of the log.
    pub head: Head,
    /// The number of its head.
    pub first: Seq,
    /// The lines after the head, in order.
    pub lines: Vec<UnnumberedLine>,
    /// The places of the lines that were copied.
    pub copies: Vec<CopiedRange>,
}

impl NewLog {
    /// Returns the number of the last line.
    pub fn last(&self) -> Seq {
        Seq::new(self.first.get() + self.lines.len() as u64)
    }

    /// Returns all lines of the log; the first is its head.
    pub fn into_lines(self, chat: &ChatKey, now: Timestamp) -> Vec<UnnumberedLine> {
        let copies: Array = self.copies.iter().map(CopiedRange::to_json).collect();
        let last = self.last().get();
        let mut data = self.head.to_data(chat);
        data.set(PUBLISHED, Object::from([("last", Json::from(last)), ("copies", copies.into())]));
        let mut lines = vec![head_line(data, self.first, now)];
        lines.extend(self.lines);
        lines
    }
}

/// Makes the first line of a log from the data of its head.
pub(crate) fn head_line(data: Object, seq: Seq, now: Timestamp) -> UnnumberedLine {
    let mut body = Object::new();
    body.set("id", format!("e{seq}"));
    body.set("ts", now.to_string());
    body.set("event", HEAD);
    body.set("data", data);
    UnnumberedLine::new(LineKind::Event, body)
}

/// Reads the head in the first line of a log; `None` if the line is no head, or lacks a context id or a generation.
pub fn read_head(first: &RawLine) -> Option<Head> {
    let head = Some(first).filter(|line| line.event() == Some(HEAD))?;
    Head::from_data(head.body.get("data")?.as_object()?)
}

/// Returns the last line that a log was published with. Older programs did not note it.
pub(crate) fn published_end(head: &RawLine) -> Option<u64> {
    record(head)?.get("last")?.as_u64()
}

/// Returns the ranges of lines that a log was published with.
pub(crate) fn copied_ranges(head: &RawLine) -> Vec<CopiedRange> {
    let copies = record(head).and_then(|record| record.get("copies")?.as_array());
    copies.unwrap_or_default().iter().filter_map(CopiedRange::from_json).collect()
}

fn record(head: &RawLine) -> Option<&Json> {
    head.body.get("data")?.get(PUBLISHED)
}

impl CopiedRange {
    /// Adds a range to others. One that continues the last of them extends it.
    pub(super) fn add_to(self, ranges: &mut Vec<Self>) {
        match ranges.last_mut() {
            Some(last) if last.log == self.log && last.last.get() + 1 == self.first.get() => {
                last.last = self.last;
            }
            _ => ranges.push(self),
        }
    }

    fn to_json(&self) -> Json {
        let mut range = Object::new();
        range.set_or_remove("log", self.log.as_ref().map(|name| name.as_str().into()));
        range.set("first", self.first.get());
        range.set("last", self.last.get());
        range.into()
    }

    fn from_json(json: &Json) -> Option<Self> {
        let number = |key: &str| json.get(key)?.as_u64().map(Seq::new);
        let log = match json.get("log") {
            Some(name) => Some(SealedName::parse(name.as_str()?)?),
            None => None,
        };
        Some(Self { log, first: number("first")?, last: number("last")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextId;
    use crate::rules::test_lines::{chat, numbered, prepared};

    #[test]
    fn a_head_reads_back_with_the_record_of_its_log() {
        let now = Timestamp::from_millis(1_770_286_500_000);
        let range =
            |log, first, last| CopiedRange { log, first: Seq::new(first), last: Seq::new(last) };
        let sealed = SealedName::new(now, Seq::FIRST, Seq::new(4));
        let copies = vec![range(None, 5, 6), range(Some(sealed), 2, 3)];
        let log = NewLog {
            head: Head::new(ContextId::new(now, 1)),
            first: Seq::new(7),
            lines: vec![prepared("m1", "hi").line],
            copies: copies.clone(),
        };
        let head = log.head.clone();
        let lines = log.into_lines(&chat(), now);
        let first = numbered(&lines[0], 7);
        assert_eq!((lines.len(), read_head(&first)), (2, Some(head)));
        assert_eq!((published_end(&first), copied_ranges(&first)), (Some(8), copies));
        assert_eq!(read_head(&numbered(&lines[1], 8)), None);
    }

    #[test]
    fn ranges_that_continue_one_another_are_one() {
        let mut ranges = Vec::new();
        for (first, last) in [(2, 3), (4, 4), (6, 7)] {
            CopiedRange { log: None, first: Seq::new(first), last: Seq::new(last) }
                .add_to(&mut ranges);
        }
        let ends = ranges.iter().map(|range| (range.first.get(), range.last.get()));
        assert_eq!(ends.collect::<Vec<_>>(), [(2, 4), (6, 7)]);
    }
}
