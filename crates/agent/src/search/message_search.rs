//! Answers questions about the messages of a chat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex as SyncMutex;
use ship_context::search::{
    IndexedMessage, MessageIndex, PostingSource as _, SearchQuestion, SearchSignals, TermReader,
    rank,
};
use ship_store::{Chat, ChatKey, ReadError, Store};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::hit_reader::HitReader;
use super::index_reader::{IndexReader, ReadBudget};
use super::kept_index::KeptIndex;
use super::search_query::{RankedMessage, SearchQuery};
use super::search_result::{SearchResult, SearchedBy};
use crate::error::RunError;
use crate::memory_budget::{MemoryBudget, Weighed};
use crate::recent_map::RecentMap;

/// The number of hits more than asked for that are ranked, for those that are gone when they are read.
const SPARE_HITS: usize = 16;

/// The pages of lines that a search reads into the index before it answers. If more is new, a scan answers.
const PAGES_BEFORE: usize = 2;

/// The number of chats whose indexes stay in memory at least.
const CHATS_KEPT: usize = 4;

/// The memory for indexes in a search without an agent.
const BYTES_KEPT: usize = 32 * 1024 * 1024;

/// The index of a chat in memory, if it was read. It is used by one task at a time.
type IndexSlot = Arc<Mutex<Option<KeptIndex>>>;

/// An index in memory, and what it took when it was last brought on.
#[derive(Clone, Debug, Default)]
struct LoadedIndex {
    slot: IndexSlot,
    bytes: usize,
}

impl Weighed for LoadedIndex {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Searches the messages of chats. It needs no agent, so a chat can be searched whatever is wrong with the model.
pub struct MessageSearch {
    pub(super) store: Arc<dyn Store>,
    loaded: SyncMutex<RecentMap<ChatKey, LoadedIndex>>,
    /// Whether the logs are read for every search.
    is_scan: bool,
    /// Whether the indexes of chats that are gone were removed.
    has_dropped_strays: AtomicBool,
}

impl std::fmt::Debug for MessageSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageSearch").finish_non_exhaustive()
    }
}

impl MessageSearch {
    /// Makes a search in the chats of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::within(&MemoryBudget::new(BYTES_KEPT), store)
    }

    /// Makes a search that keeps indexes as far as a budget has room, and the last one in any case.
    pub(crate) fn within(budget: &MemoryBudget, store: Arc<dyn Store>) -> Self {
        Self {
            store,
            is_scan: false,
            loaded: SyncMutex::new(RecentMap::within(budget, CHATS_KEPT)),
            has_dropped_strays: AtomicBool::default(),
        }
    }

    /// Makes a search that reads the logs each time, although there may be an index. It finds the same.
    pub fn scanning(store: Arc<dyn Store>) -> Self {
        Self { is_scan: true, ..Self::new(store) }
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
        let whole = self.whole_index(chat, &query.words).await?;
        let found = answer(chat, whole.read(), query, whole.from()).await;
        whole.give_back();
        found
    }

    /// Returns an index that has read everything: that of the chat, or one for this question alone.
    pub(super) async fn whole_index(
        &self,
        chat: &dyn Chat,
        words: &str,
    ) -> Result<WholeIndex, ReadError> {
        if self.is_scan {
            return scan(chat, words).await;
        }
        let mut slot = self.slot(chat.key()).lock_owned().await;
        let (mut kept, is_whole) = self.read_on(chat, slot.take(), PAGES_BEFORE).await?;
        if is_whole {
            kept.read.add_waiting(chat).await?;
            kept.read.index.arrange();
            return Ok(WholeIndex::Kept(Box::new(kept), slot));
        }
        *slot = kept.if_newest();
        drop(slot);
        scan(chat, words).await
    }

    /// Brings the index of a chat on by up to so many pages of 1,000 lines. Returns whether it has read everything.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn index(&self, chat: &ChatKey, pages: usize) -> Result<bool, RunError> {
        let Some(chat) = self.store.open(chat).await? else { return Ok(true) };
        let slot = self.slot(chat.key());
        let mut held = slot.lock().await;
        let (kept, is_whole) = self.read_on(&*chat, held.take(), pages).await?;
        *held = kept.if_newest();
        Ok(is_whole)
    }

    /// Whether the index of a chat is in memory, so that it is worth being brought on after each commit.
    pub(crate) fn is_loaded(&self, chat: &ChatKey) -> bool {
        self.loaded.lock().get(chat).is_some()
    }

    fn slot(&self, chat: &ChatKey) -> IndexSlot {
        let mut loaded = self.loaded.lock();
        if let Some(loaded) = loaded.get(chat) {
            return Arc::clone(&loaded.slot);
        }
        let new = LoadedIndex::default();
        let slot = Arc::clone(&new.slot);
        loaded.insert(chat.clone(), new);
        slot
    }

    /// Counts what an index takes, and forgets others that have no room beside it.
    fn count_bytes(&self, chat: &ChatKey, index: &MessageIndex) {
        self.loaded.lock().change(chat, |loaded| loaded.bytes = index.memory_bytes());
    }

    /// Removes the indexes of chats that are gone, once in a process.
    async fn drop_strays(&self) {
        if let Some(files) = self.store.indexes()
            && !self.has_dropped_strays.swap(true, Ordering::Relaxed)
        {
            // What stays is derived, and no search reads it.
            let _ = files.drop_strays().await;
        }
    }

    /// Reads some pages and stores the index. Returns whether it has read everything.
    async fn read_on(
        &self,
        chat: &dyn Chat,
        known: Option<KeptIndex>,
        pages: usize,
    ) -> Result<(KeptIndex, bool), ReadError> {
        let kept = match known {
            Some(known) => known,
            None => {
                self.drop_strays().await;
                KeptIndex::load(&*self.store, chat.key()).await
            }
        };
        // Before the logs are read: what comes meanwhile makes another size.
        let sizes = chat.sizes().await?;
        let (mut kept, is_whole) = kept.catch_up(chat, ReadBudget::Pages(pages)).await?;
        let is_all = is_whole && kept.read.waiting_lines(chat).await?.is_empty();
        kept.store(&*self.store, chat.key(), Some(sizes).filter(|_| is_all)).await;
        self.count_bytes(chat.key(), &kept.read.index);
        Ok((kept, is_whole))
    }
}

/// Reads all logs into an index for one question.
async fn scan(chat: &dyn Chat, words: &str) -> Result<WholeIndex, ReadError> {
    let wide = SearchQuestion::read_widely(words, &mut TermReader::new());
    let read = IndexReader::scan(chat, wide).catch_up(chat, ReadBudget::All).await;
    let (mut read, _) = read?;
    read.add_waiting(chat).await?;
    read.index.arrange();
    Ok(WholeIndex::Scan(Box::new(read)))
}

/// An index that has read everything, while it is asked.
pub(super) enum WholeIndex {
    /// The index of the chat, and its place in memory.
    Kept(Box<KeptIndex>, OwnedMutexGuard<Option<KeptIndex>>),
    /// An index for one question.
    Scan(Box<IndexReader>),
}

impl WholeIndex {
    pub(super) fn read(&self) -> &IndexReader {
        match self {
            Self::Kept(kept, _) => &kept.read,
            Self::Scan(read) => read,
        }
    }

    fn from(&self) -> SearchedBy {
        match self {
            Self::Kept(..) => SearchedBy::Index,
            Self::Scan(_) => SearchedBy::Scan,
        }
    }

    /// Gives the index of the chat back to other searches, without the messages that wait.
    pub(super) fn give_back(self) {
        if let Self::Kept(mut kept, mut slot) = self {
            kept.read.index.forget_unsealed();
            *slot = kept.if_newest();
        }
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
    let ranked = rank_messages(&read.index, &question, query);
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
pub(super) fn rank_messages(
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

#[cfg(test)]
mod tests {
    use ship_store::{About, FileStore};
    use ship_testkit::chat::{entry, options};
    use ship_testkit::sim::SimDisk;

    use super::*;

    /// Makes chats of people who talk with each other.
    async fn chats(count: usize) -> (Arc<dyn Store>, Vec<ChatKey>) {
        let store: Arc<dyn Store> =
            Arc::new(FileStore::on_disk(Box::new(SimDisk::new()), options()));
        let mut keys = Vec::new();
        for number in 0..count {
            let key: ChatKey = format!("group:{number}").parse().unwrap();
            let chat = store.create(&key, About::default()).await.unwrap();
            for nth in 0..20 {
                chat.ledger().accept(observed(nth)).await.unwrap();
            }
            keys.push(key);
        }
        (store, keys)
    }

    fn observed(nth: u64) -> ship_store::LedgerEntry {
        let mut talk = entry(&format!("k{nth}"), &format!("The {nth}th thing to say."));
        talk.entry.set("role", "user");
        talk.entry.set("meta", ship_message::json::Object::from([("observed", true)]));
        talk
    }

    #[tokio::test]
    async fn indexes_stay_in_memory_as_far_as_their_bytes_have_room() {
        let (store, keys) = chats(4).await;
        let loaded = async |budget: &MemoryBudget| {
            let search = MessageSearch::within(budget, Arc::clone(&store));
            for key in &keys {
                assert!(search.index(key, 1).await.unwrap());
            }
            keys.iter().filter(|key| search.is_loaded(key)).count()
        };
        let room = MemoryBudget::new(usize::MAX / 2);
        assert_eq!(loaded(&room).await, 4);
        let search = MessageSearch::within(&room, Arc::clone(&store));
        assert!(search.index(&keys[0], 1).await.unwrap());
        let each = search.slot(&keys[0]).lock().await.as_ref().unwrap().read.index.memory_bytes();
        assert!(each > 1_000 && room.lacks(usize::MAX / 2 - each + 1), "it counts: {each}");
        drop(search);
        assert!(!room.lacks(usize::MAX / 2), "nothing is left");
        assert_eq!(loaded(&MemoryBudget::new(each * 3 / 2)).await, 1);
    }
}
