//! What a process remembers of earlier model calls, so that the next one costs no more than its own line.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ship_store::ChatKey;

use super::request_record::RequestRecord;

/// Of how many chats the last call is known, those that were asked for last.
const CHATS_MAX: usize = 64;
/// Of how many texts it is known that they are kept.
const TEXTS_MAX: usize = 4_096;
/// A call may have been sent more than once, and each has an answer; the last one is among these lines.
pub(crate) const RECENT_LINES: usize = 64;

/// What an agent knows of earlier calls.
#[derive(Debug, Default)]
pub(crate) struct RequestCache {
    /// The newest last.
    last: Mutex<VecDeque<(ChatKey, Arc<RequestRecord>)>>,
    /// Digests of texts that are kept as blobs.
    kept: Mutex<HashSet<String>>,
}

impl RequestCache {
    /// The last request for an answer in a chat, as far as this process knows.
    pub(crate) fn last(&self, chat: &ChatKey) -> Option<Arc<RequestRecord>> {
        lock(&self.last).iter().find(|(key, _)| key == chat).map(|(_, last)| Arc::clone(last))
    }

    /// Remembers a call that is on record.
    pub(crate) fn remember(&self, chat: &ChatKey, record: Arc<RequestRecord>) {
        if !record.is_of_context() {
            return;
        }
        let mut last = lock(&self.last);
        last.retain(|(key, _)| key != chat);
        last.push_back((chat.clone(), record));
        if last.len() > CHATS_MAX {
            last.pop_front();
        }
    }

    /// Notes that a text is kept as a blob.
    pub(crate) fn mark_kept(&self, sha256: &str) {
        let mut kept = lock(&self.kept);
        if kept.len() >= TEXTS_MAX {
            kept.clear();
        }
        kept.insert(sha256.to_owned());
    }

    /// Whether a text is known to be kept as a blob, by its digest.
    pub(crate) fn is_kept(&self, sha256: &str) -> bool {
        lock(&self.kept).contains(sha256)
    }
}

/// What is remembered is whole whatever panicked while it was held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
