//! What can go wrong, one enum for each verb.
//!
//! What any verb may meet (a full disk, a busy right, a newer format) is a [`StorageError`] inside it.
//! Every message is one line that names the thing and says what to do.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use rustix::io::Errno;

use crate::{ChatKey, Gen, LedgerSeq, MessageId, Position, Purged, Seq, Timestamp};

/// One of the two rights to a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// To change files, for the length of one operation.
    Write,
    /// To run the agent, for the length of a run.
    Lane,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "write right",
            Self::Lane => "lane",
        })
    }
}

/// Who holds a right, as the holder noted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// When it took the right.
    pub since: Timestamp,
    /// What for.
    pub purpose: String,
}

impl Holder {
    /// Says what gets a right back from a process that is stopped. Such a process heeds no signal but these two.
    pub fn remedy_if_stopped(&self) -> String {
        let pid = self.pid;
        format!("let it go on with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`")
    }
}

/// What can be told of the process that holds a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneHolder {
    /// As the holder noted it.
    pub holder: Holder,
    /// Whether its process is known to be stopped, as by Ctrl-Z.
    pub is_stopped: bool,
    /// When it last wrote: the context log, the journal, the records of requests, or its note in the lane. The
    /// ledger does not count, because it grows with every message that another process accepts.
    pub last_write: Option<Timestamp>,
}

impl LaneHolder {
    /// Returns whether nothing will come of waiting: the process is stopped, or has written nothing for longer than
    /// `deadline_ms`, in which each tool and each step should have ended.
    pub fn is_frozen(&self, now: Timestamp, deadline_ms: u64) -> bool {
        let quiet_ms = self.last_write.map(|wrote| now.millis().saturating_sub(wrote.millis()));
        let deadline_ms = i64::try_from(deadline_ms).unwrap_or(i64::MAX);
        self.is_stopped || quiet_ms.is_some_and(|quiet_ms| quiet_ms > deadline_ms)
    }
}

/// A right that somebody else held for as long as we waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// The chat.
    pub chat: ChatKey,
    /// Which of its rights.
    pub right: Right,
    /// Who has it; `None` if the holder left no readable note.
    pub holder: Option<Holder>,
    /// Whether the holder's process is known to be stopped, as by Ctrl-Z: it will not let go by itself.
    pub is_stopped: bool,
    /// How long we waited.
    pub waited_ms: u64,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chat, right, holder, is_stopped, waited_ms } = self;
        write!(f, "the {right} of chat `{chat}` is held by ")?;
        match holder {
            Some(Holder { pid, since, purpose }) => {
                write!(f, "process {pid} since {since} for `{purpose}`")?;
            }
            None => f.write_str("another process")?,
        }
        match holder.as_ref().filter(|_| *is_stopped) {
            Some(holder) => {
                let remedy = holder.remedy_if_stopped();
                write!(f, ", which is stopped (waited {waited_ms} ms); {remedy}, then try again")
            }
            None => write!(f, " (waited {waited_ms} ms); let it finish or end it, then try again"),
        }
    }
}

/// What any verb may meet below it. Nothing was acknowledged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Somebody else has the right that is needed.
    #[error("{0}")]
    Busy(Box<Busy>),
    /// No space, no inodes, a quota, or the limit on the size of files.
    #[error("{}, then try again", no_room(path, source))]
    Full {
        /// What could not be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file system takes no writes.
    #[error("{} is on a read-only file system; mount it writable or choose another project", path.display())]
    ReadOnly {
        /// What could not be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A symbolic link or something else that is no plain file or folder.
    #[error("{} is not a plain {expected}; we follow no symbolic links there: replace it by the {expected} itself", path.display())]
    NotPlain {
        /// What is in the way.
        path: PathBuf,
        /// What should be there.
        expected: &'static str,
    },
    /// A newer program wrote this.
    #[error("{} has format version {found}, and this program writes {known}; use a newer program to write (reading what it can is still possible)", path.display())]
    Newer {
        /// The file that says so.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// The folder belongs to another chat.
    #[error("{} belongs to chat `{owner}`, not to `{wanted}`; rename one of the two chats", path.display())]
    OtherChat {
        /// The file that says so.
        path: PathBuf,
        /// The key it holds.
        owner: String,
        /// The key that was asked for.
        wanted: ChatKey,
    },
    /// A file that should be there is missing, empty, or cannot be understood at all.
    #[error("{} is damaged: {what}; `ship repair` goes on with what can be read, or restore it from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// An earlier write failed and could not be taken back yet.
    #[error("{} is read-only until an earlier failed write is taken back ({cause}); check the disk, then try again", path.display())]
    Unsettled {
        /// The file.
        path: PathBuf,
        /// What failed.
        cause: String,
    },
    /// A log could not be kept under a second name, so nothing was changed.
    #[error("{} cannot be kept as {}, so nothing was changed: this file system has no hard links ({linking}), and a copy failed too: {copying}", path.display(), sealed.display())]
    CannotSeal {
        /// The log.
        path: PathBuf,
        /// Its second name.
        sealed: PathBuf,
        /// Why it could not be linked.
        linking: String,
        /// Why it could not be copied, and what to do.
        copying: String,
    },
    /// What was handed in for this file is at fault.
    #[error("nothing was written to {}: {refused}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        refused: RefusedInput,
    },
    /// The account has no right to it.
    #[error("this account may not {doing} {}; give it the permission, or use the account it belongs to", path.display())]
    Denied {
        /// What we did.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The process, or the system, has as many files open as it may.
    #[error("too many files are open to {doing} {}; close some or raise the limit with `ulimit -n 256`, then try again", path.display())]
    OpenFiles {
        /// What we did.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else the system said.
    #[error("failed to {doing} {}; check the disk, then try again", path.display())]
    Io {
        /// What we did.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StorageError {
    /// Sorts an error of the system by what can be done about it.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { path, source },
            io::ErrorKind::PermissionDenied => Self::Denied { doing, path, source },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path, source },
            io::ErrorKind::NotADirectory => Self::NotPlain { path, expected: "folder" },
            io::ErrorKind::IsADirectory => Self::NotPlain { path, expected: "file" },
            _ => match source.raw_os_error().map(Errno::from_raw_os_error) {
                // What O_NOFOLLOW answers to a symbolic link.
                Some(Errno::LOOP) => Self::NotPlain { path, expected: "file" },
                Some(Errno::MFILE | Errno::NFILE) => Self::OpenFiles { doing, path, source },
                _ => Self::Io { doing, path, source },
            },
        }
    }

    /// Returns a stable word for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy(_) => "storage_busy",
            Self::Full { .. } => "storage_full",
            Self::ReadOnly { .. } => "storage_readonly",
            Self::NotPlain { .. } => "storage_not_plain",
            Self::Newer { .. } => "storage_newer_format",
            Self::OtherChat { .. } => "storage_other_chat",
            Self::Damaged { .. } => "storage_damaged",
            Self::Unsettled { .. } => "storage_unsettled",
            Self::CannotSeal { .. } => "storage_cannot_seal",
            Self::Refused { .. } => "storage_refused",
            Self::Denied { .. } => "storage_denied",
            Self::OpenFiles { .. } => "storage_open_files",
            Self::Io { .. } => "storage_io",
        }
    }

    /// Tells of an earlier write that failed, if the disk still fails.
    pub(crate) fn after_failure(self, path: &Path, cause: String) -> Self {
        match self {
            Self::Damaged { .. }
            | Self::Newer { .. }
            | Self::OtherChat { .. }
            | Self::NotPlain { .. }
            | Self::CannotSeal { .. } => self,
            _ => Self::Unsettled { path: path.to_owned(), cause },
        }
    }

    /// A copy for each of those who waited for the same sync.
    pub(crate) fn share(&self) -> Self {
        let copy = |error: &io::Error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        match self {
            Self::Busy(busy) => Self::Busy(busy.clone()),
            Self::Full { path, source } => Self::Full { path: path.clone(), source: copy(source) },
            Self::ReadOnly { path, source } => {
                Self::ReadOnly { path: path.clone(), source: copy(source) }
            }
            Self::NotPlain { path, expected } => Self::NotPlain { path: path.clone(), expected },
            Self::Newer { path, found, known } => {
                Self::Newer { path: path.clone(), found: *found, known: *known }
            }
            Self::OtherChat { path, owner, wanted } => {
                Self::OtherChat { path: path.clone(), owner: owner.clone(), wanted: wanted.clone() }
            }
            Self::Damaged { path, what } => {
                Self::Damaged { path: path.clone(), what: what.clone() }
            }
            Self::Unsettled { path, cause } => {
                Self::Unsettled { path: path.clone(), cause: cause.clone() }
            }
            Self::CannotSeal { path, sealed, linking, copying } => Self::CannotSeal {
                path: path.clone(),
                sealed: sealed.clone(),
                linking: linking.clone(),
                copying: copying.clone(),
            },
            Self::Refused { path, refused } => {
                Self::Refused { path: path.clone(), refused: refused.clone() }
            }
            Self::Denied { doing, path, source } => {
                Self::Denied { doing, path: path.clone(), source: copy(source) }
            }
            Self::OpenFiles { doing, path, source } => {
                Self::OpenFiles { doing, path: path.clone(), source: copy(source) }
            }
            Self::Io { doing, path, source } => {
                Self::Io { doing, path: path.clone(), source: copy(source) }
            }
        }
    }
}

/// Says what there is no room for, and what makes room again.
fn no_room(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::FileTooLarge => format!(
            "{path} may not grow: it is as large as the process or the file system allows; raise the limit on the size \
             of files (`ulimit -f`)"
        ),
        io::ErrorKind::QuotaExceeded => {
            format!("no space left to write {path}; free some of your quota")
        }
        _ => format!("no space left to write {path}; free some space (and inodes)"),
    }
}

/// What is wrong with something that was handed in. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedInput {
    /// A field that only the store may write.
    #[error("the field `{0}` is reserved for the store; leave it out")]
    Reserved(String),
    /// It is not a message.
    #[error("this is no message: {0}; a message has a non-empty `id`, a `role` and `parts`")]
    NotAMessage(&'static str),
    /// It is over `limits.messageBytes`.
    #[error(
        "`{id}` has {bytes} bytes, and `limits.messageBytes` allows {max}; shorten it or raise the limit"
    )]
    TooLarge {
        /// The message or entry.
        id: String,
        /// How long it is.
        bytes: usize,
        /// What is allowed.
        max: usize,
    },
    /// What names it is longer than any name.
    #[error("an id or key has at most {max} bytes, and `{start}…` has {bytes}; shorten it")]
    LongName {
        /// How it begins.
        start: String,
        /// How long it is.
        bytes: usize,
        /// What is allowed.
        max: usize,
    },
    /// It would replace a message that is not there.
    #[error("no message `{0}` is there to be replaced; give `rev` 0 to say something new")]
    NothingToReplace(String),
    /// The same id would stand in a log twice.
    #[error("`{0}` is there twice; hand in each message once")]
    Twice(String),
    /// Lines shall be kept that the log does not have.
    #[error("the log has no lines {first} to {last}; read it again and keep what is there")]
    NoLines {
        /// The first.
        first: Seq,
        /// The last.
        last: Seq,
    },
    /// There is nothing in it.
    #[error("there is nothing to write; hand in at least one line")]
    Empty,
}

/// Why a list of chats could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The files could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a chat could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The files refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a lane could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneError {
    /// Another run holds it, or the files refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why something could not be read. Reading never changes anything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The files could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// No such sealed log, or one of which nothing can be read.
    #[error(
        "nothing can be read of sealed log `{name}` of chat `{chat}`; restore it from a copy, or go on without it"
    )]
    NoSealedLog {
        /// The chat.
        chat: ChatKey,
        /// The name that was asked for.
        name: String,
    },
    /// Its lines were purged on purpose.
    #[error(
        "sealed log `{name}` of chat `{chat}` is empty on purpose: {purged}; its messages cannot be brought back"
    )]
    Purged {
        /// The chat.
        chat: ChatKey,
        /// The sealed log.
        name: String,
        /// What is left to tell.
        purged: Purged,
    },
}

/// Why a sealed log was not purged. It is as it was, or only its tombstone is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PurgeError {
    /// The chat has no such sealed log: none of that name, or it is the live log or another chat's.
    #[error(
        "chat `{chat}` has no sealed log `{name}` to purge; name one that a rotation has sealed"
    )]
    NotSealed {
        /// The chat.
        chat: ChatKey,
        /// The name that was asked for.
        name: String,
    },
    /// The files refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a ledger entry was not accepted. It is not in the ledger, or was not acknowledged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// The entry itself is at fault.
    #[error(transparent)]
    Refused(#[from] RefusedInput),
    /// A delivery names an entry that is not there.
    #[error("chat `{chat}` has no ledger entry {entry}; name one that was accepted")]
    NoEntry {
        /// The chat.
        chat: ChatKey,
        /// The entry that was named.
        entry: LedgerSeq,
    },
    /// The files refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why an append was refused. Nothing of it was acknowledged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The batch itself is at fault.
    #[error(transparent)]
    Refused(#[from] RefusedInput),
    /// The log has moved on; read it and decide again.
    #[error("chat `{chat}` has moved on: expected {expected}, found {found}; read it again")]
    Moved {
        /// The chat.
        chat: ChatKey,
        /// What the caller expected.
        expected: Position,
        /// Where the log ends.
        found: Position,
    },
    /// A message names a ledger entry that is not there.
    #[error(
        "chat `{chat}` has no ledger entry {entry}; read the ledger again and promote what is there"
    )]
    NoEntry {
        /// The chat.
        chat: ChatKey,
        /// The entry that was named.
        entry: LedgerSeq,
    },
    /// The chat has no context yet.
    #[error("chat `{chat}` has no context yet; begin one with a rotation")]
    NoContext {
        /// The chat.
        chat: ChatKey,
    },
    /// A message with this id is there and says something else.
    #[error(
        "message `{id}` is already at line {seq} with other content; give `rev` {next_rev} to replace it"
    )]
    Conflict {
        /// The message.
        id: MessageId,
        /// Where it is.
        seq: Seq,
        /// The revision that would replace it.
        next_rev: u64,
    },
    /// The files refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a rotation was refused. The old log is as it was, or the new one is complete; opening the chat
/// tells which.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RotateError {
    /// What it brings is at fault.
    #[error(transparent)]
    Refused(#[from] RefusedInput),
    /// Another rotation came first.
    #[error(
        "chat `{chat}` was rotated meanwhile: expected {}, found {}; read it again",
        tell(expected),
        tell(found)
    )]
    Moved {
        /// The chat.
        chat: ChatKey,
        /// What the caller expected.
        expected: Option<Gen>,
        /// What is there.
        found: Option<Gen>,
    },
    /// A message names a ledger entry that is not there.
    #[error(
        "chat `{chat}` has no ledger entry {entry}; read the ledger again and promote what is there"
    )]
    NoEntry {
        /// The chat.
        chat: ChatKey,
        /// The entry that was named.
        entry: LedgerSeq,
    },
    /// Lines shall be copied from a chat that is not there.
    #[error("there is no chat `{0}` to copy from; see `ship chats`")]
    NoChat(ChatKey),
    /// What shall be copied is not there any more, or never was.
    #[error(transparent)]
    Source(ReadError),
    /// The files refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
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

fn tell(generation: &Option<Gen>) -> String {
    generation.map_or_else(|| "no context".to_owned(), |number| format!("generation {number}"))
}

/// Why a blob could not be kept or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// There is no blob of that digest.
    #[error("blob {0} is missing; restore `.ship/blobs` from a copy")]
    Missing(String),
    /// Its bytes do not have the digest that names it.
    #[error("blob {0} has other bytes than its name says; restore `.ship/blobs` from a copy")]
    Damaged(String),
    /// The files refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_permission_is_told_apart_from_a_disk_that_fails() {
        let told = |kind: io::ErrorKind| {
            let error = StorageError::io("read", "a/b.jsonl", kind.into());
            (error.code(), error.to_string())
        };
        let (code, denied) = told(io::ErrorKind::PermissionDenied);
        assert_eq!(code, "storage_denied");
        assert!(denied.starts_with("this account may not read a/b.jsonl; "), "{denied}");
        assert!(!denied.contains("disk"), "{denied}");
        assert_eq!(told(io::ErrorKind::Other).0, "storage_io");
    }

    #[test]
    fn a_holder_is_frozen_when_it_is_stopped_or_was_quiet_for_too_long() {
        let wrote = |millis| Some(Timestamp::from_millis(millis));
        let now = Timestamp::from_millis(10_000);
        for (is_stopped, last_write, frozen) in [
            (false, wrote(9_000), false),
            (false, wrote(8_999), true),
            (true, wrote(9_999), true),
            // A clock that was set back, and a disk that keeps no times, tell nothing.
            (false, wrote(99_000), false),
            (false, None, false),
        ] {
            let holder = Holder { pid: 1, since: now, purpose: "run".to_owned() };
            let holder = LaneHolder { holder, is_stopped, last_write };
            assert_eq!(holder.is_frozen(now, 1_000), frozen, "{holder:?}");
        }
    }

    #[test]
    fn a_file_that_may_not_grow_is_not_told_as_a_full_disk() {
        let error = StorageError::io("write", "a/b.jsonl", Errno::FBIG.into()).to_string();
        assert!(error.starts_with("a/b.jsonl may not grow: "), "{error}");
        assert!(!error.contains("no space"), "{error}");
    }

    #[test]
    fn full_read_only_and_other_disks_have_codes_of_their_own() {
        for (errno, code, remedy) in [
            (Errno::NOSPC, "storage_full", "free some space"),
            (Errno::DQUOT, "storage_full", "your quota"),
            (Errno::FBIG, "storage_full", "`ulimit -f`"),
            (Errno::ROFS, "storage_readonly", "mount it writable"),
            (Errno::ACCESS, "storage_denied", "give it the permission"),
            (Errno::MFILE, "storage_open_files", "`ulimit -n 256`"),
            (Errno::IO, "storage_io", "check the disk"),
        ] {
            let error = StorageError::io("write", "a/b.jsonl", errno.into());
            assert_eq!(error.code(), code, "{errno:?}");
            assert_eq!(error.share().code(), code, "{errno:?}");
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }
}
