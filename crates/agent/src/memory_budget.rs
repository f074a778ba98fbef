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

/// What one holder takes of a budget. It is given back when this value is dropped.
#[derive(Debug, Default)]
pub(crate) struct BudgetShare {
    budget: Option<MemoryBudget>,
    bytes: usize,
}

impl BudgetShare {
    /// Begins with nothing.
    pub(crate) fn of(budget: &MemoryBudget) -> Self {
        Self { budget: Some(budget.clone()), bytes: 0 }
    }

    /// Takes so many bytes instead of those taken before.
    pub(crate) fn set(&mut self, bytes: usize) {
        if let Some(budget) = &self.budget {
            budget.take(bytes);
            budget.give_back(self.bytes);
            self.bytes = bytes;
        }
    }

    /// Whether the holders of the budget have more than it together.
    pub(crate) fn is_short(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.lacks(0))
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.set(0);
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
