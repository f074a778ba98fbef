//! The chats that are open in this process.
//!
//! All handles of a chat must share one state of its files. The last few chats stay in memory after their handles
//! are dropped: the next call is most often for one of them, and would otherwise read its whole logs again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use super::chat::ChatFiles;
use crate::ChatKey;
use parking_lot::Mutex;

/// The number of chats without a handle that stay in memory.
const KEPT: usize = 32;
/// The number of them that keep their view, which can be large.
const VIEWS_KEPT: usize = 4;

/// The chats that are open, and those that were open a moment ago.
#[derive(Default)]
pub(crate) struct OpenChats {
    state: Mutex<OpenChatsState>,
}

#[derive(Default)]
struct OpenChatsState {
    open: HashMap<ChatKey, Weak<ChatFiles>>,
    /// The recently used chats, the newest last.
    recent: VecDeque<Arc<ChatFiles>>,
}

impl OpenChats {
    /// Returns the chat of a key, and makes it if it is neither open nor recent.
    pub(crate) fn chat(&self, key: &ChatKey, make: impl FnOnce() -> ChatFiles) -> Arc<ChatFiles> {
        let mut state = self.state.lock();
        let known = state.open.get(key).and_then(Weak::upgrade);
        let chat = known.unwrap_or_else(|| {
            let chat = Arc::new(make());
            // Entries of closed chats go when a chat is opened, so the map does not grow without bound.
            state.open.retain(|_, chat| chat.strong_count() > 0);
            state.open.insert(key.clone(), Arc::downgrade(&chat));
            chat
        });
        state.keep_recent(&chat);
        chat
    }

    /// Forgets a chat that does not exist, unless a handle is open.
    pub(crate) fn forget(&self, key: &ChatKey) {
        self.state.lock().recent.retain(|chat| chat.key != *key);
    }
}

impl OpenChatsState {
    fn keep_recent(&mut self, chat: &Arc<ChatFiles>) {
        if self.recent.back().is_some_and(|last| Arc::ptr_eq(last, chat)) {
            return;
        }
        self.recent.retain(|known| !Arc::ptr_eq(known, chat));
        self.recent.push_back(Arc::clone(chat));
        // Those behind it lost their views when they came to this place.
        if let Some(older) = self.recent.iter().rev().nth(VIEWS_KEPT) {
            older.forget_view();
        }
        if self.recent.len() > KEPT {
            self.recent.pop_front();
        }
    }
}
