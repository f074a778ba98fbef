//! Decides from its message alone what a run does next.

use ship_message::{TextState, ToolPart, ToolState, UiMessage, UiPart};

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
    let may_switch = work.locked.engine.rules.contexts.enabled;
    let switching = switching_call(message, &start).filter(|_| may_switch);
    action_after(message, switching, |tool| tool_calls::runs_on_client(work, tool))
}

/// Chooses the next action; `switching` is the call whose switch is still due.
fn action_after(
    message: &UiMessage,
    switching: Option<ToolPart>,
    runs_on_client: impl Fn(&ToolPart) -> bool,
) -> NextAction {
    let step = last_step(message);
    // A text without an end is an answer that broke off: the model is asked to continue it.
    if step.is_empty() || step.last().is_some_and(is_unfinished) {
        return NextAction::Ask;
    }
    let tools = message.parts().iter().filter_map(|part| match part {
        UiPart::Tool(tool) => Some(tool),
        _ => None,
    });
    let mut waits = false;
    for tool in tools.filter(|tool| !tool.state().is_terminal()) {
        match tool.state() {
            ToolState::ApprovalRequested => waits = true,
            ToolState::InputAvailable if runs_on_client(tool) => waits = true,
            _ => return NextAction::Calls,
        }
    }
    let has_calls = step.iter().any(|part| matches!(part, UiPart::Tool(_)));
    match (waits, switching, has_calls) {
        (true, ..) => NextAction::Parked,
        (false, Some(call), _) => NextAction::Switch(Box::new(call)),
        (false, None, true) => NextAction::Ask,
        (false, None, false) => NextAction::Done,
    }
}

fn is_unfinished(part: &UiPart) -> bool {
    match part {
        UiPart::Text(text) => text.state() == Some(TextState::Streaming),
        UiPart::Reasoning(reasoning) => reasoning.state() == Some(TextState::Streaming),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = r#"{"type":"step-start"}"#;
    const ANSWERED: &str =
        r#"{"type":"tool-look","toolCallId":"a","state":"output-available","input":{},"output":1}"#;
    const BEGUN: &str =
        r#"{"type":"tool-look","toolCallId":"b","state":"input-available","input":{}}"#;
    const ON_CLIENT: &str =
        r#"{"type":"tool-camera","toolCallId":"c","state":"input-available","input":{}}"#;
    const ASKS: &str = r#"{"type":"tool-pay","toolCallId":"d","state":"approval-requested","input":{},"approval":{"id":"x"}}"#;
    const APPROVED: &str = r#"{"type":"tool-pay","toolCallId":"e","state":"approval-responded","input":{},"approval":{"id":"x","approved":true}}"#;
    const TEXT: &str = r#"{"type":"text","text":"Aye.","state":"done"}"#;
    const HALF: &str = r#"{"type":"text","text":"A","state":"streaming"}"#;
    const HALF_THOUGHT: &str = r#"{"type":"reasoning","text":"A","state":"streaming"}"#;

    fn message(parts: &[&str]) -> UiMessage {
        let parts = parts.join(",");
        UiMessage::parse(&format!(r#"{{"id":"m1","role":"assistant","parts":[{parts}]}}"#)).unwrap()
    }

    fn is_camera(tool: &ToolPart) -> bool {
        tool.name() == Some("camera")
    }

    #[track_caller]
    fn assert_next(cases: &[&[&str]], expected: &NextAction) {
        for parts in cases {
            let next = action_after(&message(parts), None, is_camera);
            assert!(next == *expected, "after {parts:?}");
        }
    }

    #[test]
    fn the_model_is_asked_at_the_start_after_calls_and_when_it_broke_off() {
        let cases: [&[&str]; 6] = [
            &[],
            &[STEP],
            &[STEP, TEXT, ANSWERED],
            &[STEP, ANSWERED, STEP],
            &[STEP, HALF],
            &[STEP, TEXT, STEP, HALF_THOUGHT],
        ];
        assert_next(&cases, &NextAction::Ask);
    }

    #[test]
    fn an_answer_without_calls_in_its_last_step_is_the_end() {
        assert_next(&[&[STEP, TEXT], &[STEP, ANSWERED, STEP, TEXT]], &NextAction::Done);
    }

    #[test]
    fn a_call_that_can_run_runs_before_anything_waits() {
        let cases: [&[&str]; 4] = [
            &[STEP, BEGUN],
            &[STEP, ANSWERED, APPROVED],
            &[STEP, ASKS, BEGUN],
            &[STEP, ON_CLIENT, APPROVED],
        ];
        assert_next(&cases, &NextAction::Calls);
    }

    #[test]
    fn calls_of_a_person_or_of_the_client_park_the_run_until_all_are_answered() {
        let cases: [&[&str]; 3] =
            [&[STEP, ASKS], &[STEP, ON_CLIENT, ANSWERED], &[STEP, ASKS, ON_CLIENT]];
        assert_next(&cases, &NextAction::Parked);
    }

    #[test]
    fn a_promised_switch_is_made_when_nothing_waits_any_more() {
        let promised = |parts: &[&str]| {
            let message = message(parts);
            let call = last_step(&message).iter().find_map(|part| match part {
                UiPart::Tool(tool) => Some(tool.clone()),
                _ => None,
            });
            action_after(&message, call, is_camera)
        };
        assert!(
            matches!(promised(&[STEP, ANSWERED]), NextAction::Switch(call) if call.call_id() == "a")
        );
        assert!(promised(&[STEP, ANSWERED, ASKS]) == NextAction::Parked);
        assert!(promised(&[STEP, ANSWERED, BEGUN]) == NextAction::Calls);
    }
}
