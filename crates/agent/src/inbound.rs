//! What comes in: a message for the ledger, and later for the context.

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::{ChatKey, LedgerEntry, Timestamp};

/// A message as a channel hands it in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbound {
    /// What makes the same message the same, should it come again.
    pub key: String,
    /// What the person wrote, verbatim.
    pub text: String,
    /// Where it came from: `terminal`, `http`, `telegram`.
    pub channel: String,
    /// What the platform calls the chat.
    pub chat_id: Option<String>,
    /// Who wrote it.
    pub user_id: Option<String>,
    /// Their name.
    pub username: Option<String>,
    /// What the platform calls the message.
    pub message_id: Option<String>,
    /// What the request is called in logs.
    pub request_id: String,
    /// Whether people said it to one another: talk in a group that is not addressed to the agent. It is kept, and
    /// never answered.
    pub observed: bool,
}

/// What a parked run was waiting for.
#[derive(Clone, Debug, PartialEq)]
pub enum CallAnswer {
    /// The person's word on a call.
    Approval {
        /// The approval that was asked for.
        approval_id: String,
        /// Whether it may run.
        approved: bool,
        /// Why, or why not.
        reason: Option<String>,
    },
    /// What the client's tool gave.
    Output {
        /// The call.
        call_id: String,
        /// Its output, or why there is none.
        output: Result<Json, String>,
    },
}

impl Inbound {
    /// The ledger entry.
    pub(crate) fn into_entry(self, chat: &ChatKey, now: Timestamp) -> LedgerEntry {
        let mut entry = Object::from([("v", Json::from(1u64)), ("ts", millis(now))]);
        entry.set("role", "user");
        entry.set("text", self.text);
        entry.set("chatKey", chat.as_str());
        entry.set("channel", self.channel);
        for (key, value) in [
            ("chatId", self.chat_id),
            ("userId", self.user_id),
            ("username", self.username),
            ("messageId", self.message_id),
            ("requestId", Some(self.request_id)),
        ] {
            entry.set_or_remove(key, value.map(Json::from));
        }
        if self.observed {
            entry.set("meta", Object::from([(ship_context::OBSERVED, true)]));
        }
        LedgerEntry { key: self.key, entry }
    }
}

/// Times in JSON are milliseconds.
pub(crate) fn millis(now: Timestamp) -> Json {
    Json::Number(now.millis() as f64)
}

/// The message that a ledger entry becomes in the context.
pub(crate) fn message_of(entry: &LedgerEntry, id: String) -> UiMessage {
    let text = entry.entry.str("text").unwrap_or_default();
    let mut message = UiMessage::new(id, Role::User, vec![UiPart::text(text)]);
    let mut metadata = metadata_of(entry);
    metadata.set("source", "ingress");
    message.set_metadata(Json::Object(metadata));
    message
}

/// The metadata of a message that a ledger entry becomes.
pub(crate) fn metadata_of(entry: &LedgerEntry) -> Object {
    let mut metadata = Object::new();
    for key in
        ["v", "ts", "chatKey", "channel", "chatId", "userId", "username", "messageId", "requestId"]
    {
        metadata.set_or_remove(key, entry.entry.get(key).cloned());
    }
    metadata.set("kind", "normal");
    metadata
}
