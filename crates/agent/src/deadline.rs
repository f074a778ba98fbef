//! How long a run may work, counted from when it began.
//!
//! A run that was killed or that waited for somebody does not get its time anew: the journal tells when it
//! began. The time that it waited does not count, because it held up nobody meanwhile.

use std::time::Duration;

use ship_context::{Journal, JournalLine};
use ship_provider::ProviderError;
use ship_store::Synced;
use tokio::time::Instant;

use crate::run::RunError;
use crate::step::Progress;
use crate::work::Work;

/// Goes on with a run: tells the journal if it had waited, and gives the moment at which it must end and how
/// long it has waited.
pub(crate) async fn go_on(work: &Work, journal: &Journal) -> Result<(Instant, i64), RunError> {
    let now = work.agent.clock.now();
    let mut waited_ms = journal.waited_ms;
    if let Some(since) = journal.waits_since {
        waited_ms += now.millis().saturating_sub(since.millis()).max(0);
        let line = JournalLine::GoesOn { since: now }.into_object();
        work.lane.journal(vec![line], Synced::Later).await?;
    }
    let started = journal.start.started.unwrap_or(now);
    let worked_ms = now.millis().saturating_sub(started.millis()).saturating_sub(waited_ms);
    let worked = Duration::from_millis(u64::try_from(worked_ms).unwrap_or(0));
    Ok((Instant::now() + work.agent.rules.run_deadline.saturating_sub(worked), waited_ms))
}

/// Stops the count while the run waits for somebody.
pub(crate) async fn wait(work: &Work) -> Result<(), RunError> {
    let line = JournalLine::Waits { since: work.agent.clock.now() }.into_object();
    Ok(work.lane.journal(vec![line], Synced::Later).await?)
}

pub(crate) fn is_over(progress: &Progress) -> bool {
    Instant::now() >= progress.deadline
}

/// What the run ends with when its time is over.
pub(crate) fn exceeded(work: &Work) -> ProviderError {
    ProviderError::Failed {
        provider: work.agent.provider.name().to_owned(),
        reason: EXCEEDED.to_owned(),
    }
}

/// Why nothing more is done.
pub(crate) const EXCEEDED: &str = "the run took longer than `context.run.deadlineMs` allows";
