//! Turns the bytes of a file back into the lines of a log.
//!
//! A writer has at most one unsynced batch in a file. A crash leaves the beginning of that batch, or NUL bytes
//! where pages did not reach the disk. So exactly three things are a *torn tail*: an end without its newline, NUL
//! bytes in the last batch, and a last batch that lacks lines at its end. A torn tail was never acknowledged and is
//! cut off before the next append. All other unreadable bytes are *damage*, even in the last line: they are
//! reported and kept, and the lines around them are read.
//!
//! The result depends on the bytes alone. Nothing here opens a file.

use crate::line::{RawLine, claimed_seq, decode, decode_first, without_return};

/// A line and its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScannedLine {
    pub(crate) offset: usize,
    /// The length without the newline.
    pub(crate) len: usize,
    pub(crate) line: RawLine,
}

/// Says what is wrong with a stretch of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFault {
    /// The bytes are not a line.
    Unreadable,
    /// The line is whole, but its number is not above an earlier one.
    OutOfOrder,
    /// Numbers are missing, though no bytes are unreadable.
    Gap,
}

/// A damaged stretch of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: usize,
    pub(crate) len: usize,
    pub(crate) fault: LogFault,
}

/// The highest line numbers at the end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineNumbers {
    /// The number of the last line that can be read.
    pub(crate) last: u64,
    /// The highest number that may have been given. It is higher than `last` when unreadable lines follow, and
    /// no number up to it is given again.
    pub(crate) given: u64,
}

impl LineNumbers {
    /// Returns the numbers of a log that has no damage at its end.
    pub(crate) fn at(last: u64) -> Self {
        Self { last, given: last }
    }
}

/// The lines and the damage in a stretch of bytes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LogScan {
    pub(crate) lines: Vec<ScannedLine>,
    pub(crate) damage: Vec<Damage>,
    /// The offsets of lines that share a line of text with another, which is harmless.
    pub(crate) glued: Vec<usize>,
    /// The length of the whole batches and the damage; what follows is a torn tail.
    pub(crate) good_len: usize,
    /// Whether the good part ends with a damaged batch that looks torn itself once the torn tail is cut.
    pub(crate) rest_looks_torn: bool,
    /// The highest number that may have been given, also to a line that cannot be read.
    pub(crate) given: u64,
}

enum Item {
    Line(ScannedLine),
    /// A line with a number that is not above that of the line before it.
    Repeated(ScannedLine),
    Bad(UnreadableBytes),
}

/// Bytes that are not a line.
struct UnreadableBytes {
    offset: usize,
    end: usize,
    /// Whether a crash may have left them, because they have NULs or lack their newline.
    torn: bool,
    /// The number of lines they once were, as far as it can be told.
    lines: u64,
    /// The number at their start, if they are the unfinished end of a file.
    claimed: Option<u64>,
}

/// Scans the bytes of a log from its start, or from the end of a batch. `next_seq` is the number that the next line
/// should have, if it is known.
pub(crate) fn scan(bytes: &[u8], next_seq: Option<u64>) -> LogScan {
    scan_after(bytes, next_seq.map(|next| LineNumbers::at(next.saturating_sub(1))))
}

/// Scans the bytes that follow a part of the log with these last numbers.
pub(crate) fn scan_after(bytes: &[u8], behind: Option<LineNumbers>) -> LogScan {
    let mut glued = Vec::new();
    let mut items = split_items(bytes, &mut glued);
    mark_repeats(&mut items, behind.map(|numbers| numbers.last));
    let kept = items_before_torn_tail(&items);
    let good_len = items.get(kept).map_or(bytes.len(), Item::offset);
    let cut_next = items_before_torn_tail(&items[..kept]);
    let loses_line = items[cut_next..kept].iter().any(|item| matches!(item, Item::Line(_)));
    let rest_looks_torn = kept < items.len() && loses_line;
    items.truncate(kept);
    glued.retain(|&at| at < good_len);
    let given = behind.map_or(0, |numbers| numbers.given);
    let mut scan = LogScan { good_len, rest_looks_torn, glued, given, ..LogScan::default() };
    scan.sort_items(items, behind.map(|numbers| numbers.given + 1));
    scan
}

impl LogScan {
    /// Returns the scan of a log of which nothing can be read.
    pub(crate) fn unreadable(len: usize) -> Self {
        let damage = vec![Damage { offset: 0, len, fault: LogFault::Unreadable }];
        Self { damage, good_len: len, ..Self::default() }
    }

    /// Whether the bytes are whole lines, each on its own, and nothing else.
    pub(crate) fn is_whole(&self, bytes: &[u8]) -> bool {
        let ended = bytes.is_empty() || bytes.ends_with(b"\n");
        ended && self.good_len == bytes.len() && self.damage.is_empty() && self.glued.is_empty()
    }

    /// Divides items into lines and damage, by readability and by the order of the numbers.
    fn sort_items(&mut self, items: Vec<Item>, mut next_seq: Option<u64>) {
        let mut after_bad = false;
        for item in items {
            match item {
                Item::Bad(bad) => {
                    after_bad = true;
                    self.given += bad.lines;
                    self.add_damage(bad.offset, bad.end - bad.offset, LogFault::Unreadable);
                }
                Item::Repeated(found) => {
                    // Without its newline, which the last line may lack: the damage stays the same when it gets one.
                    self.add_damage(found.offset, found.len, LogFault::OutOfOrder);
                }
                Item::Line(found) => {
                    let seq = found.line.seq;
                    // A tombstone has the number of the last line that it stands for.
                    let jumps = next_seq.is_some_and(|next| seq > next);
                    if jumps && !after_bad && !found.line.is_tombstone() {
                        self.add_damage(found.offset, 0, LogFault::Gap);
                    }
                    after_bad = false;
                    next_seq = Some(seq + 1);
                    self.given = seq;
                    self.lines.push(found);
                }
            }
        }
        // A damaged batch may lack lines without leaving a trace, so its last number counts as given.
        let batch = self.lines.last().and_then(|found| found.line.batch);
        self.given = self.given.max(batch.map_or(0, |(_, end)| end));
    }

    fn add_damage(&mut self, offset: usize, len: usize, fault: LogFault) {
        self.damage.push(Damage { offset, len, fault });
    }
}

impl Item {
    fn offset(&self) -> usize {
        match self {
            Self::Line(found) | Self::Repeated(found) => found.offset,
            Self::Bad(bad) => bad.offset,
        }
    }

    /// Whether a crash may have left this item.
    fn is_torn(&self) -> bool {
        matches!(self, Self::Bad(UnreadableBytes { torn: true, .. }))
    }

    /// Whether this is an unfinished line with a number after `batch`. The number may have been cut as well, which only
    /// makes it smaller.
    fn claims_number_after(&self, batch: (u64, u64)) -> bool {
        matches!(self, Self::Bad(UnreadableBytes { claimed: Some(seq), .. }) if *seq > batch.1)
    }

    /// Returns the number of a line if it belongs to `batch`.
    fn in_batch(&self, batch: (u64, u64)) -> Option<u64> {
        match self {
            Self::Line(found) if found.line.batch == Some(batch) => Some(found.line.seq),
            Self::Line(_) | Self::Repeated(_) | Self::Bad(_) => None,
        }
    }
}

/// Divides the bytes into lines and unreadable stretches.
fn split_items(bytes: &[u8], glued: &mut Vec<usize>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut offset = 0;
    while offset < bytes.len() {
        let newline = memchr::memchr(b'\n', &bytes[offset..]);
        let end = newline.map_or(bytes.len(), |at| offset + at);
        match decode(&bytes[offset..end]) {
            // A whole line counts even without its newline, because the checksum covers its whole content.
            Some(line) => items.push(Item::Line(ScannedLine { offset, len: end - offset, line })),
            None if newline.is_some() => split_glued_lines(bytes, offset, end, &mut items, glued),
            // Without a newline it is an unfinished write.
            None => {
                let claimed = claimed_seq(&bytes[offset..end]);
                let unfinished = UnreadableBytes { offset, end, torn: true, lines: 1, claimed };
                items.push(Item::Bad(unfinished));
            }
        }
        offset = end + usize::from(newline.is_some());
    }
    items
}

/// Finds the lines in a stretch that is not one line: without a newline between them, two lines share one.
///
/// Text from a person can look like a line, with a valid checksum. So nothing after an unreadable byte is trusted:
/// lines are taken only from the beginning, one directly after the other, and the rest is unreadable.
fn split_glued_lines(
    bytes: &[u8],
    start: usize,
    end: usize,
    items: &mut Vec<Item>,
    glued: &mut Vec<usize>,
) {
    let nul_len = bytes[start..end].iter().take_while(|&&byte| byte == 0).count();
    let behind = (nul_len > 0).then(|| decode(&bytes[start + nul_len..end])).flatten();
    if let Some(line) = behind {
        // The NULs are a write that did not reach the disk, and another process wrote its line after them. It is a
        // real line: text from a person stands inside braces or quotes that the rest of its line closes, so it
        // cannot be all that is left of a line.
        let offset = start + nul_len;
        let nuls =
            UnreadableBytes { offset: start, end: offset, torn: true, lines: 1, claimed: None };
        items.push(Item::Bad(nuls));
        items.push(Item::Line(ScannedLine { offset, len: end - offset, line }));
        return;
    }
    let stretch = without_return(&bytes[start..end]);
    // A byte that turned into a newline would make the middle of a line look like the start of one.
    let after_bad = matches!(items.last(), Some(Item::Bad(_)));
    let before = (items.len(), glued.len());
    let mut at = 0;
    let mut next_seq = None;
    while let Some((len, line)) = decode_first(&stretch[at..]) {
        if next_seq.is_some_and(|next| next != line.seq) {
            break;
        }
        next_seq = Some(line.seq + 1);
        glued.push(start + at);
        items.push(Item::Line(ScannedLine { offset: start + at, len, line }));
        at += len;
    }
    if at == stretch.len() && !stretch.is_empty() {
        return;
    }
    if after_bad {
        items.truncate(before.0);
        glued.truncate(before.1);
        at = 0;
    }
    let (offset, torn) = (start + at, stretch[at..].contains(&0));
    items.push(Item::Bad(UnreadableBytes {
        offset,
        end: end + 1,
        torn,
        lines: lines_in(&stretch[at..]),
        claimed: None,
    }));
}

/// Returns how many lines a stretch held before it was damaged: more than one if a newline was damaged.
fn lines_in(stretch: &[u8]) -> u64 {
    const BEGINNING: &[u8] = b"{\"seq\":";
    let beginnings = stretch.windows(BEGINNING.len()).filter(|window| *window == BEGINNING);
    (beginnings.count() as u64).max(1)
}

/// Marks the lines with numbers that are not above the number before them; `last` precedes them all.
fn mark_repeats(items: &mut [Item], mut last: Option<u64>) {
    for item in items {
        let Item::Line(found) = item else { continue };
        if last.is_some_and(|last| found.line.seq <= last) {
            *item = Item::Repeated(found.clone());
        } else {
            last = Some(found.line.seq);
        }
    }
}

/// Returns the number of items before the torn tail.
fn items_before_torn_tail(items: &[Item]) -> usize {
    let torn_from = items.iter().rposition(|item| !item.is_torn()).map_or(0, |at| at + 1);
    let Some(last) = items.iter().rposition(|item| matches!(item, Item::Line(_))) else {
        return torn_from;
    };
    let Item::Line(found) = &items[last] else { return torn_from };
    let Some(batch) = found.line.batch else { return torn_from };
    if last + 1 < torn_from {
        // The bytes after the batch are damage and not a torn tail. They may be the rest of the batch.
        return torn_from;
    }
    if items[last..].iter().any(|item| item.claims_number_after(batch)) {
        // A writer begins no line before its last batch is whole, so the batch lost its end later.
        return torn_from;
    }
    let first = batch_start(items, last, batch);
    let lines = items[first..=last].iter().filter_map(|item| item.in_batch(batch)).count() as u64;
    let lacks_end = found.line.seq < batch.1;
    let is_last = torn_from == items.len();
    // A whole batch has one line more than this difference.
    let has_hole = lines <= batch.1 - batch.0 && items[first..last].iter().any(Item::is_torn);
    if lacks_end || (is_last && has_hole) { first } else { torn_from }
}

/// Returns the index of the first item of the batch of `last`: its first line, or the unreadable
/// bytes in its place.
fn batch_start(items: &[Item], last: usize, batch: (u64, u64)) -> usize {
    let other = |item: &Item| matches!(item, Item::Line(_)) && item.in_batch(batch).is_none();
    let from = items[..last].iter().rposition(other).map_or(0, |at| at + 1);
    let lines = from..=last;
    let first = lines.into_iter().find(|&at| items[at].in_batch(batch).is_some()).unwrap_or(last);
    let mut missing = items[first].in_batch(batch).map_or(0, |seq| seq.saturating_sub(batch.0));
    let mut start = first;
    while let Some(Item::Bad(bad)) = start.checked_sub(1).map(|at| &items[at]) {
        if missing == 0 {
            break;
        }
        missing = missing.saturating_sub(bad.lines);
        start -= 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ship_message::json::{Json, Object};

    use super::*;
    use crate::line::{LineKind, UnnumberedLine};

    /// A log of batches with these many lines each, and where each batch ends.
    fn log(batches: &[u64]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends, mut seq) = (Vec::new(), Vec::new(), 1);
        for &count in batches {
            let batch = (count > 1).then_some((seq, seq + count - 1));
            for _ in 0..count {
                let body = Object::from([("id", Json::from(format!("m{seq}")))]);
                UnnumberedLine::new(LineKind::Message, body).write(seq, batch, &mut bytes);
                seq += 1;
            }
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn seqs(scan: &LogScan) -> Vec<u64> {
        scan.lines.iter().map(|found| found.line.seq).collect()
    }

    /// Whether all that a scan has found is in these bytes.
    fn stays_inside(scan: &LogScan, bytes: &[u8]) -> bool {
        let lines = scan.lines.iter().map(|found| found.offset + found.len);
        let damage = scan.damage.iter().map(|damage| damage.offset + damage.len);
        lines.chain(damage).chain([scan.good_len]).all(|end| end <= bytes.len())
    }

    proptest! {
        #[test]
        fn a_cut_at_any_byte_leaves_the_whole_batches_before_it(
            batches in prop::collection::vec(1u64..4, 1..6), cut: prop::sample::Index,
        ) {
            let (mut bytes, ends) = log(&batches);
            bytes.truncate(cut.index(bytes.len() + 1));
            let scan = scan(&bytes, Some(1));
            // A line that lost nothing but its newline is whole.
            let whole = ends.iter().copied().filter(|&end| end - 1 <= bytes.len()).max().unwrap_or(0);
            prop_assert_eq!(scan.good_len, whole.min(bytes.len()));
            prop_assert!(scan.damage.is_empty());
        }

        #[test]
        fn nul_bytes_anywhere_in_the_last_batch_tear_all_of_it(
            batches in prop::collection::vec(1u64..4, 2..6), at: prop::sample::Index, len in 1usize..50,
        ) {
            let (mut bytes, ends) = log(&batches);
            let start = ends[ends.len() - 2];
            let at = start + at.index(bytes.len() - start);
            let end = (at + len).min(bytes.len());
            bytes[at..end].fill(0);
            let scan = scan(&bytes, Some(1));
            prop_assert_eq!((scan.good_len, scan.damage.len()), (start, 0));
            prop_assert_eq!(scan.given, batches[..batches.len() - 1].iter().sum::<u64>());
        }

        #[test]
        fn whatever_else_is_wrong_before_the_last_newline_is_damage_and_costs_its_lines_alone(
            batches in prop::collection::vec(1u64..4, 1..6),
            at: prop::sample::Index, noise in prop::collection::vec(1u8.., 1..50),
        ) {
            let (mut bytes, _) = log(&batches);
            let before = bytes.clone();
            let at = at.index(bytes.len() - 1);
            let end = (at + noise.len()).min(bytes.len() - 1);
            bytes[at..end].copy_from_slice(&noise[..end - at]);
            prop_assume!(bytes != before);
            let untouched = |found: &&ScannedLine| found.offset + found.len < at || found.offset > end;
            let whole = scan(&before, Some(1)).lines;
            let found = scan(&bytes, Some(1));
            prop_assert_eq!(found.good_len, bytes.len());
            prop_assert!(!found.damage.is_empty());
            for line in whole.iter().filter(untouched) {
                prop_assert!(found.lines.contains(line), "line {}", line.line.seq);
            }
        }

        #[test]
        fn the_numbers_of_unreadable_lines_count_as_given(
            batches in prop::collection::vec(1u64..4, 1..6), hurt in 0usize..4, at in 0usize..9,
        ) {
            let (mut bytes, _) = log(&batches);
            let last = batches.iter().sum::<u64>();
            let lines = scan(&bytes, Some(1)).lines;
            for line in lines.iter().rev().take(hurt) {
                bytes[line.offset + at] ^= 1;
            }
            let found = scan(&bytes, None);
            // Nothing is left to count from when not even the head can be read.
            prop_assume!(!found.lines.is_empty());
            prop_assert_eq!(found.given, last);
        }

        #[test]
        fn carriage_returns_before_the_newlines_change_nothing(
            batches in prop::collection::vec(1u64..4, 1..6), cut: prop::sample::Index,
        ) {
            let (bytes, _) = log(&batches);
            let text = String::from_utf8(bytes).expect("lines are text").replace('\n', "\r\n");
            let found = scan(text.as_bytes(), Some(1));
            prop_assert_eq!(seqs(&found), (1..=batches.iter().sum()).collect::<Vec<_>>());
            prop_assert!(found.is_whole(text.as_bytes()));
            let cut = scan(&text.as_bytes()[..cut.index(text.len() + 1)], Some(1));
            prop_assert!(cut.damage.is_empty());
        }

        #[test]
        fn no_damage_of_any_bytes_reaches_past_their_end(bytes: Vec<u8>) {
            prop_assert!(stays_inside(&scan(&bytes, None), &bytes));
        }

        #[test]
        fn no_damage_of_an_injured_log_reaches_past_its_end(
            batches in prop::collection::vec(1u64..4, 1..6),
            copied: prop::sample::Index, to: prop::sample::Index, cut: prop::sample::Index,
            injury in prop::collection::vec(prop::sample::select(&b"\0\nx"[..]), 0..3), at: prop::sample::Index,
        ) {
            let (mut bytes, _) = log(&batches);
            // A line and those after it stand at some place once more, as a careless merge leaves them.
            let lines = scan(&bytes, Some(1)).lines;
            let starts: Vec<usize> = lines.iter().map(|found| found.offset).chain([bytes.len()]).collect();
            let (copied, to) = (bytes[*copied.get(&starts)..].to_vec(), *to.get(&starts));
            bytes.splice(to..to, copied);
            let at = at.index(bytes.len() - injury.len());
            bytes[at..at + injury.len()].copy_from_slice(&injury);
            for end in [bytes.len() - 1, cut.index(bytes.len() + 1)] {
                prop_assert!(stays_inside(&scan(&bytes[..end], Some(1)), &bytes[..end]));
            }
        }
    }

    /// A line whose content holds something that is a line in every respect.
    fn posing(seq: u64, posed: u64) -> Vec<u8> {
        let mut inner = Vec::new();
        let evil = Object::from([("id", Json::from("evil"))]);
        UnnumberedLine::new(LineKind::Message, evil).write(posed, None, &mut inner);
        let Ok(inner) = Json::parse_bytes(&inner) else { panic!("a line is JSON") };
        let mut line = Vec::new();
        let body = Object::from([("id", Json::from(format!("m{seq}"))), ("data", inner)]);
        UnnumberedLine::new(LineKind::Message, body).write(seq, None, &mut line);
        line
    }

    #[test]
    fn content_can_never_pose_as_a_line_however_its_line_is_hurt() {
        let (before, _) = log(&[1]);
        for posed in [2, 3, 900] {
            let line = posing(2, posed);
            for hurt in 0..line.len() {
                for byte in [0, b'\n', b'x'] {
                    let mut bytes = [&before[..], &line].concat();
                    if bytes[before.len() + hurt] == byte {
                        continue;
                    }
                    bytes[before.len() + hurt] = byte;
                    let found = scan(&bytes, Some(1));
                    let evil = found.lines.iter().any(|f| f.line.body.str("id") == Some("evil"));
                    assert!(!evil, "byte {hurt} as {byte}, posing as {posed}");
                }
            }
            // The first bytes never reached the disk, the rest did.
            for zeroed in 1..line.len() {
                let mut bytes = [&before[..], &line].concat();
                bytes[before.len()..before.len() + zeroed].fill(0);
                assert_eq!(seqs(&scan(&bytes, Some(1))), [1], "{zeroed} bytes");
            }
        }
    }

    #[test]
    fn content_full_of_beginnings_and_ends_of_lines_costs_one_pass() {
        let (mut bytes, _) = log(&[1]);
        let body = Object::from([
            ("id", Json::from("m2")),
            ("data", vec![Json::parse(r#"{"seq":2,"crc":"00000000"}"#).unwrap(); 100_000].into()),
        ]);
        UnnumberedLine::new(LineKind::Message, body).write(2, None, &mut bytes);
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        // Looking at every pair of a beginning and an end would take hours.
        assert_eq!(seqs(&scan(&bytes, Some(1))), [1]);
    }

    #[test]
    fn a_line_that_lost_its_newline_is_read_and_so_is_what_follows_it() {
        let (mut bytes, ends) = log(&[1, 1]);
        bytes.pop();
        assert_eq!(seqs(&scan(&bytes, Some(1))), [1, 2]);
        bytes.extend(b"\0\0\n");
        let found = scan(&bytes, Some(1));
        assert_eq!((seqs(&found), found.good_len), (vec![1, 2], ends[1] - 1));
    }

    #[test]
    fn a_run_of_nul_bytes_at_the_end_is_a_torn_tail() {
        let (mut bytes, ends) = log(&[1, 1]);
        bytes.extend([0; 700]);
        let scan = scan(&bytes, Some(1));
        assert_eq!((scan.good_len, seqs(&scan)), (ends[1], vec![1, 2]));
    }

    #[test]
    fn a_nul_first_page_of_the_last_batch_tears_all_of_it() {
        let (mut bytes, ends) = log(&[1, 3]);
        bytes[ends[0]..ends[0] + 20].fill(0);
        let scan = scan(&bytes, Some(1));
        assert_eq!((scan.good_len, scan.damage.len(), seqs(&scan)), (ends[0], 0, vec![1]));
    }

    #[test]
    fn a_line_that_another_process_wrote_behind_a_hole_is_read() {
        let (mut bytes, ends) = log(&[1, 2, 1]);
        bytes[ends[0]..ends[1]].fill(0);
        let found = scan(&bytes, Some(1));
        assert_eq!((seqs(&found), found.good_len), (vec![1, 4], bytes.len()));
        let hole = Damage { offset: ends[0], len: ends[1] - ends[0], fault: LogFault::Unreadable };
        assert_eq!(found.damage, [hole]);
    }

    #[test]
    fn damage_before_the_last_batch_is_named_and_the_rest_is_read() {
        let (mut bytes, ends) = log(&[1, 1, 1, 1]);
        bytes[ends[0] + 9] ^= 1;
        let scan = scan(&bytes, Some(1));
        let expected =
            Damage { offset: ends[0], len: ends[1] - ends[0], fault: LogFault::Unreadable };
        assert_eq!((scan.good_len, seqs(&scan)), (bytes.len(), vec![1, 3, 4]));
        assert_eq!(scan.damage, [expected]);
    }

    #[test]
    fn a_last_line_that_ends_with_its_newline_and_cannot_be_read_is_damage() {
        let (mut bytes, ends) = log(&[1, 1]);
        bytes[ends[0] + 9] ^= 1;
        let scan = scan(&bytes, Some(1));
        let expected =
            Damage { offset: ends[0], len: ends[1] - ends[0], fault: LogFault::Unreadable };
        assert_eq!((scan.good_len, scan.damage, scan.given), (bytes.len(), vec![expected], 2));
    }

    #[test]
    fn the_readable_lines_of_a_damaged_last_batch_count() {
        let (bytes, ends) = log(&[1, 3]);
        let lines = scan(&bytes, Some(1)).lines;
        for hurt in 1..=3 {
            let mut bytes = bytes.clone();
            bytes[lines[hurt].offset + 9] ^= 1;
            let found = scan(&bytes, Some(1));
            let expected: Vec<u64> = (1..=4).filter(|seq| *seq != hurt as u64 + 1).collect();
            assert_eq!((seqs(&found), found.good_len, found.given), (expected, ends[1], 4));
        }
    }

    #[test]
    fn a_batch_that_lacks_its_last_line_is_torn_and_one_that_lacks_another_is_damaged() {
        let (bytes, ends) = log(&[1, 3]);
        let lines = scan(&bytes, Some(1)).lines;
        let without = |at: usize| {
            let end = lines[at].offset + lines[at].len + 1;
            [&bytes[..lines[at].offset], &bytes[end..]].concat()
        };
        let found = scan(&without(3), Some(1));
        assert_eq!((seqs(&found), found.good_len, found.given), (vec![1], ends[0], 1));
        let found = scan(&without(2), Some(1));
        assert_eq!((seqs(&found), found.damage[0].fault), (vec![1, 2, 4], LogFault::Gap));
    }

    #[test]
    fn a_line_behind_damage_may_have_any_number_above_the_last_that_can_be_read() {
        let (bytes, ends) = log(&[1, 1, 1, 1]);
        let behind = Some(LineNumbers { last: 1, given: 3 });
        let found = scan_after(&bytes[ends[2]..], behind);
        assert_eq!((seqs(&found), found.damage.len()), (vec![4], 0));
        // A program that does not skip the numbers of unreadable lines wrote it.
        let found = scan_after(&bytes[ends[1]..], behind);
        assert_eq!((seqs(&found), found.damage.len()), (vec![3, 4], 0));
        let found = scan_after(&bytes[ends[2]..], Some(LineNumbers::at(2)));
        assert_eq!((seqs(&found), found.damage[0].fault), (vec![4], LogFault::Gap));
    }

    #[test]
    fn a_doubled_line_at_the_end_tears_nothing() {
        let (bytes, ends) = log(&[1, 2, 1]);
        let lines = scan(&bytes, Some(1)).lines;
        let doubled = [&bytes[..], &bytes[ends[0]..lines[2].offset]].concat();
        let found = scan(&doubled, Some(1));
        assert_eq!((seqs(&found), found.good_len), (vec![1, 2, 3, 4], doubled.len()));
        assert_eq!(found.damage[0].fault, LogFault::OutOfOrder);
    }

    #[test]
    fn lines_glued_by_a_lost_newline_are_both_read() {
        let (mut bytes, ends) = log(&[1, 1, 1]);
        bytes.remove(ends[0] - 1);
        let scan = scan(&bytes, Some(1));
        assert_eq!((seqs(&scan), scan.glued.len(), scan.damage.len()), (vec![1, 2, 3], 2, 0));
    }

    #[test]
    fn a_line_glued_to_half_a_line_is_damage_with_it() {
        let (bytes, ends) = log(&[1, 1, 1, 1]);
        let mut glued = bytes[..ends[1] - 12].to_vec();
        glued.extend(&bytes[ends[1]..]);
        let scan = scan(&glued, Some(1));
        assert_eq!((seqs(&scan), scan.damage.len(), scan.good_len), (vec![1, 4], 1, glued.len()));
    }

    #[test]
    fn a_number_that_comes_twice_or_is_missing_is_damage() {
        let (bytes, ends) = log(&[1, 1, 1]);
        let twice = [&bytes[..ends[1]], &bytes[ends[0]..]].concat();
        let found = scan(&twice, Some(1));
        assert_eq!((seqs(&found), found.damage[0].fault), (vec![1, 2, 3], LogFault::OutOfOrder));
        let missing = [&bytes[..ends[0]], &bytes[ends[1]..]].concat();
        let found = scan(&missing, Some(1));
        assert_eq!((seqs(&found), found.damage[0].fault), (vec![1, 3], LogFault::Gap));
    }
}
