//! Marks of changed chats, by which processes on one disk wake each other.
//!
//! A process that changes a chat touches a file of that name in one folder, `.ship/changed`, and the system reports it
//! to every process that watches the folder. So one watch is enough, however many chats there are. The files are empty
//! and may be deleted at any time; a process that begins to watch removes old ones, so that their number does not grow
//! with the chats that there ever were.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use std::time::{Duration, SystemTime};

use notify::{Event, RecursiveMode, Watcher as _};
use rustix::fs::{AtFlags, Dir, Mode as Bits, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use super::{ChangeWatch, SeenChange};

const FOLDER: OFlags =
    OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::RDONLY).union(OFlags::DIRECTORY);
const NEW_FILE: OFlags =
    OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::WRONLY).union(OFlags::CREATE);
const FOLDER_BITS: Bits = Bits::from_raw_mode(0o700);
const FILE_BITS: Bits = Bits::from_raw_mode(0o600);

/// The folder of the marks, below a project folder.
#[derive(Debug)]
pub(super) struct ChangeMarks {
    /// The path of the folder, for the watch alone.
    path: PathBuf,
    folder: OnceLock<OwnedFd>,
}

/// The age at which a mark has been reported to every process that watches.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of marks that are looked at when a watch begins, so that it does not take long.
const LOOKS_MAX: usize = 4096;

/// Removes marks that were not touched for some time. One that is touched meanwhile is made again by the next touch.
#[expect(clippy::disallowed_methods, reason = "the system sets the times of the marks")]
fn remove_old_marks(folder: &OwnedFd, age: Duration) -> io::Result<()> {
    let oldest = SystemTime::now().checked_sub(age).ok_or(io::ErrorKind::InvalidInput)?;
    let oldest = oldest.duration_since(SystemTime::UNIX_EPOCH).map_err(io::Error::other)?.as_secs();
    for mark in Dir::read_from(folder)?.take(LOOKS_MAX) {
        let mark = mark?;
        let found = rustix::fs::statat(folder, mark.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        // A folder, such as the one itself, is not removed by this call.
        if u64::try_from(found.st_mtime).is_ok_and(|touched| touched < oldest) {
            let _ = rustix::fs::unlinkat(folder, mark.file_name(), AtFlags::empty());
        }
    }
    Ok(())
}

impl ChangeMarks {
    pub(super) fn new(project: &Path) -> Self {
        Self { path: project.join(".ship/changed"), folder: OnceLock::new() }
    }

    /// Touches the mark of a chat.
    pub(super) fn touch(&self, root: &OwnedFd, chat_folder: &str) -> io::Result<()> {
        let folder = self.folder(root)?;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        match rustix::fs::utimensat(folder, chat_folder, &times, AtFlags::SYMLINK_NOFOLLOW) {
            // Creating the file is reported like touching it.
            Err(Errno::NOENT) => {
                rustix::fs::openat(folder, chat_folder, NEW_FILE, FILE_BITS)?;
                Ok(())
            }
            touched => Ok(touched?),
        }
    }

    /// Watches the marks of all chats.
    pub(super) fn watch(&self, root: &OwnedFd, seen: SeenChange) -> io::Result<ChangeWatch> {
        // Marks that cannot be removed only take room.
        let _ = remove_old_marks(self.folder(root)?, OLD);
        let folder = self.path.clone();
        let report = move |event: notify::Result<Event>| match event {
            Ok(event) if event.need_rescan() => seen(None),
            // An old mark was removed.
            Ok(event) if event.kind.is_remove() => {}
            Ok(event) => {
                // The folder itself is reported, too, when a process opens it.
                let marks = event.paths.iter().filter(|path| **path != folder);
                let names = marks.filter_map(|path| path.file_name()?.to_str());
                names.for_each(|name| seen(Some(name)));
            }
            // After an error, reports may be missing.
            Err(_) => seen(None),
        };
        let mut watcher = notify::recommended_watcher(report).map_err(io::Error::other)?;
        watcher.watch(&self.path, RecursiveMode::NonRecursive).map_err(io::Error::other)?;
        Ok(Box::new(watcher))
    }

    /// Opens the folder, and makes it if it is missing. It stays open, because it is needed for every change.
    fn folder(&self, root: &OwnedFd) -> io::Result<&OwnedFd> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let ship = rustix::fs::openat(root, ".ship", FOLDER, Bits::empty())?;
        match rustix::fs::mkdirat(&ship, "changed", FOLDER_BITS) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = rustix::fs::openat(&ship, "changed", FOLDER, Bits::empty())?;
        Ok(self.folder.get_or_init(|| folder))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_process_that_begins_to_watch_removes_marks_that_are_old() {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(".ship")).unwrap();
        let root = OwnedFd::from(File::open(project.path()).unwrap());
        let marks = ChangeMarks::new(project.path());
        for chat in ["old", "new"] {
            marks.touch(&root, chat).unwrap();
        }
        let folder = project.path().join(".ship/changed");
        let old = File::options().write(true).open(folder.join("old")).unwrap();
        old.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        let _watch = marks.watch(&root, Box::new(|_| {})).unwrap();
        assert!(folder.join("new").exists() && !folder.join("old").exists());
        marks.touch(&root, "old").unwrap();
        assert!(folder.join("old").exists());
    }
}
