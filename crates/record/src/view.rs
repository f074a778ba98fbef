//! A context as it is at one position.

use std::sync::Arc;

use ship_message::json::Object;

use crate::{ContextBody, ContextLine, Head, LedgerSeq, MessageId, Position, Seq, StorageProblem};

/// A context as it is at one position: what the model could be shown, and the events beside it. Its lines are
/// shared: a copy of a view copies none of them.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// What the log began with.
    pub head: Head,
    /// Where the log ends; what an append must expect.
    pub position: Position,
    /// The checksum of the last line: with the position it tells this log from any other.
    pub crc: u32,
    /// The highest ledger position that was ever promoted.
    pub inbox: Option<LedgerSeq>,
    /// Messages and events in order, each message once, in its newest revision. The head is not among them.
    pub lines: Vec<Arc<ContextLine>>,
    /// What could not be read.
    pub problems: Vec<StorageProblem>,
}

impl View {
    /// Returns the messages in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Object> {
        self.lines.iter().filter_map(|line| match &line.body {
            ContextBody::Message(message) => Some(message),
            ContextBody::Event(_) => None,
        })
    }

    /// Returns the line of a message; `None` if it has none of that id.
    pub fn line_of(&self, id: &MessageId) -> Option<Seq> {
        let is_it = |line: &&Arc<ContextLine>| match &line.body {
            ContextBody::Message(message) => message.str("id") == Some(id.as_str()),
            ContextBody::Event(_) => false,
        };
        self.lines.iter().find(is_it).map(|line| line.seq)
    }
}
