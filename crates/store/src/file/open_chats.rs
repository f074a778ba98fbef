//! The chats that are open in this process, and those that were.
//!
//! All handles of a chat must share one state of its files. A chat stays in memory after its handles are dropped: the
//! next call is often for one of the last chats, and would otherwise read its whole logs again. All of them together
//! have a limit in bytes, `limits.cacheBytes`; above it, the least recently used chat goes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use super::chat::ChatFiles;
use crate::ChatKey;
use parking_lot::Mutex;

/// The chats that are open, and those that were open lately.
pub(crate) struct OpenChats {
    state: Mutex<OpenChatsState>,
}

struct OpenChatsState {
    /// The chats with a handle, and those that stay.
    open: HashMap<ChatKey, OpenChat>,
    /// The chats that stay, the least recently used first.
    kept: BTreeMap<u64, KeptChat>,
    /// The number of times that a chat was used.
    uses: u64,
    /// The bytes of all chats that stay, and their limit.
    bytes: u64,
    bytes_max: u64,
}

struct OpenChat {
    files: Weak<ChatFiles>,
    /// The last use of a chat that stays.
    last_use: Option<u64>,
}

struct KeptChat {
    files: Arc<ChatFiles>,
    bytes: u64,
}

impl OpenChats {
    /// Makes a cache of chats with a limit in bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        let state = OpenChatsState {
            open: HashMap::new(),
            kept: BTreeMap::new(),
            uses: 0,
            bytes: 0,
            bytes_max,
        };
        Self { state: Mutex::new(state) }
    }

    /// Returns the chat of a key, and makes it if it is not in memory.
    pub(crate) fn chat(&self, key: &ChatKey, make: impl FnOnce() -> ChatFiles) -> Arc<ChatFiles> {
        let mut state = self.state.lock();
        let known = state.open.get(key).and_then(|open| open.files.upgrade());
        let chat = known.unwrap_or_else(|| Arc::new(make()));
        let gone = state.keep(&chat);
        drop(state);
        gone.iter().for_each(|chat| chat.forget());
        chat
    }

    /// Counts the memory of a chat that was just used, and lets others go if all together have too much.
    pub(crate) fn note_use(&self, chat: &Arc<ChatFiles>) {
        let mut state = self.state.lock();
        // A chat that was forgotten meanwhile, and perhaps made again, does not come back.
        let is_here =
            state.open.get(&chat.key).is_some_and(|open| open.files.ptr_eq(&Arc::downgrade(chat)));
        let gone = if is_here { state.keep(chat) } else { Vec::new() };
        drop(state);
        gone.iter().for_each(|chat| chat.forget());
    }

    /// Forgets a chat that does not exist, unless a handle is open.
    pub(crate) fn forget(&self, key: &ChatKey) {
        let mut state = self.state.lock();
        if let Some(last_use) = state.open.get_mut(key).and_then(|open| open.last_use.take()) {
            state.let_go(last_use);
        }
    }
}

impl OpenChatsState {
    /// Keeps a chat as the last one used. Returns the chats that have no room beside it.
    fn keep(&mut self, chat: &Arc<ChatFiles>) -> Vec<Arc<ChatFiles>> {
        self.uses += 1;
        let open = OpenChat { files: Arc::downgrade(chat), last_use: Some(self.uses) };
        let before = self.open.insert(chat.key.clone(), open);
        if let Some(kept) = before.and_then(|open| self.kept.remove(&open.last_use?)) {
            self.bytes -= kept.bytes;
        }
        let kept = KeptChat { files: Arc::clone(chat), bytes: chat.cached_bytes() };
        self.bytes += kept.bytes;
        self.kept.insert(self.uses, kept);
        let mut gone = Vec::new();
        // The chat that was just used stays, however large it is.
        while self.bytes > self.bytes_max && self.kept.len() > 1 {
            let Some((&oldest, _)) = self.kept.first_key_value() else { break };
            gone.extend(self.let_go(oldest));
        }
        gone
    }

    /// Lets a chat go that was last used so long ago. One with a handle stays known, because handles share its state.
    fn let_go(&mut self, last_use: u64) -> Option<Arc<ChatFiles>> {
        let KeptChat { files, bytes } = self.kept.remove(&last_use)?;
        self.bytes -= bytes;
        let has_handle = Arc::strong_count(&files) > 1;
        match self.open.get_mut(&files.key).filter(|_| has_handle) {
            Some(open) => open.last_use = None,
            None => drop(self.open.remove(&files.key)),
        }
        Some(files)
    }
}

#[cfg(test)]
mod tests {
    use ship_message::json::Object;

    use super::*;
    use crate::disk::MemoryDisk;
    use crate::file::store_env::Env;
    use crate::{About, LedgerEntry, StoreOptions};

    /// Chats in a cache with room for so many without a view.
    struct Cache {
        env: Arc<Env>,
        open: OpenChats,
    }

    impl Cache {
        fn new(room: u64) -> Self {
            let env = Arc::new(Env::new(Box::new(MemoryDisk::new()), StoreOptions::default()));
            let bytes = ChatFiles::new(Arc::clone(&env), "a".parse().unwrap()).cached_bytes();
            Self { env, open: OpenChats::new(room * bytes) }
        }

        fn chat(&self, key: &str) -> Arc<ChatFiles> {
            let key: ChatKey = key.parse().unwrap();
            self.open.chat(&key, || ChatFiles::new(Arc::clone(&self.env), key.clone()))
        }

        /// The keys of the chats in memory without a handle, in the order of their use.
        fn kept(&self) -> String {
            let state = self.open.state.lock();
            state.kept.values().map(|chat| chat.files.key.as_str()).collect()
        }
    }

    #[test]
    fn the_chat_that_was_not_used_for_the_longest_time_goes_first() {
        let cache = Cache::new(3);
        for key in ["a", "b", "c", "a", "d"] {
            cache.chat(key);
        }
        assert_eq!(cache.kept(), "cad");
        assert_eq!(cache.open.state.lock().open.len(), 3, "nothing is left of the one that went");
    }

    #[test]
    fn a_chat_with_a_handle_shares_its_state_though_there_is_no_room_for_it() {
        let cache = Cache::new(1);
        let first = cache.chat("a");
        cache.chat("b");
        assert_eq!(cache.kept(), "b");
        assert!(Arc::ptr_eq(&first, &cache.chat("a")));
        drop(first);
        cache.chat("b");
        assert_eq!((cache.kept().as_str(), cache.open.state.lock().open.len()), ("b", 1));
    }

    #[test]
    fn the_memory_of_a_chat_has_the_keys_of_its_ledger_and_goes_with_it() {
        let cache = Cache::new(1);
        let chat = cache.chat("a");
        let empty = chat.cached_bytes();
        chat.create(&About::default()).unwrap();
        for number in 0..3_000 {
            // Long enough that some ledgers are sealed, whose keys stay in memory.
            let entry = Object::from([("text", "a word or two ".repeat(10))]);
            chat.accept(LedgerEntry { key: format!("key-{number}"), entry }).unwrap();
        }
        let full = chat.cached_bytes();
        assert!(full > empty + 3_000 * 16, "{full} bytes");
        // There is no room for both.
        cache.chat("b");
        assert_eq!(chat.cached_bytes(), empty);
        let known = chat.accept(LedgerEntry { key: "key-0".to_owned(), entry: Object::new() });
        assert!(!known.unwrap().new, "what was forgotten is read again");
    }

    #[test]
    fn a_chat_that_was_forgotten_does_not_come_back_by_an_old_handle() {
        let cache = Cache::new(3);
        let old = cache.chat("a");
        cache.open.forget(&old.key);
        assert!(Arc::ptr_eq(&old, &cache.chat("a")), "its handle was still open");
        cache.open.forget(&old.key);
        cache.open.state.lock().open.clear();
        cache.open.note_use(&old);
        assert_eq!(cache.kept(), "");
    }
}
