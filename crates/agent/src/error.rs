//! The error of every operation on a chat.

use ship_store::{
    AcceptError, AppendError, ChatKey, Explain, Explanation, LaneError, LaneHolder, PurgeError,
    ReadError, Right, RotateError, StorageError,
};

/// The reason why a chat could not be run. Accepted messages stay accepted.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum RunError {
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
    /// The chat cannot be opened, or its journal cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// What was compacted cannot be purged.
    #[error(transparent)]
    Purge(#[from] PurgeError),
    /// The log that was just written does not exist.
    Vanished {
        /// The key of the chat.
        chat: ChatKey,
    },
    /// Even the smallest request does not fit.
    NoRoom(Explanation),
    /// An operation on contexts is in the ledger, and could be neither performed nor answered.
    Kept(Box<Self>),
    /// The process that runs the chat is stopped, or has written nothing for longer than a tool may take.
    Frozen(Box<LaneHolder>),
    /// Nothing waits for this answer.
    NotWaiting {
        /// The key of the chat.
        chat: ChatKey,
        /// The id of the call or the approval.
        id: String,
    },
}

impl Explain for RunError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Lane(error) => error.explain(),
            Self::Read(error) => error.explain(),
            Self::Accept(error) => error.explain(),
            Self::Append(error) => error.explain(),
            Self::Rotate(error) => error.explain(),
            Self::Storage(error) => error.explain(),
            Self::Purge(error) => error.explain(),
            Self::Vanished { chat } => Explanation::new(format!("the context of `{chat}` disappeared during a write")).with_remedy("make sure that nothing else changes its files, then try again"),
            Self::NoRoom(why) => why.clone(),
            Self::Kept(error) => Explanation::new(error.to_string()).with_remedy("what you asked for is kept; unless it is done already, the next command in this chat does it"),
            Self::Frozen(lane) => Explanation::new(format!("{} holds this chat and makes no progress", lane.holder)),
            Self::NotWaiting { chat, id } => Explanation::new(format!("nothing in `{chat}` is waiting for `{id}`")).with_remedy("it may have been answered already"),
        }
    }
}

impl RunError {
    /// Whether another process runs the chat, which will see what has come in. One that was stopped in the middle of
    /// a write will not. A process that lost its lane counts as one that never had it.
    pub fn is_elsewhere(&self) -> bool {
        match self {
            Self::Lane(LaneError::Storage(StorageError::Busy(busy))) => {
                !(busy.right == Right::Write && busy.is_stopped)
            }
            _ => matches!(self.storage(), Some(StorageError::LaneLost { .. })),
        }
    }

    /// Returns what the files refused, if that is why.
    pub fn storage(&self) -> Option<&StorageError> {
        match self {
            Self::Lane(LaneError::Storage(error))
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
