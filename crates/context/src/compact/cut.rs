//! Chooses the messages that stay.

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

/// Finds the cut. The open request stays, and of the others the newest `keep_last`, or as many as fit into `room`.
/// A message contains its calls together with their results, so they are never separated.
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
    let (kept, older): (Vec<usize>, Vec<usize>) = (0..messages.len()).partition(|at| keeps[*at]);
    Cut { older, kept, is_smaller }
}

#[cfg(test)]
mod tests {
    use ship_message::{Role, UiMessage, UiPart};

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
}
