//! The error of every operation on a chat.

use ship_store::{
    AcceptError, AppendError, ChatKey, LaneError, OpenError, PurgeError, ReadError, RotateError,
    StorageError,
};

/// The reason why a chat could not be run. Accepted messages stay accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The chat cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another process runs the chat, and will see the new messages.
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The chat cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The ledger cannot be written.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// The context cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A context cannot be begun.
    #[error(transparent)]
    Rotate(#[from] RotateError),
    /// The journal cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// What was compacted cannot be purged.
    #[error(transparent)]
    Purge(#[from] PurgeError),
    /// The log that was just written does not exist.
    #[error(
        "the context of `{chat}` vanished while it was written; see that nothing else changes its files, then try again"
    )]
    Vanished {
        /// The key of the chat.
        chat: ChatKey,
    },
    /// Even the smallest request does not fit.
    #[error("{0}")]
    NoRoom(String),
    /// An operation on contexts is in the ledger, and could be neither performed nor answered.
    #[error(
        "{0}; what you asked for is kept, and the next command in this chat does it, if it is not done already"
    )]
    Kept(Box<Self>),
    /// No call waits for this answer.
    #[error("nothing in `{chat}` waits for `{id}`; it may have been answered already")]
    NotWaiting {
        /// The key of the chat.
        chat: ChatKey,
        /// The id of the call or the approval.
        id: String,
    },
}

impl RunError {
    /// Returns the error of the storage, if it is the cause.
    pub fn storage(&self) -> Option<&StorageError> {
        match self {
            Self::Open(OpenError::Storage(error))
            | Self::Lane(LaneError::Storage(error))
            | Self::Read(ReadError::Storage(error))
            | Self::Accept(AcceptError::Storage(error))
            | Self::Append(AppendError::Storage(error))
            | Self::Rotate(RotateError::Storage(error))
            | Self::Purge(PurgeError::Storage(error))
            | Self::Storage(error) => Some(error),
            Self::Kept(error) => error.storage(),
            _ => None,
        }
    }
}
