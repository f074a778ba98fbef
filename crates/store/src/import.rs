//! The input and the result of an import.

use ship_record::{
    ChatKey, Explain, Explanation, Head, MessageId, NewLine, Position, SealedName, Seq,
};

use crate::{ReadError, RefusedInput, RotateError, StorageError};

/// Many lines that become sealed logs of a chat, in one step.
///
/// The live log is sealed, the imported logs follow it in the chain, and another live log follows them. Readers see all
/// of this or nothing.
pub struct Import {
    /// The end of the live log that the caller has read. A chat without a context begins one first.
    pub expected: Position,
    /// The live log above the imported logs.
    pub live: LiveAfterImport,
    /// The imported logs. They are taken one piece at a time and written at once, so that they need not fit in memory.
    pub source: ImportSource,
}

/// Gives the pieces of an import in order. Its first error ends the import, and nothing is imported.
pub type ImportSource =
    Box<dyn Iterator<Item = Result<ImportPiece, Box<dyn std::error::Error + Send + Sync>>> + Send>;

/// A piece of an import.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportPiece {
    /// Begins a log. The store sets `generation`, `sealed` and `inbox` of its head.
    Log(Head),
    /// A message or an event of the log that was begun last. Its ledger position is left out, because
    /// it belongs to another ledger.
    Line(NewLine),
}

/// The live log of a chat after an import.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveAfterImport {
    /// The same context: its head and all its lines.
    Kept,
    /// Another context with these lines.
    New {
        /// The head of the log.
        head: Head,
        /// The lines of the log, in order.
        lines: Vec<NewLine>,
    },
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The end of the live log.
    pub position: Position,
    /// The name under which the live log before the import is sealed.
    pub sealed: SealedName,
    /// The imported logs, the oldest first.
    pub logs: Vec<SealedName>,
}

/// The reason why nothing was imported.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum ImportError {
    /// A line is refused.
    #[error(transparent)]
    Refused(#[from] RefusedInput),
    /// The import has a line before its first log, or no log.
    NoLog,
    /// A message with this id exists and has other content.
    Conflict {
        /// The id of both messages.
        id: MessageId,
        /// The line of the existing message; `None` if the import itself has both.
        seq: Option<Seq>,
    },
    /// The source could not go on.
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The log has moved on; the caller reads it and decides again.
    Moved {
        /// The chat of the log.
        chat: ChatKey,
        /// The end of the log that the caller expected.
        expected: Position,
        /// The end of the log that was found; `None` if the chat has no context.
        found: Option<Position>,
    },
    /// The live log cannot be published.
    Live(RotateError),
    /// The logs of the chat could not be read.
    Read(ReadError),
    /// The store does not import.
    Unsupported,
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<RotateError> for ImportError {
    fn from(error: RotateError) -> Self {
        match error {
            RotateError::Refused(error) => Self::Refused(error),
            RotateError::Storage(error) => Self::Storage(error),
            error => Self::Live(error),
        }
    }
}

impl Explain for ImportError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Refused(error) => error.explain(),
            Self::NoLog => Explanation::new("an import begins with the head of a log")
                .with_remedy("give the head before the lines"),
            Self::Conflict { id, seq } => {
                let place = seq.map_or("in the import".to_owned(), |seq| format!("at line {seq}"));
                Explanation::new(format!("message `{id}` is already {place} with other content"))
                    .with_remedy("give it another id")
            }
            Self::Source(error) => Explanation::new(error.to_string()),
            Self::Moved { chat, expected, found } => {
                let found = found.map_or("no context".to_owned(), |found| found.to_string());
                Explanation::new(format!(
                    "chat `{chat}` has moved on: expected {expected}, found {found}"
                ))
                .with_remedy("read it again")
            }
            Self::Live(error) => error.explain(),
            Self::Read(error) => error.explain(),
            Self::Unsupported => Explanation::new("this store does not import")
                .with_remedy("import into a chat of a project"),
            Self::Storage(error) => error.explain(),
        }
    }
}
