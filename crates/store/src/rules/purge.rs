//! Encodes and decodes what a purge leaves of a sealed log.
//!
//! A tombstone is a log like any other: the head, so that the chain of logs stays whole, and one event that describes
//! the purge. The event has the number of the last purged line, and its `in` is the highest of all purged lines, so
//! that a log that continues from it knows how far the inbox was read.

use ship_message::json::{Json, Object};

use crate::line::{HEAD, LineKind, PURGED, RawLine, UnnumberedLine};
use crate::{ContextEvent, Purged, SealedName, Seq, Timestamp};

/// The lines that take the place of a purged log, with their numbers.
#[derive(Debug, Clone)]
pub struct Tombstone {
    /// The record of the purge.
    pub purged: Purged,
    /// The head of the log, and the event that describes the purge. A log with only a head needs no event.
    pub lines: Vec<(Seq, UnnumberedLine)>,
}

impl Tombstone {
    /// Purges these lines of a log, on behalf of `by`. `head` is the first line of the log.
    pub fn new<'a>(
        name: &SealedName,
        head: UnnumberedLine,
        lines: impl Iterator<Item = &'a RawLine> + Clone,
        by: &str,
        now: Timestamp,
    ) -> Self {
        let inbox = lines.clone().filter_map(|line| line.inbox).max();
        let count = lines.filter(|line| line.event() != Some(HEAD)).count() as u64;
        let purged = Purged { ts: now, lines: count, by: by.to_owned() };
        let (first, last) = name.range();
        let mut lines = vec![(first, head)];
        if last > first {
            let data = [("lines", Json::from(count)), ("by", by.into())];
            let event = ContextEvent {
                id: format!("e{last}"),
                ts: now,
                event: PURGED.to_owned(),
                data: Object::from(data).into(),
                ref_msg_id: None,
                inbox: None,
            };
            let line = UnnumberedLine::new(LineKind::Event, event.into_body());
            lines.push((last, UnnumberedLine { inbox, ..line }));
        }
        Self { purged, lines }
    }
}

/// Returns the purge if these are the lines of a tombstone.
pub fn purge_in_lines<'a>(lines: impl Iterator<Item = &'a RawLine>) -> Option<Purged> {
    let mut tombstones = lines.filter(|line| line.is_tombstone());
    tombstones.find_map(|line| purge_in_event(&ContextEvent::from_body(&line.body)?))
}

/// Returns the purge that an event describes.
pub(crate) fn purge_in_event(event: &ContextEvent) -> Option<Purged> {
    if event.event != PURGED {
        return None;
    }
    let (lines, by) = (event.data.get("lines"), event.data.get("by"));
    Some(Purged {
        ts: event.ts,
        lines: lines.and_then(Json::as_u64).unwrap_or_default(),
        by: by.and_then(Json::as_str).unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::log_head::head_line;
    use crate::rules::test_lines::{numbered, prepared, promoted};

    const NOW: Timestamp = Timestamp::from_millis(1_770_286_500_000);

    fn tombstone(lines: &[RawLine]) -> Vec<RawLine> {
        let name = SealedName::new(NOW, Seq::new(4), Seq::new(4 + lines.len() as u64));
        let head = head_line(Object::new(), Seq::new(4), NOW);
        let tombstone = Tombstone::new(&name, head, lines.iter(), "compact", NOW);
        let lines = tombstone.lines.iter();
        lines.map(|(seq, line)| numbered(line, seq.get())).collect()
    }

    #[test]
    fn a_tombstone_has_the_ends_and_the_cursor_of_its_log() {
        let said = [promoted("m1", 7), prepared("m2", "hi"), promoted("m3", 5)];
        let said: Vec<RawLine> =
            said.iter().zip(5..).map(|(said, seq)| numbered(&said.line, seq)).collect();
        let left = tombstone(&said);
        assert_eq!(left.iter().map(|line| line.seq).collect::<Vec<_>>(), [4, 7]);
        assert_eq!(left[1].inbox, Some(7));
        let purged = purge_in_lines(left.iter()).expect("a tombstone");
        assert_eq!((purged.lines, purged.by.as_str(), purged.ts), (3, "compact", NOW));
        assert_eq!(purge_in_lines(said.iter()), None);
    }

    #[test]
    fn a_log_of_a_head_alone_stays_as_it_is() {
        assert_eq!(tombstone(&[]).len(), 1);
    }
}
