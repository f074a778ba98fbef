//! Decides what a rotation publishes.
//!
//! A back end reads the [`source_logs`](super::source_logs) and [prepares](PreparedRotation::prepare) the rotation before
//! it takes any right. Then it reads the live log, and [`PreparedRotation::publish`] gives the log that takes its place.

use std::collections::HashMap;

use super::append::{LogEnd, missing_entry};
use super::content::PreparedLine;
use super::log_head::{CopiedRange, NewLog, read_head};
use crate::line::{RawLine, UnnumberedLine};
use crate::{
    ChatKey, Checkpoint, Gen, Head, LedgerSeq, Position, RefusedInput, RotateError, Rotated,
    SealedName, Seq, Timestamp,
};

/// The live log that a rotation seals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveLog {
    /// The number of its head.
    pub first: Seq,
    /// The end of its lines: position and next number.
    pub end: LogEnd,
    /// The checksum of its last line.
    pub crc: u32,
    /// The highest ledger position that was ever promoted.
    pub inbox: Option<LedgerSeq>,
}

impl LiveLog {
    /// Reads the state from the lines of a whole log; `None` if the first is no head.
    pub fn read(lines: &[RawLine]) -> Option<Self> {
        let (first, last) = lines.first().zip(lines.last())?;
        let head = read_head(first)?;
        let position = Position { generation: head.generation, seq: Seq::new(last.seq) };
        let promoted = lines.iter().filter_map(|line| line.inbox).max().map(LedgerSeq::new);
        Some(Self {
            first: Seq::new(first.seq),
            end: LogEnd { position, next: position.seq.next() },
            crc: last.crc,
            inbox: head.inbox.max(promoted),
        })
    }
}

/// A rotation with its new lines prepared and its copied lines read.
#[derive(Debug, Clone)]
pub struct PreparedRotation {
    /// The generation that the caller has read; `None` to begin a chat's first context.
    pub expected: Option<Gen>,
    /// The head of the new log, as the caller gave it.
    pub head: Head,
    /// The pieces of the new log behind its head, in order.
    pub pieces: Vec<PreparedPiece>,
}

/// A prepared part of the log that a rotation publishes.
#[derive(Debug, Clone)]
pub enum PreparedPiece {
    /// The lines of the live log from the first to the last number, or to its end.
    Keep(Seq, Option<Seq>),
    /// Lines of another log, and their range if it is a sealed log of this chat.
    Copied(Option<CopiedRange>, Vec<RawLine>),
    /// A new message or event.
    New(PreparedLine),
}

/// The log that a rotation publishes, and the answer to its caller. The old log is sealed under the name in the answer.
#[derive(Debug, Clone)]
pub struct PlannedRotation {
    /// The new log.
    pub log: NewLog,
    /// The answer once the log is published.
    pub rotated: Rotated,
}

impl PreparedRotation {
    /// Returns the highest ledger position that the rotation promotes, if it is behind the cursor of the live log. The
    /// ledger must have that entry.
    pub fn promoted(&self, live: Option<&LiveLog>) -> Option<LedgerSeq> {
        let inbox = |piece: &PreparedPiece| match piece {
            PreparedPiece::New(new) => new.line.inbox,
            // Kept and copied lines never move the cursor.
            PreparedPiece::Keep(..) | PreparedPiece::Copied(..) => None,
        };
        // A first context may begin behind answered entries, and these must be in the ledger too.
        let begins_behind = self.head.inbox.filter(|_| self.expected.is_none());
        let promoted = self.pieces.iter().filter_map(inbox).max().map(LedgerSeq::new);
        // A message that comes back keeps its entry, also when the ledger was restored from before that one.
        let cursor = live.and_then(|live| live.inbox);
        promoted.max(begins_behind).filter(|promoted| Some(*promoted) > cursor)
    }

    /// Returns the first and last numbers of the lines that the new log keeps, in order and without overlap. A range up
    /// to the end of the live log, wherever that is, ends with [`Seq::MAX`].
    pub fn kept_ranges(&self) -> Vec<(Seq, Seq)> {
        let range = |piece: &PreparedPiece| match piece {
            PreparedPiece::Keep(first, last) => Some((*first, last.unwrap_or(Seq::MAX))),
            PreparedPiece::Copied(..) | PreparedPiece::New(_) => None,
        };
        let mut ranges: Vec<(Seq, Seq)> = self.pieces.iter().filter_map(range).collect();
        ranges.sort_unstable();
        let mut apart: Vec<(Seq, Seq)> = Vec::new();
        for (first, last) in ranges {
            match apart.last_mut() {
                Some((_, end)) if first <= *end => *end = last.max(*end),
                _ => apart.push((first, last)),
            }
        }
        apart
    }

    /// Returns the log that takes the place of the live one; `live` is `None` if the chat has none yet.
    ///
    /// `kept` has the lines of the live log that the rotation [keeps](Self::kept_ranges), and possibly others: each id once,
    /// as [`newest_revisions`](super::newest_revisions) returns them. `ledger_end` is the last number that the ledger
    /// has given; it is not needed if nothing is [promoted](Self::promoted).
    pub fn publish(
        self,
        chat: &ChatKey,
        live: Option<&LiveLog>,
        kept: Vec<RawLine>,
        ledger_end: Option<LedgerSeq>,
        now: Timestamp,
    ) -> Result<PlannedRotation, RotateError> {
        if let Some(entry) = missing_entry(self.promoted(live), ledger_end) {
            return Err(RotateError::NoEntry { chat: chat.clone(), entry });
        }
        let found = live.map(|live| live.end.position.generation);
        if found != self.expected {
            return Err(RotateError::Moved { chat: chat.clone(), expected: self.expected, found });
        }
        let last = live.map(|live| live.end.position.seq);
        let sealed = live.zip(last).map(|(live, last)| SealedName::new(now, live.first, last));
        let head = Head {
            generation: found.map_or(Gen::new(0), Gen::next),
            sealed: sealed.clone(),
            // The cursor of the log counts, not that of the caller: a promoted entry must not run again.
            inbox: live.map_or(self.head.inbox, |live| live.inbox),
            checkpoints: placed_checkpoints(&self.head, sealed.as_ref()),
            ..self.head
        };
        let copies = copied_ranges(&self.pieces, last.unwrap_or(Seq::new(0)));
        let lines = new_lines(self.pieces, live, kept, head.inbox)?;
        let first = live.map_or(Seq::FIRST, |live| live.end.next);
        let log = NewLog { head, first, lines, copies };
        let position = Position { generation: log.head.generation, seq: log.last() };
        let sealed_crc = live.map_or(0, |live| live.crc);
        let rotated = Rotated { position, sealed, sealed_crc, damage: Vec::new() };
        Ok(PlannedRotation { log, rotated })
    }
}

/// Refuses lines that a log does not have.
pub(super) fn check_range(
    range: Option<(Seq, Seq)>,
    first: Seq,
    last: Seq,
) -> Result<(), RefusedInput> {
    match range.is_some_and(|range| range.0 <= first && first <= last && last <= range.1) {
        true => Ok(()),
        false => Err(RefusedInput::NoLines { first, last }),
    }
}

/// Returns a line for a log with this cursor. A copied line must not move the cursor, neither back nor on.
pub(crate) fn copied_line(line: RawLine, cursor: Option<LedgerSeq>) -> RawLine {
    let inbox = line.inbox.filter(|&seq| cursor >= Some(LedgerSeq::new(seq)));
    RawLine { inbox, ..line }
}

/// Gives the checkpoints in the log that is being sealed the name of that log.
fn placed_checkpoints(head: &Head, sealed: Option<&SealedName>) -> Vec<Checkpoint> {
    let mut checkpoints = head.checkpoints.clone();
    for checkpoint in &mut checkpoints {
        checkpoint.sealed = checkpoint.sealed.take().or_else(|| sealed.cloned());
    }
    checkpoints
}

/// Returns the places of the lines that a rotation copies. `last` is the last line of the log that it seals.
fn copied_ranges(pieces: &[PreparedPiece], last: Seq) -> Vec<CopiedRange> {
    let mut ranges = Vec::new();
    for piece in pieces {
        let range = match piece {
            PreparedPiece::Keep(first, end) => {
                Some(CopiedRange { log: None, first: *first, last: end.unwrap_or(last) })
            }
            PreparedPiece::Copied(range, _) => range.clone(),
            PreparedPiece::New(_) => None,
        };
        if let Some(range) = range {
            range.add_to(&mut ranges);
        }
    }
    ranges
}

/// Returns the lines of the new log after its head.
fn new_lines(
    pieces: Vec<PreparedPiece>,
    live: Option<&LiveLog>,
    kept: Vec<RawLine>,
    inbox: Option<LedgerSeq>,
) -> Result<Vec<UnnumberedLine>, RefusedInput> {
    let range = live.map(|live| (live.first, live.end.position.seq));
    // A line is taken once: in a second piece it would add nothing.
    let mut kept: Vec<(u64, Option<RawLine>)> =
        kept.into_iter().map(|line| (line.seq, Some(line))).collect();
    let mut body = LogBody::default();
    for piece in pieces {
        match piece {
            PreparedPiece::New(new) => body.add_new(new)?,
            PreparedPiece::Keep(first, last) => {
                if let Some(last) = last {
                    check_range(range, first, last)?;
                }
                let from = kept.partition_point(|(seq, _)| *seq < first.get());
                let to =
                    kept.partition_point(|(seq, _)| last.is_none_or(|last| *seq <= last.get()));
                let lines = kept.get_mut(from..to).unwrap_or_default();
                lines
                    .iter_mut()
                    .filter_map(|(_, line)| line.take())
                    .for_each(|line| body.add_copy(line));
            }
            PreparedPiece::Copied(_, lines) => {
                lines.into_iter().for_each(|line| body.add_copy(copied_line(line, inbox)));
            }
        }
    }
    Ok(body.lines)
}

/// The lines of a new log, in which each id stands once.
#[derive(Default)]
struct LogBody {
    lines: Vec<UnnumberedLine>,
    /// The index of each id, and whether the line is a copy.
    places: HashMap<String, (usize, bool)>,
}

impl LogBody {
    fn add_new(&mut self, PreparedLine { id, line }: PreparedLine) -> Result<(), RefusedInput> {
        let id = id.as_str().to_owned();
        if self.places.contains_key(&id) {
            return Err(RefusedInput::Twice(id));
        }
        self.places.insert(id, (self.lines.len(), false));
        self.lines.push(line);
        Ok(())
    }

    /// Adds a line of another log, unless its id is there. Of two copies the newer revision counts, at the
    /// place of the first.
    fn add_copy(&mut self, line: RawLine) {
        let id = line.body.str("id").unwrap_or_default();
        match self.places.get(id) {
            Some(&(at, true)) if line.rev > self.lines[at].rev => {
                self.lines[at] = line.into_draft();
            }
            Some(_) => {}
            None => {
                self.places.insert(id.to_owned(), (self.lines.len(), true));
                self.lines.push(line.into_draft());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextId;
    use crate::rules::test_lines::{chat, log, numbered, prepared, promoted, revised};

    const NOW: Timestamp = Timestamp::from_millis(1_770_286_500_000);

    /// A log with the head 1 and the messages 2 to 4, which has promoted entry 7.
    fn live() -> LiveLog {
        let position = Position { generation: Gen::new(0), seq: Seq::new(4) };
        let end = LogEnd { position, next: Seq::new(5) };
        LiveLog { first: Seq::FIRST, end, crc: 99, inbox: Some(LedgerSeq::new(7)) }
    }

    fn kept() -> Vec<RawLine> {
        let ids = ["m2", "m3", "m4"].into_iter().zip(2..);
        ids.map(|(id, seq)| numbered(&prepared(id, "kept").line, seq)).collect()
    }

    fn rotation(pieces: Vec<PreparedPiece>) -> PreparedRotation {
        let head = Head::new(ContextId::new(NOW, 1));
        PreparedRotation { expected: Some(Gen::new(0)), head, pieces }
    }

    fn publish(pieces: Vec<PreparedPiece>) -> Result<PlannedRotation, RotateError> {
        let end = Some(LedgerSeq::new(9));
        rotation(pieces).publish(&chat(), Some(&live()), kept(), end, NOW)
    }

    /// The id and the text of each line of a log.
    fn content(planned: &PlannedRotation) -> Vec<(String, String)> {
        let lines = planned.log.lines.iter().map(|line| numbered(line, 1).body);
        let field =
            |body: &ship_message::json::Object, key| body.str(key).unwrap_or_default().to_owned();
        lines.map(|body| (field(&body, "id"), field(&body, "text"))).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_log_is_sealed_under_its_range_and_the_next_one_continues_its_numbers() {
        let new = PreparedPiece::New(prepared("s1", "summary"));
        let planned = publish(vec![new, PreparedPiece::Keep(Seq::new(3), None)]).expect("a log");
        assert_eq!(content(&planned), pairs(&[("s1", "summary"), ("m3", "kept"), ("m4", "kept")]));
        let PlannedRotation { log, rotated } = planned;
        assert_eq!((log.first, rotated.position.seq), (Seq::new(5), Seq::new(8)));
        assert_eq!((log.head.generation, rotated.position.generation), (Gen::new(1), Gen::new(1)));
        let sealed = SealedName::new(NOW, Seq::FIRST, Seq::new(4));
        assert_eq!((log.head.sealed.as_ref(), rotated.sealed_crc), (Some(&sealed), 99));
        assert_eq!(rotated.sealed, Some(sealed));
        let copies = [CopiedRange { log: None, first: Seq::new(3), last: Seq::new(4) }];
        assert_eq!(log.copies, copies);
    }

    #[test]
    fn an_id_stands_once_in_its_newest_revision_at_its_first_place() {
        let better = numbered(&revised("m3", "better", 1).line, 20);
        let pieces = vec![
            PreparedPiece::Keep(Seq::new(2), Some(Seq::new(3))),
            PreparedPiece::Copied(None, vec![better]),
            PreparedPiece::Keep(Seq::new(2), None),
        ];
        let planned = publish(pieces).expect("a log");
        assert_eq!(content(&planned), pairs(&[("m2", "kept"), ("m3", "better"), ("m4", "kept")]));
        let twice = vec![
            PreparedPiece::Keep(Seq::new(2), None),
            PreparedPiece::New(prepared("m2", "anew")),
        ];
        let refused = publish(twice).map(|_| ());
        assert!(
            matches!(refused, Err(RotateError::Refused(RefusedInput::Twice(_)))),
            "{refused:?}"
        );
    }

    #[test]
    fn the_state_of_a_log_is_read_from_its_lines() {
        let lines = log(&[promoted("m1", 7), promoted("m2", 5), prepared("m3", "hi")]);
        let crc = lines[3].crc;
        assert_eq!(LiveLog::read(&lines), Some(LiveLog { crc, ..live() }));
        assert_eq!(LiveLog::read(&lines[1..]), None, "it has no head");
    }

    #[test]
    fn kept_ranges_are_in_order_and_apart() {
        let keep =
            |first, last: Option<u64>| PreparedPiece::Keep(Seq::new(first), last.map(Seq::new));
        let ranges = |pieces| rotation(pieces).kept_ranges();
        let pieces = vec![keep(7, Some(9)), keep(2, Some(4)), keep(3, Some(5)), keep(6, Some(6))];
        let expected =
            [(2, 5), (6, 6), (7, 9)].map(|(first, last)| (Seq::new(first), Seq::new(last)));
        assert_eq!(ranges(pieces), expected);
        let open = ranges(vec![keep(8, Some(9)), keep(7, None)]);
        assert_eq!(open, [(Seq::new(7), Seq::MAX)]);
    }

    #[test]
    fn the_cursor_of_the_live_log_counts_and_no_copy_moves_it() {
        let copy = |id, entry| numbered(&promoted(id, entry).line, 9);
        let pieces = vec![PreparedPiece::Copied(None, vec![copy("c1", 3), copy("c2", 8)])];
        let planned = publish(pieces).expect("a log");
        assert_eq!(planned.log.head.inbox, live().inbox);
        let inboxes: Vec<_> = planned.log.lines.iter().map(|line| line.inbox).collect();
        assert_eq!(inboxes, [Some(3), None]);
    }

    #[test]
    fn what_the_ledger_lacks_is_promoted_only_if_the_log_knows_it() {
        let publish = |entry, ledger_end: Option<u64>| {
            let rotation = rotation(vec![PreparedPiece::New(promoted("m9", entry))]);
            let end = ledger_end.map(LedgerSeq::new);
            rotation.publish(&chat(), Some(&live()), kept(), end, NOW).map(|_| ())
        };
        assert!(matches!(publish(8, Some(7)), Err(RotateError::NoEntry { .. })));
        publish(8, Some(8)).expect("the ledger has it");
        publish(7, None).expect("the log has promoted it before");
    }

    #[test]
    fn another_generation_and_missing_lines_are_refused() {
        let begun = rotation(Vec::new()).publish(&chat(), None, Vec::new(), None, NOW);
        assert!(matches!(begun, Err(RotateError::Moved { found: None, .. })), "{begun:?}");
        for (first, last) in [(0, 2), (3, 2), (4, 5)] {
            let refused = publish(vec![PreparedPiece::Keep(Seq::new(first), Some(Seq::new(last)))]);
            let Err(RotateError::Refused(RefusedInput::NoLines { .. })) = refused else {
                panic!("{refused:?}")
            };
        }
    }

    #[test]
    fn a_checkpoint_gets_the_name_of_the_log_that_is_sealed() {
        let mut rotation = rotation(Vec::new());
        let (name, seq) = ("plan".to_owned(), Seq::new(2));
        rotation.head.checkpoints = vec![Checkpoint { name, sealed: None, seq, message: None }];
        let planned = rotation.publish(&chat(), Some(&live()), kept(), None, NOW).expect("a log");
        assert_eq!(planned.log.head.checkpoints[0].sealed, planned.rotated.sealed);
    }
}
