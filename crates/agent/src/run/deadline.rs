//! Limits the working time of a run and of its tool calls.
//!
//! Only the time counts in which a process works on the run. Each line of the journal has the time so far, and the
//! process that continues the run counts from there. So a kill does not reset the time, and a night before the next
//! start or a person's pause before an approval uses none of it. The work since the last line of the journal is
//! unknown after a kill, and does not count.
//!
//! A process that is stopped (Ctrl-Z, a machine asleep) does not work either: [`WorkClock`] tells for how long it was.

use std::sync::Arc;
use std::time::Duration;

use ship_context::Journal;
use ship_provider::ProviderError;
use tokio::time::Instant;

use crate::engine::{ActiveRun, WorkClock};

/// The time that a run has worked, and the time that it may work. Clones tell the same.
#[derive(Clone, Debug)]
pub(crate) struct WorkingTime {
    clock: Arc<WorkClock>,
    /// The working time of other processes.
    before: Duration,
    /// The moment when this one began, and the time for which it had been stopped then.
    begun: (Instant, Duration),
    allowed: Duration,
}

impl WorkingTime {
    /// Continues from the working time in a journal.
    pub(crate) fn resume(journal: &Journal, clock: &Arc<WorkClock>, allowed: Duration) -> Self {
        let (clock, before) = (Arc::clone(clock), Duration::from_millis(journal.worked_ms));
        Self { begun: clock.look(), clock, before, allowed }
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

    fn worked(&self) -> Duration {
        let ((begun, stopped_before), (now, stopped)) = (self.begun, self.clock.look());
        let stopped = stopped.saturating_sub(stopped_before);
        self.before + now.saturating_duration_since(begun).saturating_sub(stopped)
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
