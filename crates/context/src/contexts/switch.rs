//! What a run sees after a switch in its middle, and what it leaves behind.
//!
//! The next step sees the messages of the context that is now active, then what the person is waiting for (the
//! same messages, moved), then one assistant message with nothing but the call that switched. All else that
//! the run has done stays in the context that was left, where the call is answered too, so that whoever comes
//! back sees how it was left.

use std::borrow::Borrow;
use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_message::{Role, StepStartPart, UiMessage, UiPart};

use super::place::is_reference;
use super::turn::meta;
use crate::shown::INTERRUPTED;

/// The metadata field of a message that a switch ended: the ids of the messages that were taken along.
pub const MOVED: &str = "moved";

/// The messages that belong to a context. One that a switch took along belongs to where it was taken, even
/// though the log that was left still holds it; one that was brought back later is behind that switch.
pub fn own_messages<M: Borrow<UiMessage>>(messages: &[M]) -> Vec<&UiMessage> {
    let mut moved: HashSet<&str> = HashSet::new();
    let mut own = Vec::with_capacity(messages.len());
    for message in messages.iter().rev().map(Borrow::borrow) {
        // A reference is of no use without the message that it was fetched for.
        let id = match is_reference(message) {
            true => meta(message, "forMessageId").and_then(Json::as_str),
            false => message.id(),
        };
        if !id.is_some_and(|id| moved.contains(id)) {
            own.push(message);
        }
        let taken = meta(message, MOVED).and_then(Json::as_array).unwrap_or_default();
        moved.extend(taken.iter().filter_map(Json::as_str));
    }
    own.reverse();
    own
}

/// What the person is waiting for: the messages that the run answers. What joined the run on its way is among
/// them, and what was answered by another run is not.
pub fn current_messages<'m, M: Borrow<UiMessage>>(
    messages: &'m [M],
    run_id: &str,
) -> Vec<&'m UiMessage> {
    let mut current = Vec::new();
    for message in messages.iter().rev().map(Borrow::borrow) {
        let of_run = meta(message, "runId").and_then(Json::as_str) == Some(run_id);
        match message.role() {
            Role::User => current.push(message),
            Role::Assistant if of_run || is_reference(message) => {}
            Role::Assistant | Role::System | Role::Unknown => break,
        }
    }
    current.reverse();
    current
}

/// A switch in the middle of a run.
#[derive(Clone, Debug)]
pub struct Switching<'a> {
    /// The messages of the context that is active from now on, as [`own_messages`] gives them; none for a
    /// clean one.
    pub loaded: Vec<UiMessage>,
    /// What the person is waiting for.
    pub current: Vec<UiMessage>,
    /// What the run has written so far.
    pub so_far: &'a UiMessage,
    /// The call that switched and its output; none when a person did it.
    pub call: Option<(&'a str, Json)>,
    /// The id of the message that the run goes on with.
    pub next_message_id: &'a str,
}

/// A run after a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchedRun {
    /// What is left behind: what the run has written so far, with no call open. None when it has written
    /// nothing.
    pub left: Option<UiMessage>,
    /// The messages of the active context.
    pub messages: Vec<UiMessage>,
    /// What the run goes on with.
    pub going_on: UiMessage,
}

/// Says what a run sees after a switch, and what it leaves behind.
pub fn after_switch(switching: Switching<'_>) -> SwitchedRun {
    let Switching { loaded, current, so_far, call, next_message_id } = switching;
    let left = left_behind(so_far, call.as_ref(), &current);
    let call = call.and_then(|(call_id, _)| answered_call(&left, call_id));
    let parts =
        call.map_or_else(Vec::new, |call| vec![UiPart::StepStart(StepStartPart::new()), call]);
    // A run that comes back to where it was finds its own request there; it is moved to the end.
    let is_current = |message: &UiMessage| {
        message.id().is_some_and(|id| current.iter().any(|moved| moved.id() == Some(id)))
    };
    let mut messages = loaded;
    messages.retain(|message| !is_current(message));
    messages.extend(current);
    SwitchedRun {
        left: (!left.parts().is_empty()).then_some(left),
        messages,
        going_on: UiMessage::new(next_message_id, Role::Assistant, parts),
    }
}

/// What the run has written, with its calls answered and the names of what was taken along.
fn left_behind(
    so_far: &UiMessage,
    call: Option<&(&str, Json)>,
    current: &[UiMessage],
) -> UiMessage {
    let mut left = so_far.clone();
    for part in left.parts_mut() {
        let UiPart::Tool(tool) = part else { continue };
        match call {
            Some((call_id, output)) if tool.call_id() == *call_id => {
                tool.set_output(output.clone())
            }
            _ if !tool.state().is_terminal() => tool.set_error(INTERRUPTED),
            _ => {}
        }
    }
    let mut metadata =
        left.metadata().and_then(Json::as_object).cloned().unwrap_or_else(Object::new);
    let moved: Vec<Json> =
        current.iter().filter_map(|message| message.id().map(Json::from)).collect();
    metadata.set(MOVED, moved);
    left.set_metadata(Json::Object(metadata));
    left
}

fn answered_call(left: &UiMessage, call_id: &str) -> Option<UiPart> {
    let is_call = |part: &&UiPart| matches!(part, UiPart::Tool(tool) if tool.call_id() == call_id);
    left.parts().iter().rev().find(is_call).cloned()
}

#[cfg(test)]
mod tests {
    use ship_message::ToolPart;

    use super::*;

    fn said(id: &str, run_id: Option<&str>) -> UiMessage {
        let role = if id.starts_with('u') { Role::User } else { Role::Assistant };
        let mut message = UiMessage::new(id, role, vec![UiPart::text(id)]);
        if let Some(run_id) = run_id {
            message.set_metadata(Json::Object(Object::from([("runId", run_id)])));
        }
        message
    }

    fn call(name: &str, call_id: &str) -> UiPart {
        UiPart::Tool(ToolPart::new(name, call_id, Json::Object(Object::new())))
    }

    fn ids(messages: &[UiMessage]) -> Vec<&str> {
        messages.iter().filter_map(UiMessage::id).collect()
    }

    fn so_far() -> UiMessage {
        let parts = vec![
            UiPart::StepStart(StepStartPart::new()),
            UiPart::text("Let me begin anew."),
            call("slow", "c1"),
            call("chat_context_new", "c2"),
        ];
        UiMessage::new("a2", Role::Assistant, parts)
    }

    fn switched(loaded: Vec<UiMessage>, call: Option<(&str, Json)>) -> SwitchedRun {
        let so_far = so_far();
        let current = vec![said("u2", None), said("u3", None)];
        after_switch(Switching { loaded, current, so_far: &so_far, call, next_message_id: "a3" })
    }

    #[test]
    fn after_a_new_context_only_the_request_and_the_call_are_seen() {
        let run = switched(vec![], Some(("c2", Json::from("clean"))));
        assert_eq!(ids(&run.messages), ["u2", "u3"]);
        assert_eq!(
            run.going_on.to_string(),
            r#"{"id":"a3","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-chat_context_new","toolCallId":"c2","state":"output-available","input":{},"output":"clean"}]}"#
        );
    }

    #[test]
    fn after_a_load_the_loaded_messages_come_first() {
        let loaded = vec![said("u0", None), said("a0", None)];
        let run = switched(loaded, Some(("c2", Json::from("loaded"))));
        assert_eq!(ids(&run.messages), ["u0", "a0", "u2", "u3"]);
    }

    #[test]
    fn a_run_that_comes_back_finds_its_request_once_and_last() {
        let loaded = vec![said("u1", None), said("u2", None), said("a1", None)];
        let run = switched(loaded, Some(("c2", Json::from("loaded"))));
        assert_eq!(ids(&run.messages), ["u1", "a1", "u2", "u3"]);
    }

    #[test]
    fn what_is_left_has_its_calls_answered_and_names_what_was_taken_along() {
        let left = switched(vec![], Some(("c2", Json::from("clean")))).left.unwrap();
        assert_eq!(left.text(), "Let me begin anew.");
        let result = |part: &UiPart| {
            let UiPart::Tool(tool) = part else { return None };
            Some((tool.error_text().map(str::to_owned), tool.output().cloned()))
        };
        let results: Vec<_> = left.parts().iter().filter_map(result).collect();
        let interrupted = Some(INTERRUPTED.to_owned());
        assert_eq!(results, [(interrupted, None), (None, Some(Json::from("clean")))]);
        assert_eq!(left.metadata().unwrap().to_string(), r#"{"moved":["u2","u3"]}"#);
    }

    #[test]
    fn a_message_that_was_taken_along_is_gone_until_it_is_brought_back() {
        let left = switched(vec![], Some(("c2", Json::from("clean")))).left.unwrap();
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

    #[test]
    fn a_person_who_switches_leaves_no_call() {
        let run = switched(vec![], None);
        assert!(run.going_on.parts().is_empty());
        assert!(run.left.is_some());
        let nothing = UiMessage::new("a2", Role::Assistant, vec![]);
        let current = vec![said("u2", None)];
        let run = after_switch(Switching {
            loaded: vec![],
            current,
            so_far: &nothing,
            call: None,
            next_message_id: "a3",
        });
        assert_eq!((run.left, ids(&run.messages)), (None, vec!["u2"]));
    }

    #[test]
    fn the_request_is_all_that_the_run_answers_and_nothing_older() {
        let messages = [
            said("u1", None),
            said("a1", Some("run_1")),
            said("u2", None),
            said("a2", Some("run_2")),
            said("u3", None),
        ];
        let current = |run_id| -> Vec<&str> {
            current_messages(&messages, run_id).iter().filter_map(|message| message.id()).collect()
        };
        assert_eq!(current("run_2"), ["u2", "u3"]);
        assert_eq!(current("run_3"), ["u3"]);
    }
}
