//! Searches in all chats of a store. A message that was copied to other chats is one hit.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ship_context::search::{MessageIndex, PostingSource as _, SearchQuestion, TermReader};
use ship_store::{ChatKey, ChatLook, ChatSizes};

use super::hit_reader::HitReader;
use super::index_head::{HEAD, HeadSegment, IndexHead};
use super::index_reader::IndexReader;
use super::message_search::{MessageSearch, rank_messages};
use super::search_query::{RankedMessage, SearchQuery};
use super::search_result::{MessageHit, SearchResult, SearchedBy};
use crate::blocking_work::blocking;
use crate::error::RunError;

/// The number of chats that are listed at once.
const CHATS_LISTED: usize = 1_000;

impl MessageSearch {
    /// Searches in all chats. A chat that cannot be read hides no other; the result is incomplete then.
    ///
    /// # Errors
    /// Fails if the store cannot list its chats.
    pub async fn search_all(&self, query: &SearchQuery) -> Result<SearchResult, RunError> {
        let mut all = SearchResult {
            hits: Vec::new(),
            is_complete: true,
            is_cut: false,
            from: SearchedBy::Index,
        };
        let mut after = None;
        let mut ranked = Vec::new();
        loop {
            let page = self.store.chats(after, CHATS_LISTED).await?;
            ranked.extend(self.search_page(page.chats, query, &mut all).await);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        self.read_best(ranked, query, &mut all).await;
        all.hits = each_once(all.hits);
        all.hits.sort_by(better_first);
        all.hits.truncate(query.limit);
        Ok(all)
    }
}

/// A message of a chat whose stored index is up to date, so that the chat need not be opened to rank it.
struct RankedElsewhere {
    chat: ChatKey,
    found: RankedMessage,
    purge: u64,
}

impl MessageSearch {
    /// Searches in some chats: by their stored indexes, and the others by opening them.
    async fn search_page(
        &self,
        looks: Vec<ChatLook>,
        query: &SearchQuery,
        all: &mut SearchResult,
    ) -> Vec<RankedElsewhere> {
        let known = |look: ChatLook| Some((look.key.ok()?, look.sizes));
        let looks: Vec<(ChatKey, ChatSizes)> = looks.into_iter().filter_map(known).collect();
        let keys = looks.iter().map(|(key, _)| key.clone()).collect();
        let heads = match (self.store.indexes(), HEAD.parse()) {
            (Some(files), Ok(head)) => files.read_all(keys, &head).await.unwrap_or_default(),
            _ => Vec::new(),
        };
        let asked = query.clone();
        let (ranked, others, (is_complete, is_cut)) = blocking(move || {
            let (mut ranked, mut others) = (Vec::new(), Vec::new());
            let (mut is_complete, mut is_cut) = (true, false);
            let heads = heads.into_iter().chain(std::iter::repeat(None));
            let mut reader = TermReader::new();
            for ((key, sizes), head) in looks.into_iter().zip(heads) {
                let read = head.and_then(|head| stored_index(&key, sizes, &head));
                match read {
                    Some(read) => {
                        let question = SearchQuestion::read(
                            &asked.words,
                            read.index.participants(),
                            &mut reader,
                        );
                        is_cut |= question.is_cut();
                        is_complete &= !read.place.has_gaps && !question.is_cut();
                        let purge = read.place.lines.map_or(0, |cursor| cursor.purge);
                        let found = rank_messages(&read.index, &question, &asked).into_iter();
                        ranked.extend(found.map(|found| RankedElsewhere {
                            chat: key.clone(),
                            found,
                            purge,
                        }));
                    }
                    None => others.push(key),
                }
            }
            (ranked, others, (is_complete, is_cut))
        })
        .await;
        all.is_complete &= is_complete;
        all.is_cut |= is_cut;
        for key in others {
            match self.search(&key, query).await {
                Ok(Some(found)) => all.add(found),
                Ok(None) => {}
                Err(_) => all.is_complete = false,
            }
        }
        ranked
    }

    /// Reads the best of the ranked messages. Copies of one message are read each, until there are enough.
    async fn read_best(
        &self,
        mut ranked: Vec<RankedElsewhere>,
        query: &SearchQuery,
        all: &mut SearchResult,
    ) {
        ranked.sort_by(|a, b| {
            let place = |it: &RankedElsewhere| (it.chat.clone(), it.found.message.id.clone());
            b.found.score.total_cmp(&a.found.score).then_with(|| place(a).cmp(&place(b)))
        });
        let mut reader = TermReader::new();
        let mut messages = HashSet::new();
        for RankedElsewhere { chat, found, purge } in ranked {
            let message = (found.message.origin.clone(), found.message.id.clone());
            if messages.len() >= query.limit && !messages.contains(&message) {
                continue;
            }
            let hit = self.read_hit(&chat, found, purge, query, &mut reader).await;
            match hit {
                Ok(Some(hit)) => {
                    messages.insert(message);
                    all.hits.push(hit);
                }
                Ok(None) => {}
                Err(_) => all.is_complete = false,
            }
        }
    }

    async fn read_hit(
        &self,
        chat: &ChatKey,
        found: RankedMessage,
        purge: u64,
        query: &SearchQuery,
        reader: &mut TermReader,
    ) -> Result<Option<MessageHit>, RunError> {
        let Some(chat) = self.store.open(chat).await? else { return Ok(None) };
        let question = SearchQuestion::read(&query.words, &[], reader);
        let hits = HitReader::new(&*chat, purge).await?;
        Ok(hits.read(found, &question, reader).await?)
    }
}

/// Reads the stored index of a chat with logs of these sizes; `None` if it may lack something, or is large.
fn stored_index(chat: &ChatKey, sizes: ChatSizes, head: &[u8]) -> Option<IndexReader> {
    let head = IndexHead::read(head).filter(|head| head.is_of_sizes(sizes))?;
    let inline = |segment: &HeadSegment| match segment {
        HeadSegment::Inline(bytes) => Some(Arc::clone(bytes)),
        HeadSegment::Named(_) => None,
    };
    let segments: Option<Vec<Arc<Vec<u8>>>> = head.segments.iter().map(inline).collect();
    let mut index = MessageIndex::read(chat.clone(), segments?).ok()?;
    index.arrange();
    Some(IndexReader::at(index, head.place))
}

impl SearchResult {
    fn add(&mut self, found: Self) {
        self.hits.extend(found.hits);
        self.is_complete &= found.is_complete;
        self.is_cut |= found.is_cut;
        if found.from == SearchedBy::Scan {
            self.from = SearchedBy::Scan;
        }
    }
}

/// Keeps one hit of each message: that in the chat where it was said, else that in the first chat by its key.
fn each_once(hits: Vec<MessageHit>) -> Vec<MessageHit> {
    let mut known: HashMap<(String, String), MessageHit> = HashMap::new();
    let rank = |hit: &MessageHit| (hit.chat != hit.origin, hit.chat.clone());
    for hit in hits {
        let key = (hit.origin.to_string(), hit.message_id.clone());
        match known.get(&key) {
            Some(other) if rank(other) <= rank(&hit) => {}
            _ => drop(known.insert(key, hit)),
        }
    }
    known.into_values().collect()
}

fn better_first(a: &MessageHit, b: &MessageHit) -> Ordering {
    let place = |hit: &MessageHit| (hit.chat.clone(), hit.ts, hit.message_id.clone());
    b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b)))
}
