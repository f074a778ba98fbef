//! Reads the logs of a chat into an index, from where it stopped the last time.
//!
//! The lines of the contexts come by pages, through sealed logs and past purges. The ledger has what was never promoted:
//! talk between people, and messages that still wait. What waits is in the index for one search alone, because it will
//! be in a context soon, and may be purged there.

use ship_context::search::{MessageIndex, SearchQuestion, TermReader};
use ship_store::{
    Chat, ChatKey, LedgerBody, LedgerLine, LedgerSeq, LinesCursor, ReadError, SealedLog,
};

use crate::blocking_work::blocking;
use crate::chat::{LEDGER_PAGE, inbound_message_id};
use crate::inbound::promoted_message;

/// The pages of the ledger that are read for each page of lines. Its lines are short, and few of them are talk.
const LEDGER_PAGES: usize = 5;

/// The number of lines that are read at once.
const LINES_READ: usize = 1_000;

/// How much a reader reads before it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadBudget {
    /// So many pages of lines, and as many of the ledger.
    Pages(usize),
    /// All that is there.
    All,
}

/// An index, and how far it has read its chat.
#[derive(Debug)]
pub(super) struct IndexReader {
    pub(super) index: MessageIndex,
    reader: TermReader,
    pub(super) place: ReadPlace,
    question: Option<SearchQuestion>,
}

/// How far an index has read the logs of its chat.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReadPlace {
    pub(super) lines: Option<LinesCursor>,
    /// The last entry of the ledger, with its key.
    pub(super) entry: Option<(LedgerSeq, String)>,
    /// Whether something could not be read.
    pub(super) has_gaps: bool,
}

impl IndexReader {
    /// Begins an index that answers one question alone: a scan.
    pub(super) fn scan(chat: &dyn Chat, question: SearchQuestion) -> Self {
        let index = MessageIndex::for_question(chat.key().clone(), question.clone());
        let (reader, place) = (TermReader::new(), ReadPlace::default());
        Self { index, reader, place, question: Some(question) }
    }

    /// Begins an index that is kept.
    pub(super) fn new(chat: &ChatKey) -> Self {
        Self::at(MessageIndex::new(chat.clone()), ReadPlace::default())
    }

    /// Goes on with an index that has read this far.
    pub(super) fn at(index: MessageIndex, place: ReadPlace) -> Self {
        Self { index, reader: TermReader::new(), place, question: None }
    }

    /// Reads what is new. Returns whether that was everything.
    pub(super) async fn catch_up(
        mut self,
        chat: &dyn Chat,
        budget: ReadBudget,
    ) -> Result<(Self, bool), ReadError> {
        if !self.is_ledger_known(chat).await? {
            self = self.begin_anew(chat);
        }
        let (mut is_last, mut pages) = (false, 0);
        while !is_last {
            if budget == ReadBudget::Pages(pages) {
                return Ok((self, false));
            }
            (self, is_last) = self.read_page(chat).await?;
            pages += 1;
        }
        self.read_talk(chat, budget).await
    }

    /// Whether the ledger still has the last entry that was read.
    async fn is_ledger_known(&self, chat: &dyn Chat) -> Result<bool, ReadError> {
        let Some((seq, key)) = &self.place.entry else { return Ok(true) };
        let before = LedgerSeq::new(seq.get().saturating_sub(1));
        let found = chat.ledger().after(Some(before), 1).await?;
        Ok(found.first().is_some_and(|line| line.seq == *seq && entry_key(line) == key))
    }

    /// Reads the next page of lines. Returns whether it was the last one.
    async fn read_page(mut self, chat: &dyn Chat) -> Result<(Self, bool), ReadError> {
        let page = chat.log().lines_after(self.place.lines, LINES_READ).await?;
        if page.begins_anew {
            self = self.begin_anew(chat);
        }
        self.place.has_gaps |= !page.problems.is_empty();
        self.place.lines = Some(page.cursor);
        for SealedLog { first, last, .. } in &page.purged {
            self.index.remove_lines(*first, *last);
        }
        let read = blocking(move || {
            for line in &page.lines {
                self.index.add_line(line, &mut self.reader);
            }
            (self, page.is_last)
        });
        Ok(read.await)
    }

    /// Forgets everything, because the logs are others than those that were read.
    fn begin_anew(self, chat: &dyn Chat) -> Self {
        let index = match &self.question {
            Some(question) => MessageIndex::for_question(chat.key().clone(), question.clone()),
            None => MessageIndex::new(chat.key().clone()),
        };
        Self { index, place: ReadPlace::default(), ..self }
    }

    /// Reads the talk in the ledger.
    async fn read_talk(
        mut self,
        chat: &dyn Chat,
        budget: ReadBudget,
    ) -> Result<(Self, bool), ReadError> {
        let view = chat.log().view().await?;
        let id = |seq: LedgerSeq| match &view {
            Some(view) => inbound_message_id(view, seq),
            None => format!("u_{seq}"),
        };
        let mut pages = 0;
        loop {
            if matches!(budget, ReadBudget::Pages(most) if pages == LEDGER_PAGES * most) {
                return Ok((self, false));
            }
            pages += 1;
            let after = self.place.entry.as_ref().map(|(seq, _)| *seq);
            let lines = chat.ledger().after(after, LEDGER_PAGE).await?;
            for line in lines.iter().filter(|line| ship_context::is_observed(line)) {
                self.add_entry(line, &id(line.seq));
            }
            if let Some(last) = lines.last() {
                self.place.entry = Some((last.seq, entry_key(last).to_owned()));
            }
            if lines.len() < LEDGER_PAGE {
                return Ok((self, true));
            }
        }
    }

    /// Adds the messages that wait in the ledger, until they are [forgotten](MessageIndex::forget_unsealed).
    pub(super) async fn add_waiting(&mut self, chat: &dyn Chat) -> Result<(), ReadError> {
        let view = chat.log().view().await?;
        for line in self.waiting_lines(chat).await? {
            let id = view.as_ref().map(|view| inbound_message_id(view, line.seq));
            self.add_entry(&line, &id.unwrap_or_else(|| format!("u_{}", line.seq)));
        }
        Ok(())
    }

    /// Returns the messages that wait in the ledger.
    pub(super) async fn waiting_lines(
        &self,
        chat: &dyn Chat,
    ) -> Result<Vec<LedgerLine>, ReadError> {
        let view = chat.log().view().await?;
        let mut after = view.as_ref().and_then(|view| view.inbox);
        let mut waiting = Vec::new();
        loop {
            let lines = chat.ledger().after(after, LEDGER_PAGE).await?;
            after = lines.last().map(|line| line.seq).or(after);
            let is_last = lines.len() < LEDGER_PAGE;
            waiting.extend(lines.into_iter().filter(ship_context::is_question));
            if is_last {
                return Ok(waiting);
            }
        }
    }

    fn add_entry(&mut self, line: &LedgerLine, id: &str) {
        let LedgerBody::Entry(entry) = &line.body else { return };
        let message = promoted_message(entry, id.to_owned(), None);
        self.index.add_entry(line.seq, &message, &mut self.reader);
    }
}

/// Returns the key of an entry; nothing for the state of a delivery.
fn entry_key(line: &LedgerLine) -> &str {
    match &line.body {
        LedgerBody::Entry(entry) => &entry.key,
        LedgerBody::Delivery(delivery) => &delivery.id,
    }
}
