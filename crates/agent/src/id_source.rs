//! The source of new ids.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where new ids come from.
pub trait IdSource: Send + Sync {
    /// A number that was not given before.
    fn next(&self) -> u64;
}

/// Ids that nobody can guess or repeat.
#[derive(Debug, Default)]
pub struct RandomIds {
    count: AtomicU64,
}

impl IdSource for RandomIds {
    fn next(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        // Every `RandomState` is keyed by the system's randomness and differs from the one before.
        let mut hasher = std::hash::RandomState::new().build_hasher();
        hasher.write_u64(self.count.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    }
}
