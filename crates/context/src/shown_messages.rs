//! Prepares the messages that a model is shown.
//!
//! The log is never changed for a request; a copy is. The author and the time stand before each of the person's
//! messages, as a part of their own, so that the person's text stays verbatim. An interrupted tool call gets an
//! error as its result, because no provider takes a call without one. Output that is too long is cut in the middle;
//! the log keeps all of it, and references have limits of their own. Notices are for the person and left out; a message of notices alone becomes empty. So does a reference that a person brought in: its
//! text stands at the head of the person's next message, because it is no answer of the model.

use std::borrow::{Borrow, Cow};
use std::sync::Arc;

use ship_message::json::Json;
use ship_message::{INTERRUPTED_CALL, Role, ToolPart, ToolState, UiMessage, UiPart};
use ship_record::{Metadata, without_notices};

use crate::cut_text::{CutMark, cut_middle};
use crate::shown_references::{fetched_reference, is_reference};

/// The rules for what a model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShowRules {
    /// `limits.toolOutputChars`: the length to which a tool's output is cut.
    pub tool_output_chars: usize,
    /// `llm.requestFacts: "message"`: whether the request id and the time stand beside a person's text.
    pub has_request_facts: bool,
}

/// Returns the messages to show: a copy of the view, completed where a model needs it. A message that was shown before
/// is not made again.
pub fn shown_to_model<M: Borrow<UiMessage>>(view: &[M], limits: ShowRules) -> Vec<UiMessage> {
    let mut references: Vec<UiPart> = Vec::new();
    let show = |message: &M| {
        let message = message.borrow();
        let form = kept_form(message, limits);
        let mut shown = form.changed.as_ref().unwrap_or(message).clone();
        if form.is_reference {
            references.extend(message.parts().iter().cloned());
        } else if !references.is_empty() && shown.role() == Role::User {
            shown.parts_mut().splice(..0, references.drain(..));
        }
        shown
    };
    view.iter().map(show).collect()
}

/// The form in which a message is shown, kept with the message.
struct ShownForm {
    limits: ShowRules,
    /// Whether its parts stand at the head of the person's next message, and not here.
    is_reference: bool,
    /// Nothing if the message is shown as it is.
    changed: Option<UiMessage>,
}

/// Returns the form in which a message is shown, from what is kept with it if it was shown before.
fn kept_form(message: &UiMessage, limits: ShowRules) -> Arc<ShownForm> {
    let make = || {
        let is_reference = is_reference(message);
        let shown = match is_reference {
            true => UiMessage::new(message.id().unwrap_or_default(), message.role(), Vec::new()),
            false => shown_message(message, limits),
        };
        let changed = (!shown.shares_content(message)).then_some(shown);
        ShownForm { limits, is_reference, changed }
    };
    message.derived(|form: &ShownForm| form.limits == limits, make)
}

fn shown_message(message: &UiMessage, limits: ShowRules) -> UiMessage {
    let mut message = without_notices(message).into_owned();
    let is_empty = message.parts().iter().all(|part| matches!(part, UiPart::StepStart(_)));
    if is_empty && !(message.has_parts() && message.parts().is_empty()) {
        message.parts_mut().clear();
    }
    match message.role() {
        Role::User => {
            if let Some(speaker) = speaker(&message, limits.has_request_facts) {
                message.parts_mut().insert(0, UiPart::text(speaker));
            }
        }
        // A message that is shown as it is shares its content with the log.
        Role::Assistant if message.parts().iter().all(|part| is_shown_whole(part, limits)) => {}
        Role::Assistant => {
            for part in message.parts_mut() {
                if let UiPart::Tool(tool) = part {
                    complete_call(tool);
                    shorten_output(tool, limits.tool_output_chars);
                }
            }
        }
        Role::System | Role::Unknown => {}
    }
    message
}

/// Returns the author and the time of a message from its stored metadata, so that later requests
/// have the same bytes. The author always stands there, because in a group the model must know the speaker.
fn speaker(message: &UiMessage, has_request_facts: bool) -> Option<String> {
    let metadata = Metadata::of(message);
    let facts = Some(metadata).filter(|_| has_request_facts);
    let lines = [
        facts.and_then(Metadata::request_id).map(|id| format!("Request ID: {id}")),
        metadata.user_id().map(|id| format!("UserId: {id}")),
        metadata.username().map(|name| format!("Username: {name}")),
        facts.and_then(Metadata::ts).map(|ts| format!("Time: {ts}")),
        metadata.note_to_model().map(str::to_owned),
        metadata.recall_hint().map(str::to_owned),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn is_shown_whole(part: &UiPart, limits: ShowRules) -> bool {
    let UiPart::Tool(tool) = part else { return true };
    !is_open(tool) && shortened_output(tool, limits.tool_output_chars).is_none()
}

/// Whether a call has no result.
fn is_open(tool: &ToolPart) -> bool {
    match tool.state() {
        ToolState::OutputAvailable | ToolState::OutputError | ToolState::OutputDenied => false,
        ToolState::InputStreaming
        | ToolState::InputAvailable
        | ToolState::ApprovalRequested
        | ToolState::ApprovalResponded
        | ToolState::Unknown => true,
    }
}

/// Gives an error to a call without a result.
fn complete_call(tool: &mut ToolPart) {
    if is_open(tool) {
        tool.set_error(INTERRUPTED_CALL);
    }
}

/// Cuts an output in the middle if it is too long, and says so.
fn shorten_output(tool: &mut ToolPart, chars_max: usize) {
    if let Some(text) = shortened_output(tool, chars_max) {
        tool.set_output(Json::from(text));
    }
}

/// Returns the shown output of a call whose output is too long.
fn shortened_output(tool: &ToolPart, chars_max: usize) -> Option<String> {
    let output = tool.output().filter(|_| tool.state() == ToolState::OutputAvailable)?;
    if fetched_reference(tool).is_some() {
        return None;
    }
    let text = match output.as_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(output.to_string()),
    };
    let is_too_long = text.chars().count() > chars_max;
    is_too_long.then(|| cut_middle(&text, chars_max, CutMark::Counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ShowRules = ShowRules { tool_output_chars: 40, has_request_facts: true };

    #[test]
    fn the_person_is_named_before_the_text_and_the_text_stays_verbatim() {
        let message = UiMessage::parse(
            r#"{"id":"u1","role":"user","parts":[{"type":"text","text":" hi "}],"metadata":{"ts":0,"requestId":"r1","userId":"7","username":"ann"}}"#,
        )
        .unwrap();
        let shown = shown_to_model(&[message], LIMITS);
        let texts: Vec<_> =
            shown[0].parts().iter().map(|part| part.clone().into_json().to_string()).collect();
        assert_eq!(
            texts,
            [
                r#"{"type":"text","text":"Request ID: r1\nUserId: 7\nUsername: ann\nTime: 1970-01-01T00:00:00.000Z"}"#,
                r#"{"type":"text","text":" hi "}"#
            ]
        );
    }

    #[test]
    fn without_request_facts_the_author_and_what_the_model_must_know_stay() {
        let message = UiMessage::parse(
            r#"{"id":"u1","role":"user","parts":[{"type":"text","text":"hi"}],"metadata":{"ts":0,"requestId":"r1","userId":"7","noteToModel":"Stopped."}}"#,
        )
        .unwrap();
        let shown = shown_to_model(&[message], ShowRules { has_request_facts: false, ..LIMITS });
        assert_eq!(shown[0].text(), "UserId: 7\nStopped.\nhi");
    }

    #[test]
    fn what_a_person_brought_in_stands_at_the_head_of_the_next_message() {
        let message = |id: &str, role: &str, kind: &str| {
            let part = format!(r#"{{"type":"text","text":"{id}"}}"#);
            let json = format!(
                r#"{{"id":"{id}","role":"{role}","parts":[{part}],"metadata":{{"kind":"{kind}"}}}}"#
            );
            UiMessage::parse(&json).unwrap()
        };
        let view = [
            message("u1", "user", "normal"),
            message("r1", "assistant", "reference"),
            message("a1", "assistant", "normal"),
            message("r2", "assistant", "reference"),
            message("u2", "user", "normal"),
            message("r3", "assistant", "reference"),
        ];
        let shown = shown_to_model(&view, LIMITS);
        let texts: Vec<String> = shown.iter().map(UiMessage::text).collect();
        assert_eq!(texts, ["u1", "", "a1", "", "r1\nr2\nu2", ""]);
        let ids = |messages: &[UiMessage]| -> Vec<String> {
            messages.iter().map(|message| message.id().unwrap().to_owned()).collect()
        };
        assert_eq!(ids(&shown), ids(&view), "each message keeps its place");
    }

    #[test]
    fn a_reference_that_a_call_fetched_is_shown_whole() {
        let text = format!("以下是{}", "x".repeat(100));
        let mut call = ToolPart::new("chat_context_recall", "c1", Json::Null);
        call.set_output(Json::from(text.as_str()));
        let message = UiMessage::new("a1", Role::Assistant, vec![UiPart::Tool(call)]);
        let shown = shown_to_model(&[message], LIMITS);
        let UiPart::Tool(tool) = &shown[0].parts()[0] else { panic!("a call") };
        assert_eq!(tool.output().and_then(Json::as_str), Some(text.as_str()));
    }

    #[test]
    fn a_call_without_a_result_gets_an_error_for_one() {
        let call = UiPart::Tool(ToolPart::new("w", "c1", Json::Null));
        let shown = shown_to_model(&[UiMessage::new("a1", Role::Assistant, vec![call])], LIMITS);
        let UiPart::Tool(tool) = &shown[0].parts()[0] else { panic!("a call") };
        assert_eq!(tool.error_text(), Some("interrupted, outcome unknown"));
    }

    #[test]
    fn a_long_output_is_cut_in_the_middle() {
        let mut call = ToolPart::new("w", "c1", Json::Null);
        call.set_output(Json::from("é".repeat(100)));
        let message = UiMessage::new("a1", Role::Assistant, vec![UiPart::Tool(call)]);
        let shown = shown_to_model(&[message], LIMITS);
        let UiPart::Tool(tool) = &shown[0].parts()[0] else { panic!("a call") };
        let text = tool.output().and_then(Json::as_str).unwrap();
        assert!(text.contains("[… 60 characters left out …]") && text.starts_with("éé"));
    }
}
