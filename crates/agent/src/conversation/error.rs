//! The error of an agent in a conversation.

use std::path::PathBuf;

use ship_store::conversation::{CreateError, ForkError, LoadConversationError, WriteError};
use ship_store::{AppendError, Explain, Explanation, StorageError};

use crate::error::RunError;

/// The reason why an agent could not open a conversation, or continue in it. Each message says what to do.
///
/// After a failure to open another conversation, the agent stays in its own, unless the variant says otherwise. A
/// message that could not be written was not said, and can be said again.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum ConversationError {
    /// A new conversation could not be made.
    #[error(transparent)]
    New(#[from] CreateError),
    /// A conversation could not be loaded; for example, because another process has it open.
    #[error(transparent)]
    Load(#[from] LoadConversationError),
    /// A conversation could not be forked.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The conversation could not be written.
    #[error(transparent)]
    Write(WriteError),
    /// A run waits for a person's approval or for a tool of the client, so nothing can be said now.
    Waiting {
        /// The path of the conversation's file, or `memory`.
        place: String,
    },
    /// The agent left its file to load it again, and that failed, so it is in no conversation now.
    Nowhere {
        /// The file that the agent left.
        path: PathBuf,
    },
    /// The run could not continue.
    #[error(transparent)]
    Run(RunError),
}

impl Explain for ConversationError {
    fn explain(&self) -> Explanation {
        match self {
            Self::New(error) => error.explain(),
            Self::Load(error) => error.explain(),
            Self::Fork(error) => error.explain(),
            Self::Write(error) => error.explain(),
            Self::Waiting { place } => {
                Explanation::new(format!("a tool call in {place} waits for an answer"))
                    .with_remedy("answer it with `conversation().answer(…)`, then send this again")
            }
            Self::Nowhere { path } => {
                Explanation::new(format!("{} could not be loaded again", path.display()))
                    .with_remedy("load it again, or begin another conversation")
            }
            Self::Run(error) => error.explain(),
        }
    }
}

impl From<WriteError> for ConversationError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

/// Unwraps a failed write, which the engine reports as a failed append: its own message says better what to do.
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
