//! Why an agent could not go to a conversation, or say something in it.

use std::path::PathBuf;

use ship_store::conversation::{CreateError, ForkError, LoadConversationError, WriteError};
use ship_store::{AppendError, StorageError};

use crate::error::RunError;

/// Why an agent could not go to a conversation, or go on in it. Each says what to do about it.
///
/// An agent that could not go stays where it was, unless the variant says so. What could not be written
/// was not said, and can be said again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// A new conversation could not be made.
    #[error(transparent)]
    New(#[from] CreateError),
    /// A conversation could not be loaded; for one, because somebody else has it open.
    #[error(transparent)]
    Load(#[from] LoadConversationError),
    /// A conversation could not be forked.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The conversation could not be written.
    #[error(transparent)]
    Write(WriteError),
    /// Nothing can be said while a run waits for a person's word or for a tool of the client.
    #[error(
        "a tool call in {place} waits for an answer; give it with `Agent::decide`, then say this again"
    )]
    Waiting {
        /// The conversation.
        place: String,
    },
    /// The agent was to load anew the file it was in, which failed, so that it is in no conversation.
    #[error("{} was left to load it anew, which failed; load it again, or begin another conversation", path.display())]
    Nowhere {
        /// The file.
        path: PathBuf,
    },
    /// The run could not go on.
    #[error(transparent)]
    Run(RunError),
}

impl From<WriteError> for ConversationError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

/// A failed write comes out of the engine as a failed append; its own words say better what to do.
impl From<RunError> for ConversationError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Append(AppendError::Storage(StorageError::Io { doing, path, source })) => {
                match source.downcast() {
                    Ok(written) => Self::Write(written),
                    Err(source) => {
                        Self::Run(RunError::Append(StorageError::Io { doing, path, source }.into()))
                    }
                }
            }
            error => Self::Run(error),
        }
    }
}
