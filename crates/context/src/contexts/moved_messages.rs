//! Decides which messages belong to a context, and what a switch during a run takes along and leaves behind.
//!
//! The messages that the person waits for move to the context that is now active. Everything else that the
//! run has done stays in the context that was left. The call is answered there too, so that the context shows
//! how it was left.

use std::borrow::Borrow;
use std::collections::HashSet;

use ship_message::UiMessage;
use ship_record::{Metadata, NewMetadata};

use crate::closed_message::close_message;
use crate::shown_references::is_reference;

/// Returns the messages that belong to a context. A message that a switch took along belongs to the other context,
/// although the old log still holds it; a message that was brought back later stands after that switch.
pub fn own_messages<M: Borrow<UiMessage>>(messages: &[M]) -> Vec<&UiMessage> {
    let mut moved: HashSet<&str> = HashSet::new();
    let mut own = Vec::with_capacity(messages.len());
    for message in messages.iter().rev().map(Borrow::borrow) {
        // A reference is useless without the message that it was fetched for.
        let id = match is_reference(message) {
            true => Metadata::of(message).for_message(),
            false => message.id(),
        };
        if !id.is_some_and(|id| moved.contains(id)) {
            own.push(message);
        }
        moved.extend(Metadata::of(message).moved().into_iter().flatten());
    }
    own.reverse();
    own
}

/// Returns the message that a run leaves behind when it switches: everything it has written so far, without open
/// calls, with this metadata and the ids of the messages that were taken along.
pub fn message_left_behind(
    so_far: &UiMessage,
    mut metadata: NewMetadata,
    moved: &[&str],
) -> UiMessage {
    let mut left = so_far.clone();
    close_message(&mut left);
    metadata.set_moved(moved.iter().copied());
    metadata.write_to(&mut left);
    left
}

#[cfg(test)]
mod tests {
    use ship_message::json::{Json, Object};
    use ship_message::{INTERRUPTED_CALL, Role, StepStartPart, ToolPart, UiPart};

    use super::*;

    fn said(id: &str, run_id: Option<&str>) -> UiMessage {
        let role = if id.starts_with('u') { Role::User } else { Role::Assistant };
        let mut message = UiMessage::new(id, role, vec![UiPart::text(id)]);
        if let Some(run_id) = run_id {
            message.set_metadata(Json::Object(Object::from([("runId", run_id)])));
        }
        message
    }

    /// Makes the message of a run that has called two tools, one of which has switched.
    fn left() -> UiMessage {
        let call = |name, id| ToolPart::new(name, id, Json::Object(Object::new()));
        let mut switching = call("chat_context_new", "c2");
        switching.set_output(Json::from("clean"));
        let parts = vec![
            UiPart::StepStart(StepStartPart::new()),
            UiPart::text("Let me begin anew."),
            UiPart::Tool(call("slow", "c1")),
            UiPart::Tool(switching),
        ];
        let so_far = UiMessage::new("a2", Role::Assistant, parts);
        let mut metadata = NewMetadata::default();
        metadata.set_run_id("run_1");
        message_left_behind(&so_far, metadata, &["u2", "u3"])
    }

    #[test]
    fn what_is_left_has_its_calls_answered_and_names_what_was_taken_along() {
        let left = left();
        assert_eq!(left.text(), "Let me begin anew.");
        let result = |part: &UiPart| {
            let UiPart::Tool(tool) = part else { return None };
            Some((tool.error_text().map(str::to_owned), tool.output().cloned()))
        };
        let results: Vec<_> = left.parts().iter().filter_map(result).collect();
        let interrupted = Some(INTERRUPTED_CALL.to_owned());
        assert_eq!(results, [(interrupted, None), (None, Some(Json::from("clean")))]);
        let metadata = left.metadata().unwrap().to_string();
        assert_eq!(metadata, r#"{"runId":"run_1","moved":["u2","u3"]}"#);
    }

    #[test]
    fn a_run_that_has_written_nothing_still_names_what_was_taken_along() {
        let nothing = UiMessage::new("a2", Role::Assistant, vec![]);
        let left = message_left_behind(&nothing, NewMetadata::default(), &["u2"]);
        assert!(left.parts().is_empty());
        assert_eq!(left.metadata().unwrap().to_string(), r#"{"moved":["u2"]}"#);
    }

    #[test]
    fn a_message_that_was_taken_along_is_gone_until_it_is_brought_back() {
        let left = left();
        let own = |messages: &[UiMessage]| -> Vec<String> {
            own_messages(messages).iter().map(|message| message.id().unwrap().to_owned()).collect()
        };
        let mut reference = said("r", None);
        let fetched = Object::from([("kind", "reference"), ("forMessageId", "u3")]);
        reference.set_metadata(Json::Object(fetched));
        let log = vec![said("u1", None), said("u2", None), said("u3", None), left];
        assert_eq!(own(&log), ["u1", "a2"]);
        let with_reference = [&log[..3], &[reference], &log[3..]].concat();
        assert_eq!(own(&with_reference), ["u1", "a2"], "what was fetched for it is gone too");
        let back = [&log[..1], &log[3..], &log[1..2]].concat();
        assert_eq!(own(&back), ["u1", "a2", "u2"]);
    }
}
