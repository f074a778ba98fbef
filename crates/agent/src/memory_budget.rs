//! The memory that several maps share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limit for the bytes of all maps that hold it. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    used: AtomicUsize,
    most: usize,
}

impl MemoryBudget {
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Bytes { used: AtomicUsize::new(0), most }))
    }

    /// Whether so many more bytes are too many.
    pub(super) fn lacks(&self, bytes: usize) -> bool {
        self.0.used.load(Ordering::Relaxed).saturating_add(bytes) > self.0.most
    }

    pub(super) fn take(&self, bytes: usize) {
        self.0.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Tells about how much memory a value takes.
pub(crate) trait Weighed {
    /// Returns the approximate bytes of the value, with what it points to.
    fn bytes(&self) -> usize;
}

/// What has no memory of its own is limited by its number alone.
impl Weighed for () {
    fn bytes(&self) -> usize {
        0
    }
}

impl Weighed for u64 {
    fn bytes(&self) -> usize {
        0
    }
}
