//! How long a run may work.
//!
//! Only the time counts in which a process works on the run: the journal tells with each line how long that was,
//! and whoever goes on counts from there. So a run that was killed does not get its time anew, and neither the
//! night before it is gone on with nor a person who thinks about an answer uses it up. What was done since the
//! last line is not known after a kill, and does not count.

use std::time::Duration;

use ship_context::Journal;
use ship_provider::ProviderError;
use tokio::time::Instant;

use super::run_progress::RunProgress;
use crate::engine::ActiveRun;

/// How long a run has worked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkingTime {
    /// In other processes, or before it was parked.
    before: Duration,
    since: Instant,
}

impl WorkingTime {
    /// Goes on with what a journal tells.
    pub(crate) fn go_on(journal: &Journal) -> Self {
        Self { before: Duration::from_millis(journal.worked_ms), since: Instant::now() }
    }

    pub(crate) fn millis(&self) -> u64 {
        let worked = self.before + self.since.elapsed();
        u64::try_from(worked.as_millis()).unwrap_or(u64::MAX)
    }

    /// The moment at which a run must end that may work for so long.
    pub(crate) fn end_of(&self, allowed: Duration) -> Instant {
        self.since + allowed.saturating_sub(self.before)
    }
}

pub(crate) fn is_over(progress: &RunProgress) -> bool {
    Instant::now() >= progress.deadline
}

/// What the run ends with when its time is over.
pub(crate) fn exceeded(work: &ActiveRun) -> ProviderError {
    ProviderError::Failed {
        provider: work.locked.engine.provider.name().to_owned(),
        reason: EXCEEDED.to_owned(),
    }
}

/// Why nothing more is done.
pub(crate) const EXCEEDED: &str = "the run took longer than `context.run.deadlineMs` allows";
