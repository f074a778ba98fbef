//! The conversations of a file, before any message of them is made.

use ship_record::Timestamp;

/// A context in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedContext {
    /// The id of the conversation in its program. The same file, and one that has grown, gives the same key.
    pub key: String,
    /// The title, if the file has one.
    pub title: Option<String>,
    /// The time of the first message, if the file has it.
    pub began: Option<Timestamp>,
    /// The logs: a compaction ends one, and a summary begins the next.
    pub logs: Vec<PlannedLog>,
}

/// A log of a context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedLog {
    /// The messages in order.
    pub messages: Vec<PlannedMessage>,
}

/// A message, as the values of the file that it is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedMessage {
    pub(crate) pieces: Vec<Piece>,
    /// Whether it stands for the messages before it.
    pub(crate) is_summary: bool,
}

/// A value of the file, or a part of one that holds many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) item: u32,
    pub(crate) part: u32,
}

impl PlannedContext {
    pub(crate) fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), logs: vec![PlannedLog::default()], ..Self::default() }
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.logs.iter().map(|log| log.messages.len()).sum()
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins a message with a piece.
    pub(crate) fn begin(&mut self, piece: Piece) {
        self.push(PlannedMessage { pieces: vec![piece], is_summary: false });
    }

    /// Adds a message.
    pub(crate) fn push(&mut self, message: PlannedMessage) {
        self.last_log().messages.push(message);
    }

    /// Begins a log with a summary of everything before it.
    pub(crate) fn begin_log(&mut self, piece: Piece) {
        if !self.last_log().messages.is_empty() {
            self.logs.push(PlannedLog::default());
        }
        self.push(PlannedMessage { pieces: vec![piece], is_summary: true });
    }

    /// Adds a piece to the last message. Returns `false` if there is none.
    pub(crate) fn add(&mut self, piece: Piece) -> bool {
        match self.last_log().messages.last_mut() {
            Some(message) => {
                message.pieces.push(piece);
                true
            }
            None => false,
        }
    }

    fn last_log(&mut self) -> &mut PlannedLog {
        if self.logs.is_empty() {
            self.logs.push(PlannedLog::default());
        }
        let last = self.logs.len() - 1;
        &mut self.logs[last]
    }
}
