//! What can go wrong, one enum for each verb. Every message names the thing and says what to do.

use std::io;
use std::path::PathBuf;

use super::EntryError;

/// Why a conversation could not be loaded. Its file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadConversationError {
    /// There is no such file.
    #[error("there is no conversation at {}; check the path, or begin a new one there", path.display())]
    NotFound {
        /// Where it should be.
        path: PathBuf,
    },
    /// A symbolic link, a folder or a device.
    #[error("{} is not a plain file; give the path of the file itself, not of a link", path.display())]
    NotPlain {
        /// What is there.
        path: PathBuf,
    },
    /// Another process, or another part of this one, writes it.
    #[error("{} is open for writing elsewhere; close it there, read it with `Conversation::read`, or fork it", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A line is no entry, and no crash can be the cause.
    #[error("line {line} of {} is damaged; correct or remove that line in a copy of the file, then load the copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        source: EntryError,
    },
    /// Anything else the system said.
    #[error("failed to {doing} {}; check the disk and its permissions, then try again", path.display())]
    Io {
        /// What we did.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a file for a conversation could not be made. Nothing was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// Something is there already, and it is not overwritten.
    #[error("{} exists already; load it, or choose another path", path.display())]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// The path names no file.
    #[error("{} names no file; give a path that ends with a file's name", path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// The conversation has a file of its own.
    #[error("the conversation is kept in {} already; fork it to have it elsewhere too", path.display())]
    HasFile {
        /// Its file.
        path: PathBuf,
    },
    /// Anything else the system said.
    #[error("failed to {doing} {}; check the disk and its permissions, then try again", path.display())]
    Io {
        /// What we did.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why nothing was appended. The conversation is as it was, on disk and in memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// It was opened to read.
    #[error("{} was opened to read; load it to write", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A message has an id that is in the conversation.
    #[error("the conversation has an entry `{id}` already; give the message another id")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// The file is not what we left: moved, deleted, or written by somebody who takes no lock.
    #[error("{} was changed by another program; load the conversation again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The write failed and was taken back.
    #[error("failed to write to {}; check the disk (is it full?), then try again", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An earlier write failed and could not be taken back yet.
    #[error("{} takes no writes until a failed one is taken back; check the disk, then try again or load it again", path.display())]
    Unsettled {
        /// The file.
        path: PathBuf,
        /// What the system said when it was to be taken back.
        source: io::Error,
    },
}

/// Why nothing was compacted. The conversation is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// An end of the range is not a message of the conversation.
    #[error("the conversation has no message `{id}`; take the ids from `llm_messages`")]
    Unknown {
        /// The id.
        id: String,
    },
    /// The range ends before it begins.
    #[error("`{from}` comes after `{to}`; give the earlier one first")]
    Backwards {
        /// The first of the range.
        from: String,
        /// The last of the range.
        to: String,
    },
    /// No message in the range is shown to a model, or only the system's, which always is.
    #[error(
        "there is nothing to compact from `{from}` to `{to}`; choose a range with messages in it"
    )]
    Nothing {
        /// The first of the range.
        from: String,
        /// The last of the range.
        to: String,
    },
    /// A call and its result would be on different sides.
    #[error(
        "the range parts the call `{call_id}` in `{call}` from its result `{result}`; take both in, or neither"
    )]
    PartsToolCall {
        /// The call's own id.
        call_id: String,
        /// The message that makes the call.
        call: String,
        /// The message that answers it.
        result: String,
    },
    /// The result of a call in the range is still to come.
    #[error(
        "the call `{call_id}` in `{call}` has no result yet; append it first, or end the range before `{call}`"
    )]
    OpenToolCall {
        /// The call's own id.
        call_id: String,
        /// The message that makes the call.
        call: String,
    },
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Why there is no fork. The conversation is as it was, and nothing was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// There is no such checkpoint.
    #[error("the conversation has no checkpoint `{name}`; it has {}", listed(known))]
    NoCheckpoint {
        /// The name that was asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The copy could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The copy could not be read.
    #[error(transparent)]
    Load(#[from] LoadConversationError),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}
