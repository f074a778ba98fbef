//! Limits the working time of a run and of its tool calls.
//!
//! Only the time counts in which a process works on the run. Each line of the journal has the time so far, and the
//! process that continues the run counts from there. So a kill does not reset the time, and a night before the next
//! start or a person's pause before an approval uses none of it. The work since the last line of the journal is
//! unknown after a kill, and does not count.
//!
//! A process that is stopped (Ctrl-Z, a machine asleep) does not work either, but its clock may go on. So the time is
//! the sum of short intervals between looks at the clock. An interval that is far too long is one in which the process
//! did not run.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ship_context::Journal;
use ship_provider::ProviderError;
use tokio::time::Instant;

use crate::engine::ActiveRun;

/// The interval between two looks at the clock while a process works.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// The longest interval that a busy machine explains. In a longer one, the process did not run.
const INTERVAL_MAX: Duration = Duration::from_secs(10);

/// The time that a run has worked, and the time that it may work. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct WorkingTime {
    sum: Arc<Mutex<IntervalSum>>,
    allowed: Duration,
}

impl WorkingTime {
    /// Continues from the working time in a journal.
    pub(crate) fn resume(journal: &Journal, allowed: Duration) -> Self {
        let worked = Duration::from_millis(journal.worked_ms);
        Self { sum: Arc::new(Mutex::new(IntervalSum { worked, last: Instant::now() })), allowed }
    }

    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.worked().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether the run has worked for as long as it may.
    pub(crate) fn is_over(&self) -> bool {
        self.worked() >= self.allowed
    }

    /// Waits until the time is over.
    pub(crate) async fn wait_until_over(&self) {
        self.wait_until(self.allowed).await;
    }

    /// Waits until the run has worked for so long from now on.
    pub(crate) async fn wait_for(&self, duration: Duration) {
        self.wait_until(self.worked().saturating_add(duration)).await;
    }

    #[expect(clippy::disallowed_methods, reason = "a deadline waits")]
    async fn wait_until(&self, end: Duration) {
        // After a time in which the process was stopped, the sleep ends too early.
        while let Some(left) = end.checked_sub(self.worked()).filter(|left| !left.is_zero()) {
            tokio::time::sleep(left).await;
        }
    }

    /// Looks at the clock again and again, beside the work.
    #[expect(clippy::disallowed_methods, reason = "the clock is looked at from time to time")]
    pub(super) async fn keep_watching(&self) -> Infallible {
        loop {
            tokio::time::sleep(CLOCK_INTERVAL).await;
            self.worked();
        }
    }

    fn worked(&self) -> Duration {
        self.sum.lock().add_interval(Instant::now())
    }
}

/// The sum of the intervals between looks at the clock in which a process worked.
#[derive(Debug)]
struct IntervalSum {
    worked: Duration,
    last: Instant,
}

impl IntervalSum {
    /// Adds the interval since the last look, and returns the sum.
    fn add_interval(&mut self, now: Instant) -> Duration {
        let interval = now.saturating_duration_since(self.last);
        self.last = now;
        // Until it was stopped, the process may have worked for one interval.
        self.worked += if interval > INTERVAL_MAX { CLOCK_INTERVAL } else { interval };
        self.worked
    }
}

/// Makes the error with which a run ends when its time is over.
pub(crate) fn deadline_error(work: &ActiveRun) -> ProviderError {
    ProviderError::Failed {
        provider: work.locked.engine.provider.name().to_owned(),
        reason: EXCEEDED.to_owned(),
    }
}

/// The reason that the model and the person read when the time is over.
pub(crate) const EXCEEDED: &str = "the run took longer than `context.run.deadlineMs` allows";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_which_nothing_ran_counts_as_one_look_and_a_slow_machine_in_full() {
        let mut last = Instant::now();
        let mut sum = IntervalSum { worked: Duration::from_millis(500), last };
        for (interval_ms, worked_ms) in
            [(1_000, 1_500), (10_000, 11_500), (10_001, 12_500), (3_600_000, 13_500), (0, 13_500)]
        {
            last += Duration::from_millis(interval_ms);
            assert_eq!(sum.add_interval(last), Duration::from_millis(worked_ms), "{interval_ms}");
        }
    }
}
