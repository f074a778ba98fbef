//! Calls that were left undecided: the person sent another message instead of a decision.
//!
//! The setting `tools.onUndecided` says what happens then. By default the calls are answered, the run ends with what it
//! has said, and the message is answered by the next run, so that no message waits for ever. A message that was sent before
//! the person could know of the question is no sign of that, and waits.

use std::sync::Arc;

use ship_context::Journal;
use ship_message::{Chunk, PartFields, ToolChunk, ToolPart, ToolState, UiPart};
use ship_project::OnUndecided;
use ship_store::{Chat, LedgerSeq, ReadError};

use super::finish::finish;
use super::run_progress::RunProgress;
use super::tool_calls::{journal_line_for, runs_on_client};
use crate::engine::{ActiveRun, Engine};
use crate::error::RunError;
use crate::inbound::CallAnswer;
use crate::inbox::has_question;
use crate::reply::Outcome;

/// The result of a call that was left undecided, for the model.
const UNDECIDED: &str = "the person went on without deciding";

impl Engine {
    /// Whether a run that waits since this entry of the ledger is ended by a message after it.
    pub(super) async fn goes_on_undecided(
        &self,
        chat: &dyn Chat,
        waits_since: Option<LedgerSeq>,
    ) -> Result<bool, ReadError> {
        match self.rules.on_undecided {
            OnUndecided::GoOn => has_question(self, chat, waits_since).await,
            OnUndecided::Wait => Ok(false),
        }
    }
}

/// Answers the waiting calls of a run, and ends the run. Nothing of this is journaled: after a crash, the run still
/// waits, the message is still there, and the same happens again.
pub(super) async fn end_undecided(
    work: &Arc<ActiveRun>,
    mut journal: Journal,
) -> Result<Outcome, RunError> {
    let waiting = journal.message.parts().iter().filter_map(|part| match part {
        UiPart::Tool(tool) if is_waiting(work, tool) => Some(tool.clone()),
        _ => None,
    });
    let waiting: Vec<ToolPart> = waiting.collect();
    let mut results = Vec::with_capacity(waiting.len());
    for tool in waiting {
        let call_id = tool.call_id().to_owned();
        results.push(match denial(&tool) {
            Some(denial) => {
                if let Some(line) = journal_line_for(&journal, denial) {
                    journal.apply(line);
                }
                Chunk::ToolOutputDenied { call_id }
            }
            None => {
                let tool = ToolChunk { call_id, ..ToolChunk::default() };
                Chunk::ToolOutputError { tool, error_text: UNDECIDED.to_owned() }
            }
        });
    }
    let mut progress = RunProgress::new(work, journal).await;
    results.into_iter().for_each(|chunk| progress.push(work, chunk));
    finish(work, progress, Outcome::Done).await
}

fn is_waiting(work: &ActiveRun, tool: &ToolPart) -> bool {
    match tool.state() {
        ToolState::ApprovalRequested => true,
        ToolState::InputAvailable => runs_on_client(work, tool),
        _ => false,
    }
}

/// Returns the denial of a call that needs an approval; `None` if the call waits for the client.
fn denial(tool: &ToolPart) -> Option<CallAnswer> {
    let approval_id = tool.field("approval")?.get("id")?.as_str()?.to_owned();
    (tool.state() == ToolState::ApprovalRequested).then(|| CallAnswer::Approval {
        approval_id,
        approved: false,
        reason: Some(UNDECIDED.to_owned()),
    })
}
