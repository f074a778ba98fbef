//! Reads the lines of a log after a number, and only a few blocks of the rest.
//!
//! The numbers of a log increase, so a binary search finds the place. Unreadable bytes on the way are skipped: then
//! more is read than needed, but no line is missed. If lines are damaged, the whole file is read.

use std::io;

use super::store_env::read_from;
use crate::disk::DiskFile;
use crate::line::{RawLine, decode};
use crate::scan::{LogScan, ScannedLine, scan};

/// The bytes that are read to find a line's number: enough for most lines, then enough for nearly all.
const PROBES_BYTES: [u64; 2] = [2 * 1024, 32 * 1024];
/// The distance at which the search stops.
const NEAR_BYTES: u64 = 8 * 1024;
/// The size of the first block that is read from the place that was found.
const BLOCK_BYTES: u64 = 64 * 1024;

/// A part of a log that was read.
pub(crate) struct Stretch {
    /// The offset of its first byte.
    pub(crate) from: u64,
    pub(crate) len: u64,
    pub(crate) scan: LogScan,
    /// Whether it ends where the log ends.
    pub(crate) is_to_end: bool,
}

/// Reads up to `limit` lines of a file of `len` bytes that come after `after` and are wanted.
pub(crate) fn lines_after(
    file: &dyn DiskFile,
    len: u64,
    after: u64,
    limit: usize,
    is_wanted: impl Fn(&RawLine) -> bool,
) -> io::Result<Vec<RawLine>> {
    let is_wanted = |found: &ScannedLine| found.line.seq > after && is_wanted(&found.line);
    let count =
        |scan: &LogScan| scan.lines.iter().filter(|found| is_wanted(found)).take(limit).count();
    let stretch = stretch_after(file, len, after, |scan| count(scan) >= limit)?;
    let wanted = stretch.scan.lines.into_iter().filter(is_wanted);
    Ok(wanted.take(limit).map(|found| found.line).collect())
}

/// Reads a stretch of a file of `len` bytes that has the first line after `after`, and as many lines behind it as are
/// enough, or all. A stretch with damage is the whole file.
pub(crate) fn stretch_after(
    file: &dyn DiskFile,
    len: u64,
    after: u64,
    is_enough: impl Fn(&LogScan) -> bool,
) -> io::Result<Stretch> {
    let mut from = match after {
        // Every line comes after 0.
        0 => 0,
        after => place_before(file, len, after.saturating_add(1))?,
    };
    let (mut block, mut bytes) = (BLOCK_BYTES, Vec::new());
    loop {
        let read = from + bytes.len() as u64;
        let end = read.saturating_add(block).min(len);
        bytes.extend(read_from(file, read, end)?);
        let found = scan(&bytes, None);
        if !found.damage.is_empty() && (from, end) != (0, len) {
            // The meaning of a damaged line depends on the lines before it, wherever they are.
            (from, block) = (0, len);
            bytes.clear();
            continue;
        }
        // The end of a block cuts a line and perhaps a batch; the lines of a cut batch are not returned.
        if end == len || is_enough(&found) {
            return Ok(Stretch { from, len: end - from, scan: found, is_to_end: end == len });
        }
        block = block.saturating_mul(4);
    }
}

/// Finds the start of a batch that is near the line `seq` and not after it.
fn place_before(file: &dyn DiskFile, len: u64, seq: u64) -> io::Result<u64> {
    let (mut from, mut to) = (0, len);
    while to - from > NEAR_BYTES {
        let middle = from + (to - from) / 2;
        match number_after(file, middle, len)? {
            Some((offset, number)) if number <= seq => from = offset,
            Some(_) | None => to = middle,
        }
    }
    Ok(from)
}

/// Returns the offset and the number of the first batch after a place, if it begins near.
fn number_after(file: &dyn DiskFile, place: u64, len: u64) -> io::Result<Option<(u64, u64)>> {
    for probe in PROBES_BYTES {
        let bytes = read_from(file, place, (place + probe).min(len))?;
        if let Some((offset, number)) = first_batch(&bytes) {
            return Ok(Some((place + offset, number)));
        }
    }
    Ok(None)
}

/// Returns the offset and the number of the first batch after the first newline of a block.
fn first_batch(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut at = 0;
    while let Some(newline) = bytes[at..].iter().position(|&byte| byte == b'\n') {
        at += newline + 1;
        let end = at + bytes[at..].iter().position(|&byte| byte == b'\n')?;
        let line = decode(&bytes[at..end]);
        let begins = |line: &RawLine| line.batch.is_none_or(|(first, _)| first == line.seq);
        if let Some(line) = line.filter(begins) {
            return Some((at as u64, line.seq));
        }
    }
    None
}
