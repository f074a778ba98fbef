//! Reads the lines of a log behind a number, and of the rest only a few blocks.
//!
//! The numbers of a log go up, so the place of a number is found by halving. What cannot be read on the way
//! is passed over: then more is read than is needed, and nothing is missed. Where lines are damaged, all is read.

use std::io;

use super::env::read_from;
use crate::disk::DiskFile;
use crate::line::{RawLine, decode};
use crate::scan::scan;

/// How much is read at a place to tell its number: enough for most lines, and enough for nearly all.
const PROBES_BYTES: [u64; 2] = [2 * 1024, 32 * 1024];
/// A place this near is near enough.
const NEAR_BYTES: u64 = 8 * 1024;
/// How much is read at once from the place that was found.
const BLOCK_BYTES: u64 = 64 * 1024;

/// Reads the first `limit` lines of a file of `len` bytes that are behind `after` and wanted.
pub(crate) fn lines_behind(
    file: &dyn DiskFile,
    len: u64,
    after: u64,
    limit: usize,
    is_wanted: impl Fn(&RawLine) -> bool,
) -> io::Result<Vec<RawLine>> {
    let mut from = place_before(file, len, after.saturating_add(1))?;
    let mut block = BLOCK_BYTES;
    loop {
        let end = from.saturating_add(block).min(len);
        let found = scan(&read_from(file, from, end)?, None);
        if !found.damage.is_empty() && (from, end) != (0, len) {
            // What a damaged line means depends on those before it, wherever they are.
            (from, block) = (0, len);
            continue;
        }
        let lines = found.lines.into_iter().map(|found| found.line);
        let wanted = lines.filter(|line| line.seq > after && is_wanted(line));
        let wanted: Vec<RawLine> = wanted.take(limit).collect();
        // The end of a block cuts a line, and perhaps a batch, whose lines are not given then.
        if wanted.len() >= limit || end == len {
            return Ok(wanted);
        }
        block = block.saturating_mul(4);
    }
}

/// Finds a place where a batch begins, near the line `seq` and not behind it.
fn place_before(file: &dyn DiskFile, len: u64, seq: u64) -> io::Result<u64> {
    let (mut from, mut to) = (0, len);
    while to - from > NEAR_BYTES {
        let middle = from + (to - from) / 2;
        match number_behind(file, middle, len)? {
            Some((offset, number)) if number <= seq => from = offset,
            Some(_) | None => to = middle,
        }
    }
    Ok(from)
}

/// Where the first batch begins behind a place, and its first number, if it begins near.
fn number_behind(file: &dyn DiskFile, place: u64, len: u64) -> io::Result<Option<(u64, u64)>> {
    for probe in PROBES_BYTES {
        let bytes = read_from(file, place, (place + probe).min(len))?;
        if let Some((offset, number)) = first_batch(&bytes) {
            return Ok(Some((place + offset, number)));
        }
    }
    Ok(None)
}

/// Where the first batch begins behind the first newline of a block, and the number of its first line.
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
