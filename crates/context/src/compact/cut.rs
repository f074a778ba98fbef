//! Chooses the messages that stay.

use ship_message::{Role, UiMessage};
use ship_record::{MessageKind, Metadata};

use super::WeighedMessage;

/// The division of the messages by a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The indexes of the messages that are summarised, in order.
    pub older: Vec<usize>,
    /// The indexes of the messages that stay, in order.
    pub kept: Vec<usize>,
    /// Whether fewer of the newest messages stay than were wanted.
    pub is_smaller: bool,
}

/// Finds the cut. The open request stays, and of the others the newest `keep_last`, or as many as fit into `room`;
/// one more or one fewer, if only then a question is the first of them. A message contains its calls together with
/// their results, so they are never separated.
pub fn cut(messages: &[WeighedMessage<'_>], keep_last: usize, room: u64) -> Cut {
    let mut left = room;
    let mut wanted = keep_last;
    let mut is_smaller = false;
    let mut keeps = vec![false; messages.len()];
    for (at, message) in messages.iter().enumerate().rev() {
        if message.is_open {
            keeps[at] = true;
            // The open request counts among the newest messages.
            wanted = wanted.saturating_sub(1);
            continue;
        }
        if wanted == 0 || is_smaller {
            continue;
        }
        match left.checked_sub(message.tokens) {
            Some(rest) => {
                left = rest;
                wanted -= 1;
                keeps[at] = true;
            }
            // The newest messages must stand together: a smaller one before this one is not kept instead.
            None => is_smaller = true,
        }
    }
    begin_with_question(messages, &mut keeps, left);
    let (kept, older): (Vec<usize>, Vec<usize>) = (0..messages.len()).partition(|at| keeps[*at]);
    Cut { older, kept, is_smaller }
}

/// Has the messages that stay begin with one of a person: behind the summary, an answer without its question would be
/// the second message of the assistant in a row. The question stays too if it fits into the room that is left;
/// otherwise its answer is summarised with it. An answer in several messages, as of a run that was settled, stays as
/// it was cut.
fn begin_with_question(messages: &[WeighedMessage<'_>], keeps: &mut [bool], left: u64) {
    let is_question = |at: usize| messages.get(at).is_some_and(|it| is_of_person(it.message));
    let Some(first) = keeps.iter().position(|keeps| *keeps) else { return };
    if first == 0 || is_question(first) {
        return;
    }
    if is_question(first - 1) && messages[first - 1].tokens <= left {
        keeps[first - 1] = true;
    } else if is_question(first + 1) && keeps[first + 1] {
        keeps[first] = messages[first].is_open;
    }
}

/// Whether a message is a person's, or a reference, which the next question is about.
fn is_of_person(message: &UiMessage) -> bool {
    message.role() == Role::User || Metadata::of(message).kind() == Some(MessageKind::Reference)
}

#[cfg(test)]
mod tests {
    use ship_message::UiPart;

    use super::*;

    fn messages(tokens: &[u64]) -> Vec<(UiMessage, u64)> {
        let message =
            |i: usize| UiMessage::new(format!("m{i}"), Role::User, vec![UiPart::text("x")]);
        tokens.iter().enumerate().map(|(i, tokens)| (message(i), *tokens)).collect()
    }

    fn weighed(messages: &[(UiMessage, u64)], open: usize) -> Vec<WeighedMessage<'_>> {
        messages
            .iter()
            .enumerate()
            .map(|(at, (message, tokens))| WeighedMessage {
                message,
                tokens: *tokens,
                is_open: at == open,
            })
            .collect()
    }

    #[test]
    fn exactly_as_many_stay_as_are_wanted_when_they_fit() {
        let messages = messages(&[10; 10]);
        let found = cut(&weighed(&messages, 9), 4, 1_000);
        assert_eq!((found.kept, found.is_smaller), (vec![6, 7, 8, 9], false));
        assert_eq!(found.older, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn fewer_stay_when_they_do_not_fit_and_the_newest_first() {
        let messages = messages(&[1, 1, 500, 10, 10, 10]);
        let found = cut(&weighed(&messages, 5), 6, 100);
        assert_eq!((found.kept, found.is_smaller), (vec![3, 4, 5], true));
    }

    #[test]
    fn the_open_request_stays_wherever_it_stands() {
        let messages = messages(&[10, 900, 10, 10]);
        let found = cut(&weighed(&messages, 1), 30, 15);
        assert_eq!((found.kept, found.older), (vec![1, 3], vec![0, 2]));
    }

    /// The messages of a chat: `u` is a question, `a` an answer. Each has ten tokens.
    fn chat(roles: &str) -> Vec<(UiMessage, u64)> {
        let message = |(i, role): (usize, char)| {
            let role = if role == 'u' { Role::User } else { Role::Assistant };
            (UiMessage::new(format!("m{i}"), role, vec![UiPart::text("x")]), 10)
        };
        roles.chars().enumerate().map(message).collect()
    }

    /// The number of messages that stay.
    fn kept(roles: &str, keep_last: usize, room: u64) -> usize {
        let messages = chat(roles);
        cut(&weighed(&messages, usize::MAX), keep_last, room).kept.len()
    }

    #[test]
    fn the_messages_that_stay_begin_with_a_question_one_more_or_one_fewer() {
        assert_eq!(kept("uauaua", 4, 100), 4);
        assert_eq!(kept("uauaua", 3, 100), 4, "the question stays with its answer");
        assert_eq!(kept("uauaua", 3, 30), 2, "there is no room for it");
        assert_eq!(kept("uauaau", 2, 100), 1, "a settled answer has two messages");
        assert_eq!(kept("uauaaaau", 4, 100), 4, "and another has four");
        assert_eq!(kept("aaaa", 2, 100), 2, "there is no question");
        assert_eq!(kept("auau", 9, 100), 4, "everything stays");
        let messages = chat("uauaa");
        let found = cut(&weighed(&messages, 2), 1, 100);
        assert_eq!((found.kept, found.is_smaller), (vec![2, 4], false), "the open request is one");
    }
}
