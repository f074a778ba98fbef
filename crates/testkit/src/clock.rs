//! A clock that moves when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ship_store::{Clock, Timestamp};

/// A clock that moves when it is told to. Clones share the time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Makes a clock that shows this many milliseconds since 1970.
    pub fn at(millis: i64) -> Self {
        Self(Arc::new(AtomicI64::new(millis)))
    }

    /// Moves the clock, back as well.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Default for ManualClock {
    /// 5 February 2026, 10:15.
    fn default() -> Self {
        Self::at(1_770_286_500_000)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}
