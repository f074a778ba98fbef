//! Reads what is behind the inbox cursor by pages, without observed talk: that is read once.

use ship_store::{Chat, LedgerLine, LedgerSeq, ReadError};

use crate::chat::LEDGER_PAGE;
use crate::engine::{Engine, ReadStretch};

/// The number of lines that are read at once behind a page of talk alone: where people talk with each other, they say
/// much.
const TALK_PAGE: usize = 10 * LEDGER_PAGE;

/// The lines of a ledger after one of them, page by page.
pub(crate) struct UnreadLines<'a> {
    engine: &'a Engine,
    chat: &'a dyn Chat,
    read: ReadStretch,
    /// The next page, if it is known already.
    next: Option<Vec<LedgerLine>>,
    /// The line after which the next page begins.
    after: Option<LedgerSeq>,
    page_len: usize,
    is_begun: bool,
    is_at_end: bool,
    /// Whether observed talk is returned, too.
    has_talk: bool,
}

impl<'a> UnreadLines<'a> {
    pub(crate) fn new(engine: &'a Engine, chat: &'a dyn Chat, after: Option<LedgerSeq>) -> Self {
        Self {
            engine,
            chat,
            read: ReadStretch::new(after),
            next: None,
            after,
            page_len: LEDGER_PAGE,
            is_begun: false,
            is_at_end: false,
            has_talk: false,
        }
    }

    /// Reads all lines, as a first context needs them.
    pub(crate) fn with_talk(
        engine: &'a Engine,
        chat: &'a dyn Chat,
        after: Option<LedgerSeq>,
    ) -> Self {
        Self { is_begun: true, has_talk: true, ..Self::new(engine, chat, after) }
    }

    /// Begins with a page that was read already.
    pub(crate) fn with_first_page(self, page: Vec<LedgerLine>) -> Self {
        Self { next: Some(page), is_begun: true, ..self }
    }

    /// Returns the next lines that are no observed talk, at least one; `None` if there are no more.
    pub(crate) async fn next_page(&mut self) -> Result<Option<Vec<LedgerLine>>, ReadError> {
        loop {
            // A page of talk alone is not the end.
            match self.read_page().await? {
                Some(page) if page.is_empty() => continue,
                page => return Ok(page),
            }
        }
    }

    async fn read_page(&mut self) -> Result<Option<Vec<LedgerLine>>, ReadError> {
        if !std::mem::replace(&mut self.is_begun, true)
            && let Some(lines) = self.skip_known().await?
        {
            return Ok(Some(lines));
        }
        if self.is_at_end {
            return Ok(None);
        }
        let (page, full) = match self.next.take() {
            Some(page) => (page, LEDGER_PAGE),
            None => (self.chat.ledger().after(self.after, self.page_len).await?, self.page_len),
        };
        self.is_at_end = page.len() < full;
        self.after = page.last().map(|line| line.seq).or(self.after);
        if self.has_talk {
            return Ok(Some(page));
        }
        let lines: Vec<LedgerLine> =
            page.into_iter().filter_map(|line| self.read.take(line)).collect();
        self.page_len = if lines.is_empty() { TALK_PAGE } else { LEDGER_PAGE };
        if self.is_at_end {
            let read = std::mem::replace(&mut self.read, ReadStretch::new(None));
            self.engine.observed_talk.remember(self.chat.key(), read);
        }
        Ok(Some(lines))
    }

    /// Goes to the end of the talk that was read before, if it is still there. Returns the other lines in it.
    async fn skip_known(&mut self) -> Result<Option<Vec<LedgerLine>>, ReadError> {
        let (talk, key) = (&self.engine.observed_talk, self.chat.key());
        let Some(known) = talk.stretch_after(key, self.after) else { return Ok(None) };
        let before = LedgerSeq::new(known.end().get().saturating_sub(1));
        let page = self.chat.ledger().after(Some(before), LEDGER_PAGE).await?;
        if !page.first().is_some_and(|line| known.ends_with(line)) {
            talk.forget(key);
            return Ok(None);
        }
        let lines = known.others_after(self.after);
        (self.next, self.read) = (Some(page), known.read_on());
        Ok(Some(lines))
    }
}
