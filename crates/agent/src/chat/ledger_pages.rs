//! Reads the ledger of a chat by pages, so that its length costs no memory.

use ship_store::{Chat, LedgerLine, LedgerSeq, ReadError};

/// The number of ledger lines that are read at once.
pub(crate) const LEDGER_PAGE: usize = 200;

/// Reads the lines after one of them, the oldest page first.
pub(crate) struct LaterPages<'a> {
    chat: &'a dyn Chat,
    after: Option<LedgerSeq>,
    is_at_end: bool,
}

impl<'a> LaterPages<'a> {
    pub(crate) fn new(chat: &'a dyn Chat, after: Option<LedgerSeq>) -> Self {
        Self { chat, after, is_at_end: false }
    }

    /// Returns the last line that was read.
    pub(crate) fn read_up_to(&self) -> Option<LedgerSeq> {
        self.after
    }

    /// Returns the next page; `None` behind the last line.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<LedgerLine>>, ReadError> {
        if self.is_at_end {
            return Ok(None);
        }
        let page = self.chat.ledger().after(self.after, LEDGER_PAGE).await?;
        self.is_at_end = page.len() < LEDGER_PAGE;
        self.after = page.last().map(|line| line.seq).or(self.after);
        Ok((!page.is_empty()).then_some(page))
    }
}

/// Reads the lines before one of them, or those at the end, the newest page first. The lines of a page are in order.
pub(crate) struct EarlierPages<'a> {
    chat: &'a dyn Chat,
    before: Option<LedgerSeq>,
    page_len: usize,
    is_at_end: bool,
}

impl<'a> EarlierPages<'a> {
    pub(crate) fn new(chat: &'a dyn Chat, before: Option<LedgerSeq>) -> Self {
        Self { chat, before, page_len: LEDGER_PAGE, is_at_end: false }
    }

    /// Reads no more lines at once than are wanted.
    pub(crate) fn with_at_most(self, lines: usize) -> Self {
        Self { page_len: lines.clamp(1, LEDGER_PAGE), ..self }
    }

    /// Returns the next page; `None` before the first line.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<LedgerLine>>, ReadError> {
        if self.is_at_end {
            return Ok(None);
        }
        let page = self.chat.ledger().before(self.before, self.page_len).await?;
        self.is_at_end = page.len() < self.page_len;
        self.before = page.first().map(|line| line.seq).or(self.before);
        Ok((!page.is_empty()).then_some(page))
    }
}
