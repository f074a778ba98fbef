//! Closes a message to which nothing more is added.

use ship_message::{INTERRUPTED_CALL, TextState, UiMessage, UiPart};

/// Closes the message of a run that has ended or continues elsewhere. A step without content and a text that never
/// began are left out, an interrupted text counts as complete, and an interrupted call as failed.
pub fn close_message(message: &mut UiMessage) {
    let parts = message.parts_mut();
    parts.retain(|part| !matches!(part, UiPart::Text(text) if text.text().is_empty()));
    while matches!(parts.last(), Some(UiPart::StepStart(_))) {
        parts.pop();
    }
    for part in parts {
        let is_streaming = match part {
            UiPart::Tool(tool) => {
                if !tool.state().is_terminal() {
                    tool.set_error(INTERRUPTED_CALL);
                }
                false
            }
            UiPart::Text(text) => text.state() == Some(TextState::Streaming),
            UiPart::Reasoning(text) => text.state() == Some(TextState::Streaming),
            UiPart::StepStart(_)
            | UiPart::File(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::Data(_)
            | UiPart::Unknown(_) => false,
        };
        if is_streaming {
            mark_done(part);
        }
    }
}

fn mark_done(part: &mut UiPart) {
    let mut json = part.clone().into_json();
    if let Some(object) = json.as_object_mut() {
        object.set("state", "done");
    }
    *part = UiPart::from_json(json);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_broke_off_is_closed_and_what_never_began_is_left_out() {
        let mut message = UiMessage::parse(
            r#"{"id":"a","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm","state":"streaming"},{"type":"text","text":""},{"type":"text","text":"He","state":"streaming"},{"type":"tool-t","toolCallId":"c","state":"input-available","input":1},{"type":"step-start"},{"type":"text","text":"","state":"streaming"}]}"#,
        )
        .unwrap();
        close_message(&mut message);
        assert_eq!(
            message.to_string(),
            r#"{"id":"a","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm","state":"done"},{"type":"text","text":"He","state":"done"},{"type":"tool-t","toolCallId":"c","state":"output-error","input":1,"errorText":"interrupted, outcome unknown"}]}"#
        );
    }
}
