//! The conversations of a file, before any message of them is made.

use std::collections::HashMap;

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
    /// Whether it begins like a message of another context and goes on in another way. Then it has an id of its own.
    pub(crate) is_fork: bool,
}

/// A value of the file, or a part of one that holds many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    pub(crate) item: u32,
    pub(crate) part: u32,
}

impl PlannedMessage {
    pub(crate) fn new(pieces: Vec<Piece>, is_summary: bool) -> Self {
        Self { pieces, is_summary, is_fork: false }
    }
}

/// Marks the messages that begin like one of a later context and go on in another way.
pub(crate) fn mark_forks(contexts: &mut [PlannedContext]) {
    if contexts.len() < 2 {
        return;
    }
    // A message is known by its last piece and the number of its pieces.
    let mut known: HashMap<Piece, (Piece, usize)> = HashMap::new();
    for context in contexts.iter_mut().rev() {
        for message in context.logs.iter_mut().flat_map(|log| &mut log.messages) {
            let Some(last) = message.pieces.last() else { continue };
            let own = (*last, message.pieces.len());
            let mut is_fork = false;
            for piece in &message.pieces {
                is_fork |= *known.entry(*piece).or_insert(own) != own;
            }
            message.is_fork = is_fork;
        }
    }
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
        self.push(PlannedMessage::new(vec![piece], false));
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
        self.push(PlannedMessage::new(vec![piece], true));
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

    /// Leaves out the messages of the last log from a place on.
    pub(crate) fn truncate_last_log(&mut self, len: usize) {
        self.last_log().messages.truncate(len);
    }

    fn last_log(&mut self) -> &mut PlannedLog {
        if self.logs.is_empty() {
            self.logs.push(PlannedLog::default());
        }
        let last = self.logs.len() - 1;
        &mut self.logs[last]
    }
}
