//! Decides from its message alone what a run does next.

use ship_message::{TextState, ToolPart, ToolState, UiPart};

use super::run_progress::RunProgress;
use super::tool_calls;
use crate::chat::{last_step, switching_call};
use crate::engine::ActiveRun;

/// The next action of a run.
#[derive(PartialEq)]
pub(super) enum NextAction {
    Ask,
    Calls,
    /// A call has promised a switch of the context; the switch is made now.
    Switch(Box<ToolPart>),
    Parked,
    Done,
}

/// Decides from the message alone, so that a run continues after a crash where it was.
pub(super) fn next_action(progress: &mut RunProgress, work: &ActiveRun) -> NextAction {
    let start = progress.start.clone();
    let message = progress.assembler.message();
    let parts = message.parts();
    let step = last_step(message);
    // A text without an end is an answer that broke off: the model is asked to continue it.
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
