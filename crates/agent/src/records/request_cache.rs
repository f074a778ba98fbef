//! Remembers earlier model calls in memory, so that the next one only costs its own line.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use ship_store::ChatKey;

use super::request_record::RequestRecord;

/// The number of chats whose last call is remembered, the most recent ones.
const CHATS_MAX: usize = 64;
/// The number of texts that are known to be stored.
const TEXTS_MAX: usize = 4_096;
/// The number of lines that surely contain the last call: it may be sent more than once, and each has an answer.
pub(crate) const RECENT_LINES: usize = 64;

/// The earlier calls that an agent remembers.
#[derive(Debug, Default)]
pub(crate) struct RequestCache {
    /// The last call of each chat, the newest last.
    last: Mutex<VecDeque<(ChatKey, Arc<RequestRecord>)>>,
    /// The digests of texts that are stored as blobs.
    stored_texts: Mutex<HashSet<String>>,
}

impl RequestCache {
    /// Returns the last request for an answer in a chat, as far as this process knows.
    pub(crate) fn last(&self, chat: &ChatKey) -> Option<Arc<RequestRecord>> {
        self.last.lock().iter().find(|(key, _)| key == chat).map(|(_, last)| Arc::clone(last))
    }

    /// Remembers a call that is recorded.
    pub(crate) fn remember(&self, chat: &ChatKey, record: Arc<RequestRecord>) {
        if !record.is_of_context() {
            return;
        }
        let mut last = self.last.lock();
        last.retain(|(key, _)| key != chat);
        last.push_back((chat.clone(), record));
        if last.len() > CHATS_MAX {
            last.pop_front();
        }
    }

    /// Notes that a text is stored as a blob.
    pub(crate) fn mark_stored(&self, sha256: &str) {
        let mut kept = self.stored_texts.lock();
        if kept.len() >= TEXTS_MAX {
            // This costs no more than storing some texts again.
            kept.clear();
        }
        kept.insert(sha256.to_owned());
    }

    /// Whether the text with this digest is known to be stored as a blob.
    pub(crate) fn is_stored(&self, sha256: &str) -> bool {
        self.stored_texts.lock().contains(sha256)
    }
}
