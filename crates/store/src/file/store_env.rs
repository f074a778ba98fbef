//! The disk and the options of a store, and the few ways to change files.
//!
//! A name is durable when its folder has been synced, and bytes are when their file has. So creating a folder
//! syncs its parent. A file is replaced in four steps: the new one is written aside, synced and renamed, and
//! the folder is synced. All syncs go through [`Env`], because there are none at the level `flush`.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chat_folder::{folder_name, key_of_folder};
use crate::disk::{ChangeWatch, Disk, DiskFile, FileLook, NodeKind, OpenMode};
use crate::{ChangeFeed, ChatKey, Durability, Moment, StorageError, StoreOptions, Timestamp};
use parking_lot::Mutex;

/// The disk and the options of a store.
pub(crate) struct Env {
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) options: StoreOptions,
    /// The number of this process.
    pub(crate) process: u32,
    /// The files and folders with a failed sync. Their content may be in memory alone, even if
    /// a later sync succeeds.
    unsynced: Mutex<HashSet<PathBuf>>,
    /// The changes of chats, by this process and, once they are watched, by others.
    pub(crate) changes: Arc<ChangeFeed>,
    watch: Mutex<Option<ChangeWatch>>,
}

impl Env {
    pub(crate) fn new(disk: Box<dyn Disk>, options: StoreOptions) -> Self {
        Self {
            disk,
            options,
            process: std::process::id(),
            unsynced: Mutex::default(),
            changes: Arc::default(),
            watch: Mutex::default(),
        }
    }

    /// Watches the changes of other processes from now on. Returns whether they were not watched before: a caller that
    /// waits for a change may have missed one, and looks again first. Only callers that wait begin to watch, because
    /// a process sees its own marks, too, and each costs several calls.
    pub(crate) fn begin_watch(&self) -> bool {
        let mut watch = self.watch.lock();
        if watch.is_some() {
            return false;
        }
        let changes = Arc::clone(&self.changes);
        let seen = move |folder: Option<&str>| match folder.and_then(key_of_folder) {
            Some(chat) => changes.note_arrival(&chat),
            // The folder of a very long key does not tell the key.
            None => changes.note_unknown(),
        };
        // Without a watch, callers look again after a while; the next one that waits tries it again.
        *watch = self.disk.watch_changes(Box::new(seen)).ok().flatten();
        watch.is_some()
    }

    /// Returns the present moment; `None` if the changes of other processes are not watched yet.
    pub(crate) fn watched_moment(&self) -> Option<Moment> {
        self.watch.lock().is_some().then(|| self.changes.now())
    }

    /// Notes that something has arrived in a chat, in this process and for others. Others that miss it look again
    /// after a while.
    pub(crate) fn note_arrival(&self, chat: &ChatKey) {
        self.changes.note_arrival(chat);
        let _ = self.disk.mark_changed(&folder_name(chat));
    }

    /// Remembers that the sync of a file or a folder failed.
    pub(crate) fn mark_unsynced(&self, path: &Path) {
        self.unsynced.lock().insert(path.to_owned());
    }

    /// Forgets a failed sync, because the content was written anew.
    pub(crate) fn mark_synced(&self, path: &Path) {
        self.unsynced.lock().remove(path);
    }

    pub(crate) fn is_unsynced(&self, path: &Path) -> bool {
        self.unsynced.lock().contains(path)
    }

    /// Whether an acknowledged write must survive a power cut.
    pub(crate) fn syncs(&self) -> bool {
        self.options.durability == Durability::Sync
    }

    /// Creates a folder if it is missing, durably.
    pub(crate) fn ensure_folder(&self, path: &Path) -> Result<(), StorageError> {
        match self.disk.make_folder(path) {
            Ok(()) => self.sync_folder(path.parent().unwrap_or(Path::new(""))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Another process may have made it at the same moment, or it is not a folder at all.
                match self.stat(path)?.map(|look| look.node) {
                    Some(NodeKind::Folder) => Ok(()),
                    Some(NodeKind::File | NodeKind::Other) | None => {
                        Err(StorageError::NotPlain { path: path.to_owned(), expected: "folder" })
                    }
                }
            }
            Err(error) => Err(StorageError::io("make folder", path, error)),
        }
    }

    /// Makes the bytes of a file durable, if the durability level asks for that.
    pub(crate) fn sync(&self, file: &dyn DiskFile) -> io::Result<()> {
        if self.syncs() { file.sync() } else { Ok(()) }
    }

    /// Makes the names in a folder durable, if the durability level asks for that.
    pub(crate) fn sync_folder(&self, path: &Path) -> Result<(), StorageError> {
        if !self.syncs() {
            return Ok(());
        }
        let synced = self.disk.sync_folder(path);
        if synced.is_err() {
            self.mark_unsynced(path);
        }
        synced.map_err(|error| StorageError::io("sync folder", path, error))
    }

    /// Returns the properties of a path; `None` if nothing is there.
    pub(crate) fn stat(&self, path: &Path) -> Result<Option<FileLook>, StorageError> {
        none_if_missing(self.disk.stat(path))
            .map_err(|error| StorageError::io("look at", path, error))
    }

    /// Returns the properties of a path, to be compared with known ones; `None` if nothing is there.
    pub(crate) fn glance(&self, path: &Path) -> Result<Option<FileLook>, StorageError> {
        none_if_missing(self.disk.glance(path))
            .map_err(|error| StorageError::io("look at", path, error))
    }

    /// Returns the time of the last write to a file; `None` if it is missing or the disk does not keep it.
    pub(crate) fn modified(&self, path: &Path) -> Result<Option<Timestamp>, StorageError> {
        let modified = none_if_missing(self.disk.modified(path));
        Ok(modified.map_err(|error| StorageError::io("look at", path, error))?.flatten())
    }

    /// Opens a file to write at its end; `None` if it is missing. That is cheap if it is the known file.
    pub(crate) fn open_to_write(
        &self,
        path: &Path,
        known: Option<(u64, u64)>,
    ) -> Result<Option<Box<dyn DiskFile>>, StorageError> {
        match known.and_then(|known| self.disk.open_known(path, known)) {
            Some(file) => Ok(Some(file)),
            None => self.open(path, OpenMode::Append),
        }
    }

    /// Opens a file; `None` if it is missing.
    pub(crate) fn open(
        &self,
        path: &Path,
        mode: OpenMode,
    ) -> Result<Option<Box<dyn DiskFile>>, StorageError> {
        none_if_missing(self.disk.open(path, mode))
            .map_err(|error| StorageError::io("open", path, error))
    }

    /// Reads a whole file; `None` if it is missing.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<(FileLook, Vec<u8>)>, StorageError> {
        let Some(file) = self.open(path, OpenMode::Read)? else { return Ok(None) };
        let failed = |error| StorageError::io("read", path, error);
        let look = file.stat_when_opened().map_err(failed)?;
        let bytes = read_from(&*file, 0, look.len).map_err(failed)?;
        Ok(Some((look, bytes)))
    }

    /// Returns the names in a folder; none if the folder is missing.
    pub(crate) fn list(&self, path: &Path) -> Result<Vec<String>, StorageError> {
        let names = none_if_missing(self.disk.list(path));
        Ok(names.map_err(|error| StorageError::io("list", path, error))?.unwrap_or_default())
    }

    /// Writes a new file beside `path`, durably. The caller renames it.
    pub(crate) fn write_aside(&self, path: &Path, bytes: &[u8]) -> Result<AsideFile, StorageError> {
        // A power cut after the rename could otherwise leave the name with an empty file.
        self.write_beside(path, bytes, |file| self.sync(file))
    }

    /// Writes a new file beside `path`, which need not outlive a power cut. The caller renames it.
    pub(crate) fn write_aside_loosely(
        &self,
        path: &Path,
        bytes: &[u8],
    ) -> Result<AsideFile, StorageError> {
        self.write_beside(path, bytes, |_| Ok(()))
    }

    fn write_beside(
        &self,
        path: &Path,
        bytes: &[u8],
        end: impl FnOnce(&dyn DiskFile) -> io::Result<()>,
    ) -> Result<AsideFile, StorageError> {
        let aside = temporary_name(path);
        let written = self.create_anew(&aside).and_then(|file| {
            write_all(&*file, bytes)?;
            end(&*file)?;
            Ok((file.stat()?, file))
        });
        match written {
            Ok((look, file)) => Ok(AsideFile { path: aside, look, file }),
            Err(error) => {
                // No reader knows this name; the next attempt removes what stays.
                let _ = self.disk.remove(&aside);
                Err(StorageError::io("write", path, error))
            }
        }
    }

    /// Creates a file. An interrupted write may have left its name, which goes to the new one.
    fn create_anew(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        match self.disk.open(path, OpenMode::Create) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.disk.remove(path)?;
                self.disk.open(path, OpenMode::Create)
            }
            created => created,
        }
    }

    /// Replaces a small file, durably and atomically.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        let aside = self.write_aside(path, bytes)?;
        let renamed = self.disk.rename(&aside.path, path);
        renamed.map_err(|error| StorageError::io("rename to", path, error))?;
        // A power cut could otherwise bring the old file back.
        self.sync_folder(path.parent().unwrap_or(Path::new("")))
    }

    /// Replaces a small file atomically. After a power cut, it may be the old one, or empty.
    pub(crate) fn replace_unsynced(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        let aside = self.write_aside_loosely(path, bytes)?;
        let renamed = self.disk.rename(&aside.path, path);
        renamed.map_err(|error| StorageError::io("rename to", path, error))
    }

    /// Removes a name if it exists.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), StorageError> {
        none_if_missing(self.disk.remove(path))
            .map_err(|error| StorageError::io("remove", path, error))?;
        Ok(())
    }
}

/// A new file beside the one whose name it shall get.
pub(crate) struct AsideFile {
    pub(crate) path: PathBuf,
    pub(crate) look: FileLook,
    pub(crate) file: Box<dyn DiskFile>,
}

/// The end of the names of unfinished files. No reader opens such a file.
pub(crate) const UNFINISHED: &str = ".tmp";

/// Returns the name under which a file is written before it gets its own.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// Tells a missing file apart from all other failures.
fn none_if_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes all bytes at the end of a file.
pub(crate) fn write_all(file: &dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads from `offset` to `end`, or to the end of the file if that comes first.
pub(crate) fn read_from(file: &dyn DiskFile, offset: u64, end: u64) -> io::Result<Vec<u8>> {
    let len =
        usize::try_from(end.saturating_sub(offset)).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = vec![0; len];
    let mut done = 0;
    while done < len {
        match file.read_at(&mut bytes[done..], offset + done as u64) {
            // The file has become shorter since its length was read.
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}
