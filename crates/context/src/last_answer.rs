//! What a model must know about its last answer.
//!
//! The person reads a notice when an answer is stopped, cut off or fails. The model is not sent notices; it gets one
//! line instead, with the person's next message. The line is stored in that message, so that all later requests have
//! the same bytes.
//!
//! The line is a fact beside those of the message (`Time: …`), not a sentence: small models repeated sentences as if
//! they were a part of the talk.

use ship_message::{FinishReason, Role, UiMessage};
use ship_record::{Metadata, without_notices};

use crate::compact::is_summary;
use crate::shown_references::is_reference;

/// Returns the line for the message that comes after these, if their last answer is incomplete.
pub fn note_about_last_answer<'m>(
    messages: impl DoubleEndedIterator<Item = &'m UiMessage>,
) -> Option<&'static str> {
    let last = messages.rev().find(|message| !is_reference(message))?;
    if last.role() != Role::Assistant || is_summary(last) {
        return None;
    }
    let metadata = Metadata::of(last);
    let said_something = !without_notices(last).text().trim().is_empty();
    if metadata.is_interrupted() {
        return Some("Last answer: stopped by the person");
    }
    match metadata.finish_reason() {
        Some(FinishReason::Length) if said_something => {
            Some("Last answer: cut off at the length limit")
        }
        Some(FinishReason::Length) => Some("Last answer: none (the length limit came first)"),
        Some(FinishReason::ContentFilter) => Some("Last answer: cut off by the content filter"),
        _ if metadata.error().is_none() => None,
        _ if said_something => Some("Last answer: broke off (failure)"),
        _ => Some("Last answer: none (failure)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(metadata: &str, text: &str) -> Option<&'static str> {
        let message = |id: &str, role: &str, text: &str, metadata: &str| {
            let part = format!(r#"{{"type":"text","text":"{text}"}}"#);
            let json = format!(
                r#"{{"id":"{id}","role":"{role}","parts":[{part}],"metadata":{metadata}}}"#
            );
            UiMessage::parse(&json).unwrap()
        };
        let messages = [
            message("u1", "user", "hi", "{}"),
            message("a1", "assistant", text, metadata),
            message("r1", "assistant", "old", r#"{"kind":"reference"}"#),
        ];
        note_about_last_answer(messages.iter())
    }

    #[test]
    fn the_model_learns_how_its_last_answer_ended_unless_it_ended_well() {
        assert_eq!(note("{}", "Half"), None);
        assert_eq!(note(r#"{"kind":"summary","error":"x"}"#, "Half"), None);
        for (metadata, text, piece) in [
            (r#"{"interrupted":true}"#, "(stopped)", "stopped by the person"),
            (r#"{"finishReason":"length"}"#, "Half", "cut off at the length limit"),
            (r#"{"finishReason":"length"}"#, "", "none (the length limit"),
            (r#"{"finishReason":"content-filter","error":"x"}"#, "Half", "content filter"),
            (r#"{"error":"no"}"#, "no", "none (failure)"),
            (r#"{"error":"no"}"#, "Half", "broke off"),
        ] {
            assert!(note(metadata, text).unwrap().contains(piece), "{metadata}");
        }
    }

    #[test]
    fn a_question_that_waits_for_its_answer_needs_no_note() {
        let question = UiMessage::new("u1", Role::User, vec![]);
        assert_eq!(note_about_last_answer([&question].into_iter()), None);
    }
}
