//! The content of a context log at one position.

#[cfg(feature = "serde")]
mod shared_lines;

use std::sync::Arc;

use ship_message::UiMessage;

use crate::{ContextLine, Head, LedgerSeq, MessageId, Position, Seq, StorageProblem};

/// A context at one position: the messages that a model may be shown, and the events between them. The lines are
/// shared, so a clone of a view is cheap.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct View {
    /// The head of the log.
    pub head: Head,
    /// The end of the log, which an append must expect.
    pub position: Position,
    /// The checksum of the last line. Together with the position it identifies this log.
    pub crc: u32,
    /// The highest ledger position that was ever promoted.
    pub inbox: Option<LedgerSeq>,
    /// The messages and events in order, without the head. Each message is here once, in its newest revision.
    #[cfg_attr(feature = "serde", serde(with = "shared_lines"))]
    pub lines: Vec<Arc<ContextLine>>,
    /// The problems that were found in the log's file.
    pub problems: Vec<StorageProblem>,
}

impl View {
    /// Returns the messages in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &UiMessage> {
        self.lines.iter().filter_map(|line| line.message())
    }

    /// Returns the line of a message; `None` if the view has no message with this id.
    pub fn line_of(&self, id: &MessageId) -> Option<Seq> {
        let is_it = |line: &&Arc<ContextLine>| line.message_id() == Some(id.as_str());
        self.lines.iter().find(is_it).map(|line| line.seq)
    }
}
