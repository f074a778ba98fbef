//! Reads a stretch of a log by the outlines of its lines, as long as nothing in it is unusual.

use super::log::Span;
use crate::line::{LineKind, LineOutline, RawLine, decode, outline};

/// A line of which no more was read than its kind needs.
pub(crate) enum OutlinedLine<'a> {
    Message(LineOutline<'a>),
    Event(RawLine),
}

/// Whole batches of lines at the start of a stretch of bytes.
pub(crate) struct OutlinedLines<'a> {
    /// The lines and their places in the stretch.
    pub(crate) lines: Vec<(OutlinedLine<'a>, Span)>,
    /// The number of bytes that they take with their newlines.
    pub(crate) len: usize,
}

/// Reads lines with the numbers after `last`. Ends before a line that is damaged, a revision or out of order, which
/// only a scan can judge, and before a batch that is not complete.
pub(crate) fn read_outlines(bytes: &[u8], last: u64) -> OutlinedLines<'_> {
    let mut lines = Vec::new();
    let (mut whole, mut len) = (0, 0);
    let (mut at, mut open) = (0, None);
    while let Some(line_len) = memchr::memchr(b'\n', &bytes[at..]) {
        let line = &bytes[at..at + line_len];
        let seq = last + 1 + lines.len() as u64;
        let Some(found) = outline(line).filter(|found| is_next(found, seq, open)) else { break };
        open = found.batch.filter(|(_, end)| *end > seq);
        let read = match found.kind {
            LineKind::Message => OutlinedLine::Message(found),
            LineKind::Event => match decode(line) {
                Some(event) => OutlinedLine::Event(event),
                None => break,
            },
        };
        lines.push((read, Span { offset: at as u64, len: line_len as u64 }));
        at += line_len + 1;
        if open.is_none() {
            (whole, len) = (lines.len(), at);
        }
    }
    lines.truncate(whole);
    OutlinedLines { lines, len }
}

/// Whether a line has the next number, and the batch that is open or one that begins with it.
fn is_next(line: &LineOutline<'_>, seq: u64, open: Option<(u64, u64)>) -> bool {
    let begins = line.batch.is_none_or(|(first, _)| first == seq);
    line.seq == seq && if open.is_some() { line.batch == open } else { begins }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ship_message::json::Object;

    use super::*;
    use crate::line::UnnumberedLine;
    use crate::scan::scan;

    /// A log of batches with so many lines each; every third line is an event.
    fn log(batches: &[u64]) -> Vec<u8> {
        let (mut bytes, mut seq) = (Vec::new(), 1);
        for &count in batches {
            let batch = (count > 1).then_some((seq, seq + count - 1));
            for _ in 0..count {
                let kind = if seq % 3 == 0 { LineKind::Event } else { LineKind::Message };
                let body = Object::from([("id", format!("m{seq}")), ("text", "\"{\\n".into())]);
                UnnumberedLine::new(kind, body).write(seq, batch, &mut bytes);
                seq += 1;
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn outlines_tell_what_a_scan_tells_as_far_as_they_go(
            batches in prop::collection::vec(1u64..4, 1..8),
            at: prop::sample::Index,
            injury in 0..4,
        ) {
            let mut bytes = log(&batches);
            let place = at.index(bytes.len());
            match injury {
                0 => {}
                1 => bytes[place] ^= 1,
                2 => bytes.truncate(place),
                _ => drop(bytes.drain(place..(place + 100).min(bytes.len()))),
            }
            let (outlined, scanned) = (read_outlines(&bytes, 0), scan(&bytes[..], Some(1)));
            prop_assert!(outlined.len <= scanned.good_len);
            let told = |(line, span): &(OutlinedLine<'_>, Span)| {
                let (seq, batch) = match line {
                    OutlinedLine::Message(line) => (line.seq, line.batch),
                    OutlinedLine::Event(line) => (line.seq, line.batch),
                };
                (seq, batch, span.offset, span.len)
            };
            let wanted = scanned.lines.iter().map(|found| {
                (found.line.seq, found.line.batch, found.offset as u64, found.len as u64)
            });
            let outlined_lines: Vec<_> = outlined.lines.iter().map(told).collect();
            prop_assert_eq!(&outlined_lines, &wanted.take(outlined_lines.len()).collect::<Vec<_>>());
            if injury == 0 {
                prop_assert_eq!(outlined.len, bytes.len());
            }
        }
    }
}
