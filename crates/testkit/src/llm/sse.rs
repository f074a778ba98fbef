//! Server-sent events, as both formats stream them.

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is about, for a test that wants to cut at it.
    pub kind: Kind,
    /// Its name, where the format has one.
    pub event: Option<String>,
    /// Its data, on one line.
    pub data: String,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The beginning of an answer or of a block in it.
    Start,
    /// A piece of text.
    Text,
    /// A piece of reasoning.
    Reasoning,
    /// A call, or some of its arguments.
    Call,
    /// A sign of life.
    Ping,
    /// The end of a block.
    BlockEnd,
    /// Why the answer ends, and what it cost.
    Finish,
    /// The last event.
    Done,
    /// Something went wrong.
    Error,
}

impl Frame {
    /// Makes an event.
    pub fn new(kind: Kind, event: Option<&str>, data: impl Into<String>) -> Self {
        Self { kind, event: event.map(str::to_owned), data: data.into() }
    }

    /// Writes it down.
    pub fn encode(&self) -> String {
        match &self.event {
            Some(event) => format!("event: {event}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

/// Cuts a text into the pieces in which it is streamed: small ones, but not more than about a hundred.
pub(super) fn deltas(text: &str) -> Vec<&str> {
    let size = (text.len() / 100).max(6);
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size));
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}
