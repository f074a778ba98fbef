//! The source of new ids.

use std::sync::atomic::{AtomicU64, Ordering};

/// Gives new ids.
pub trait IdSource: Send + Sync {
    /// Returns a number that was not given before.
    fn next(&self) -> u64;
}

/// Random ids, which cannot be guessed or repeated.
#[derive(Debug, Default)]
pub struct RandomIds {
    count: AtomicU64,
}

impl IdSource for RandomIds {
    fn next(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        // Each `RandomState` is keyed by the system's randomness and differs from the one before.
        let mut hasher = std::hash::RandomState::new().build_hasher();
        hasher.write_u64(self.count.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    }
}
