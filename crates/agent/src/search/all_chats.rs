//! Searches in all chats of a store. A message that was copied to other chats is one hit.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::message_search::MessageSearch;
use super::search_query::SearchQuery;
use super::search_result::{MessageHit, SearchResult, SearchedBy};
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
        loop {
            let page = self.store.chats(after, CHATS_LISTED).await?;
            for look in page.chats {
                let Ok(key) = look.key else { continue };
                match self.search(&key, query).await {
                    Ok(Some(found)) => all.add(found),
                    Ok(None) => {}
                    Err(_) => all.is_complete = false,
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        all.hits = each_once(all.hits);
        all.hits.sort_by(better_first);
        all.hits.truncate(query.limit);
        Ok(all)
    }
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
