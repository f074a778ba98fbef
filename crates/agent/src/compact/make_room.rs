//! Making room for a request: whether it needs any, and what came of making it.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_store::{RotateError, StorageError};

use super::agent_compact::Compaction;
use super::plan::{PlanResult, plan};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::request::PreparedRequest;

const OUTGROWN: &str = "what I have done for this request no longer fits the model.";

/// Why room is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompactionReason {
    /// The request may be too large.
    Trigger,
    /// The provider says that it was, and perhaps how large it may be.
    Overflow {
        /// What it takes.
        limit: Option<u64>,
    },
    /// A person asks for it, and perhaps for something in particular.
    Person {
        /// What the summary should heed.
        wishes: Option<String>,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CompactionOutcome {
    /// There is room enough: the request takes so many tokens.
    Enough(u64),
    /// There is now.
    Made(Compaction),
    /// The run takes the room by itself: so many parts of its message are to be settled first.
    Settle(usize),
    /// There cannot be, for this reason.
    None(String),
}

/// How often a compaction begins again because the log was replaced meanwhile.
const MOVES_MAX: usize = 2;

/// Makes room for a request, if it needs any, and gives the request that is then to be sent. `so_far` is what
/// the run has said.
pub(crate) async fn make_room(
    work: &Arc<ActiveRun>,
    so_far: Option<&UiMessage>,
    mut request: PreparedRequest,
    why: &CompactionReason,
) -> Result<(CompactionOutcome, PreparedRequest), RunError> {
    let mut moves = 0;
    loop {
        match once(work, &request, why).await {
            // A repair has replaced the log. What it holds may be the same, and then so is the summary.
            Err(RunError::Rotate(RotateError::Moved { .. })) if moves < MOVES_MAX => {
                moves += 1;
                work.read_again().await?;
                request = prepared(work, so_far).await;
            }
            Ok(room @ CompactionOutcome::Made(_)) => {
                return Ok((room, prepared(work, so_far).await));
            }
            Err(RunError::Rotate(RotateError::Storage(
                error @ StorageError::CannotSeal { .. },
            ))) if !matches!(why, CompactionReason::Person { .. }) => {
                return Ok((without_sealing(work, &request, why, &error), request));
            }
            room => return Ok((room?, request)),
        }
    }
}

/// Decides about a request that should be smaller, on a disk that keeps no log under another name: while the model
/// takes it whole, the chat goes on.
fn without_sealing(
    work: &ActiveRun,
    request: &PreparedRequest,
    why: &CompactionReason,
    error: &StorageError,
) -> CompactionOutcome {
    let scales = &work.locked.engine.scales;
    let tokens = scales.estimated(&scales.counted(request.pieces())).total();
    let fits = work.locked.engine.window_tokens().is_none_or(|window| tokens < window);
    match matches!(why, CompactionReason::Trigger) && fits {
        true => CompactionOutcome::Enough(tokens),
        false => CompactionOutcome::None(format!(
            "the context is too long for the model, and it cannot be made shorter here. {error}. Mend that, or go on in \
             another chat with `ship send --chat NAME`."
        )),
    }
}

/// What the model would be sent now.
pub(crate) async fn prepared(work: &ActiveRun, so_far: Option<&UiMessage>) -> PreparedRequest {
    let (said, pruned) = (work.context().await, work.pruned().await);
    PreparedRequest::new(&work.locked.engine, work.blocks().await, &said, so_far, &pruned)
}

async fn once(
    work: &Arc<ActiveRun>,
    request: &PreparedRequest,
    why: &CompactionReason,
) -> Result<CompactionOutcome, RunError> {
    let plan = match plan(work, request, why).await? {
        PlanResult::Plan(plan) => plan,
        // The file of a conversation has no place for half an answer.
        PlanResult::Settle(_) if !work.locked.engine.names.keeps_messages_whole() => {
            return Ok(CompactionOutcome::None(format!(
                "{OUTGROWN} It is kept; tell me to go on."
            )));
        }
        PlanResult::Settle(count) => return Ok(CompactionOutcome::Settle(count)),
        PlanResult::No(sentence) => return Ok(CompactionOutcome::None(sentence)),
    };
    plan.warn_once(work).await;
    if plan.is_content(why) && !work.log_is_full().await {
        return Ok(CompactionOutcome::Enough(plan.load.total()));
    }
    plan.carry_out(work, why).await
}
