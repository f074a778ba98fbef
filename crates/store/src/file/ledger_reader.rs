//! Reading the ledger: from its end, from a place, and back through the archives as if they were one file.

use std::path::{Path, PathBuf};

use super::blobs::read_blob;
use super::ledger::{LedgerFold, live_path, sealed_before};
use super::ledger_keys::ledger_path;
use super::log::{Fold, Span};
use super::log_reading::{first_line, scan_log};
use super::recent_lines::Start;
use super::seek::lines_after;
use super::store_env::{Env, read_from};
use crate::disk::{DiskFile, OpenMode};
use crate::line::{RawLine, claimed_seq};
use crate::rules::ledger_line;
use crate::scan::{LogScan, ScannedLine, scan};
use crate::{Delivery, LedgerLine, LedgerSeq, StorageError};

/// The number of bytes at the end of a file that are read first.
const TAIL_BYTES: u64 = 16 * 1024;

/// Reads the ledger and its archives. It keeps nothing in memory and changes nothing.
pub(crate) struct LedgerReader<'a> {
    pub(crate) env: &'a Env,
    pub(crate) folder: &'a Path,
}

impl LedgerReader<'_> {
    /// Returns the last lines of one file without its head: as many as are `enough`, or all. A turn looks at the
    /// end of the ledger several times, and its cost must not grow with the ledger.
    fn last_lines(
        &self,
        path: &Path,
        enough: impl Fn(&[RawLine]) -> bool,
    ) -> Result<Vec<RawLine>, StorageError> {
        let failed = |error| StorageError::io("read", path, error);
        let Some(file) = self.env.open(path, OpenMode::Read)? else { return Ok(Vec::new()) };
        let len = file.stat_when_opened().map_err(failed)?.len;
        let mut block = TAIL_BYTES;
        loop {
            let from = len.saturating_sub(block);
            let found = scan_from(&*file, from, len).map_err(failed)?;
            let certain = from == 0 || is_readable_alone(&found);
            // The meaning of a damaged line depends on the lines before it, wherever they are.
            let damaged = !found.damage.is_empty();
            let lines: Vec<RawLine> = content_lines(found).collect();
            if from == 0 || (certain && !damaged && !lines.is_empty() && enough(&lines)) {
                return Ok(lines);
            }
            // Each block is four times the last, so all of them cost little more than the one that suffices.
            block = if damaged { len } else { block.saturating_mul(4) };
        }
    }

    /// Returns the sealed files of the ledger, the newest first. The folder is listed for them, so they are asked for
    /// only where the live one does not suffice.
    fn sealed_files(&self) -> Result<Vec<PathBuf>, StorageError> {
        let sealed = sealed_before(self.env, self.folder)?;
        Ok(sealed.into_iter().map(|number| ledger_path(self.folder, number)).collect())
    }

    fn has_head(&self, path: &Path) -> Result<bool, StorageError> {
        Ok(first_line(self.env, path)?.is_some_and(|line| line.event() == Some("head")))
    }

    /// Folds the live ledger or, if its head is lost, the ledgers back to one with a head.
    pub(crate) fn fold(&self) -> Result<LedgerFold, StorageError> {
        let mut files = vec![live_path(self.folder)];
        if !self.has_head(&files[0])? {
            for path in self.sealed_files()? {
                let is_enough = self.has_head(&path)?;
                files.push(path);
                if is_enough {
                    break;
                }
            }
        }
        let mut fold = LedgerFold::default();
        for path in files.iter().rev() {
            let Some((_, bytes)) = self.env.read(path)? else { continue };
            let lines = scan_log(path, &bytes).lines;
            // The places are not used: callers need only the open deliveries of this fold.
            lines.iter().for_each(|found| fold.apply(&found.line, Span { offset: 0, len: 0 }));
        }
        Ok(fold)
    }

    pub(crate) fn before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, StorageError> {
        let mut newest_first = self.last_before(&live_path(self.folder), before, limit)?;
        if newest_first.len() < limit {
            for path in self.sealed_files()? {
                let left = limit - newest_first.len();
                newest_first.extend(self.last_before(&path, before, left)?);
                if newest_first.len() == limit {
                    break;
                }
            }
        }
        newest_first.reverse();
        self.resolve(newest_first)
    }

    /// Returns the last lines of one file before `before`, the newest first.
    fn last_before(
        &self,
        path: &Path,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<RawLine>, StorageError> {
        let is_wanted = |line: &RawLine| before.is_none_or(|seq| line.seq < seq.get());
        let enough =
            |lines: &[RawLine]| lines.iter().filter(|line| is_wanted(line)).count() >= limit;
        let lines = self.last_lines(path, enough)?.into_iter().rev();
        Ok(lines.filter(is_wanted).take(limit).collect())
    }

    /// Reads the lines after one with a known place. Returns `None` if anything there is unexpected; then the
    /// caller reads more of the file.
    pub(crate) fn after_known_line(
        &self,
        start: Start,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Option<Vec<LedgerLine>>, StorageError> {
        let path = live_path(self.folder);
        let failed = |error| StorageError::io("read", &path, error);
        let Some(file) = self.env.open(&path, OpenMode::ReadOften)? else { return Ok(None) };
        let look = file.stat_when_opened().map_err(failed)?;
        if look.file != start.file || look.len < start.offset {
            return Ok(None);
        }
        let bytes = read_from(&*file, start.offset, look.len).map_err(failed)?;
        let found = scan(&bytes, Some(start.seq));
        if !found.is_whole(&bytes) {
            return Ok(None);
        }
        let lines = found.lines.into_iter().map(|found| found.line);
        // Another process may have written lines that were neither known nor asked for.
        let is_behind = |line: &RawLine| after.is_none_or(|after| line.seq > after.get());
        let lines = lines.filter(|line| is_behind(line) && is_content_line(line));
        self.resolve(lines.take(limit).collect()).map(Some)
    }

    pub(crate) fn after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, StorageError> {
        let after = after.map_or(0, LedgerSeq::get);
        // New lines are nearly always at the end of the live ledger.
        if let Some(found) = self.end_after(&live_path(self.folder), after, limit)? {
            return self.resolve(found);
        }
        let mut files = vec![live_path(self.folder)];
        files.extend(self.sealed_files()?);
        files.truncate(self.files_after(&files, after)?);
        let Some(oldest) = files.pop() else { return Ok(Vec::new()) };
        let mut found = match self.end_after(&oldest, after, limit)? {
            Some(found) => found,
            None => self.lines_after(&oldest, after, after, limit)?,
        };
        // All lines of the newer files are wanted, mostly from the first on.
        for path in files.into_iter().rev() {
            if found.len() >= limit {
                break;
            }
            found.extend(self.lines_after(&path, 0, after, limit - found.len())?);
        }
        self.resolve(found)
    }

    /// Returns how many of the files, the newest first, may have lines after `after`. The numbers of a ledger increase
    /// from file to file, so a few heads are read, however many files there are.
    fn files_after(&self, files: &[PathBuf], after: u64) -> Result<usize, StorageError> {
        let (mut newer, mut older) = (0, files.len());
        while newer < older {
            let middle = newer + (older - newer) / 2;
            match first_line(self.env, &files[middle])?.map(|head| head.seq) {
                Some(first) if first <= after.saturating_add(1) => older = middle,
                Some(_) => newer = middle + 1,
                // A ledger without a head may begin at any number.
                None => return Ok(files.len()),
            }
        }
        Ok((newer + 1).min(files.len()))
    }

    /// Reads the first lines of one file after `after`, which is looked for from the line `start` on.
    fn lines_after(
        &self,
        path: &Path,
        start: u64,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RawLine>, StorageError> {
        let failed = |error| StorageError::io("read", path, error);
        let Some(file) = self.env.open(path, OpenMode::Read)? else { return Ok(Vec::new()) };
        let len = file.stat_when_opened().map_err(failed)?.len;
        let is_wanted = |line: &RawLine| line.seq > after && is_content_line(line);
        lines_after(&*file, len, start, limit, is_wanted).map_err(failed)
    }

    /// Reads the first lines of one file after `after` if they are all in its last block; otherwise returns `None`.
    fn end_after(
        &self,
        path: &Path,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<RawLine>>, StorageError> {
        let failed = |error| StorageError::io("read", path, error);
        let Some(file) = self.env.open(path, OpenMode::Read)? else { return Ok(None) };
        let len = file.stat_when_opened().map_err(failed)?.len;
        let from = len.saturating_sub(TAIL_BYTES);
        let bytes = read_from(&*file, from, len).map_err(failed)?;
        let tail = scan(&bytes[start_in_block(&bytes, from > 0, after)..], None);
        let reaches = |found: &ScannedLine| found.line.seq <= after.saturating_add(1);
        if !is_readable_alone(&tail)
            || !tail.damage.is_empty()
            || !tail.lines.first().is_some_and(reaches)
        {
            return Ok(None);
        }
        Ok(Some(content_lines(tail).filter(|line| line.seq > after).take(limit).collect()))
    }

    pub(crate) fn open_deliveries(&self) -> Result<Vec<Delivery>, StorageError> {
        self.fold()?.open.restore(|digest| read_blob(self.env, digest))
    }

    fn resolve(&self, lines: Vec<RawLine>) -> Result<Vec<LedgerLine>, StorageError> {
        let read = |line| ledger_line(line, |digest| read_blob(self.env, digest)).transpose();
        lines.into_iter().filter_map(read).collect()
    }
}

/// Whether a block at the end of a log reads the same without the bytes before it. The start of the last batch must
/// be in it, because the batch may be torn, and a line before the last one, because the last may repeat a number.
fn is_readable_alone(block: &LogScan) -> bool {
    let Some((first, last)) = block.lines.first().zip(block.lines.last()) else { return false };
    let begins = |batch: (u64, u64)| first.line.seq == batch.0 || first.line.batch != Some(batch);
    first.line.seq < last.line.seq && last.line.batch.is_none_or(begins)
}

/// Returns where the lines needed for everything after `after` begin in a block: one line before the last line that
/// is not after it. The scan decides whether they can be read.
fn start_in_block(block: &[u8], is_cut: bool, after: u64) -> usize {
    let first = match is_cut {
        true => block.iter().position(|&byte| byte == b'\n').map_or(block.len(), |at| at + 1),
        false => 0,
    };
    let mut end = match block.ends_with(b"\n") {
        true => block.len() - 1,
        false => return first,
    };
    let mut is_reached = false;
    while end > first {
        let newline = block[first..end].iter().rposition(|&byte| byte == b'\n');
        let begin = newline.map_or(first, |at| first + at + 1);
        if is_reached || newline.is_none() {
            return begin;
        }
        // The scan checks whether the line really has this number.
        let Some(seq) = claimed_seq(&block[begin..end]) else { return first };
        is_reached = seq <= after;
        end = begin - 1;
    }
    first
}

/// Scans a file from an offset that may be inside a line.
fn scan_from(file: &dyn DiskFile, from: u64, len: u64) -> std::io::Result<LogScan> {
    let mut bytes = read_from(file, from, len)?;
    if from > 0 {
        let newline = bytes.iter().position(|&byte| byte == b'\n');
        bytes.drain(..newline.map_or(bytes.len(), |at| at + 1));
    }
    Ok(scan(&bytes, None))
}

/// Returns the lines other than heads and voids.
fn content_lines(found: LogScan) -> impl Iterator<Item = RawLine> {
    found.lines.into_iter().map(|found| found.line).filter(is_content_line)
}

/// Whether a line is neither a head nor a void.
fn is_content_line(line: &RawLine) -> bool {
    !matches!(line.event(), Some("head" | "void"))
}
