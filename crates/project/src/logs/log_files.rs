//! The file of a day, to which lines are appended.
//!
//! A line is one write to a file opened for appending, so lines of several processes never mix. The file stays open
//! until it is no longer the one at its path: on a new day, or when a log was moved away.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::io::Errno;
use ship_record::Timestamp;

use super::{FOLDER, LogEntry, LogOptions, SUFFIX};
use crate::Secrets;

// Logs may have the words of people, so other accounts get no access.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o700);

/// Writes lines to the file of their day.
pub(super) struct LogFiles {
    root: PathBuf,
    secrets: Arc<Secrets>,
    pub(super) options: LogOptions,
    failures: AtomicU64,
    /// Whether the last line may be only partly written.
    torn: AtomicBool,
    /// The file of the last line.
    open: Mutex<Option<Arc<DayFile>>>,
}

/// A day's file.
struct DayFile {
    path: PathBuf,
    file: File,
    id: FileId,
}

/// The device and the number of a file.
type FileId = (u64, u64);

impl DayFile {
    fn open(root: &Path, name: &str) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | PLAIN | OFlags::NONBLOCK;
        let file = File::from(openat(open_folder(root)?, name, flags, FILE_MODE)?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = FOLDER.iter().fold(root.to_path_buf(), |path, name| path.join(name)).join(name);
        Ok(Self { path, file, id: (found.dev(), found.ino()) })
    }

    /// Whether this is still the file at its path.
    fn is_there(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| (found.dev(), found.ino()) == self.id)
    }
}

impl LogFiles {
    pub(super) fn new(root: PathBuf, options: LogOptions, secrets: Arc<Secrets>) -> Self {
        Self {
            root,
            secrets,
            options,
            failures: AtomicU64::new(0),
            torn: AtomicBool::new(false),
            open: Mutex::default(),
        }
    }

    /// Writes a line. If that fails, the line is lost and counted.
    pub(super) fn write(&self, now: Timestamp, entry: LogEntry) {
        let line = entry.into_line(now, self.options, &self.secrets);
        if self.append(now, &line).is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of lines that could not be written.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn append(&self, now: Timestamp, line: &str) -> io::Result<()> {
        let log = self.file_of(&file_name(now))?;
        // A newline ends the partial line, or the new line would be lost with it.
        let line = match self.torn.swap(false, Ordering::Relaxed) {
            true => Cow::Owned(format!("\n{line}")),
            false => Cow::Borrowed(line),
        };
        let written = loop {
            match (&log.file).write(line.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if written < line.len() {
            self.torn.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(())
    }

    /// Returns a day's file, which may be open already.
    fn file_of(&self, name: &str) -> io::Result<Arc<DayFile>> {
        let known = self.open.lock().as_ref().filter(|log| log.path.ends_with(name)).cloned();
        if let Some(log) = known.filter(|log| log.is_there()) {
            return Ok(log);
        }
        let log = Arc::new(DayFile::open(&self.root, name)?);
        *self.open.lock() = Some(Arc::clone(&log));
        Ok(log)
    }
}

/// No link is followed below the project folder.
const PLAIN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

/// Opens the folder of logs, and creates it if it is missing.
fn open_folder(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut folder = open(root, flags | OFlags::CLOEXEC, Mode::empty())?;
    for name in FOLDER {
        folder = match openat(&folder, name, flags | PLAIN, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(&folder, name, FOLDER_MODE) {
                    // Another process may have created it meanwhile.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                openat(&folder, name, flags | PLAIN, Mode::empty())?
            }
            result => result?,
        };
    }
    Ok(folder)
}

/// Returns the name of a day's file, in universal time: `2026-02-05.jsonl`.
fn file_name(now: Timestamp) -> String {
    let moment = now.to_string();
    let day = moment.split_once('T').map_or(moment.as_str(), |(day, _)| day);
    format!("{day}{SUFFIX}")
}
