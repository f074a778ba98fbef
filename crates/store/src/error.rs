//! The errors of the store, one enum for each operation.
//!
//! An error that any operation can meet (a full disk, a busy right, a newer format) is a [`StorageError`] inside
//! its enum. Every message is one line that names the file or chat and says what to do.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use rustix::io::Errno;

use crate::{
    ChatKey, Explain, Explanation, Gen, LedgerSeq, MessageId, Position, Purged, Seq, Timestamp,
};

/// One of the two rights that a process can hold on a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// The right to change files, held for one operation.
    Write,
    /// The right to run the agent, held for one run.
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

/// The process that holds a right, as it describes itself in the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The id of the process.
    pub pid: u32,
    /// The time at which it took the right.
    pub since: Timestamp,
    /// The purpose that it gave, such as `run`.
    pub purpose: String,
}

impl Holder {
    /// Returns how a person gets the right back from a stopped process, which reacts to no other
    /// signals than these two.
    pub fn remedy_if_stopped(&self) -> String {
        let pid = self.pid;
        format!("let it go on with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`")
    }
}

/// The process that holds a lane, and whether it is still at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneHolder {
    /// The holder as it describes itself in the lock file.
    pub holder: Holder,
    /// Whether the process is known to be stopped, as by Ctrl-Z.
    pub is_stopped: bool,
    /// The time of its last write to the context log, the journal, the records of requests, or the lock file. The
    /// ledger does not count, because it grows with each message that another process accepts.
    pub last_write: Option<Timestamp>,
}

impl LaneHolder {
    /// Whether waiting is useless: the process is stopped, or has written nothing for longer than `deadline_ms`,
    /// the time in which each tool and each step should have ended.
    pub fn is_frozen(&self, now: Timestamp, deadline_ms: u64) -> bool {
        let quiet_ms = self.last_write.map(|wrote| now.millis().saturating_sub(wrote.millis()));
        let deadline_ms = i64::try_from(deadline_ms).unwrap_or(i64::MAX);
        self.is_stopped || quiet_ms.is_some_and(|quiet_ms| quiet_ms > deadline_ms)
    }
}

/// Another process held a right for as long as we waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// The chat that the right belongs to.
    pub chat: ChatKey,
    /// The right that was wanted.
    pub right: Right,
    /// The process that holds it; `None` if the lock file has no readable note.
    pub holder: Option<Holder>,
    /// Whether the holder is known to be stopped, as by Ctrl-Z; then it does not release the right by itself.
    pub is_stopped: bool,
    /// The time that we waited before giving up.
    pub waited_ms: u64,
}

impl Explain for Busy {
    fn explain(&self) -> Explanation {
        let Self { chat, right, holder, is_stopped, waited_ms } = self;
        let who = match holder {
            Some(Holder { pid, since, purpose }) => {
                format!("process {pid} since {since} for `{purpose}`")
            }
            None => "another process".to_owned(),
        };
        let held = format!("the {right} of chat `{chat}` is held by {who}");
        match holder.as_ref().filter(|_| *is_stopped) {
            Some(holder) => {
                Explanation::new(format!("{held}, which is stopped (waited {waited_ms} ms)"))
                    .with_remedy(format!("{}, then try again", holder.remedy_if_stopped()))
            }
            None => Explanation::new(format!("{held} (waited {waited_ms} ms)"))
                .with_remedy("let it finish or end it, then try again"),
        }
    }
}

/// An error that every operation can meet. Nothing was acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum StorageError {
    /// Another process holds the right that is needed.
    Busy(Box<Busy>),
    /// The file of a lock was removed or replaced while we held the lock, so another process can take it too.
    LockLost {
        /// The file that was locked.
        path: PathBuf,
    },
    /// There is no space or no inode left, or a quota or the limit on the size of files is reached.
    Full {
        /// The file that could not be written.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file system is mounted read-only.
    ReadOnly {
        /// The file that could not be written.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is a symbolic link, a device or the like where a plain file or folder is expected.
    NotPlain {
        /// The path of the link or device.
        path: PathBuf,
        /// The expected kind: `file` or `folder`.
        expected: &'static str,
    },
    /// A newer program wrote the file in a newer format.
    Newer {
        /// The file with the newer format.
        path: PathBuf,
        /// The format version of the file.
        found: u64,
        /// The highest format version that this program knows.
        known: u64,
    },
    /// The folder belongs to another chat.
    OtherChat {
        /// The file that names the other chat.
        path: PathBuf,
        /// The key in that file.
        owner: String,
        /// The key of the chat that was opened.
        wanted: ChatKey,
    },
    /// A file is missing, empty, or cannot be understood at all.
    Damaged {
        /// The file that is damaged.
        path: PathBuf,
        /// A description of the damage, without a remedy.
        what: String,
    },
    /// An earlier write failed and could not be undone yet.
    Unsettled {
        /// The file with the failed write.
        path: PathBuf,
        /// The error of the earlier write.
        cause: String,
    },
    /// A log could not be sealed under a second name, so nothing was changed.
    CannotSeal {
        /// The log that was to be sealed.
        path: PathBuf,
        /// The name that it should have got.
        sealed: PathBuf,
        /// The reason why it could not be linked.
        linking: String,
        /// The reason why it could not be copied.
        copying: Box<Explanation>,
    },
    /// The content for this file is refused.
    Refused {
        /// The file that was not written.
        path: PathBuf,
        /// The reason for the refusal.
        refused: RefusedInput,
    },
    /// The account lacks the permission.
    Denied {
        /// The operation as a verb, such as `read`.
        doing: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The process or the system has as many files open as its limit allows.
    OpenFiles {
        /// The operation as a verb, such as `open`.
        doing: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The system reports any other error.
    Io {
        /// The operation as a verb, such as `sync`.
        doing: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Explain for StorageError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Busy(busy) => busy.explain(),
            Self::LockLost { path } => Explanation::new(format!(
                "{} was removed or replaced while this process held the chat by it, so another process may run the \
                 chat now, and nothing more was written here",
                path.display()
            ))
            .with_remedy("go on as usual: the next message in the chat continues with what is kept"),
            Self::Full { path, source } => explain_no_room(path, source),
            Self::ReadOnly { path, .. } => {
                Explanation::new(format!("{} is on a read-only file system", path.display()))
                    .with_remedy("mount it writable or choose another project")
            }
            Self::NotPlain { path, expected } => {
                Explanation::new(format!("{} is not a plain {expected}", path.display()))
                    .with_remedy(format!(
                        "we follow no symbolic links there: replace it by the {expected} itself"
                    ))
            }
            Self::Newer { path, found, known } => Explanation::new(format!(
                "{} has format version {found}, and this program writes {known}",
                path.display()
            ))
            .with_remedy("use a newer program to write (reading what it can is still possible)"),
            Self::OtherChat { path, owner, wanted } => Explanation::new(format!(
                "{} belongs to chat `{owner}`, not to `{wanted}`",
                path.display()
            ))
            .with_remedy("rename one of the two chats"),
            Self::Damaged { path, what } => {
                Explanation::new(format!("{} is damaged: {what}", path.display())).with_remedy(
                    "`ship repair` goes on with what can be read, or restore it from a copy",
                )
            }
            Self::Unsettled { path, cause } => Explanation::new(format!(
                "{} is read-only until an earlier failed write is taken back ({cause})",
                path.display()
            ))
            .with_remedy("check the disk, then try again"),
            Self::CannotSeal { path, sealed, linking, copying } => {
                let (path, sealed) = (path.display(), sealed.display());
                let problem = format!(
                    "{path} cannot be kept as {sealed}, so nothing was changed: this file system has no hard links \
                     ({linking}), and a copy failed too: {}",
                    copying.problem
                );
                Explanation { problem, remedy: copying.remedy.clone() }
            }
            Self::Refused { path, refused } => {
                let Explanation { problem, remedy } = refused.explain();
                let problem = format!("nothing was written to {}: {problem}", path.display());
                Explanation { problem, remedy }
            }
            Self::Denied { doing, path, .. } => {
                Explanation::new(format!("this account may not {doing} {}", path.display()))
                    .with_remedy("give it the permission, or use the account it belongs to")
            }
            Self::OpenFiles { doing, path, .. } => {
                Explanation::new(format!("too many files are open to {doing} {}", path.display()))
                    .with_remedy(
                        "close some or raise the limit with `ulimit -n 256`, then try again",
                    )
            }
            Self::Io { doing, path, .. } => {
                Explanation::new(format!("failed to {doing} {}", path.display()))
                    .with_remedy("check the disk, then try again")
            }
        }
    }
}

impl StorageError {
    /// Sorts an error of the system by its remedy.
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
                // `O_NOFOLLOW` reports a symbolic link this way.
                Some(Errno::LOOP) => Self::NotPlain { path, expected: "file" },
                Some(Errno::MFILE | Errno::NFILE) => Self::OpenFiles { doing, path, source },
                _ => Self::Io { doing, path, source },
            },
        }
    }

    /// Returns a stable word that a program can match.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy(_) => "storage_busy",
            Self::LockLost { .. } => "storage_lock_lost",
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

    /// Turns this error into [`StorageError::Unsettled`] if it only says that the disk still fails.
    pub(crate) fn after_failure(self, path: &Path, cause: String) -> Self {
        match self {
            Self::Damaged { .. }
            | Self::Newer { .. }
            | Self::OtherChat { .. }
            | Self::NotPlain { .. }
            | Self::LockLost { .. }
            | Self::CannotSeal { .. } => self,
            _ => Self::Unsettled { path: path.to_owned(), cause },
        }
    }

    /// Returns a copy for each writer that waited for the same sync.
    pub(crate) fn share(&self) -> Self {
        let copy = |error: &io::Error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        match self {
            Self::Busy(busy) => Self::Busy(busy.clone()),
            Self::LockLost { path } => Self::LockLost { path: path.clone() },
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

/// Explains the lack of room.
fn explain_no_room(path: &Path, error: &io::Error) -> Explanation {
    let path = path.display();
    let (problem, remedy) = match error.kind() {
        io::ErrorKind::FileTooLarge => (
            format!("{path} may not grow: it is as large as the process or the file system allows"),
            "raise the limit on the size of files (`ulimit -f`), then try again",
        ),
        io::ErrorKind::QuotaExceeded => {
            (format!("no space left to write {path}"), "free some of your quota, then try again")
        }
        _ => (
            format!("no space left to write {path}"),
            "free some space (and inodes), then try again",
        ),
    };
    Explanation::new(problem).with_remedy(remedy)
}

/// The reason why a line or an entry is refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum RefusedInput {
    /// The content has a field that only the store may write.
    Reserved(String),
    /// The content is not a message.
    NotAMessage(&'static str),
    /// The content is larger than `limits.messageBytes`.
    TooLarge {
        /// The id of the message or the key of the entry.
        id: String,
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The id or key is too long.
    LongName {
        /// The first characters of the id or key.
        start: String,
        /// Its length in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The revision replaces a message that is not in the log.
    NothingToReplace(String),
    /// Two lines of one log would have the same id.
    Twice(String),
    /// A rotation keeps lines that the log does not have.
    NoLines {
        /// The first line that was to be kept.
        first: Seq,
        /// The last line that was to be kept.
        last: Seq,
    },
    /// The batch has no line.
    Empty,
}

impl Explain for RefusedInput {
    fn explain(&self) -> Explanation {
        match self {
            Self::Reserved(it) => {
                Explanation::new(format!("the field `{it}` is reserved for the store"))
                    .with_remedy("leave it out")
            }
            Self::NotAMessage(it) => Explanation::new(format!("this is no message: {it}"))
                .with_remedy("a message has a non-empty `id`, a `role` and `parts`"),
            Self::TooLarge { id, bytes, max } => Explanation::new(format!(
                "`{id}` has {bytes} bytes, and `limits.messageBytes` allows {max}"
            ))
            .with_remedy("shorten it or raise the limit"),
            Self::LongName { start, bytes, max } => Explanation::new(format!(
                "an id or key has at most {max} bytes, and `{start}…` has {bytes}"
            ))
            .with_remedy("shorten it"),
            Self::NothingToReplace(it) => {
                Explanation::new(format!("no message `{it}` is there to be replaced"))
                    .with_remedy("give `rev` 0 to say something new")
            }
            Self::Twice(it) => Explanation::new(format!("`{it}` is there twice"))
                .with_remedy("hand in each message once"),
            Self::NoLines { first, last } => {
                Explanation::new(format!("the log has no lines {first} to {last}"))
                    .with_remedy("read it again and keep what is there")
            }
            Self::Empty => Explanation::new("there is nothing to write")
                .with_remedy("hand in at least one line"),
        }
    }
}

/// The reason why chats could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum ListError {
    /// The files could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for ListError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Storage(error) => error.explain(),
        }
    }
}

/// The reason why a chat could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum OpenError {
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for OpenError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Storage(error) => error.explain(),
        }
    }
}

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
                .with_remedy("restore `.ship/blobs` from a copy"),
            Self::Damaged(it) => {
                Explanation::new(format!("blob {it} has other bytes than its name says"))
                    .with_remedy("restore `.ship/blobs` from a copy")
            }
            Self::Storage(error) => error.explain(),
        }
    }
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
