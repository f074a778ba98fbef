//! Remembers the tokens of system blocks and tools, which are the same in most requests of all chats.

use std::hash::{BuildHasher as _, RandomState};

use parking_lot::Mutex;

use crate::recent_map::RecentMap;

/// The number of texts whose tokens are at least remembered.
const TEXTS_KEPT: usize = 2_048;

/// The tokens of texts, by a hash of the text. Two texts with one hash would share a count; at 64 bits that is very
/// unlikely, and would only make an estimate wrong.
#[derive(Debug)]
pub(super) struct TextCounts {
    counts: Mutex<RecentMap<u64, u64>>,
    hashes: RandomState,
}

impl Default for TextCounts {
    fn default() -> Self {
        let counts = Mutex::new(RecentMap::new(TEXTS_KEPT));
        Self { counts, hashes: RandomState::new() }
    }
}

impl TextCounts {
    /// Whether the tokens of a text are remembered.
    pub(super) fn has(&self, text: &str) -> bool {
        self.counts.lock().get(&self.hashes.hash_one(text)).is_some()
    }

    /// Returns the tokens of a text, counted if they are not remembered. No lock is held while it is counted.
    pub(super) fn count(&self, text: &str, count: impl FnOnce() -> u64) -> u64 {
        let hash = self.hashes.hash_one(text);
        if let Some(tokens) = self.counts.lock().get(&hash) {
            return *tokens;
        }
        let tokens = count();
        self.counts.lock().insert(hash, tokens);
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_once() {
        let texts = TextCounts::default();
        assert_eq!(texts.count("a", || 1), 1);
        assert_eq!(texts.count("b", || 2), 2);
        assert_eq!(texts.count("a", || unreachable!("it is known")), 1);
    }
}
