//! Decides what an append adds to a context log.

use std::collections::HashMap;

use ship_message::json::Json;

use super::blob_texts::TextBlob;
use super::content::{PreparedLine, prepare_line};
use crate::line::UnnumberedLine;
use crate::{AppendError, ChatKey, LedgerSeq, MessageId, NewLine, Position, RefusedInput, Seq};

/// The end of a context log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEnd {
    /// The position that the next append must expect.
    pub position: Position,
    /// The number of the next line. No number is given twice, so it is higher than the one after the last line if that
    /// number was given to a line that is lost.
    pub next: Seq,
}

/// Lines that are appended together or not at all.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The lines in order.
    pub lines: Vec<PreparedLine>,
    /// The end of the log that the caller expects.
    pub expected: Position,
}

impl Batch {
    /// Checks lines of at most `bytes_max` bytes each. Returns the texts that must be stored before them.
    pub fn prepare(
        lines: Vec<NewLine>,
        expected: Position,
        bytes_max: usize,
    ) -> Result<(Self, Vec<TextBlob>), RefusedInput> {
        if lines.is_empty() {
            return Err(RefusedInput::Empty);
        }
        let (mut prepared, mut texts) = (Vec::with_capacity(lines.len()), Vec::new());
        for new in lines {
            let (line, own) = prepare_line(new, bytes_max)?;
            prepared.push(line);
            texts.extend(own);
        }
        Ok((Self { lines: prepared, expected }, texts))
    }

    /// Returns the highest ledger position that the batch promotes.
    pub fn promoted(&self) -> Option<LedgerSeq> {
        self.lines.iter().filter_map(|line| line.line.inbox).max().map(LedgerSeq::new)
    }
}

/// The newest line of an id that the log has.
#[derive(Debug, Clone)]
pub struct PresentLine {
    /// The number of the first line with this id.
    pub seq: Seq,
    /// The content of its newest revision.
    pub line: UnnumberedLine,
}

/// The present state that decides about a batch, beside the end of the log.
#[derive(Debug, Clone, Default)]
pub struct BatchState {
    /// The lines of the log that have an id of the batch. The head is none of them: it shares no names with content.
    pub present: HashMap<MessageId, PresentLine>,
    /// The last number that the ledger has given; not needed for a batch that promotes nothing.
    pub ledger_end: Option<LedgerSeq>,
}

/// An append of batches that are written as one. Each is checked against the end that the one before it leaves.
#[derive(Debug)]
pub struct Appending {
    chat: ChatKey,
    end: Option<LogEnd>,
    lines: Vec<UnnumberedLine>,
    /// The ids among the new lines: the number of the first line of each, and the index of its newest.
    added: HashMap<MessageId, (Seq, usize)>,
}

impl Appending {
    /// Begins an append to the log with this end; `None` if the chat has no context yet.
    pub fn new(chat: &ChatKey, end: Option<LogEnd>) -> Self {
        Self { chat: chat.clone(), end, lines: Vec::new(), added: HashMap::new() }
    }

    /// Adds a batch and returns the end of the log after it. A batch that is refused leaves the others alone.
    pub fn add(&mut self, batch: Batch, state: &BatchState) -> Result<Position, AppendError> {
        let chat = || self.chat.clone();
        if let Some(entry) = missing_entry(batch.promoted(), state.ledger_end) {
            return Err(AppendError::NoEntry { chat: chat(), entry });
        }
        let Some(end) = self.end else { return Err(AppendError::NoContext { chat: chat() }) };
        let kept = self.lines.len();
        let checked = self.add_lines(batch.lines, end.next, state).and_then(|added| {
            // A caller may repeat lines that exist, at any position: it may have lost our first answer.
            match added.is_empty() || batch.expected == end.position {
                true => Ok(added),
                false => {
                    let (expected, found) = (batch.expected, end.position);
                    Err(AppendError::Moved { chat: self.chat.clone(), expected, found })
                }
            }
        });
        let added = match checked {
            Ok(added) => added,
            Err(error) => {
                self.lines.truncate(kept);
                return Err(error);
            }
        };
        self.added.extend(added);
        Ok(self.move_end(end, self.lines.len() - kept))
    }

    /// Returns the new lines of all batches, in order.
    pub fn into_lines(self) -> Vec<UnnumberedLine> {
        self.lines
    }

    /// Adds the lines of a batch that are new, and returns their ids as [`Self::added`] has them.
    fn add_lines(
        &mut self,
        lines: Vec<PreparedLine>,
        next: Seq,
        state: &BatchState,
    ) -> Result<HashMap<MessageId, (Seq, usize)>, AppendError> {
        let first = self.lines.len();
        let mut added: HashMap<MessageId, (Seq, usize)> = HashMap::new();
        for PreparedLine { id, line } in lines {
            // The newest line of the same id counts, even one in this batch.
            let known = added.get(&id).or_else(|| self.added.get(&id));
            let present = match known {
                Some(&(seq, at)) => Some((seq, &self.lines[at])),
                None => state.present.get(&id).map(|present| (present.seq, &present.line)),
            };
            if is_present(&id, &line, present)? {
                continue;
            }
            let at = self.lines.len();
            let own = Seq::new(next.get() + (at - first) as u64);
            let seq = present.map_or(own, |(seq, _)| seq);
            added.insert(id, (seq, at));
            self.lines.push(line);
        }
        Ok(added)
    }

    /// Moves the end behind so many new lines.
    fn move_end(&mut self, end: LogEnd, count: usize) -> Position {
        if count == 0 {
            return end.position;
        }
        let seq = Seq::new(end.next.get() + count as u64 - 1);
        let position = Position { seq, ..end.position };
        self.end = Some(LogEnd { position, next: seq.next() });
        position
    }
}

/// Whether the log has this line already. Refuses one that is neither there nor the next revision.
fn is_present(
    id: &MessageId,
    line: &UnnumberedLine,
    present: Option<(Seq, &UnnumberedLine)>,
) -> Result<bool, AppendError> {
    match present {
        None if line.rev > 0 => Err(RefusedInput::NothingToReplace(id.as_str().to_owned()).into()),
        None => Ok(false),
        Some((_, present)) if has_same_content(present, line) => Ok(true),
        Some((_, present)) if line.rev == present.rev + 1 => Ok(false),
        Some((seq, present)) => {
            Err(AppendError::Conflict { id: id.clone(), seq, next_rev: present.rev + 1 })
        }
    }
}

/// Whether two lines have the same content; the order of keys does not matter.
fn has_same_content(a: &UnnumberedLine, b: &UnnumberedLine) -> bool {
    let parse = |line: &UnnumberedLine| Json::parse(&format!("{{{}}}", line.body)).ok();
    let blobs =
        |line: &UnnumberedLine| line.blobs.as_deref().and_then(|text| Json::parse(text).ok());
    a.kind == b.kind && parse(a) == parse(b) && blobs(a) == blobs(b)
}

/// Returns the promoted entry if the ledger does not have it for good. The caller may have read it before it was
/// durable, or before its write failed.
pub(super) fn missing_entry(
    promoted: Option<LedgerSeq>,
    ledger_end: Option<LedgerSeq>,
) -> Option<LedgerSeq> {
    promoted.filter(|entry| Some(*entry) > ledger_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gen;
    use crate::rules::test_lines::{chat, prepared, promoted, revised};

    fn at(seq: u64) -> Position {
        Position { generation: Gen::new(3), seq: Seq::new(seq) }
    }

    /// An append to a log with the lines 1 to 4, of which the last was lost.
    fn appending() -> Appending {
        Appending::new(&chat(), Some(LogEnd { position: at(3), next: Seq::new(5) }))
    }

    fn batch(lines: Vec<PreparedLine>, expected: u64) -> Batch {
        Batch { lines, expected: at(expected) }
    }

    /// The state in which `m1` was said at line 2.
    fn state() -> BatchState {
        let PreparedLine { id, line } = prepared("m1", "hi");
        let present = HashMap::from([(id, PresentLine { seq: Seq::new(2), line })]);
        BatchState { present, ledger_end: Some(LedgerSeq::new(9)) }
    }

    #[test]
    fn each_batch_is_checked_against_the_end_that_the_one_before_leaves() {
        let mut appending = appending();
        let two = batch(vec![prepared("m2", "a"), prepared("m3", "b")], 3);
        assert_eq!(appending.add(two, &state()).expect("appended"), at(6));
        let late = appending.add(batch(vec![prepared("m4", "c")], 3), &state());
        assert!(
            matches!(late, Err(AppendError::Moved { found, .. }) if found == at(6)),
            "{late:?}"
        );
        let next = batch(vec![prepared("m4", "c")], 6);
        assert_eq!(appending.add(next, &state()).expect("appended"), at(7));
        assert_eq!(appending.into_lines().len(), 3);
    }

    #[test]
    fn a_repeated_line_adds_nothing_wherever_the_caller_believes_the_end_to_be() {
        let mut appending = appending();
        let again = appending.add(batch(vec![prepared("m1", "hi")], 1), &state());
        assert_eq!(again.expect("it is there"), at(3));
        let new = batch(vec![prepared("m2", "a"), prepared("m2", "a")], 3);
        assert_eq!(appending.add(new, &state()).expect("appended"), at(5));
        let again = appending.add(batch(vec![prepared("m2", "a")], 3), &state());
        assert_eq!(again.expect("it was just added"), at(5));
        assert_eq!(appending.into_lines().len(), 1);
    }

    #[test]
    fn only_the_next_revision_replaces_a_line() {
        let mut appending = appending();
        let two = batch(vec![revised("m1", "ho", 1), revised("m1", "hum", 2)], 3);
        assert_eq!(appending.add(two, &state()).expect("appended"), at(6));
        let refused = appending.add(batch(vec![revised("m1", "hey", 2)], 6), &state());
        // The line is known by the number of its first revision.
        assert!(
            matches!(refused, Err(AppendError::Conflict { seq, next_rev: 3, .. }) if seq == Seq::new(2)),
            "{refused:?}"
        );
        let nothing = appending.add(batch(vec![revised("m2", "x", 1)], 6), &state());
        assert!(
            matches!(nothing, Err(AppendError::Refused(RefusedInput::NothingToReplace(_)))),
            "{nothing:?}"
        );
    }

    #[test]
    fn nothing_of_a_refused_batch_is_added() {
        let mut appending = appending();
        let refused = batch(vec![prepared("m2", "a"), prepared("m1", "other")], 3);
        assert!(appending.add(refused, &state()).is_err());
        // Its first line is not known either.
        let new = batch(vec![prepared("m2", "b")], 3);
        assert_eq!(appending.add(new, &state()).expect("appended"), at(5));
        assert_eq!(appending.into_lines().len(), 1);
    }

    #[test]
    fn only_what_the_ledger_has_is_promoted() {
        let mut appending = appending();
        let beyond = appending.add(batch(vec![promoted("m2", 10)], 3), &state());
        assert!(
            matches!(beyond, Err(AppendError::NoEntry { entry, .. }) if entry.get() == 10),
            "{beyond:?}"
        );
        appending.add(batch(vec![promoted("m2", 9)], 3), &state()).expect("appended");
        let without_ledger = BatchState { ledger_end: None, ..state() };
        assert!(appending.add(batch(vec![promoted("m3", 1)], 5), &without_ledger).is_err());
    }

    #[test]
    fn a_chat_without_a_context_takes_no_lines() {
        let refused =
            Appending::new(&chat(), None).add(batch(vec![prepared("m2", "a")], 1), &state());
        assert!(matches!(refused, Err(AppendError::NoContext { .. })), "{refused:?}");
    }
}
