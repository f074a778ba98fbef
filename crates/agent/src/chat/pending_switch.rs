//! Finds the switch of context that a call has promised and that is not made yet.

use ship_context::RunStart;
use ship_context::contexts::switch_of;
use ship_message::{ToolPart, ToolState, UiMessage, UiPart};

/// Returns the parts of the last step of a message.
pub(crate) fn last_step(message: &UiMessage) -> &[UiPart] {
    let parts = message.parts();
    parts.rsplit(|part| matches!(part, UiPart::StepStart(_))).next().unwrap_or_default()
}

/// Returns the call of the last step that switches the context, if the switch is not made yet.
pub(crate) fn switching_call(message: &UiMessage, start: &RunStart) -> Option<ToolPart> {
    last_step(message).iter().find_map(|part| match part {
        UiPart::Tool(tool)
            if tool.state() == ToolState::OutputAvailable
                && !is_made(message, start, tool)
                && switch_of(tool.name().unwrap_or_default(), tool.input()).is_some() =>
        {
            Some(tool.clone())
        }
        _ => None,
    })
}

/// Whether the switch of a call was made: then its message begins with the call. A provider may reuse the id of a
/// call in a later step.
fn is_made(message: &UiMessage, start: &RunStart, call: &ToolPart) -> bool {
    let steps = message.parts().iter().filter(|part| matches!(part, UiPart::StepStart(_))).count();
    start.switching_call.as_deref() == Some(call.call_id()) && steps <= 1
}
