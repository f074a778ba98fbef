//! Reads the lines that a log has got since the last look.
//!
//! A log is read block by block. Outlines suffice as long as nothing in a block is unusual; everything from the first
//! unusual line on is judged by one scan, and the repair of the end follows from that.

use super::super::log_reading::{check_head, scan_problems};
use super::super::outlines::{OutlinedLine, read_outlines};
use super::super::store_env::{read_from, write_all};
use super::{Fold, LogTail, Span, Writing};
use crate::disk::FileLook;
use crate::scan::{LogScan, scan_after};
use crate::{StorageError, StorageProblemKind};

/// The number of bytes that are read at once.
const BLOCK_BYTES: u64 = 1024 * 1024;

impl<F: Fold> Writing<'_, F> {
    /// Reads the lines that were added since the last look.
    pub(super) fn read_new_lines(&mut self, look: FileLook) -> Result<(), StorageError> {
        let file = &**self.file.as_ref().expect("a file that was looked at is open");
        let from = match &self.state.tail {
            Some(known) if known.is_in(file, look).map_err(self.log.io_error("read"))? => known.len,
            // Another file has this name now, or its good part has changed: everything is read again.
            Some(_) | None => {
                self.state.tail = None;
                0
            }
        };
        if self.tail().is_some() && from == look.len {
            return Ok(());
        }
        let from = self.read_whole_blocks(from, look)?;
        if self.tail().is_none() || from < look.len {
            self.read_rest(from, look)?;
        }
        match self.tail().and_then(|known| known.fold.loss(known.given)) {
            // Forgotten, so that each write finds the loss until a repair has copied the lines again.
            Some(what) => {
                self.state.tail = None;
                Err(self.damaged_error(&what))
            }
            None => Ok(()),
        }
    }

    /// Reads the rest of a log, which may be damaged or torn, and repairs its end.
    fn read_rest(&mut self, from: u64, look: FileLook) -> Result<(), StorageError> {
        let file = &**self.file.as_ref().expect("a file that was looked at is open");
        let bytes = read_from(file, from, look.len).map_err(self.log.io_error("read"))?;
        let behind = self.tail().map(LogTail::numbers);
        let scan = scan_after(&bytes, behind);
        if behind.is_none() {
            check_head(&self.log.path, &scan)?;
        }
        self.quarantine_damage(&bytes, &scan, from)?;
        if scan.rest_looks_torn {
            return self.read_marked();
        }
        let mut good = bytes;
        good.truncate(scan.good_len);
        self.end_last_line(&mut good)?;
        self.adopt_lines(scan, &good, look, from);
        Ok(())
    }

    /// Reads a log block by block as long as it is whole, so that a long one is never in memory at once. Returns where
    /// the rest begins: damaged or torn bytes are judged together with everything after them.
    fn read_whole_blocks(&mut self, mut from: u64, look: FileLook) -> Result<u64, StorageError> {
        while from < look.len {
            let file = self.file.as_ref().expect("a file that was looked at is open");
            let end = look.len.min(from + BLOCK_BYTES);
            let mut bytes = read_from(&**file, from, end).map_err(self.log.io_error("read"))?;
            let lines_len = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
            bytes.truncate(lines_len);
            let head_len = self.read_head(&bytes, look)?;
            let read = head_len + self.read_outlines(&bytes[head_len..], from + head_len as u64);
            from += read as u64;
            if read > 0 {
                continue;
            }
            if end == look.len {
                break;
            }
            let behind = self.tail().map(LogTail::numbers);
            let scan = scan_after(&bytes, behind);
            // A batch that continues in the next block is read with that block.
            bytes.truncate(scan.good_len);
            if bytes.is_empty() || !scan.is_whole(&bytes) {
                break;
            }
            if behind.is_none() {
                check_head(&self.log.path, &scan)?;
            }
            self.adopt_lines(scan, &bytes, look, from);
            from += bytes.len() as u64;
        }
        Ok(from)
    }

    /// Reads the first line of a log of which nothing is known yet, so that outlines suffice for the lines after it.
    /// Returns its length; 0 if it is unusual and must be judged with those lines.
    fn read_head(&mut self, bytes: &[u8], look: FileLook) -> Result<usize, StorageError> {
        let end = memchr::memchr(b'\n', bytes).filter(|_| self.tail().is_none());
        let Some(len) = end.map(|at| at + 1) else { return Ok(0) };
        let scan = scan_after(&bytes[..len], None);
        if scan.lines.is_empty() || !scan.is_whole(&bytes[..len]) {
            return Ok(0);
        }
        check_head(&self.log.path, &scan)?;
        self.adopt_lines(scan, &bytes[..len], look, 0);
        Ok(len)
    }

    /// Reads the lines of a block without parsing the messages, as far as that suffices. Returns the length of the
    /// lines that were read.
    fn read_outlines(&mut self, bytes: &[u8], from: u64) -> usize {
        // After damage at the end, only a scan knows which number may come next.
        let known = self.state.tail.as_mut().filter(|known| known.last_seq == known.given);
        let Some(known) = known else { return 0 };
        let found = read_outlines(bytes, known.last_seq);
        for (line, span) in &found.lines {
            let place = Span { offset: from + span.offset, len: span.len };
            match line {
                OutlinedLine::Message(line) => known.fold.apply_outline(line, place),
                OutlinedLine::Event(line) => known.fold.apply(line, place),
            }
        }
        known.last_seq += found.lines.len() as u64;
        known.given = known.last_seq;
        known.len = from;
        known.extend(&bytes[..found.len]);
        known.synced &= found.lines.is_empty();
        found.len
    }

    /// Adds a newline to the last line if it has lost its own, so that the next line begins on a new one.
    fn end_last_line(&self, good: &mut Vec<u8>) -> Result<(), StorageError> {
        let Some(file) = self.file.as_ref().filter(|_| !good.is_empty() && !good.ends_with(b"\n"))
        else {
            return Ok(());
        };
        write_all(&**file, b"\n").map_err(self.log.io_error("write"))?;
        good.push(b'\n');
        Ok(())
    }

    /// Copies damaged bytes to the quarantine, and moves a torn tail there.
    fn quarantine_damage(
        &mut self,
        bytes: &[u8],
        scan: &LogScan,
        from: u64,
    ) -> Result<(), StorageError> {
        let mut problems = scan_problems(&self.log.path, bytes.len(), scan, from);
        for damage in &scan.damage {
            let (offset, end) = (from + damage.offset as u64, damage.offset + damage.len);
            // Damage that is already in the quarantine was already reported.
            if !self.log.quarantine(offset, &bytes[damage.offset..end])? {
                problems.retain(|problem| {
                    (problem.kind, problem.offset) != (StorageProblemKind::Damage, offset)
                });
            }
        }
        let torn = &bytes[scan.good_len..];
        if !torn.is_empty() {
            let good = from + scan.good_len as u64;
            // The copy is durable before the tail is cut, so that a crash loses nothing.
            self.log.quarantine(good, torn)?;
            match scan.rest_looks_torn {
                true => self.replace_torn_tail(good)?,
                false => self.cut_back(good)?,
            }
        }
        // Glued lines were read without a repair.
        let repaired =
            problems.into_iter().filter(|problem| problem.kind != StorageProblemKind::Glued);
        self.state.notes.extend(repaired);
        Ok(())
    }

    /// Replaces the torn tail by an empty line. It is damage and shows the next reader that the batch before it was
    /// not cut by a crash. A new file has the mark from the start, so that no crash can come between.
    fn replace_torn_tail(&mut self, good: u64) -> Result<(), StorageError> {
        let mut content = self.read(Span { offset: 0, len: good })?;
        let mark: &[u8] = if content.ends_with(b"\n") { b"\n" } else { b"\n\n" };
        content.extend_from_slice(mark);
        self.publish_anew(&content)?;
        let synced = self.log.env.sync_folder(self.log.folder());
        self.state.unsyncable |= synced.is_err();
        synced
    }

    /// Reads a log again whose torn tail was replaced.
    fn read_marked(&mut self) -> Result<(), StorageError> {
        self.state.tail = None;
        let Some(file) = &self.file else { return Ok(()) };
        let look = file.stat().map_err(self.log.io_error("look at"))?;
        self.read_new_lines(look)
    }

    fn adopt_lines(&mut self, scan: LogScan, good: &[u8], look: FileLook, from: u64) {
        let first_seq = scan.lines.first().map_or(0, |found| found.line.seq);
        let known = self.state.tail.get_or_insert_with(|| LogTail {
            file: look.file,
            len: 0,
            ending: Vec::new(),
            synced: false,
            loose: false,
            first_seq,
            last_seq: 0,
            given: 0,
            fold: F::default(),
        });
        known.len = from;
        known.extend(good);
        // Another process may have written these lines without syncing them.
        known.synced = false;
        known.given = scan.given;
        for found in scan.lines {
            known.last_seq = found.line.seq;
            let span = Span { offset: from + found.offset as u64, len: found.len as u64 };
            known.fold.apply(&found.line, span);
        }
    }
}
