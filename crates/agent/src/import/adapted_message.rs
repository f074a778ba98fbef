//! Makes an imported message one of this chat.

use ship_message::UiMessage;
use ship_store::carry::ImportedFrom;
use ship_store::{LedgerSeq, Metadata, NewMetadata};

/// What in a chat decides about the ids of imported messages.
#[derive(Clone, Debug, Default)]
pub(super) struct IdsOfChat {
    /// The suffix of the ids that the chat gives to messages.
    pub(super) salt: Option<String>,
    /// The last entry of the ledger that is a message.
    pub(super) inbox: Option<LedgerSeq>,
}

impl IdsOfChat {
    /// Whether the chat will give this id to a message of its own.
    fn will_give(&self, id: &str) -> bool {
        let name = match &self.salt {
            Some(salt) => id.strip_suffix(salt.as_str()).and_then(|id| id.strip_suffix('_')),
            None => Some(id),
        };
        let number = name.and_then(|name| name.strip_prefix("u_")?.parse::<u64>().ok());
        number.is_some_and(|number| number > self.inbox.map_or(0, LedgerSeq::get))
    }
}

/// Returns the suffix for ids that another message of the chat has.
pub(super) fn suffix_of(from: &ImportedFrom) -> String {
    let digest = crate::digest::digest(from.key.as_bytes());
    digest.chars().take(8).collect()
}

/// Returns the id that an imported message has in this chat.
pub(super) fn adapted_id(id: &str, from: &ImportedFrom, ids: &IdsOfChat) -> String {
    match &from.suffix {
        Some(suffix) => format!("{id}_{suffix}"),
        None if ids.will_give(id) => format!("{id}_{}", suffix_of(from)),
        None => id.to_owned(),
    }
}

/// Returns a message as it is in this chat. Marks of the engine that count ledger entries or name runs of another chat are
/// left out, because they would be taken for this chat's.
pub(super) fn adapt(mut message: UiMessage, from: &ImportedFrom, ids: &IdsOfChat) -> UiMessage {
    let id = message.id().unwrap_or_default().to_owned();
    let adapted = adapted_id(&id, from, ids);
    if adapted != id {
        message.set_id(adapted);
    }
    let metadata = Metadata::of(&message);
    let has_marks = metadata.answers_to().is_some()
        || metadata.settled_parts().is_some()
        || metadata.moved().is_some()
        || metadata.is_queued();
    if has_marks {
        NewMetadata::edit(&mut message, NewMetadata::remove_marks_of_chat);
    }
    message
}

#[cfg(test)]
mod tests {
    use ship_message::Role;
    use ship_store::{Gen, Timestamp};

    use super::*;

    fn from() -> ImportedFrom {
        ImportedFrom {
            generation: Gen::new(0),
            at: Timestamp::from_millis(0),
            format: "uimessage".to_owned(),
            key: "k".to_owned(),
            digest: String::new(),
            messages: 1,
            growths: 0,
            suffix: None,
            live_end: None,
        }
    }

    #[test]
    fn an_id_that_the_chat_will_give_itself_gets_a_suffix() {
        let plain = IdsOfChat { salt: None, inbox: Some(LedgerSeq::new(7)) };
        let suffix = suffix_of(&from());
        let adapted = |id: &str, ids: &IdsOfChat| adapted_id(id, &from(), ids);
        assert_eq!(adapted("u_7", &plain), "u_7");
        assert_eq!(adapted("u_8", &plain), format!("u_8_{suffix}"));
        assert_eq!(adapted("u_8_c_1", &plain), "u_8_c_1");
        let salted = IdsOfChat { salt: Some("c_1".to_owned()), inbox: None };
        assert_eq!(adapted("u_8", &salted), "u_8");
        assert_eq!(adapted("u_1_c_1", &salted), format!("u_1_c_1_{suffix}"));
        let renamed = ImportedFrom { suffix: Some("x".to_owned()), ..from() };
        assert_eq!(adapted_id("m", &renamed, &plain), "m_x");
    }

    #[test]
    fn marks_of_the_chat_of_origin_are_left_out_and_the_rest_stays() {
        let mut message = UiMessage::new("a", Role::Assistant, Vec::new());
        let metadata = r#"{"v":1,"answersTo":7,"settled":2,"moved":[],"username":"Ann"}"#;
        message.set_metadata(ship_message::json::Json::parse(metadata).unwrap());
        let adapted = adapt(message, &from(), &IdsOfChat::default());
        assert_eq!(adapted.metadata().unwrap().to_string(), r#"{"v":1,"username":"Ann"}"#);
    }
}
