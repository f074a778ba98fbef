//! The few calls that the file store makes on a disk, as traits.
//!
//! Every path is relative to the project folder. Three disks implement the traits: [`RealDisk`] makes libc's file
//! calls and nothing else; [`MemoryDisk`] forgets everything when it is dropped; the simulated disk of the testkit
//! fails, tears and loses on command.

mod change_marks;
mod kept_files;
mod memory;
mod real;

use std::io;
use std::path::{Path, PathBuf};

pub use memory::MemoryDisk;
pub use real::RealDisk;

use crate::Timestamp;

/// Says for what a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The file is read.
    Read,
    /// The file is read, and will be read again soon: a disk may keep it open.
    ReadOften,
    /// The file is read, written at its end, and cut.
    Append,
    /// Like `Append`, but the file must not exist yet.
    Create,
    /// The file is locked and holds the holder's note. It is created if it is missing.
    Lock,
}

/// The kind of thing at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A plain file.
    File,
    /// A folder, also called directory.
    Folder,
    /// A symbolic link, which is never followed, or a device or the like.
    Other,
}

/// The properties of a file that one `stat` call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLook {
    /// The kind of thing that it is.
    pub node: NodeKind,
    /// The identity of the file: its device and inode number, which a new name does not change.
    pub file: (u64, u64),
    /// Its size in bytes.
    pub len: u64,
    /// The number of its names (hard links).
    pub names: u64,
    /// When it was changed last; `None` on a disk that does not keep it.
    pub changed: Option<ChangeTimes>,
}

/// The times of the last change of a file: of its bytes, which a program can set, and of its properties, which none can.
/// As long as both are the same, so is the file.
#[derive(Debug, Clone, Copy)]
pub struct ChangeTimes {
    bytes: i128,
    properties: i128,
    is_settled: bool,
}

impl ChangeTimes {
    /// Makes the times, in nanoseconds. They are settled if every later change of the file is sure to have another time:
    /// the clock of a disk may stand still for some milliseconds.
    pub fn new(bytes: i128, properties: i128, is_settled: bool) -> Self {
        Self { bytes, properties, is_settled }
    }

    /// Whether every later change is sure to have another time.
    pub fn is_settled(self) -> bool {
        self.is_settled
    }
}

impl PartialEq for ChangeTimes {
    fn eq(&self, other: &Self) -> bool {
        (self.bytes, self.properties) == (other.bytes, other.properties)
    }
}

impl Eq for ChangeTimes {}

/// The properties of a file and the time of the last write to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedLook {
    /// The properties of the file.
    pub look: FileLook,
    /// The time of the last write, on a disk that keeps it.
    pub modified: Option<Timestamp>,
}

/// Looks at many paths below one folder, at the price of one call for each.
pub trait FolderLooks {
    /// Returns the properties of a path below the folder. Only the last name of the path is not followed, so nothing
    /// but order and sizes may depend on it.
    fn look(&self, path: &Path) -> io::Result<TimedLook>;
}

/// A file that was opened by a path in which links are followed.
pub enum LinkedFile {
    /// A plain file in the project folder.
    Inside(Box<dyn DiskFile>),
    /// The links lead out of the project folder, to this path.
    Outside(PathBuf),
    /// Something that is not a plain file.
    NotAFile,
}

/// A disk. A call does what it says or fails, but only `sync` and `sync_folder` make the effect durable.
pub trait Disk: Send + Sync {
    /// Opens a plain file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file of a person for reading, through links that stay in the project folder. A disk on which people
    /// make no links has none to follow.
    fn open_linked(&self, _path: &Path) -> io::Result<LinkedFile> {
        Ok(LinkedFile::NotAFile)
    }
    /// Opens a file to write at its end, if it is the one with this identity, at the price of two calls. Returns `None`
    /// otherwise, and on a disk where that is no cheaper than to open any file.
    fn open_known(&self, _path: &Path, _file: (u64, u64)) -> Option<Box<dyn DiskFile>> {
        None
    }
    /// Creates a folder, whose parent must exist.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Gives the file `from` a second name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames the file `from` to `to`, and replaces a file that has this name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a name of a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.remove(path)
    }
    /// Creates a symbolic link.
    fn symlink(&self, target: &str, path: &Path) -> io::Result<()>;
    /// Returns the properties of a path without following it.
    fn stat(&self, path: &Path) -> io::Result<FileLook>;
    /// Returns the properties of a path at the price of one call. Only the last name of the path is not followed, so
    /// they may only be compared with known ones.
    fn glance(&self, path: &Path) -> io::Result<FileLook> {
        self.stat(path)
    }
    /// Returns the time of the last write to a file, or `None` on a disk that does not keep it.
    fn modified(&self, _path: &Path) -> io::Result<Option<Timestamp>> {
        Ok(None)
    }
    /// Opens a folder for many looks; `None` on a disk where each look costs the same in any way.
    fn looks_below(&self, _folder: &Path) -> io::Result<Option<Box<dyn FolderLooks + '_>>> {
        Ok(None)
    }
    /// Returns the names in a folder, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Shows other processes that a chat, given by its folder, has changed. The mark is not durable.
    fn mark_changed(&self, _chat_folder: &str) -> io::Result<()> {
        Ok(())
    }
    /// Calls `seen` with the folder of each chat that another process marks, until the returned value is dropped;
    /// marks of this process may be seen too. Returns `None` on a disk that cannot be watched.
    fn watch_changes(&self, _seen: SeenChange) -> io::Result<Option<ChangeWatch>> {
        Ok(None)
    }
}

/// Gets the folder of a chat that has changed; `None` if the disk has lost count of the changes.
pub type SeenChange = Box<dyn Fn(Option<&str>) + Send + Sync>;

/// Watches the marks of other processes until it is dropped.
pub type ChangeWatch = Box<dyn Send + Sync>;

/// An open file. Dropping it releases its lock.
pub trait DiskFile: Send + Sync {
    /// Returns the properties of the open file, even if it was renamed since.
    fn stat(&self) -> io::Result<FileLook>;
    /// Returns the properties at the time of opening, without another call where the disk has kept them.
    fn stat_when_opened(&self) -> io::Result<FileLook> {
        self.stat()
    }
    /// Reads at an offset. Returns 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at the end of the file, possibly less than all bytes, and returns how many.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Overwrites the start of a lock file with the holder's note.
    fn write_note(&self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to a length.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes the bytes of the file durable.
    fn sync(&self) -> io::Result<()>;
    /// Takes the exclusive lock. Returns false if another process holds it.
    fn try_lock(&self) -> io::Result<bool>;
}
