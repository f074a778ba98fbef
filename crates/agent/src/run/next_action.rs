//! What a run does next, told from its message alone.

use ship_message::{TextState, ToolPart, ToolState, UiPart};

use super::run_progress::RunProgress;
use super::tool_calls;
use crate::chat::{last_step, switching_call};
use crate::engine::ActiveRun;

/// What is to be done next in a run.
#[derive(PartialEq)]
pub(super) enum NextAction {
    Ask,
    Calls,
    /// A call has switched the context; the switch is to be made.
    Switch(Box<ToolPart>),
    Parked,
    Done,
}

/// Tells what is to be done from the message alone, so that a run goes on where it was.
pub(super) fn next(progress: &mut RunProgress, work: &ActiveRun) -> NextAction {
    let start = progress.start.clone();
    let message = progress.assembler.message();
    let parts = message.parts();
    let step = last_step(message);
    // A text that never ended is an answer that broke off: the model is asked to go on with it.
    if step.is_empty() || step.last().is_some_and(is_unfinished) {
        return NextAction::Ask;
    }
    let tools = parts.iter().filter_map(|part| match part {
        UiPart::Tool(tool) => Some(tool),
        _ => None,
    });
    let mut waits = false;
    for tool in tools.filter(|tool| !tool.state().is_terminal()) {
        match tool.state() {
            ToolState::ApprovalRequested => waits = true,
            ToolState::InputAvailable if tool_calls::runs_on_client(work, tool) => waits = true,
            _ => return NextAction::Calls,
        }
    }
    let switching =
        switching_call(message, &start).filter(|_| work.locked.engine.rules.contexts.enabled);
    if let Some(call) = switching.filter(|_| !waits) {
        return NextAction::Switch(Box::new(call));
    }
    let has_calls = step.iter().any(|part| matches!(part, UiPart::Tool(_)));
    match (waits, has_calls) {
        (true, _) => NextAction::Parked,
        (false, true) => NextAction::Ask,
        (false, false) => NextAction::Done,
    }
}

fn is_unfinished(part: &UiPart) -> bool {
    match part {
        UiPart::Text(text) => text.state() == Some(TextState::Streaming),
        UiPart::Reasoning(reasoning) => reasoning.state() == Some(TextState::Streaming),
        _ => false,
    }
}
