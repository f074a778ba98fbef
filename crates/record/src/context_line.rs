//! The lines of a context log, as they are appended and as they are read.

use ship_message::UiMessage;
use ship_message::json::{Json, Object};

use crate::{LedgerSeq, MessageId, Seq, Timestamp};

/// A message or an event to append to a context log.
#[derive(Debug, Clone, PartialEq)]
pub enum NewLine {
    /// A new message, or a new revision of one.
    Message(NewMessage),
    /// An event about the context or one of its messages.
    Event(ContextEvent),
}

/// A message to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The UIMessage: `id`, `role`, `parts`, `metadata`.
    pub message: Object,
    /// The revision: 0 for a new message. One more than the present revision replaces the message at its place.
    pub rev: u64,
    /// The ledger entry that this message was promoted from.
    pub inbox: Option<LedgerSeq>,
}

impl From<Object> for NewLine {
    fn from(message: Object) -> Self {
        Self::Message(NewMessage { message, rev: 0, inbox: None })
    }
}

impl From<UiMessage> for NewLine {
    fn from(message: UiMessage) -> Self {
        message.into_object().into()
    }
}

impl From<NewMessage> for NewLine {
    fn from(message: NewMessage) -> Self {
        Self::Message(message)
    }
}

impl From<ContextEvent> for NewLine {
    fn from(event: ContextEvent) -> Self {
        Self::Event(event)
    }
}

/// An event, to append or as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextEvent {
    /// The id of the event.
    pub id: String,
    /// The time of the event.
    pub ts: Timestamp,
    /// The kind of event. Only the store writes `head`.
    pub event: String,
    /// The data of the event, which depend on its kind.
    pub data: Json,
    /// The message that the event is about.
    pub ref_msg_id: Option<MessageId>,
    /// The ledger entry that asked for the event, if one did. In a view, the [`ContextLine`] has it.
    pub inbox: Option<LedgerSeq>,
}

impl ContextEvent {
    /// Returns the body of the event line. `inbox` is a field of the line, and not of its body.
    pub fn into_body(self) -> Object {
        let mut body = Object::new();
        body.set("id", self.id);
        body.set("ts", self.ts.to_string());
        body.set("event", self.event);
        body.set("data", self.data);
        body.set_or_remove("ref_msg_id", self.ref_msg_id.map(|id| id.as_str().into()));
        body
    }

    /// Reads the body of an event line. Returns `None` if a required field is missing or invalid.
    pub fn from_body(body: &Object) -> Option<Self> {
        Some(Self {
            id: body.str("id")?.to_owned(),
            ts: Timestamp::parse(body.str("ts")?)?,
            event: body.str("event")?.to_owned(),
            data: body.get("data").cloned().unwrap_or_default(),
            ref_msg_id: body.str("ref_msg_id").and_then(MessageId::new),
            inbox: None,
        })
    }
}

/// A line of a context, with its line fields apart from its content.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextLine {
    /// The number of the line. A message that was replaced keeps the number of its first line.
    pub seq: Seq,
    /// The number of times that the message was replaced.
    pub rev: u64,
    /// The ledger entry that the message was promoted from.
    pub inbox: Option<LedgerSeq>,
    /// The content of the line.
    pub body: ContextBody,
}

impl ContextLine {
    /// Returns the message, if the line is not an event.
    pub fn message(&self) -> Option<&UiMessage> {
        match &self.body {
            ContextBody::Message(message) => Some(message),
            ContextBody::Event(_) => None,
        }
    }

    /// Returns the id of the message, if the line is not an event.
    pub fn message_id(&self) -> Option<&str> {
        self.message()?.id()
    }

    /// Returns the id of the message or event; an empty text if it has none.
    pub fn id(&self) -> &str {
        match &self.body {
            ContextBody::Message(message) => message.id().unwrap_or_default(),
            ContextBody::Event(event) => &event.id,
        }
    }
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextBody {
    /// A message, with its blobs resolved and without line fields.
    Message(UiMessage),
    /// An event about the context or one of its messages.
    Event(ContextEvent),
}
