//! Reads a hit from its log before it is shown: what was purged or replaced meanwhile is no hit any more.

use ship_context::search::{
    IndexedMessage, SearchQuestion, TermReader, searchable_message, snippet,
};
use ship_message::UiMessage;
use ship_store::{Chat, LedgerBody, LedgerSeq, LinesCursor, LoggedLine, ReadError, Seq, View};

use super::search_query::RankedMessage;
use super::search_result::{HitPlace, MessageHit};
use crate::inbound::promoted_message;

/// The length of a snippet.
const SNIPPET_CHARS: usize = 160;

/// Reads hits of one chat.
pub(super) struct HitReader<'a> {
    chat: &'a dyn Chat,
    view: Option<View>,
    /// The number of the last purge that is known, so that reading a line lists none.
    purge: u64,
}

impl<'a> HitReader<'a> {
    pub(super) async fn new(chat: &'a dyn Chat, purge: u64) -> Result<Self, ReadError> {
        Ok(Self { chat, view: chat.log().view().await?, purge })
    }

    /// Reads a hit; `None` if it is gone.
    pub(super) async fn read(
        &self,
        found: RankedMessage,
        question: &SearchQuestion,
        reader: &mut TermReader,
    ) -> Result<Option<MessageHit>, ReadError> {
        let RankedMessage { message: indexed, score } = found;
        let Some(message) = self.message(&indexed).await? else { return Ok(None) };
        let Some(searchable) = searchable_message(&message) else { return Ok(None) };
        let text = searchable.texts.join("\n");
        let part = snippet(&text, question, SNIPPET_CHARS, reader);
        Ok(Some(MessageHit {
            place: self.place_of(&indexed),
            message_id: indexed.id,
            chat: self.chat.key().clone(),
            origin: indexed.origin,
            context: indexed.context,
            role: message.role(),
            ts: searchable.ts,
            score,
            snippet: part.text,
            marks: part.marks,
        }))
    }

    /// Reads the newest version of a message.
    pub(super) async fn message(
        &self,
        indexed: &IndexedMessage,
    ) -> Result<Option<UiMessage>, ReadError> {
        if let Some(entry) = indexed.entry {
            return self.entry(entry, &indexed.id).await;
        }
        let Some(seq) = indexed.newest_line else { return Ok(None) };
        let line = self.line(seq).await?;
        let message = line.and_then(|logged| logged.line.message().cloned());
        Ok(message.filter(|message| message.id() == Some(indexed.id.as_str())))
    }

    async fn line(&self, seq: Seq) -> Result<Option<LoggedLine>, ReadError> {
        let before = Seq::new(seq.get().saturating_sub(1));
        let cursor = LinesCursor { seq: before, crc: None, purge: self.purge };
        let page = self.chat.log().lines_after(Some(cursor), 1).await?;
        Ok(page.lines.into_iter().next().filter(|logged| logged.line.seq == seq))
    }

    async fn entry(&self, entry: LedgerSeq, id: &str) -> Result<Option<UiMessage>, ReadError> {
        let before = LedgerSeq::new(entry.get().saturating_sub(1));
        let lines = self.chat.ledger().after(Some(before), 1).await?;
        let line = lines.into_iter().next().filter(|line| line.seq == entry);
        Ok(line.and_then(|line| match line.body {
            LedgerBody::Entry(entry) => Some(promoted_message(&entry, id.to_owned(), None)),
            LedgerBody::Delivery(_) => None,
        }))
    }

    /// Tells where a message stands first.
    fn place_of(&self, indexed: &IndexedMessage) -> HitPlace {
        let (Some(line), Some(view)) = (indexed.line, &self.view) else { return HitPlace::Ledger };
        let sealed = view.head.sealed.as_ref().map(|log| log.range().1);
        if sealed.is_none_or(|last| last < line) {
            return HitPlace::Live;
        }
        let is_active = indexed.context.as_ref() == Some(&view.head.context);
        if is_active { HitPlace::Sealed } else { HitPlace::Context }
    }
}
