//! Reads the logs of a chat into an index, from where it stopped the last time.
//!
//! The lines of the contexts come by pages, through sealed logs and past purges. The ledger has what was never promoted:
//! talk between people, and messages that still wait. What waits is in the index for one search alone, because it will
//! be in a context soon, and may be purged there.

use ship_context::search::{MessageIndex, SearchQuestion, TermReader};
use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, LinesCursor, ReadError, SealedLog};

use crate::blocking_work::blocking;
use crate::chat::{LEDGER_PAGE, inbound_message_id};
use crate::inbound::promoted_message;

/// The number of lines that are read at once.
const LINES_READ: usize = 1_000;

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

    /// Reads everything that is new.
    pub(super) async fn catch_up(mut self, chat: &dyn Chat) -> Result<Self, ReadError> {
        let mut is_last = false;
        while !is_last {
            (self, is_last) = self.read_page(chat).await?;
        }
        self.read_talk(chat).await
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
    async fn read_talk(mut self, chat: &dyn Chat) -> Result<Self, ReadError> {
        let view = chat.log().view().await?;
        let id = |seq: LedgerSeq| match &view {
            Some(view) => inbound_message_id(view, seq),
            None => format!("u_{seq}"),
        };
        loop {
            let after = self.place.entry.as_ref().map(|(seq, _)| *seq);
            let lines = chat.ledger().after(after, LEDGER_PAGE).await?;
            for line in lines.iter().filter(|line| ship_context::is_observed(line)) {
                self.add_entry(line, &id(line.seq));
            }
            if let Some(last) = lines.last() {
                self.place.entry = Some((last.seq, entry_key(last).to_owned()));
            }
            if lines.len() < LEDGER_PAGE {
                return Ok(self);
            }
        }
    }

    /// Adds the messages that wait in the ledger. The index is for one search then.
    pub(super) async fn add_waiting(&mut self, chat: &dyn Chat) -> Result<(), ReadError> {
        let view = chat.log().view().await?;
        let mut after = view.as_ref().and_then(|view| view.inbox);
        loop {
            let lines = chat.ledger().after(after, LEDGER_PAGE).await?;
            for line in lines.iter().filter(|line| ship_context::is_question(line)) {
                let id = view.as_ref().map(|view| inbound_message_id(view, line.seq));
                self.add_entry(line, &id.unwrap_or_else(|| format!("u_{}", line.seq)));
            }
            after = lines.last().map(|line| line.seq).or(after);
            if lines.len() < LEDGER_PAGE {
                return Ok(());
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
