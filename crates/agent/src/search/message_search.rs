//! Answers questions about the messages of a chat.

use std::sync::Arc;

use ship_context::search::{
    IndexedMessage, MessageIndex, PostingSource as _, SearchQuestion, SearchSignals, TermReader,
    rank,
};
use ship_store::{Chat, ChatKey, ReadError, Store};

use super::hit_reader::HitReader;
use super::index_reader::IndexReader;
use super::search_query::{RankedMessage, SearchQuery};
use super::search_result::{SearchResult, SearchedBy};
use crate::error::RunError;

/// The number of hits more than asked for that are ranked, for those that are gone when they are read.
const SPARE_HITS: usize = 16;

/// Searches the messages of chats. It needs no agent, so a chat can be searched whatever is wrong with the model.
pub struct MessageSearch {
    pub(super) store: Arc<dyn Store>,
}

impl std::fmt::Debug for MessageSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageSearch").finish_non_exhaustive()
    }
}

impl MessageSearch {
    /// Makes a search in the chats of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Searches in one chat; `None` if there is no such chat.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn search(
        &self,
        chat: &ChatKey,
        query: &SearchQuery,
    ) -> Result<Option<SearchResult>, RunError> {
        let Some(chat) = self.store.open(chat).await? else { return Ok(None) };
        Ok(Some(self.search_in(&*chat, query).await?))
    }

    /// Searches in an open chat.
    pub(crate) async fn search_in(
        &self,
        chat: &dyn Chat,
        query: &SearchQuery,
    ) -> Result<SearchResult, ReadError> {
        let wide = SearchQuestion::read_widely(&query.words, &mut TermReader::new());
        let mut read = IndexReader::scan(chat, wide).catch_up(chat).await?;
        read.add_waiting(chat).await?;
        read.index.arrange();
        answer(chat, &read, query, SearchedBy::Scan).await
    }
}

/// Asks an index that has read its whole chat.
async fn answer(
    chat: &dyn Chat,
    read: &IndexReader,
    query: &SearchQuery,
    from: SearchedBy,
) -> Result<SearchResult, ReadError> {
    let mut reader = TermReader::new();
    let question = SearchQuestion::read(&query.words, read.index.participants(), &mut reader);
    let ranked = ranked(&read.index, &question, query);
    let purge = read.place.lines.map_or(0, |cursor| cursor.purge);
    let hit_reader = HitReader::new(chat, purge).await?;
    let mut hits = Vec::new();
    for found in ranked {
        if hits.len() >= query.limit {
            break;
        }
        hits.extend(hit_reader.read(found, &question, &mut reader).await?);
    }
    let is_cut = question.is_cut();
    Ok(SearchResult { hits, is_complete: !is_cut && !read.place.has_gaps, is_cut, from })
}

/// Ranks the messages of an index, the best first.
fn ranked(
    index: &MessageIndex,
    question: &SearchQuestion,
    query: &SearchQuery,
) -> Vec<RankedMessage> {
    let in_context = query.context.as_ref().map(|context| index.lines_in(context));
    let keep = |number: u32| {
        in_context.as_ref().is_none_or(|lines| lines.contains_key(&number))
            && query.is_wanted(index, number)
    };
    let limit = query.limit.saturating_add(SPARE_HITS);
    // The terms are in memory, and were not damaged there.
    let hits = rank(question, index, SearchSignals::default(), limit, keep).unwrap_or_default();
    let found = hits.into_iter().filter_map(|hit| {
        let mut message = index.message(hit.message)?;
        if let (Some(lines), Some(context)) = (&in_context, &query.context) {
            message = IndexedMessage {
                line: lines.get(&hit.message).copied(),
                context: Some(context.clone()),
                ..message
            };
        }
        Some(RankedMessage { message, score: hit.score })
    });
    found.collect()
}
