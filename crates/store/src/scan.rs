//! Scanning: turning whatever bytes are on disk back into a log.
//!
//! A writer has at most one unsynced batch in a file, so a crash can only have hurt the bytes from the
//! first line of the last batch on. Whatever is wrong there is a *torn tail*: half a line, a run of NUL
//! bytes, a batch whose other lines are missing. It was never acknowledged and is cut off before the
//! next append. Whatever is wrong before it cannot come from a crash: it is
//! *damage*, which is named and left for somebody to look at, while the lines around it are read.
//!
//! All of this is a function of the bytes. Nothing here opens a file.

use crate::line::{RawLine, decode, decode_first};

/// A line and where it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) offset: usize,
    /// Length without the newline.
    pub(crate) len: usize,
    pub(crate) line: RawLine,
}

/// What is wrong with a stretch of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Bytes that are no line.
    Unreadable,
    /// A whole line that repeats or goes back behind an earlier number.
    OutOfOrder,
    /// Numbers are missing, though no bytes are unreadable.
    Gap,
}

/// A stretch of a log that is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: usize,
    pub(crate) len: usize,
    pub(crate) fault: Fault,
}

/// What a stretch of bytes holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Scan {
    pub(crate) lines: Vec<Found>,
    pub(crate) damage: Vec<Damage>,
    /// Where two lines stand on one, which is harmless.
    pub(crate) glued: Vec<usize>,
    /// Up to here everything is a whole batch or damage; the rest is a torn tail.
    pub(crate) good_len: usize,
}

enum Item {
    Line(Found),
    Bad { offset: usize, end: usize },
}

/// Scans the bytes of a log from its start, or from the end of a batch on, where the next line should
/// have the number `next_seq` if that is known.
pub(crate) fn scan(bytes: &[u8], next_seq: Option<u64>) -> Scan {
    let mut glued = Vec::new();
    let mut items = split(bytes, &mut glued);
    let kept = whole_batches(&items);
    let good_len = match items.get(kept) {
        None => bytes.len(),
        Some(Item::Line(found)) => found.offset,
        Some(Item::Bad { offset, .. }) => *offset,
    };
    items.truncate(kept);
    glued.retain(|&at| at < good_len);
    let mut scan = Scan { good_len, glued, ..Scan::default() };
    scan.sort_out(items, next_seq);
    scan
}

impl Scan {
    /// Whether these bytes are lines, each on its own, and nothing else.
    pub(crate) fn is_whole(&self, bytes: &[u8]) -> bool {
        let ended = bytes.is_empty() || bytes.ends_with(b"\n");
        ended && self.good_len == bytes.len() && self.damage.is_empty() && self.glued.is_empty()
    }

    /// Tells lines from damage, by what can be read and by the order of the numbers.
    fn sort_out(&mut self, items: Vec<Item>, mut next_seq: Option<u64>) {
        let mut after_bad = false;
        for item in items {
            match item {
                Item::Bad { offset, end } => {
                    after_bad = true;
                    self.add_damage(offset, end - offset, Fault::Unreadable);
                }
                Item::Line(found) => {
                    let seq = found.line.seq;
                    match next_seq {
                        Some(next) if seq < next => {
                            self.add_damage(found.offset, found.len + 1, Fault::OutOfOrder);
                            continue;
                        }
                        // A tombstone has the number of the last line that it stands for.
                        Some(next) if seq > next && !after_bad && !found.line.is_tombstone() => {
                            self.add_damage(found.offset, 0, Fault::Gap);
                        }
                        Some(_) | None => {}
                    }
                    after_bad = false;
                    next_seq = Some(seq + 1);
                    self.lines.push(found);
                }
            }
        }
    }

    fn add_damage(&mut self, offset: usize, len: usize, fault: Fault) {
        self.damage.push(Damage { offset, len, fault });
    }
}

/// Takes the bytes apart into lines and what is none.
fn split(bytes: &[u8], glued: &mut Vec<usize>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut offset = 0;
    while offset < bytes.len() {
        let newline = bytes[offset..].iter().position(|&byte| byte == b'\n');
        let end = newline.map_or(bytes.len(), |at| offset + at);
        match decode(&bytes[offset..end]) {
            // A whole line is one, also when its newline is lost: its checksum covers all that it says.
            Some(line) => items.push(Item::Line(Found { offset, len: end - offset, line })),
            None if newline.is_some() => unglue(bytes, offset, end, &mut items, glued),
            // Whatever it is, it was never finished.
            None => items.push(Item::Bad { offset, end }),
        }
        offset = end + usize::from(newline.is_some());
    }
    items
}

/// Finds the lines in a stretch that is not one: after a lost newline two stand on one line.
///
/// What people write can look like a line, checksum and all, so nothing behind a bad byte is believed: lines
/// are taken from the beginning, one directly behind the other, and the rest is bad.
fn unglue(bytes: &[u8], start: usize, end: usize, items: &mut Vec<Item>, glued: &mut Vec<usize>) {
    let stretch = &bytes[start..end];
    // A byte that became a newline inside a line would make its content the beginning of the next.
    let after_bad = matches!(items.last(), Some(Item::Bad { .. }));
    let before = (items.len(), glued.len());
    let mut at = 0;
    let mut next_seq = None;
    while let Some((len, line)) = decode_first(&stretch[at..]) {
        if next_seq.is_some_and(|next| next != line.seq) {
            break;
        }
        next_seq = Some(line.seq + 1);
        glued.push(start + at);
        items.push(Item::Line(Found { offset: start + at, len, line }));
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
    items.push(Item::Bad { offset: start + at, end: end + 1 });
}

/// How many of the items are before the torn tail.
fn whole_batches(items: &[Item]) -> usize {
    let Some(last) = items.iter().rposition(|item| matches!(item, Item::Line(_))) else {
        return 0;
    };
    let Item::Line(found) = &items[last] else { return 0 };
    let Some(batch) = found.line.batch else { return last + 1 };
    // The lines of the last batch, and what stands unreadable between them.
    let before = items[..last]
        .iter()
        .rposition(|item| matches!(item, Item::Line(found) if found.line.batch != Some(batch)));
    let first = before.map_or(0, |at| at + 1);
    let in_batch = |item: &&Item| matches!(item, Item::Line(_));
    let (lines, span) =
        (items[first..=last].iter().filter(in_batch).count(), batch.1 - batch.0 + 1);
    if lines as u64 == span && found.line.seq == batch.1 { last + 1 } else { first }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ship_message::json::{Json, Object};

    use super::*;
    use crate::line::{Draft, Kind};

    /// A log of batches with these many lines each, and where each batch ends.
    fn log(batches: &[u64]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends, mut seq) = (Vec::new(), Vec::new(), 1);
        for &count in batches {
            let batch = (count > 1).then_some((seq, seq + count - 1));
            for _ in 0..count {
                let body = Object::from([("id", Json::from(format!("m{seq}")))]);
                Draft::new(Kind::Message, body).write(seq, batch, &mut bytes);
                seq += 1;
            }
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn seqs(scan: &Scan) -> Vec<u64> {
        scan.lines.iter().map(|found| found.line.seq).collect()
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
        fn anything_at_all_inside_the_last_batch_is_a_torn_tail(
            batches in prop::collection::vec(1u64..4, 2..6),
            at: prop::sample::Index, noise in prop::collection::vec(0u8..255, 1..50),
        ) {
            let (mut bytes, ends) = log(&batches);
            let start = ends[ends.len() - 2];
            let at = start + at.index(bytes.len() - start);
            let end = (at + noise.len()).min(bytes.len());
            let before = bytes.clone();
            bytes[at..end].copy_from_slice(&noise[..end - at]);
            prop_assume!(bytes != before);
            let scan = scan(&bytes, Some(1));
            prop_assert_eq!(scan.good_len, start);
            prop_assert!(scan.damage.is_empty());
        }

        #[test]
        fn any_bytes_scan_without_a_panic(bytes: Vec<u8>) {
            prop_assert!(scan(&bytes, None).good_len <= bytes.len());
        }
    }

    /// A line whose content holds something that is a line in every respect.
    fn posing(seq: u64, posed: u64) -> Vec<u8> {
        let mut inner = Vec::new();
        let evil = Object::from([("id", Json::from("evil"))]);
        Draft::new(Kind::Message, evil).write(posed, None, &mut inner);
        let Ok(inner) = Json::parse_bytes(&inner) else { panic!("a line is JSON") };
        let mut line = Vec::new();
        let body = Object::from([("id", Json::from(format!("m{seq}"))), ("data", inner)]);
        Draft::new(Kind::Message, body).write(seq, None, &mut line);
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
        Draft::new(Kind::Message, body).write(2, None, &mut bytes);
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
    fn damage_before_the_last_batch_is_named_and_the_rest_is_read() {
        let (mut bytes, ends) = log(&[1, 1, 1, 1]);
        bytes[ends[0] + 9] ^= 1;
        let scan = scan(&bytes, Some(1));
        let expected = Damage { offset: ends[0], len: ends[1] - ends[0], fault: Fault::Unreadable };
        assert_eq!((scan.good_len, seqs(&scan)), (bytes.len(), vec![1, 3, 4]));
        assert_eq!(scan.damage, [expected]);
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
        assert_eq!((seqs(&found), found.damage[0].fault), (vec![1, 2, 3], Fault::OutOfOrder));
        let missing = [&bytes[..ends[0]], &bytes[ends[1]..]].concat();
        let found = scan(&missing, Some(1));
        assert_eq!((seqs(&found), found.damage[0].fault), (vec![1, 3], Fault::Gap));
    }
}
