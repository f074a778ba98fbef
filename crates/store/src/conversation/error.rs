//! The errors of a conversation, one enum for each operation. Every message names the file and says what to do.

use std::io;
use std::path::PathBuf;

use super::EntryError;

/// The reason why a conversation could not be loaded. Its file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadConversationError {
    /// No file has this path.
    #[error("there is no conversation at {}; check the path, or begin a new one there", path.display())]
    NotFound {
        /// The path where the file was expected.
        path: PathBuf,
    },
    /// The path is that of a symbolic link, a folder or a device.
    #[error("{} is not a plain file; give the path of the file itself, not of a link", path.display())]
    NotPlain {
        /// The path of the link, folder or device.
        path: PathBuf,
    },
    /// Another process, or another part of this one, has the file open for writing.
    #[error("{} is open for writing elsewhere; close it there, read it with `Conversation::read`, or fork it", path.display())]
    InUse {
        /// The file that is in use.
        path: PathBuf,
    },
    /// A line is not an entry, and a crash cannot be the cause.
    #[error("line {line} of {} is damaged; correct or remove that line in a copy of the file, then load the copy", path.display())]
    Damaged {
        /// The file that is damaged.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: u64,
        /// The reason why the line is not an entry.
        source: EntryError,
    },
    /// The system reports any other error.
    #[error("failed to {doing} {}; check the disk and its permissions, then try again", path.display())]
    Io {
        /// The operation as a verb, such as `lock`.
        doing: &'static str,
        /// The file of the operation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The reason why a file for a conversation could not be created. No file was created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The path is taken, and nothing is overwritten.
    #[error("{} exists already; load it, or choose another path", path.display())]
    Exists {
        /// The path that is taken.
        path: PathBuf,
    },
    /// The path does not end with the name of a file.
    #[error("{} names no file; give a path that ends with a file's name", path.display())]
    NoName {
        /// The path that was given.
        path: PathBuf,
    },
    /// The conversation already has a file of its own.
    #[error("the conversation is kept in {} already; fork it to have it elsewhere too", path.display())]
    HasFile {
        /// The file of the conversation.
        path: PathBuf,
    },
    /// The system reports any other error.
    #[error("failed to {doing} {}; check the disk and its permissions, then try again", path.display())]
    Io {
        /// The operation as a verb, such as `write`.
        doing: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The reason why nothing was appended. The conversation is unchanged, on disk and in memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The conversation was opened for reading.
    #[error("{} was opened to read; load it to write", path.display())]
    ReadOnly {
        /// The file of the conversation.
        path: PathBuf,
    },
    /// A message has the id of an entry in the conversation.
    #[error("the conversation has an entry `{id}` already; give the message another id")]
    IdTaken {
        /// The id that is taken.
        id: String,
    },
    /// The file is not as we left it: it was moved, deleted, or written by a program that takes no lock.
    #[error("{} was changed by another program; load the conversation again", path.display())]
    Changed {
        /// The file that has changed.
        path: PathBuf,
    },
    /// The write failed and was undone.
    #[error("failed to write to {}; check the disk (is it full?), then try again", path.display())]
    Failed {
        /// The file of the conversation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An earlier write failed and could not be undone yet.
    #[error("{} takes no writes until a failed one is taken back; check the disk, then try again or load it again", path.display())]
    Unsettled {
        /// The file with the failed write.
        path: PathBuf,
        /// The error of the attempt to undo it.
        source: io::Error,
    },
}

/// The reason why nothing was compacted. The conversation is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// An end of the range is not a message of the conversation.
    #[error("the conversation has no message `{id}`; take the ids from `llm_messages`")]
    Unknown {
        /// The id that is unknown.
        id: String,
    },
    /// The range ends before it begins.
    #[error("`{from}` comes after `{to}`; give the earlier one first")]
    Backwards {
        /// The id of the first message in the range.
        from: String,
        /// The id of the last message in the range.
        to: String,
    },
    /// The range has no messages that a model is shown, except system messages, which are always shown.
    #[error(
        "there is nothing to compact from `{from}` to `{to}`; choose a range with messages in it"
    )]
    Nothing {
        /// The id of the first message in the range.
        from: String,
        /// The id of the last message in the range.
        to: String,
    },
    /// The range would separate a call from its result.
    #[error(
        "the range parts the call `{call_id}` in `{call}` from its result `{result}`; take both in, or neither"
    )]
    PartsToolCall {
        /// The id of the call itself.
        call_id: String,
        /// The id of the message with the call.
        call: String,
        /// The id of the message with the result.
        result: String,
    },
    /// A call in the range has no result yet.
    #[error(
        "the call `{call_id}` in `{call}` has no result yet; append it first, or end the range before `{call}`"
    )]
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

/// The reason why there is no fork. The conversation is unchanged, and no file was created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// The conversation has no checkpoint of this name.
    #[error("the conversation has no checkpoint `{name}`; it has {}", list_names(known))]
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

fn list_names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}
