//! The errors of the store, one enum for each operation.
//!
//! An error that any operation can meet (a full disk, a busy right, a newer format) is a [`StorageError`] inside
//! its enum. Every message is one line that names the file or chat and says what to do.

mod holder;
mod memory;
mod refused_input;
mod storage;

pub use holder::{Busy, Holder, LaneHolder, Right};
pub use memory::MemoryError;
pub use refused_input::RefusedInput;
pub use storage::StorageError;
pub(crate) use storage::place;

use crate::{ChatKey, Explain, Explanation, Gen, LedgerSeq, MessageId, Position, Purged, Seq};

/// The reason why a lane could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum LaneError {
    /// Another run holds the lane, or the files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for LaneError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Storage(error) => error.explain(),
        }
    }
}

/// The reason why a log could not be read. Reading changes no file.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum ReadError {
    /// The files could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The sealed log does not exist, or nothing in it can be read.
    NoSealedLog {
        /// The chat that was read.
        chat: ChatKey,
        /// The name of the sealed log.
        name: String,
    },
    /// The lines of the sealed log were purged on purpose.
    Purged {
        /// The chat that was read.
        chat: ChatKey,
        /// The name of the sealed log.
        name: String,
        /// The time, the author and the extent of the purge.
        purged: Purged,
    },
}

impl Explain for ReadError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Storage(error) => error.explain(),
            Self::NoSealedLog { chat, name } => Explanation::new(format!(
                "nothing can be read of sealed log `{name}` of chat `{chat}`"
            ))
            .with_remedy("restore it from a copy, or go on without it"),
            Self::Purged { chat, name, purged } => Explanation::new(format!(
                "sealed log `{name}` of chat `{chat}` is empty on purpose: {purged}"
            ))
            .with_remedy("its messages cannot be brought back"),
        }
    }
}

/// The reason why a sealed log was not purged. The log is unchanged, or only its tombstone is left.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum PurgeError {
    /// The chat has no such sealed log: no log has this name, or it is the live log or another chat's.
    NotSealed {
        /// The chat with the purge.
        chat: ChatKey,
        /// The name that the caller gave.
        name: String,
    },
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for PurgeError {
    fn explain(&self) -> Explanation {
        match self {
            Self::NotSealed { chat, name } => {
                Explanation::new(format!("chat `{chat}` has no sealed log `{name}` to purge"))
                    .with_remedy("name one that a rotation has sealed")
            }
            Self::Storage(error) => error.explain(),
        }
    }
}

/// The reason why a ledger entry was not accepted. It is not in the ledger, or was not acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum AcceptError {
    /// The entry itself is refused.
    #[error(transparent)]
    Refused(#[from] RefusedInput),
    /// A delivery names a ledger entry that does not exist.
    NoEntry {
        /// The chat of the ledger.
        chat: ChatKey,
        /// The entry that the delivery names.
        entry: LedgerSeq,
    },
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for AcceptError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Refused(error) => error.explain(),
            Self::NoEntry { chat, entry } => {
                Explanation::new(format!("chat `{chat}` has no ledger entry {entry}"))
                    .with_remedy("name one that was accepted")
            }
            Self::Storage(error) => error.explain(),
        }
    }
}

/// The reason why an append was refused. No line of it was acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum AppendError {
    /// The batch itself is refused.
    #[error(transparent)]
    Refused(#[from] RefusedInput),
    /// The log has moved on; the caller reads it and decides again.
    Moved {
        /// The chat of the log.
        chat: ChatKey,
        /// The end of the log that the caller expected.
        expected: Position,
        /// The end of the log that was found.
        found: Position,
    },
    /// A message names a ledger entry that does not exist.
    NoEntry {
        /// The chat of the ledger.
        chat: ChatKey,
        /// The entry that the message names.
        entry: LedgerSeq,
    },
    /// The chat has no context yet.
    NoContext {
        /// The chat without a context.
        chat: ChatKey,
    },
    /// A message with this id exists and has other content.
    Conflict {
        /// The id of both messages.
        id: MessageId,
        /// The line of the existing message.
        seq: Seq,
        /// The revision with which the new message would replace it.
        next_rev: u64,
    },
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for AppendError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Refused(error) => error.explain(),
            Self::Moved { chat, expected, found } => Explanation::new(format!(
                "chat `{chat}` has moved on: expected {expected}, found {found}"
            ))
            .with_remedy("read it again"),
            Self::NoEntry { chat, entry } => {
                Explanation::new(format!("chat `{chat}` has no ledger entry {entry}"))
                    .with_remedy("read the ledger again and promote what is there")
            }
            Self::NoContext { chat } => {
                Explanation::new(format!("chat `{chat}` has no context yet"))
                    .with_remedy("begin one with a rotation")
            }
            Self::Conflict { id, seq, next_rev } => Explanation::new(format!(
                "message `{id}` is already at line {seq} with other content"
            ))
            .with_remedy(format!("give `rev` {next_rev} to replace it")),
            Self::Storage(error) => error.explain(),
        }
    }
}

/// The reason why a rotation was refused. The old log is unchanged, or the new one is complete; opening
/// the chat tells which.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum RotateError {
    /// The content of the rotation is refused.
    #[error(transparent)]
    Refused(#[from] RefusedInput),
    /// Another rotation came first.
    Moved {
        /// The chat of the log.
        chat: ChatKey,
        /// The generation that the caller expected.
        expected: Option<Gen>,
        /// The generation that was found.
        found: Option<Gen>,
    },
    /// A message names a ledger entry that does not exist.
    NoEntry {
        /// The chat of the ledger.
        chat: ChatKey,
        /// The entry that the message names.
        entry: LedgerSeq,
    },
    /// The rotation copies lines of a chat that does not exist.
    NoChat(ChatKey),
    /// The log from which lines are copied cannot be read.
    #[error(transparent)]
    Source(ReadError),
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for RotateError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Refused(error) => error.explain(),
            Self::Moved { chat, expected, found } => Explanation::new(format!(
                "chat `{chat}` was rotated meanwhile: expected {}, found {}",
                generation_text(expected),
                generation_text(found)
            ))
            .with_remedy("read it again"),
            Self::NoEntry { chat, entry } => {
                Explanation::new(format!("chat `{chat}` has no ledger entry {entry}"))
                    .with_remedy("read the ledger again and promote what is there")
            }
            Self::NoChat(it) => Explanation::new(format!("there is no chat `{it}` to copy from"))
                .with_remedy("see `ship chats`"),
            Self::Source(error) => error.explain(),
            Self::Storage(error) => error.explain(),
        }
    }
}

impl From<ReadError> for RotateError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Storage(error) => Self::Storage(error),
            error @ (ReadError::NoSealedLog { .. } | ReadError::Purged { .. }) => {
                Self::Source(error)
            }
        }
    }
}

fn generation_text(generation: &Option<Gen>) -> String {
    generation.map_or_else(|| "no context".to_owned(), |number| format!("generation {number}"))
}

/// The reason why a blob could not be stored or read.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum BlobError {
    /// No blob has this digest.
    Missing(String),
    /// The bytes of the blob do not have its digest.
    Damaged(String),
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for BlobError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Missing(it) => Explanation::new(format!("blob {it} is missing"))
                .with_remedy("restore `.ship/blobs` from a backup"),
            Self::Damaged(it) => Explanation::new(format!("blob {it} does not match its checksum"))
                .with_remedy("restore `.ship/blobs` from a backup"),
            Self::Storage(error) => error.explain(),
        }
    }
}
