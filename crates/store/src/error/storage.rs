//! The error that any operation can meet, sorted by its remedy.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::holder::Busy;
use super::refused_input::RefusedInput;
use crate::{ChatKey, Explain, Explanation};

/// An error that every operation can meet. Nothing was acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum StorageError {
    /// Another process holds the right that is needed.
    Busy(Box<Busy>),
    /// The lane is no longer held, so another process may run the chat. Nothing was written.
    LaneLost {
        /// The chat of the lane.
        chat: ChatKey,
        /// How it was lost, such as `its file was removed`.
        how: String,
    },
    /// The store cannot be reached.
    Unavailable {
        /// The operation as a verb, such as `append`.
        doing: &'static str,
        /// The reason, such as `the connection was lost`.
        why: String,
        /// Whether the write may have happened nevertheless; a caller that tries again must not write twice.
        may_have_happened: bool,
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
        /// The file or row with the newer format.
        place: String,
        /// The format version of the file.
        found: u64,
        /// The highest format version that this program knows.
        known: u64,
    },
    /// The chat has lines that this program does not know and must not pass over.
    ReaderTooOld {
        /// The file or row that says so.
        place: String,
        /// The reader version that the chat needs.
        needed: u64,
        /// The reader version of this program.
        own: u64,
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
        /// The file or row that is damaged.
        place: String,
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
        /// The file or row that was not written.
        place: String,
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
            Self::LaneLost { chat, how } => Explanation::new(format!(
                "this process no longer holds chat `{chat}`: {how}; another process may run the chat now, so \
                 nothing more was written"
            ))
            .with_remedy("carry on: the next message continues with what is kept"),
            Self::Unavailable { doing, why, may_have_happened } => {
                let outcome = match may_have_happened {
                    true => "it may have happened nevertheless",
                    false => "nothing has changed",
                };
                Explanation::new(format!("the store cannot be reached to {doing}: {why}; {outcome}"))
                    .with_remedy("try again when it can be reached")
            }
            Self::Full { path, source } => explain_no_room(path, source),
            Self::ReadOnly { path, .. } => {
                Explanation::new(format!("{} is on a read-only file system", path.display()))
                    .with_remedy("mount it writable or choose another project")
            }
            Self::NotPlain { path, expected } => {
                Explanation::new(format!("{} is not a plain {expected}", path.display()))
                    .with_remedy(format!(
                        "symbolic links are not followed there; replace it by the {expected} itself"
                    ))
            }
            Self::Newer { place, found, known } => Explanation::new(format!(
                "{place} has format version {found}, but this program writes {known}"
            ))
            .with_remedy("use a newer version of ship to write; this one still reads what it can"),
            Self::ReaderTooOld { place, needed, own } => Explanation::new(format!(
                "{place} says that the chat needs reader version {needed}, and this program has {own}; nothing of the \
                 chat was read or written"
            ))
            .with_remedy("use a newer version of ship"),
            Self::OtherChat { path, owner, wanted } => Explanation::new(format!(
                "{} belongs to chat `{owner}`, not to `{wanted}`",
                path.display()
            ))
            .with_remedy("rename one of the two chats"),
            Self::Damaged { place, what } => {
                Explanation::new(format!("{place} is damaged: {what}")).with_remedy(
                    "run `ship repair` to continue with what is readable, or restore it from a backup",
                )
            }
            Self::Unsettled { path, cause } => Explanation::new(format!(
                "{} is read-only until an earlier failed write is rolled back ({cause})",
                path.display()
            ))
            .with_remedy("check the disk, then try again"),
            Self::CannotSeal { path, sealed, linking, copying } => {
                let (path, sealed) = (path.display(), sealed.display());
                let problem = format!(
                    "{path} cannot be kept as {sealed}, so nothing was changed: this file system has no hard links \
                     ({linking}), and copying failed, too: {}",
                    copying.problem
                );
                Explanation { problem, remedy: copying.remedy.clone() }
            }
            Self::Refused { place, refused } => {
                let Explanation { problem, remedy } = refused.explain();
                let problem = format!("nothing was written to {place}: {problem}");
                Explanation { problem, remedy }
            }
            Self::Denied { doing, path, .. } => {
                Explanation::new(format!("no permission to {doing} {}", path.display()))
                    .with_remedy("change its permissions, or use its owner's account")
            }
            Self::OpenFiles { doing, path, .. } => {
                Explanation::new(format!("too many open files to {doing} {}", path.display()))
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
    /// Says that a file cannot be used as it is.
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { place: place(path), what: what.into() }
    }

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
            Self::LaneLost { .. } => "storage_lock_lost",
            Self::Unavailable { .. } => "storage_unavailable",
            Self::Full { .. } => "storage_full",
            Self::ReadOnly { .. } => "storage_readonly",
            Self::NotPlain { .. } => "storage_not_plain",
            Self::Newer { .. } => "storage_newer_format",
            Self::ReaderTooOld { .. } => "storage_reader_too_old",
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
            // These have remedies of their own, which the earlier failure would hide.
            Self::Damaged { .. }
            | Self::Newer { .. }
            | Self::ReaderTooOld { .. }
            | Self::OtherChat { .. }
            | Self::NotPlain { .. }
            | Self::LaneLost { .. }
            | Self::CannotSeal { .. } => self,
            _ => Self::Unsettled { path: path.to_owned(), cause },
        }
    }

    /// Returns a copy for each writer that waited for the same sync.
    pub(crate) fn share(&self) -> Self {
        // An `io::Error` cannot be cloned, but the code of the system gives the same one again.
        let copy = |error: &io::Error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        match self {
            Self::Busy(busy) => Self::Busy(busy.clone()),
            Self::LaneLost { chat, how } => Self::LaneLost { chat: chat.clone(), how: how.clone() },
            Self::Unavailable { doing, why, may_have_happened } => {
                Self::Unavailable { doing, why: why.clone(), may_have_happened: *may_have_happened }
            }
            Self::Full { path, source } => Self::Full { path: path.clone(), source: copy(source) },
            Self::ReadOnly { path, source } => {
                Self::ReadOnly { path: path.clone(), source: copy(source) }
            }
            Self::NotPlain { path, expected } => Self::NotPlain { path: path.clone(), expected },
            Self::Newer { place, found, known } => {
                Self::Newer { place: place.clone(), found: *found, known: *known }
            }
            Self::ReaderTooOld { place, needed, own } => {
                Self::ReaderTooOld { place: place.clone(), needed: *needed, own: *own }
            }
            Self::OtherChat { path, owner, wanted } => {
                Self::OtherChat { path: path.clone(), owner: owner.clone(), wanted: wanted.clone() }
            }
            Self::Damaged { place, what } => {
                Self::Damaged { place: place.clone(), what: what.clone() }
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
            Self::Refused { place, refused } => {
                Self::Refused { place: place.clone(), refused: refused.clone() }
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
/// Names a file as a place.
pub(crate) fn place(path: &Path) -> String {
    path.display().to_string()
}

fn explain_no_room(path: &Path, error: &io::Error) -> Explanation {
    let path = path.display();
    let (problem, remedy) = match error.kind() {
        io::ErrorKind::FileTooLarge => (
            format!(
                "{path} cannot grow: it has reached the size limit of the process or the file system"
            ),
            "raise the file size limit (`ulimit -f`), then try again",
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
        assert!(denied.starts_with("no permission to read a/b.jsonl; "), "{denied}");
        assert!(!denied.contains("disk"), "{denied}");
        assert_eq!(told(io::ErrorKind::Other).0, "storage_io");
    }

    #[test]
    fn a_file_that_may_not_grow_is_not_told_as_a_full_disk() {
        let error = StorageError::io("write", "a/b.jsonl", Errno::FBIG.into()).to_string();
        assert!(error.starts_with("a/b.jsonl cannot grow: "), "{error}");
        assert!(!error.contains("no space"), "{error}");
    }

    #[test]
    fn full_read_only_and_other_disks_have_codes_of_their_own() {
        for (errno, code, remedy) in [
            (Errno::NOSPC, "storage_full", "free some space"),
            (Errno::DQUOT, "storage_full", "your quota"),
            (Errno::FBIG, "storage_full", "`ulimit -f`"),
            (Errno::ROFS, "storage_readonly", "mount it writable"),
            (Errno::ACCESS, "storage_denied", "change its permissions"),
            (Errno::MFILE, "storage_open_files", "`ulimit -n 256`"),
            (Errno::IO, "storage_io", "check the disk"),
        ] {
            let error = StorageError::io("write", "a/b.jsonl", errno.into());
            assert_eq!(error.code(), code, "{errno:?}");
            assert_eq!(error.share().code(), code, "{errno:?}");
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_as_it_is_has_a_code_for_its_reason() {
        let path = || PathBuf::from("a/b.jsonl");
        let place = || "a/b.jsonl".to_owned();
        let what = || "cut".to_owned();
        let linking = "no links".to_owned();
        let copying = Box::new(Explanation::new("no space"));
        let wanted: ChatKey = "terminal:main".parse().unwrap();
        for (error, code) in [
            (StorageError::Damaged { place: place(), what: what() }, "storage_damaged"),
            (StorageError::Newer { place: place(), found: 3, known: 2 }, "storage_newer_format"),
            (
                StorageError::ReaderTooOld { place: place(), needed: 3, own: 2 },
                "storage_reader_too_old",
            ),
            (StorageError::OtherChat { path: path(), owner: what(), wanted }, "storage_other_chat"),
            (StorageError::io("open", path(), Errno::LOOP.into()), "storage_not_plain"),
            (StorageError::io("open", path(), Errno::ISDIR.into()), "storage_not_plain"),
            (StorageError::io("open", path(), Errno::NOTDIR.into()), "storage_not_plain"),
            (StorageError::Unsettled { path: path(), cause: what() }, "storage_unsettled"),
            (
                StorageError::CannotSeal { path: path(), sealed: path(), linking, copying },
                "storage_cannot_seal",
            ),
            (
                StorageError::Refused { place: place(), refused: RefusedInput::Empty },
                "storage_refused",
            ),
        ] {
            assert_eq!((error.code(), error.share().code()), (code, code));
            assert!(error.to_string().contains("a/b.jsonl"), "{error}");
        }
    }

    #[test]
    fn a_store_that_cannot_be_reached_says_whether_the_write_may_have_happened() {
        for (may_have_happened, outcome) in
            [(true, "it may have happened nevertheless"), (false, "nothing has changed")]
        {
            let why = "no route".to_owned();
            let error = StorageError::Unavailable { doing: "append", why, may_have_happened };
            assert_eq!((error.code(), error.share().code()), ("storage_unavailable", error.code()));
            assert!(error.to_string().contains(outcome), "{error}");
        }
    }
}
