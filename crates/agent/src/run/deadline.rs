//! Limits the working time of a run.
//!
//! Only the time counts in which a process works on the run. Each line of the journal has the time so far, and the
//! process that continues the run counts from there. So a kill does not reset the time, and a night before the next
//! start or a person's pause before an approval uses none of it. The work since the last line of the journal is
//! unknown after a kill, and does not count.

use std::time::Duration;

use ship_context::Journal;
use ship_provider::ProviderError;
use tokio::time::Instant;

use super::run_progress::RunProgress;
use crate::engine::ActiveRun;

/// The time that a run has worked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkingTime {
    /// The time in other processes, or before the run was parked.
    before: Duration,
    since: Instant,
}

impl WorkingTime {
    /// Continues from the working time in a journal.
    pub(crate) fn go_on(journal: &Journal) -> Self {
        Self { before: Duration::from_millis(journal.worked_ms), since: Instant::now() }
    }

    pub(crate) fn millis(&self) -> u64 {
        let worked = self.before + self.since.elapsed();
        u64::try_from(worked.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the moment at which a run must end if it may work for `allowed`.
    pub(crate) fn end_of(&self, allowed: Duration) -> Instant {
        self.since + allowed.saturating_sub(self.before)
    }
}

pub(crate) fn is_over(progress: &RunProgress) -> bool {
    Instant::now() >= progress.deadline
}

/// Makes the error with which a run ends when its time is over.
pub(crate) fn exceeded(work: &ActiveRun) -> ProviderError {
    ProviderError::Failed {
        provider: work.locked.engine.provider.name().to_owned(),
        reason: EXCEEDED.to_owned(),
    }
}

/// The reason that the model and the person read when the time is over.
pub(crate) const EXCEEDED: &str = "the run took longer than `context.run.deadlineMs` allows";
