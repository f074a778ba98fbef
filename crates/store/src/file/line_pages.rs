//! Reads the lines of all context logs by pages: the sealed ones, the oldest first, and then the live one.
//!
//! A page opens the logs whose lines it has, and the one of the cursor's line. In each it seeks the first line that it
//! needs. The live log is opened first and read last: if it is sealed meanwhile, the open file is still that log.

use std::path::{Path, PathBuf};

use super::blobs::read_blob;
use super::chat::ChatFiles;
use super::log_reading::{lines_in, scan_problems};
use super::rotate::sealed_path;
use super::seek::{Stretch, stretch_after};
use super::{archive, view};
use crate::disk::{DiskFile, OpenMode};
use crate::line::decode;
use crate::rules::{PageBuilder, PagedLog, read_head};
use crate::scan::{LogScan, ScannedLine};
use crate::{
    LinesCursor, LinesPage, ReadError, SealedName, Seq, StorageError, StorageProblem,
    StorageProblemKind, View,
};

/// The end of a page, or of the logs.
#[derive(PartialEq, Eq)]
enum PageEnd {
    /// The page is full.
    Full,
    /// All lines were read.
    End,
    /// The cursor is that of other lines.
    Contradiction,
}

/// An open log.
struct PageFile {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    len: u64,
    log: PagedLog,
    /// The log that it replaced.
    before: Option<SealedName>,
}

impl ChatFiles {
    /// Reads up to `limit` lines after a cursor.
    pub(crate) fn lines_after(
        &self,
        cursor: Option<LinesCursor>,
        limit: usize,
    ) -> Result<LinesPage, ReadError> {
        // Before the lines: a purge of lines on this page comes with the next.
        let (purged, purge) = self.purged_after(cursor.map(|cursor| cursor.purge))?;
        let mut page = PageBuilder::new(cursor.unwrap_or(LinesCursor::START), limit);
        match self.fill_page(&mut page)? {
            PageEnd::Contradiction => {
                Ok(LinesPage { begins_anew: true, ..self.lines_after(None, limit)? })
            }
            end => Ok(page.finish(purged, purge, end == PageEnd::End)),
        }
    }

    fn fill_page(&self, page: &mut PageBuilder) -> Result<PageEnd, StorageError> {
        let Some(live) = self.open_log(None, self.paths.live.clone())? else {
            self.check_first()?;
            let is_other = page.contradicts(Seq::new(0), None);
            return Ok(if is_other { PageEnd::Contradiction } else { PageEnd::End });
        };
        let after = Seq::new(page.from().get().saturating_sub(1));
        for name in self.sealed_after(live.before.clone(), after)? {
            let path = sealed_path(&self.paths.archive, &name);
            let end = match self.open_log(Some(name.clone()), path.clone())? {
                Some(log) => self.add_log(page, &log)?,
                None => {
                    page.add_problems([unreadable_log(&path)]);
                    PageEnd::End
                }
            };
            if end != PageEnd::End {
                return Ok(end);
            }
            page.end_log(name.range().1);
        }
        match page.is_full() {
            true => Ok(PageEnd::Full),
            false => self.add_log(page, &live),
        }
    }

    /// Opens a log; `None` if it is missing, or if nothing of it can be read. Such a live log is an error.
    fn open_log(
        &self,
        name: Option<SealedName>,
        path: PathBuf,
    ) -> Result<Option<PageFile>, StorageError> {
        let Some(file) = self.env.open(&path, OpenMode::Read)? else { return Ok(None) };
        let failed = |error| StorageError::io("read", &path, error);
        let len = file.stat_when_opened().map_err(failed)?.len;
        let first = lines_in(&*file, 0, 1).map_err(failed)?.pop();
        let first = first.and_then(|bytes| decode(&bytes));
        let place = path.display().to_string();
        let known = first.and_then(|first| {
            Some((PagedLog::new(name.clone(), place.clone(), &first)?, read_head(&first)?))
        });
        let (log, head) = match known {
            Some(known) => known,
            None => match view::read_view(&self.env, &path) {
                Ok(Some(View { head, .. })) => {
                    let context = head.context.clone();
                    (PagedLog { name, place, context, published: Seq::new(0) }, head)
                }
                Ok(None) => return Ok(None),
                Err(StorageError::Damaged { .. }) if name.is_some() => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        Ok(Some(PageFile { path, file, len, log, before: head.sealed }))
    }

    /// Adds the lines of a log to a page.
    fn add_log(&self, page: &mut PageBuilder, open: &PageFile) -> Result<PageEnd, StorageError> {
        let known = page.known();
        let stretch = open.stretch(page)?;
        if open.contradicts(page, &stretch) {
            return Ok(PageEnd::Contradiction);
        }
        let mut problems = open.problems_after(known, &stretch);
        let Stretch { from, scan, is_to_end, .. } = stretch;
        let (mut last_offset, mut is_full) = (0, false);
        let is_new = |found: &ScannedLine| found.line.seq > known.get();
        for found in scan.lines.into_iter().filter(is_new) {
            is_full = page.is_full();
            if is_full {
                break;
            }
            last_offset = from + found.offset as u64;
            let read = |digest: &str| read_blob(&self.env, digest);
            page.add(&open.log, found.line, found.len as u64, read)?;
        }
        let is_end = is_to_end && !is_full;
        // The damage behind the last line of the live log is told with the next line.
        problems
            .retain(|problem| (is_end && open.log.name.is_some()) || problem.offset <= last_offset);
        page.add_problems(problems);
        Ok(if is_end { PageEnd::End } else { PageEnd::Full })
    }
}

impl PageFile {
    /// Reads as many lines as the page needs.
    fn stretch(&self, page: &PageBuilder) -> Result<Stretch, StorageError> {
        let is_enough = |scan: &LogScan| {
            let is_new = |found: &&ScannedLine| found.line.seq > page.known().get();
            let new = scan.lines.iter().filter(is_new).count();
            page.is_filled_by(new, scan.good_len as u64)
        };
        let stretch = stretch_after(&*self.file, self.len, page.from().get() - 1, is_enough);
        stretch.map_err(|error| StorageError::io("read", &self.path, error))
    }

    /// Whether the cursor of the page is that of other lines.
    fn contradicts(&self, page: &PageBuilder, stretch: &Stretch) -> bool {
        let is_live_end = self.log.name.is_none() && stretch.is_to_end;
        let is_other = |found: &ScannedLine| {
            // A tombstone has the number of the last line that it stands for.
            let line = Some(&found.line).filter(|line| !line.is_tombstone());
            line.is_some_and(|line| page.contradicts(Seq::new(line.seq), Some(line.crc)))
        };
        (is_live_end && page.contradicts(Seq::new(stretch.scan.given), None))
            || stretch.scan.lines.iter().any(is_other)
    }

    /// Describes the damage of a stretch behind the last known line.
    fn problems_after(&self, known: Seq, stretch: &Stretch) -> Vec<StorageProblem> {
        let last = self.log.name.as_ref().map(|name| name.range().1);
        if last.is_some_and(|last| last <= known) {
            // The reader was told when it read the log.
            return Vec::new();
        }
        let Stretch { from, len, scan, is_to_end } = stretch;
        let before = scan.lines.iter().rfind(|found| found.line.seq <= known.get());
        let behind = before.map(|found| from + found.offset as u64);
        let mut problems = scan_problems(&self.path, *len as usize, scan, *from);
        problems.retain(|problem| {
            problem.kind == StorageProblemKind::Damage && Some(problem.offset) > behind
        });
        let end = Seq::new(scan.given);
        if let Some(last) = last.filter(|last| *is_to_end && end < *last) {
            problems.push(archive::early_end(&self.path, end, last).at(self.len));
        }
        problems
    }
}

fn unreadable_log(path: &Path) -> StorageProblem {
    let message = "nothing can be read of this sealed log";
    let remedy = "compare it with a backup; the logs around it are read";
    StorageProblem::new(path.display().to_string(), StorageProblemKind::Damage, message, remedy)
}
