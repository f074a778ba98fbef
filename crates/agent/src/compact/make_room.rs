//! Makes room for a request if it needs any, and reports the outcome.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_store::{Explain as _, Explanation, RotateError, StorageError};

use super::agent_compact::Compaction;
use super::plan::{PlanResult, plan};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::request::{PreparedRequest, count_request};

const OUTGROWN: &str = "my work on this request no longer fits the model";

/// The reason for making room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompactionReason {
    /// The request may be too large.
    Trigger,
    /// The provider reports that it was too large, and perhaps its limit.
    Overflow {
        /// The limit that the provider named.
        limit: Option<u64>,
    },
    /// A person asks for it, perhaps with instructions.
    Person {
        /// The instructions for the summary.
        wishes: Option<String>,
    },
}

/// The outcome of making room.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CompactionOutcome {
    /// There is enough room: the request takes so many tokens.
    Enough(u64),
    /// The context was compacted.
    Made(Compaction),
    /// The run itself takes the room: so many parts of its message must be settled first.
    Settle(usize),
    /// There cannot be room, for this reason.
    None(Explanation),
}

/// The number of times that a compaction begins again because the log was replaced meanwhile.
const MOVES_MAX: usize = 2;

/// Makes room for a request if it needs any, and returns the request to send. `so_far` is the message that
/// the run is writing.
pub(crate) async fn make_room(
    work: &Arc<ActiveRun>,
    so_far: Option<&UiMessage>,
    mut request: PreparedRequest,
    why: &CompactionReason,
) -> Result<(CompactionOutcome, PreparedRequest), RunError> {
    let mut moves = 0;
    loop {
        match compact_once(work, &request, so_far, why).await {
            // A repair has replaced the log. If it still holds the same messages, the summary is the same too.
            Err(RunError::Rotate(RotateError::Moved { .. })) if moves < MOVES_MAX => {
                moves += 1;
                work.read_again().await?;
                request = prepare_current(work, so_far).await;
            }
            Ok(room @ CompactionOutcome::Made(_)) => {
                return Ok((room, prepare_current(work, so_far).await));
            }
            // A person that asked for the compaction gets the error itself.
            Err(RunError::Rotate(RotateError::Storage(
                error @ StorageError::CannotSeal { .. },
            ))) if !matches!(why, CompactionReason::Person { .. }) => {
                return Ok((without_sealing(work, &request, why, &error), request));
            }
            room => return Ok((room?, request)),
        }
    }
}

/// Decides about a request that should be smaller, on a disk that cannot keep a log under another name: as long as
/// the model takes the whole request, the chat continues.
fn without_sealing(
    work: &ActiveRun,
    request: &PreparedRequest,
    why: &CompactionReason,
    error: &StorageError,
) -> CompactionOutcome {
    let meter = &work.locked.engine.token_meter;
    let tokens = meter.estimate_pieces(&meter.count_pieces(request.pieces())).total();
    let fits = work.locked.engine.window_tokens().is_none_or(|window| tokens < window);
    match matches!(why, CompactionReason::Trigger) && fits {
        true => CompactionOutcome::Enough(tokens),
        false => CompactionOutcome::None(too_long_without_sealing(error)),
    }
}

fn too_long_without_sealing(error: &StorageError) -> Explanation {
    let Explanation { problem, remedy } = error.explain();
    let fix = remedy.unwrap_or_else(|| "fix that".to_owned());
    let problem =
        format!("the context is too long for the model, and cannot be compacted here: {problem}");
    Explanation::new(problem)
        .with_remedy(format!("{fix}, or continue in another chat with `ship send --chat NAME`"))
}

/// Returns the request that the model would be sent now.
pub(crate) async fn prepare_current(
    work: &ActiveRun,
    so_far: Option<&UiMessage>,
) -> PreparedRequest {
    let (messages, pruned) = (work.messages_with(so_far).await, work.pruned().await);
    PreparedRequest::new(&work.locked.engine, work.blocks().await, &messages, None, &pruned)
}

async fn compact_once(
    work: &Arc<ActiveRun>,
    request: &PreparedRequest,
    so_far: Option<&UiMessage>,
    why: &CompactionReason,
) -> Result<CompactionOutcome, RunError> {
    count_request(work, request).await;
    let plan = match plan(work, request, why).await? {
        PlanResult::Plan(plan) => plan,
        // Metadata alone tells half an answer from a whole one.
        PlanResult::Settle(_) if !work.locked.chat.log().features().holds_metadata => {
            let outgrown = Explanation::new(OUTGROWN).with_remedy("it is kept; tell me to go on");
            return Ok(CompactionOutcome::None(outgrown));
        }
        PlanResult::Settle(count) => return Ok(CompactionOutcome::Settle(count)),
        PlanResult::No(why) => return Ok(CompactionOutcome::None(why)),
    };
    plan.warn_once(work).await;
    if plan.meets_target(why) && !work.log_is_full().await {
        return Ok(CompactionOutcome::Enough(plan.load.total()));
    }
    plan.carry_out(work, request, so_far, why).await
}
