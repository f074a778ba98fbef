//! The switch of context that a call has promised and that is still to be made.

use ship_context::RunStart;
use ship_context::contexts::switch_of;
use ship_message::{ToolPart, ToolState, UiMessage, UiPart};

/// The parts of the step that a message ends with.
pub(crate) fn last_step(message: &UiMessage) -> &[UiPart] {
    let parts = message.parts();
    parts.rsplit(|part| matches!(part, UiPart::StepStart(_))).next().unwrap_or_default()
}

/// The call of the last step that has switched the context, if the switch is still to be made.
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

/// Whether the switch that a call stands for was made: its message begins with it then. A provider may use the
/// name of a call again in a later step.
fn is_made(message: &UiMessage, start: &RunStart, call: &ToolPart) -> bool {
    let steps = message.parts().iter().filter(|part| matches!(part, UiPart::StepStart(_))).count();
    start.switched.as_deref() == Some(call.call_id()) && steps <= 1
}
