//! Builds a page of the lines of all context logs of a chat.
//!
//! A back end gives the builder the lines with the numbers from [`PageBuilder::from`] on, log after log, until the page
//! is full. The first of them shows whether the reader's cursor is one of these lines: numbers are given again only after
//! a loss, and then the checksums differ.

use super::blob_texts::restore_texts;
use super::log_head::{published_end, read_head};
use super::view_building::{context_line, odd_event};
use crate::line::{HEAD, RawLine};
use crate::{
    BlobError, ContextId, LinesCursor, LinesPage, LoggedLine, SealedLog, SealedName, Seq,
    StorageError, StorageProblem,
};
use ship_message::json::Json;

/// The number of bytes after which a page ends, so that long messages do not fill the memory.
const PAGE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A log that gives lines to a page.
#[derive(Debug, Clone)]
pub struct PagedLog {
    /// The name of the log; `None` for the live one.
    pub name: Option<SealedName>,
    /// The name of the log in problems.
    pub place: String,
    /// The context of the log.
    pub context: ContextId,
    /// The last line that the log was published with; 0 if that is not known.
    pub published: Seq,
}

impl PagedLog {
    /// Describes a log by its first line; `None` if that is no head.
    pub fn new(name: Option<SealedName>, place: String, first: &RawLine) -> Option<Self> {
        let (context, published) = (read_head(first)?.context, published_end(first).unwrap_or(0));
        Some(Self { name, place, context, published: Seq::new(published) })
    }
}

/// A page that is being filled.
#[derive(Debug)]
pub struct PageBuilder {
    page: LinesPage,
    limit: usize,
    bytes: u64,
}

impl PageBuilder {
    /// Begins a page of at most `limit` lines, and at least one, behind a cursor.
    pub fn new(cursor: LinesCursor, limit: usize) -> Self {
        let page = LinesPage {
            begins_anew: false,
            lines: Vec::new(),
            purged: Vec::new(),
            problems: Vec::new(),
            cursor,
            is_last: false,
        };
        Self { page, limit: limit.max(1), bytes: 0 }
    }

    /// Returns the first number that the page needs: that of the cursor, which is checked, or the one after it.
    pub fn from(&self) -> Seq {
        let LinesCursor { seq, crc, .. } = self.page.cursor;
        if crc.is_some() { seq } else { seq.next() }
    }

    /// Whether a line, or the end of the live log, shows that the cursor is that of other lines.
    pub fn contradicts(&self, seq: Seq, crc: Option<u32>) -> bool {
        let cursor = &self.page.cursor;
        match crc {
            Some(_) => seq == cursor.seq && cursor.crc.is_some() && cursor.crc != crc,
            None => seq < cursor.seq,
        }
    }

    /// Returns the last number that the reader knows.
    pub fn known(&self) -> Seq {
        self.page.cursor.seq
    }

    /// Whether so many lines with so many bytes fill the page, and there is one more.
    pub fn is_filled_by(&self, lines: usize, bytes: u64) -> bool {
        lines > self.room() || (lines > 0 && self.bytes + bytes > PAGE_BYTES_MAX)
    }

    /// Returns the number of lines that the page still takes.
    fn room(&self) -> usize {
        self.limit - self.page.lines.len()
    }

    /// Whether the page has all the lines that it may have.
    pub fn is_full(&self) -> bool {
        self.room() == 0 || self.bytes >= PAGE_BYTES_MAX
    }

    /// Adds the next line of a log, which has `bytes` bytes. Lines that the reader knows and heads add nothing. `read`
    /// gives the bytes of a blob by its digest.
    pub fn add(
        &mut self,
        log: &PagedLog,
        mut raw: RawLine,
        bytes: u64,
        read: impl FnMut(&str) -> Result<Vec<u8>, BlobError>,
    ) -> Result<(), StorageError> {
        let seq = Seq::new(raw.seq);
        if seq <= self.page.cursor.seq {
            return Ok(());
        }
        (self.page.cursor.seq, self.page.cursor.crc) = (seq, Some(raw.crc));
        if raw.event() == Some(HEAD) || raw.is_tombstone() {
            return Ok(());
        }
        self.bytes += bytes + blob_bytes(&raw);
        let lost = restore_texts(&mut raw, read)?;
        self.page.problems.extend(lost.into_iter().map(|text| text.into_problem(&log.place)));
        match context_line(raw) {
            Some(line) => self.page.lines.push(LoggedLine {
                line,
                log: log.name.clone(),
                context: log.context.clone(),
                is_published: seq <= log.published,
            }),
            None => self.page.problems.push(odd_event(&log.place, seq.get())),
        }
        Ok(())
    }

    /// Adds places that cannot be read.
    pub fn add_problems(&mut self, problems: impl IntoIterator<Item = StorageProblem>) {
        self.page.problems.extend(problems);
    }

    /// Notes that a sealed log with this last number has no more lines.
    pub fn end_log(&mut self, last: Seq) {
        if last > self.page.cursor.seq {
            (self.page.cursor.seq, self.page.cursor.crc) = (last, None);
        }
    }

    /// Returns the page. `purged` has the logs that were purged since the cursor, up to the purge with this number.
    pub fn finish(self, purged: Vec<SealedLog>, purge: u64, is_last: bool) -> LinesPage {
        let cursor = LinesCursor { purge, ..self.page.cursor };
        LinesPage { purged, cursor, is_last, ..self.page }
    }
}

/// Returns the number of bytes of the texts that a line refers to.
fn blob_bytes(line: &RawLine) -> u64 {
    let blobs = line.blobs.iter().flat_map(|blobs| blobs.iter());
    blobs.filter_map(|(_, blob)| blob.get("size").and_then(Json::as_u64)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::rules::Tombstone;
    use crate::rules::test_lines::{log, no_blobs, numbered, prepared};

    fn paged(lines: &[RawLine]) -> PagedLog {
        PagedLog::new(None, "here".to_owned(), &lines[0]).expect("a head")
    }

    fn fill(builder: &mut PageBuilder, lines: &[RawLine]) {
        for line in lines {
            if !builder.is_full() {
                builder.add(&paged(lines), line.clone(), 100, no_blobs).expect("no blobs");
            }
        }
    }

    fn said(page: &LinesPage) -> Vec<(u64, &str)> {
        page.lines.iter().map(|line| (line.line.seq.get(), line.line.id())).collect()
    }

    #[test]
    fn a_page_continues_behind_its_cursor_and_has_no_heads() {
        let lines = log(&[prepared("m2", "a"), prepared("m3", "b"), prepared("m4", "c")]);
        let mut first = PageBuilder::new(LinesCursor::START, 2);
        fill(&mut first, &lines);
        let first = first.finish(Vec::new(), 7, false);
        assert_eq!(said(&first), [(2, "m2"), (3, "m3")]);
        assert!(first.lines.iter().all(|line| line.is_published));
        let mut second = PageBuilder::new(first.cursor, 2);
        assert_eq!(second.from(), Seq::new(3));
        fill(&mut second, &lines);
        assert!(!second.is_full());
        let second = second.finish(Vec::new(), 7, true);
        assert_eq!((said(&second), second.cursor.purge), (vec![(4, "m4")], 7));
    }

    #[test]
    fn a_cursor_is_that_of_its_line_and_of_no_other() {
        let crc = log(&[prepared("m2", "a")])[1].crc;
        let cursor = LinesCursor { seq: Seq::new(2), crc: Some(crc), purge: 0 };
        let builder = PageBuilder::new(cursor, 9);
        assert!(!builder.contradicts(Seq::new(2), Some(crc)));
        assert!(!builder.contradicts(Seq::new(3), Some(crc ^ 1)));
        assert!(builder.contradicts(Seq::new(2), Some(crc ^ 1)));
        assert!(builder.contradicts(Seq::FIRST, None) && !builder.contradicts(Seq::new(2), None));
    }

    #[test]
    fn a_page_ends_behind_many_bytes() {
        let lines = log(&[prepared("m2", "a"), prepared("m3", "b")]);
        let mut builder = PageBuilder::new(LinesCursor::START, 9);
        for line in &lines[..2] {
            builder.add(&paged(&lines), line.clone(), PAGE_BYTES_MAX, no_blobs).expect("no blobs");
        }
        assert!(builder.is_full());
        let builder = PageBuilder::new(LinesCursor::START, 9);
        assert!(builder.is_filled_by(1, PAGE_BYTES_MAX + 1) && builder.is_filled_by(10, 10));
        assert!(!builder.is_filled_by(0, PAGE_BYTES_MAX + 1) && !builder.is_filled_by(9, 10));
    }

    #[test]
    fn the_end_of_a_log_moves_the_cursor_behind_lines_that_are_gone() {
        let lines = log(&[prepared("m2", "a"), prepared("m3", "b")]);
        let name = SealedName::new(Timestamp::from_millis(0), Seq::FIRST, Seq::new(3));
        let head = lines[0].clone().into_draft();
        let now = Timestamp::from_millis(0);
        let tombstone = Tombstone::new(&name, head, lines[1..].iter(), "test", now);
        let purged: Vec<RawLine> =
            tombstone.lines.iter().map(|(seq, line)| numbered(line, seq.get())).collect();
        let mut builder = PageBuilder::new(LinesCursor::START, 9);
        fill(&mut builder, &purged);
        builder.end_log(Seq::new(5));
        let page = builder.finish(Vec::new(), 0, true);
        let end = LinesCursor { seq: Seq::new(5), crc: None, purge: 0 };
        assert_eq!((page.lines.len(), page.cursor), (0, end));
    }
}
