//! The errors of a conversation, one enum for each operation. Every message names the file and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::EntryError;
use crate::{Explain, Explanation};

/// The reason why a conversation could not be loaded. Its file is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum LoadConversationError {
    /// No file has this path.
    NotFound {
        /// The path where the file was expected.
        path: PathBuf,
    },
    /// The path is that of a symbolic link, a folder or a device.
    NotPlain {
        /// The path of the link, folder or device.
        path: PathBuf,
    },
    /// Another process, or another part of this one, has the file open for writing.
    InUse {
        /// The file that is in use.
        path: PathBuf,
    },
    /// A line is not an entry, and a crash cannot be the cause.
    Damaged {
        /// The file that is damaged.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: u64,
        /// The reason why the line is not an entry.
        source: EntryError,
    },
    /// The system reports any other error.
    Io {
        /// The operation as a verb, such as `lock`.
        doing: &'static str,
        /// The file of the operation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Explain for LoadConversationError {
    fn explain(&self) -> Explanation {
        match self {
            Self::NotFound { path } => {
                Explanation::new(format!("there is no conversation at {}", path.display()))
                    .with_remedy("check the path, or begin a new one there")
            }
            Self::NotPlain { path } => {
                Explanation::new(format!("{} is not a plain file", path.display()))
                    .with_remedy("give the path of the file itself, not of a link")
            }
            Self::InUse { path } => {
                Explanation::new(format!("{} is open for writing elsewhere", path.display()))
                    .with_remedy("close it there, read it with `Conversation::read`, or fork it")
            }
            Self::Damaged { path, line, .. } => {
                Explanation::new(format!("line {line} of {} is damaged", path.display()))
                    .with_remedy(
                        "correct or remove that line in a copy of the file, then load the copy",
                    )
            }
            Self::Io { doing, path, .. } => explain_io(doing, path),
        }
    }
}

/// The reason why a file for a conversation could not be created. No file was created.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum CreateError {
    /// The path is taken, and nothing is overwritten.
    Exists {
        /// The path that is taken.
        path: PathBuf,
    },
    /// The path does not end with the name of a file.
    NoName {
        /// The path that was given.
        path: PathBuf,
    },
    /// The conversation already has a file of its own.
    HasFile {
        /// The file of the conversation.
        path: PathBuf,
    },
    /// The system reports any other error.
    Io {
        /// The operation as a verb, such as `write`.
        doing: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Explain for CreateError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Exists { path } => Explanation::new(format!("{} exists already", path.display()))
                .with_remedy("load it, or choose another path"),
            Self::NoName { path } => Explanation::new(format!("{} names no file", path.display()))
                .with_remedy("give a path that ends with a file's name"),
            Self::HasFile { path } => {
                Explanation::new(format!("the conversation is kept in {} already", path.display()))
                    .with_remedy("fork it to have it elsewhere too")
            }
            Self::Io { doing, path, .. } => explain_io(doing, path),
        }
    }
}

/// The reason why nothing was appended. The conversation is unchanged, on disk and in memory.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum WriteError {
    /// The conversation was opened for reading.
    ReadOnly {
        /// The file of the conversation.
        path: PathBuf,
    },
    /// A message has the id of an entry in the conversation.
    IdTaken {
        /// The id that is taken.
        id: String,
    },
    /// The file is not as we left it: it was moved, deleted, or written by a program that takes no lock.
    Changed {
        /// The file that has changed.
        path: PathBuf,
    },
    /// The write failed and was undone.
    Failed {
        /// The file of the conversation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An earlier write failed and could not be undone yet.
    Unsettled {
        /// The file with the failed write.
        path: PathBuf,
        /// The error of the attempt to undo it.
        source: io::Error,
    },
}

impl Explain for WriteError {
    fn explain(&self) -> Explanation {
        match self {
            Self::ReadOnly { path } => {
                Explanation::new(format!("{} was opened read-only", path.display()))
                    .with_remedy("load it to write")
            }
            Self::IdTaken { id } => {
                Explanation::new(format!("the conversation has an entry `{id}` already"))
                    .with_remedy("give the message another id")
            }
            Self::Changed { path } => {
                Explanation::new(format!("{} was changed by another program", path.display()))
                    .with_remedy("load the conversation again")
            }
            Self::Failed { path, .. } => {
                Explanation::new(format!("failed to write to {}", path.display()))
                    .with_remedy("check the disk (is it full?), then try again")
            }
            Self::Unsettled { path, .. } => Explanation::new(format!(
                "{} accepts no writes until a failed one is rolled back",
                path.display()
            ))
            .with_remedy("check the disk, then try again or load it again"),
        }
    }
}

/// The reason why nothing was compacted. The conversation is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum CompactError {
    /// An end of the range is not a message of the conversation.
    Unknown {
        /// The id that is unknown.
        id: String,
    },
    /// The range ends before it begins.
    Backwards {
        /// The id of the first message in the range.
        from: String,
        /// The id of the last message in the range.
        to: String,
    },
    /// The range has no messages that a model is shown, except system messages, which are always shown.
    Nothing {
        /// The id of the first message in the range.
        from: String,
        /// The id of the last message in the range.
        to: String,
    },
    /// The range would separate a call from its result.
    PartsToolCall {
        /// The id of the call itself.
        call_id: String,
        /// The id of the message with the call.
        call: String,
        /// The id of the message with the result.
        result: String,
    },
    /// A call in the range has no result yet.
    OpenToolCall {
        /// The id of the call itself.
        call_id: String,
        /// The id of the message with the call.
        call: String,
    },
    /// The summary could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Explain for CompactError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Unknown { id } => {
                Explanation::new(format!("the conversation has no message `{id}`"))
                    .with_remedy("take the ids from `llm_messages`")
            }
            Self::Backwards { from, to } => {
                Explanation::new(format!("`{from}` comes after `{to}`"))
                    .with_remedy("give the earlier one first")
            }
            Self::Nothing { from, to } => {
                Explanation::new(format!("there is nothing to compact from `{from}` to `{to}`"))
                    .with_remedy("choose a range with messages in it")
            }
            Self::PartsToolCall { call_id, call, result } => Explanation::new(format!(
                "the range separates the call `{call_id}` in `{call}` from its result `{result}`"
            ))
            .with_remedy("include both, or neither"),
            Self::OpenToolCall { call_id, call } => {
                Explanation::new(format!("the call `{call_id}` in `{call}` has no result yet"))
                    .with_remedy(format!("append it first, or end the range before `{call}`"))
            }
            Self::Write(error) => error.explain(),
        }
    }
}

/// The reason why there is no fork. The conversation is unchanged, and no file was created.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum ForkError {
    /// The conversation has no checkpoint of this name.
    NoCheckpoint {
        /// The name that the caller gave.
        name: String,
        /// The names of the existing checkpoints.
        known: Vec<String>,
    },
    /// The file of the copy could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The copy could not be read.
    #[error(transparent)]
    Load(#[from] LoadConversationError),
}

impl Explain for ForkError {
    fn explain(&self) -> Explanation {
        match self {
            Self::NoCheckpoint { name, known } => {
                Explanation::new(format!("the conversation has no checkpoint `{name}`"))
                    .with_remedy(format!("it has {}", list_names(known)))
            }
            Self::Create(error) => error.explain(),
            Self::Load(error) => error.explain(),
        }
    }
}

fn explain_io(doing: &str, path: &Path) -> Explanation {
    Explanation::new(format!("failed to {doing} {}", path.display()))
        .with_remedy("check the disk and its permissions, then try again")
}

fn list_names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_of_an_error_stands_apart_and_is_printed_behind_the_problem() {
        let open = CompactError::OpenToolCall { call_id: "c".to_owned(), call: "m; n".to_owned() };
        let explained = open.explain();
        assert_eq!(explained.problem, "the call `c` in `m; n` has no result yet");
        let remedy = "append it first, or end the range before `m; n`";
        assert_eq!(explained.remedy.as_deref(), Some(remedy));
        assert_eq!(open.to_string(), format!("{}; {remedy}", explained.problem));

        let exists = ForkError::from(CreateError::Exists { path: PathBuf::from("a") });
        assert_eq!(exists.explain().problem, "a exists already");
        assert_eq!(exists.to_string(), "a exists already; load it, or choose another path");
    }
}
