//! Keeps the files open that a process needs again and again: the files of rights, and live logs to be read.
//!
//! Opening a file takes several calls, and a turn would open each of these files many times. A kept file is used only
//! if its path still leads to it, which one call shows. While a file is open, no other file can get its inode number.
//!
//! A log is opened for each write. A file that stays open would report at its next sync that an earlier write was lost,
//! although another process has written everything anew since.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::OpenMode;

/// The number of files that are kept, those of a few chats.
const KEPT_MAX: usize = 24;

/// The files that a disk keeps open, the last used one at the end.
#[derive(Debug, Default)]
pub(super) struct KeptFiles {
    files: Mutex<Vec<KeptFile>>,
}

#[derive(Debug)]
pub(super) struct KeptFile {
    pub(super) path: PathBuf,
    /// How it was opened.
    pub(super) mode: OpenMode,
    /// The identity of the file.
    pub(super) id: (u64, u64),
    pub(super) file: Arc<File>,
}

impl KeptFiles {
    /// Returns the open file that was at a path. A file to be locked has one user at a time, because a lock belongs to
    /// the open file: it is taken out, and its user brings it back.
    pub(super) fn find(&self, path: &Path, mode: OpenMode) -> Option<((u64, u64), Arc<File>)> {
        let mut files = self.files.lock();
        let at = files.iter().position(|kept| kept.serves(mode) && kept.path == path)?;
        let kept = files.remove(at);
        let found = (kept.id, Arc::clone(&kept.file));
        if kept.mode != OpenMode::Lock {
            files.push(kept);
        }
        Some(found)
    }

    /// Keeps a file, in the place of another one with its path. The file that was not used for longest is closed.
    pub(super) fn keep(&self, kept: KeptFile) {
        let mut files = self.files.lock();
        files.retain(|other| other.path != kept.path);
        files.push(kept);
        if files.len() > KEPT_MAX {
            files.remove(0);
        }
    }

    /// Closes the file at a path, because a file without a name still takes room on the disk.
    pub(super) fn forget(&self, path: &Path) {
        self.files.lock().retain(|kept| kept.path != path);
    }
}

impl KeptFile {
    fn serves(&self, mode: OpenMode) -> bool {
        match mode {
            OpenMode::Read | OpenMode::ReadOften => self.mode != OpenMode::Lock,
            OpenMode::Append | OpenMode::Lock => self.mode == mode,
            OpenMode::Create => false,
        }
    }
}
