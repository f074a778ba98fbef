//! Decides which programs may read a chat.
//!
//! A program passes over kinds of lines that it does not know, which is harmless for most. A kind that must not be
//! passed over has a reader version. The first line of such a kind raises the `minReader` of its chat to that version,
//! and a program with a lower reader version refuses the whole chat.

use ship_message::json::Json;

use crate::line::{LineKind, UnnumberedLine};

/// The reader version of this program: it knows all kinds of lines up to this version.
pub const READER_VERSION: u64 = 1;

/// The events that an older program must not pass over, each with its reader version. There is none yet.
#[cfg(not(test))]
const STRICT_EVENTS: &[(&str, u64)] = &[];
#[cfg(test)]
const STRICT_EVENTS: &[(&str, u64)] = &[("strict", 2), ("stricter", 3)];

/// Returns the reader version that a program needs for these lines; `None` if any program may read them.
pub fn reader_needed(lines: &[UnnumberedLine]) -> Option<u64> {
    if STRICT_EVENTS.is_empty() {
        return None;
    }
    lines.iter().filter_map(reader_of_line).max()
}

fn reader_of_line(line: &UnnumberedLine) -> Option<u64> {
    if line.kind != LineKind::Event {
        return None;
    }
    let body = Json::parse(&format!("{{{}}}", line.body)).ok()?;
    let event = body.get("event")?.as_str()?;
    let (_, version) = STRICT_EVENTS.iter().find(|(name, _)| *name == event)?;
    Some(*version)
}

/// Returns the `minReader` of a chat after lines that need a reader version; `None` if it stays as it is.
pub fn raised_min_reader(min_reader: Option<u64>, needed: u64) -> Option<u64> {
    min_reader.is_none_or(|present| present < needed).then_some(needed)
}

/// Returns the reader version that this program lacks for a chat with this `minReader`; `None` if it may read the chat.
pub fn missing_reader(min_reader: Option<u64>) -> Option<u64> {
    min_reader.filter(|needed| *needed > READER_VERSION)
}

#[cfg(test)]
mod tests {
    use ship_message::json::Object;

    use super::*;

    fn line(kind: LineKind, event: &str) -> UnnumberedLine {
        UnnumberedLine::new(kind, Object::from([("event", event)]))
    }

    #[test]
    fn only_an_event_that_must_not_be_passed_over_needs_a_reader() {
        let plain = line(LineKind::Event, "renamed");
        let strict = line(LineKind::Event, "strict");
        assert_eq!(reader_needed(&[]), None);
        assert_eq!(reader_needed(&[plain.clone(), line(LineKind::Message, "strict")]), None);
        assert_eq!(reader_needed(&[plain, strict.clone()]), Some(2));
        assert_eq!(reader_needed(&[line(LineKind::Event, "stricter"), strict]), Some(3));
    }

    #[test]
    fn a_min_reader_is_only_raised_and_refuses_older_programs() {
        assert_eq!(raised_min_reader(None, 2), Some(2));
        assert_eq!(raised_min_reader(Some(1), 2), Some(2));
        assert_eq!((raised_min_reader(Some(2), 2), raised_min_reader(Some(3), 2)), (None, None));
        assert_eq!((missing_reader(None), missing_reader(Some(READER_VERSION))), (None, None));
        assert_eq!(missing_reader(Some(READER_VERSION + 1)), Some(READER_VERSION + 1));
    }
}
