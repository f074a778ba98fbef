//! Settling: a run that outgrows the window continues in a new message.
//!
//! The parts so far go into the log, so that they can be pruned and summarised like other messages; see
//! `ship_context::SettledWork`. No work is repeated.

use ship_context::{Journal, close_message};
use ship_message::{StepStartPart, UiMessage, UiPart};
use ship_store::Synced;

use super::finish;
use super::run_progress::RunProgress;
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::reply::Outcome;

/// Settles the first `count` parts of a run's message. The log gets them before the new journal begins: after a crash
/// between the two, recovery finds the message in the log and begins the new journal itself.
pub(crate) async fn settle(
    work: &ActiveRun,
    progress: &mut RunProgress,
    count: usize,
) -> Result<(), RunError> {
    let so_far = progress.assembler.message().clone();
    // The settled message means nothing without the journal of its run.
    work.locked.lane.journal(Vec::new(), Synced::Now).await?;
    work.append(vec![settled_message(work, &so_far, count).into()]).await?;
    work.read_again().await?;
    let journal = Journal {
        message: so_far,
        worked_ms: progress.time.millis(),
        ..Journal::begin(progress.start.clone())
    };
    let next = journal.after_settling(count);
    work.locked.lane.begin_journal(next.start.to_object(), Synced::Now).await?;
    progress.continue_with(work, next);
    Ok(())
}

fn settled_message(work: &ActiveRun, so_far: &UiMessage, count: usize) -> UiMessage {
    let mut message = so_far.clone();
    message.parts_mut().truncate(count);
    close_message(&mut message);
    if message.parts().is_empty() {
        // A message must have at least one part.
        message.parts_mut().push(UiPart::StepStart(StepStartPart::default()));
    }
    let mut metadata = finish::answer_metadata(work, &Outcome::Done, None);
    metadata.set_settled_parts(count as u64);
    metadata.write_to(&mut message);
    message
}
