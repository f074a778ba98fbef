//! The source of the time, which callers pass as an argument.

use std::sync::Arc;

use crate::Timestamp;

/// Tells the time. Tests use a clock of their own.
pub trait Clock: Send + Sync {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}
