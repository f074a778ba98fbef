//! The open request: the messages since the last completed answer.

use std::borrow::Borrow;

use ship_message::{Role, UiMessage};
use ship_record::Metadata;

use crate::compact::is_summary;
use crate::contexts::is_reference;

/// Returns the places of the messages that a run answers, or that wait for one, and of the references that this
/// run has fetched for them. Messages that joined the run on its way are among them; those that another run has
/// answered are not.
///
/// A context that was branched off may hold messages up to `answered` that were answered elsewhere.
pub fn open_request<M: Borrow<UiMessage>>(
    messages: &[M],
    run_id: &str,
    answered: Option<&str>,
) -> Vec<usize> {
    let mut open = Vec::new();
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate().rev() {
        let of_this_run = Metadata::of(message).run_id() == Some(run_id);
        match message.role() {
            // In a conversation, a summary has the role of a person.
            Role::User if is_summary(message) => break,
            Role::User if answered.is_some() && message.id() == answered => break,
            Role::User => open.push(at),
            // A reference that was fetched for the request stays with it.
            Role::Assistant if is_reference(message) => {
                if of_this_run {
                    open.push(at);
                }
            }
            Role::Assistant if of_this_run => {}
            Role::Assistant | Role::System | Role::Unknown => break,
        }
    }
    open.reverse();
    open
}

#[cfg(test)]
mod tests {
    use ship_message::json::{Json, Object};

    use super::*;

    /// A message with the kind and the run that it names.
    fn message(id: &str, kind: Option<&str>, run_id: Option<&str>) -> UiMessage {
        let role = if id.starts_with('u') { Role::User } else { Role::Assistant };
        let mut message = UiMessage::new(id, role, vec![]);
        let mut metadata = Object::new();
        metadata.set_or_remove("kind", kind.map(Json::from));
        metadata.set_or_remove("runId", run_id.map(Json::from));
        message.set_metadata(metadata.into());
        message
    }

    #[test]
    fn the_request_is_all_that_the_run_answers_and_nothing_older() {
        let messages = [
            message("u1", None, None),
            message("a1", None, Some("run_1")),
            message("u2", None, None),
            message("a2", None, Some("run_2")),
            message("u3", None, None),
        ];
        assert_eq!(open_request(&messages, "run_2", None), [2, 4]);
        assert_eq!(open_request(&messages, "run_3", None), [4]);
    }

    #[test]
    fn what_was_answered_elsewhere_is_not_open() {
        let messages = ["u1", "u2", "u3"].map(|id| message(id, None, None));
        assert_eq!(open_request(&messages, "r", None), [0, 1, 2]);
        assert_eq!(open_request(&messages, "r", Some("u2")), [2]);
        assert_eq!(open_request(&messages[..2], "r", Some("u2")), [0; 0]);
    }

    #[test]
    fn a_reference_ends_no_request_and_one_of_the_run_belongs_to_it() {
        let reference = |run_id| message("r", Some("reference"), run_id);
        let asked = |id| message(id, None, None);
        let messages =
            [asked("u1"), reference(None), asked("u2"), reference(Some("run_1")), asked("u3")];
        assert_eq!(open_request(&messages, "run_1", None), [0, 2, 3, 4]);
        assert_eq!(open_request(&messages, "run_2", None), [0, 2, 4]);
    }

    #[test]
    fn a_summary_in_the_persons_place_is_not_open() {
        let messages = [message("u0", Some("summary"), None), message("u1", None, None)];
        assert_eq!(open_request(&messages, "r", None), [1]);
    }
}
