//! The chats that are open in this process.
//!
//! All who have a chat open must share what they know of its files. The last few stay known when nobody has
//! them open: what comes next is most often for one of them, and would pay for reading its whole logs again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::chat::ChatFiles;
use crate::ChatKey;

/// How many chats stay known that nobody has open.
const KEPT: usize = 32;
/// How many of them keep their view, which can be large.
const VIEWS_KEPT: usize = 4;

/// The chats that are open, and those that were a moment ago.
#[derive(Default)]
pub(crate) struct OpenChats {
    state: Mutex<OpenChatsState>,
}

#[derive(Default)]
struct OpenChatsState {
    open: HashMap<ChatKey, Weak<ChatFiles>>,
    /// The newest last.
    recent: VecDeque<Arc<ChatFiles>>,
}

impl OpenChats {
    /// The chat of a key, made if nobody has it open and it is none of the last ones.
    pub(crate) fn chat(&self, key: &ChatKey, make: impl FnOnce() -> ChatFiles) -> Arc<ChatFiles> {
        let mut state = self.lock();
        let known = state.open.get(key).and_then(Weak::upgrade);
        let chat = known.unwrap_or_else(|| {
            let chat = Arc::new(make());
            state.open.retain(|_, chat| chat.strong_count() > 0);
            state.open.insert(key.clone(), Arc::downgrade(&chat));
            chat
        });
        state.keep(&chat);
        chat
    }

    /// Forgets a chat that is not there, unless somebody has it open.
    pub(crate) fn forget(&self, key: &ChatKey) {
        self.lock().recent.retain(|chat| chat.key != *key);
    }

    fn lock(&self) -> MutexGuard<'_, OpenChatsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenChatsState {
    fn keep(&mut self, chat: &Arc<ChatFiles>) {
        if self.recent.back().is_some_and(|last| Arc::ptr_eq(last, chat)) {
            return;
        }
        self.recent.retain(|known| !Arc::ptr_eq(known, chat));
        self.recent.push_back(Arc::clone(chat));
        if let Some(older) = self.recent.iter().rev().nth(VIEWS_KEPT) {
            older.forget_view();
        }
        if self.recent.len() > KEPT {
            self.recent.pop_front();
        }
    }
}
