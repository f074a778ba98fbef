//! What goes into a context log and what comes out of it.

use ship_message::json::{Json, Object};

use crate::{LedgerSeq, MessageId, Seq, Timestamp};

/// Something to append.
#[derive(Debug, Clone, PartialEq)]
pub enum NewLine {
    /// A message.
    Message(NewMessage),
    /// An event.
    Event(ContextEvent),
}

/// A message to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The UIMessage: `id`, `role`, `parts`, `metadata`.
    pub message: Object,
    /// 0 for a new message; one more than the present one to replace it at its place.
    pub rev: u64,
    /// The ledger entry that this message was promoted from.
    pub inbox: Option<LedgerSeq>,
}

impl From<Object> for NewLine {
    fn from(message: Object) -> Self {
        Self::Message(NewMessage { message, rev: 0, inbox: None })
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
    /// What names it.
    pub id: String,
    /// When it happened.
    pub ts: Timestamp,
    /// What happened. `head` is the store's own.
    pub event: String,
    /// The details.
    pub data: Json,
    /// The message it is about.
    pub ref_msg_id: Option<MessageId>,
    /// The ledger entry that asked for it, if one did; in a view the line tells.
    pub inbox: Option<LedgerSeq>,
}

/// A line of a context, its line fields apart from its content.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextLine {
    /// Which line it is. A message that was replaced is where it was first said.
    pub seq: Seq,
    /// How often the message was replaced.
    pub rev: u64,
    /// The ledger entry that the message was promoted from.
    pub inbox: Option<LedgerSeq>,
    /// What it says.
    pub body: ContextBody,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextBody {
    /// A UIMessage, blobs resolved, without line fields.
    Message(Object),
    /// An event.
    Event(ContextEvent),
}
