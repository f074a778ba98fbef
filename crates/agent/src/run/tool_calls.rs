//! Tool calls: their approval, their execution and their results.

use std::sync::Arc;

use ship_context::contexts::calls_in_order;
use ship_context::{Journal, JournalLine};
use ship_message::json::{Json, Object};
use ship_message::{Chunk, PartFields, ToolChunk, ToolPart, ToolState, UiPart};
use ship_store::Synced;
use tokio::task::JoinSet;

use super::deadline;
use super::run_progress::RunProgress;
use super::switch_context::until_ended_by_operation;
use super::tool_host::CallHost;
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::inbound::CallAnswer;
use crate::stop::Stop;
use crate::tool::{ToolContext, ToolFuture, ToolHost};

/// The outcome of the calls of a step.
#[derive(PartialEq, Eq)]
pub(crate) enum CallsOutcome {
    /// Everything that can be done now is done.
    All,
    /// The person stopped the run.
    Stopped,
}

pub(crate) fn runs_on_client(work: &ActiveRun, tool: &ToolPart) -> bool {
    tool.name().is_some_and(|name| work.locked.engine.rules.client.contains(name))
}

/// The action that one call needs.
enum CallAction {
    /// The call needs nothing now: it has ended, or waits for a person or the client.
    Nothing,
    /// A person must approve the call.
    AskApproval,
    /// The person has denied the call.
    Deny,
    /// The tool runs now.
    Run,
}

fn action_for(work: &ActiveRun, tool: &ToolPart) -> CallAction {
    let name = tool.name().unwrap_or_default();
    match tool.state() {
        ToolState::InputAvailable if runs_on_client(work, tool) => CallAction::Nothing,
        ToolState::InputAvailable if work.locked.engine.rules.approval.contains(name) => {
            CallAction::AskApproval
        }
        ToolState::InputAvailable => CallAction::Run,
        ToolState::ApprovalResponded => {
            let approved =
                tool.field("approval").and_then(|a| a.get("approved")).and_then(Json::as_bool);
            if approved == Some(true) { CallAction::Run } else { CallAction::Deny }
        }
        ToolState::InputStreaming
        | ToolState::ApprovalRequested
        | ToolState::OutputAvailable
        | ToolState::OutputError
        | ToolState::OutputDenied
        | ToolState::Unknown => CallAction::Nothing,
    }
}

/// Performs the actions that the open calls of the message need, in their order.
pub(crate) async fn run(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    stop: &Stop,
) -> Result<CallsOutcome, RunError> {
    for at in calls_in_order(progress.assembler.message().parts()) {
        let UiPart::Tool(tool) = &progress.assembler.message().parts()[at] else { continue };
        let tool = tool.clone();
        match action_for(work, &tool) {
            CallAction::Nothing => {}
            CallAction::AskApproval => {
                progress.begin_waiting(work).await?;
                let chunk = Chunk::ToolApprovalRequest {
                    call_id: tool.call_id().to_owned(),
                    // The id is derived from the call, so that a repeated question after a crash is the same one.
                    approval_id: format!("approve_{}", tool.call_id()),
                    descriptor: None,
                    input_schema_input: None,
                    signature: None,
                };
                progress.push(work, chunk);
                // The person's answer is matched with this part, perhaps after a power cut.
                progress.journal_part(work, at, Synced::Now).await?;
            }
            CallAction::Deny => {
                progress.push(work, Chunk::ToolOutputDenied { call_id: tool.call_id().to_owned() });
                // If this line is lost, the denial in the journal leads to the same one.
                progress.journal_part(work, at, Synced::Later).await?;
            }
            CallAction::Run => {
                let Some(chunk) = run_one(work, progress, at, &tool, stop).await? else {
                    return Ok(CallsOutcome::Stopped);
                };
                progress.push(work, chunk);
                // If a power cut takes this line, recovery makes the call again where that is safe, or tells the model
                // that its outcome is unknown.
                progress.journal_part(work, at, Synced::Later).await?;
            }
        }
    }
    Ok(CallsOutcome::All)
}

/// Runs the tool of one call. Returns the chunk with its result; `None` if the person stopped the run.
async fn run_one(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    at: usize,
    call: &ToolPart,
    stop: &Stop,
) -> Result<Option<Chunk>, RunError> {
    let chunk = ToolChunk { call_id: call.call_id().to_owned(), ..ToolChunk::default() };
    let name = call.name().unwrap_or_default();
    let Some(tool) = work.locked.engine.tools.get(name) else {
        let names: Vec<&str> = work.locked.engine.tools.keys().map(String::as_str).collect();
        let error_text = format!("there is no tool `{name}`; there are: {}", names.join(", "));
        return Ok(Some(Chunk::ToolOutputError { tool: chunk, error_text }));
    };
    if progress.time.is_over() {
        let error_text = deadline::EXCEEDED.to_owned();
        return Ok(Some(Chunk::ToolOutputError { tool: chunk, error_text }));
    }
    if !tool.is_safe_to_repeat() {
        // This line must be on disk before the tool runs: after a crash, recovery sees that the effect may have
        // happened, and does not repeat it.
        let begun = progress.timed_line(JournalLine::Begun { at });
        work.locked.lane.journal(vec![begun], Synced::Now).await?;
    }
    let host = Arc::new(CallHost {
        work: Arc::clone(work),
        call_id: call.call_id().to_owned(),
        switches: progress.switches(),
    });
    let context = context_of_call(work, call, Arc::clone(&host) as Arc<dyn ToolHost>).await;
    let input = call.input().cloned().unwrap_or_default();
    let task = begin_tool(work, tool.run(input, context));
    let Some(result) = wait_for_tool(work, progress, task, stop).await else { return Ok(None) };
    Ok(Some(match result {
        Ok(output) => {
            let promised = host.switches.promised.lock().take();
            // A later call without a switch leaves the promise of an earlier one standing.
            progress.promised =
                promised.map(|plan| (call.call_id().to_owned(), plan)).or(progress.promised.take());
            Chunk::ToolOutputAvailable { tool: chunk, output, preliminary: None }
        }
        Err(error_text) => Chunk::ToolOutputError { tool: chunk, error_text },
    }))
}

/// Returns what the tool of a call may know.
async fn context_of_call(
    work: &ActiveRun,
    call: &ToolPart,
    host: Arc<dyn ToolHost>,
) -> ToolContext {
    let view = work.messages().await;
    // A run may answer several messages. The newest one is the question.
    let current_user_message =
        view.iter().rposition(|message| message.role() == ship_message::Role::User);
    ToolContext {
        chat: work.locked.chat.key().clone(),
        request_id: work.request_id.clone(),
        run_id: work.run_id.clone(),
        call_id: call.call_id().to_owned(),
        view,
        current_user_message,
        host,
    }
}

/// Begins a tool in a task of its own, so that a panic ends only this task. The set ends it when the run is dropped.
fn begin_tool(work: &ActiveRun, tool: ToolFuture) -> JoinSet<Result<Json, String>> {
    let mut task = JoinSet::new();
    let lane = Arc::clone(&work.locked.lane);
    // When a frozen process goes on, this task may have its turn before that of the run, so it looks at the lane itself.
    task.spawn(async move {
        tokio::select! {
            biased;
            () = lane.lost() => Err("the chat was taken over".to_owned()),
            result = tool => result,
        }
    });
    task
}

/// Waits for a tool, and ends it when its time is over. Returns its result; `None` if the run is to end.
async fn wait_for_tool(
    work: &ActiveRun,
    progress: &RunProgress,
    mut task: JoinSet<Result<Json, String>>,
    stop: &Stop,
) -> Option<Result<Json, String>> {
    let limit = work.locked.engine.rules.tool_deadline;
    // The task ends with this set.
    tokio::select! {
        result = task.join_next() => Some(match result {
            Some(Ok(result)) => result,
            Some(Err(error)) if error.is_panic() => Err("the tool failed inside; this is a fault of the tool".to_owned()),
            Some(Err(_)) | None => Err("the tool was ended".to_owned()),
        }),
        () = progress.time.wait_for(limit) => {
            Some(Err(format!("the tool did not answer within {} ms (`context.run.toolDeadlineMs`)", limit.as_millis())))
        }
        () = progress.time.wait_until_over() => Some(Err(deadline::EXCEEDED.to_owned())),
        () = stop.until_stopped() => None,
        () = until_ended_by_operation(work) => None,
    }
}

/// Makes the journal line of an answer from outside; `None` if no call waits for it.
pub(crate) fn journal_line_for(journal: &Journal, answer: CallAnswer) -> Option<JournalLine> {
    let parts = journal.message.parts();
    let find = |fits: &dyn Fn(&ToolPart) -> bool| {
        parts.iter().enumerate().find_map(|(at, part)| match part {
            UiPart::Tool(tool) if fits(tool) => Some((at, tool.clone())),
            _ => None,
        })
    };
    let (at, part) = match answer {
        CallAnswer::Approval { approval_id, approved, reason } => {
            let (at, tool) = find(&|tool| {
                let id = tool.field("approval").and_then(|approval| approval.get("id"));
                tool.state() == ToolState::ApprovalRequested
                    && id.and_then(Json::as_str) == Some(&approval_id)
            })?;
            let mut json = UiPart::Tool(tool).into_json();
            let object = json.as_object_mut()?;
            object.set("state", "approval-responded");
            let mut approval = Object::from([("id", approval_id)]);
            approval.set("approved", approved);
            approval.set_or_remove("reason", reason.map(Json::from));
            object.set("approval", approval);
            (at, json)
        }
        CallAnswer::Output { call_id, output } => {
            let (at, mut tool) = find(&|tool| {
                tool.state() == ToolState::InputAvailable && tool.call_id() == call_id
            })?;
            match output {
                Ok(output) => tool.set_output(output),
                Err(error) => tool.set_error(error),
            }
            (at, UiPart::Tool(tool).into_json())
        }
    };
    Some(JournalLine::Part { at, part })
}
