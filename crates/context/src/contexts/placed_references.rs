//! Places references directly before the message that they were fetched for.
//!
//! In the log a reference comes after that message, because it was fetched later. In every request it stands before
//! it, so that a person's message is followed by its answer and not by something old.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

use ship_message::UiMessage;
use ship_record::{ContextId, MessageKind, Metadata};

use super::reference::RecallMode;

/// Whether a message is a reference.
pub fn is_reference(message: &UiMessage) -> bool {
    Metadata::of(message).kind() == Some(MessageKind::Reference)
}

/// Whether the run already has this reference.
pub fn is_referenced<M: Borrow<UiMessage>>(
    messages: &[M],
    run_id: &str,
    context: &ContextId,
    mode: RecallMode,
) -> bool {
    messages.iter().map(Borrow::borrow).any(|message| {
        is_reference_to(message, context, mode) && Metadata::of(message).run_id() == Some(run_id)
    })
}

/// Whether a message is a reference to this context in this mode.
pub fn is_reference_to(message: &UiMessage, context: &ContextId, mode: RecallMode) -> bool {
    let metadata = Metadata::of(message);
    is_reference(message)
        && metadata.context_id() == Some(context.as_str())
        && metadata.mode() == Some(mode.name())
}

/// Puts each reference directly before the message that it was fetched for. A reference without its message stays
/// in place, and of two equal ones the first is shown.
pub fn place_references<M: Borrow<UiMessage>>(messages: Vec<M>) -> Vec<M> {
    if !messages.iter().any(|message| is_reference(message.borrow())) {
        return messages;
    }
    let targets: HashSet<String> = messages
        .iter()
        .map(Borrow::borrow)
        .filter(|message| !is_reference(message))
        .filter_map(|message| message.id().map(str::to_owned))
        .collect();
    let mut seen = HashSet::new();
    let mut before: HashMap<String, Vec<M>> = HashMap::new();
    let mut others = Vec::with_capacity(messages.len());
    for message in messages {
        let reference = message.borrow();
        let metadata = Metadata::of(reference);
        let target = metadata.for_message().filter(|id| targets.contains(*id));
        match target.filter(|_| is_reference(reference)).map(str::to_owned) {
            None => others.push(message),
            Some(target) => {
                let context = metadata.context_id().map(str::to_owned);
                let mode = metadata.mode().map(str::to_owned);
                // A reference from the ledger has no context, and each of those shows something else.
                let is_new = context.is_none() || seen.insert((target.clone(), context, mode));
                if is_new {
                    before.entry(target).or_default().push(message);
                }
            }
        }
    }
    let mut placed = Vec::with_capacity(others.len());
    for message in others {
        let own = message.borrow().id().and_then(|id| before.remove(id));
        placed.extend(own.unwrap_or_default());
        placed.push(message);
    }
    placed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ship_message::json::{Json, Object};
    use ship_message::{Role, UiPart};

    use super::*;

    fn said(id: &str) -> UiMessage {
        let role = if id.starts_with('u') { Role::User } else { Role::Assistant };
        UiMessage::new(id, role, vec![UiPart::text(id)])
    }

    fn reference(id: &str, for_message: &str, context: &str) -> UiMessage {
        let mut message = said(id);
        let mut metadata = Object::from([
            ("kind", "reference"),
            ("mode", "full"),
            ("forMessageId", for_message),
            ("runId", "run_1"),
        ]);
        if !context.is_empty() {
            metadata.set("contextId", context);
        }
        message.set_metadata(Json::Object(metadata));
        message
    }

    fn placed(messages: Vec<UiMessage>) -> Vec<String> {
        let id = |message: &UiMessage| message.id().unwrap().to_owned();
        place_references(messages).iter().map(id).collect()
    }

    #[test]
    fn a_reference_stands_directly_before_its_message_now_and_later() {
        let this = vec![said("u1"), said("a1"), said("u2"), reference("r", "u2", "c_1")];
        assert_eq!(placed(this.clone()), ["u1", "a1", "r", "u2"]);
        let later = [this, vec![said("a2"), said("u3")]].concat();
        assert_eq!(placed(later), ["u1", "a1", "r", "u2", "a2", "u3"]);
    }

    #[test]
    fn several_keep_their_order_and_none_is_shown_twice() {
        let messages = vec![
            said("u1"),
            reference("r1", "u1", "c_1"),
            reference("r2", "u1", "c_2"),
            reference("r3", "u1", "c_1"),
            reference("h1", "u1", ""),
            reference("h2", "u1", ""),
        ];
        assert_eq!(placed(messages), ["r1", "r2", "h1", "h2", "u1"]);
    }

    #[test]
    fn a_reference_whose_message_is_gone_stays_where_it_is() {
        let messages = vec![said("a0"), reference("r", "u1", "c_1"), said("u2")];
        assert_eq!(placed(messages), ["a0", "r", "u2"]);
    }

    #[test]
    fn the_same_context_at_the_same_depth_is_fetched_once_in_a_run() {
        let messages = [reference("r", "u1", "c_20260205_abcd")];
        let context: ContextId = "c_20260205_abcd".parse().unwrap();
        assert!(is_referenced(&messages, "run_1", &context, RecallMode::Full));
        assert!(!is_referenced(&messages, "run_1", &context, RecallMode::Summary));
        assert!(!is_referenced(&messages, "run_2", &context, RecallMode::Full));
    }

    proptest! {
        #[test]
        fn nothing_else_moves_and_placing_twice_is_placing_once(
            kinds in prop::collection::vec((0u8..3, 0usize..8), 0..12),
        ) {
            let messages: Vec<UiMessage> = kinds.iter().enumerate().map(|(at, (kind, target))| {
                match kind {
                    0 => reference(&format!("r{at}"), &format!("u{target}"), ""),
                    1 => said(&format!("u{at}")),
                    _ => said(&format!("a{at}")),
                }
            }).collect();
            let once = place_references(messages.clone());
            let without = |list: &[UiMessage]| -> Vec<UiMessage> {
                list.iter().filter(|message| !is_reference(message)).cloned().collect()
            };
            prop_assert_eq!(without(&once), without(&messages));
            prop_assert_eq!(once.len(), messages.len());
            prop_assert_eq!(place_references(once.clone()), once);
        }
    }
}
