//! Time, which always comes in as an argument.

use std::sync::Arc;

use crate::Timestamp;

/// Tells the time. Tests bring their own.
pub trait Clock: Send + Sync {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}
