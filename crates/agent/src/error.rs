//! The error of every operation on a chat.

use ship_store::{
    AcceptError, AppendError, ChatKey, LaneError, LaneHolder, OpenError, PurgeError, ReadError,
    Right, RotateError, StorageError,
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
    /// The process that runs the chat is stopped, or has written nothing for longer than a tool may take.
    #[error("process {} runs this chat and does not go on", .0.holder.pid)]
    Frozen(Box<LaneHolder>),
    /// Nothing waits for this answer.
    #[error("nothing in `{chat}` waits for `{id}`; it may have been answered already")]
    NotWaiting {
        /// The key of the chat.
        chat: ChatKey,
        /// The id of the call or the approval.
        id: String,
    },
}

impl RunError {
    /// Whether another process runs the chat, which will see what has come in. One that was stopped in the middle of
    /// a write will not.
    pub fn is_elsewhere(&self) -> bool {
        let Self::Lane(LaneError::Storage(StorageError::Busy(busy))) = self else { return false };
        !(busy.right == Right::Write && busy.is_stopped)
    }

    /// Returns what the files refused, if that is why.
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
