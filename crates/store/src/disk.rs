//! The seam below the file store: the few calls that it makes on a disk.
//!
//! Every path is relative to the project folder. Three disks implement it: [`RealDisk`], which is
//! libc's file calls and nothing else; [`MemoryDisk`], which forgets everything at the end; and the
//! simulated one of the testkit, which fails, tears and loses what it is told to.

mod memory;
mod real;

use std::io;
use std::path::Path;

pub use memory::MemoryDisk;
pub use real::RealDisk;

use crate::Timestamp;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// To read it.
    Read,
    /// To read it, write at its end, and cut it.
    Append,
    /// As `Append`, but the file must be new.
    Create,
    /// To lock it and leave a note in it; made if it is not there.
    Lock,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A plain file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which is never followed, or a device or the like.
    Other,
}

/// What a look at a file tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLook {
    /// What it is.
    pub node: NodeKind,
    /// Which file it is: the same number is the same file, whatever its name.
    pub file: (u64, u64),
    /// How many bytes it has.
    pub len: u64,
    /// How many names it has.
    pub names: u64,
}

/// A disk. A call either does what it says or fails; only `sync` and `sync_folder` make it last.
pub trait Disk: Send + Sync {
    /// Opens a plain file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>>;
    /// Makes a folder.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Gives the file `from` a second name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives the file `from` the name `to`, taking it from any file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a symbolic link.
    fn symlink(&self, target: &str, path: &Path) -> io::Result<()>;
    /// Looks at a path without following it.
    fn look(&self, path: &Path) -> io::Result<FileLook>;
    /// Returns when a file was last written; `None` on a disk that does not keep that.
    fn modified(&self, _path: &Path) -> io::Result<Option<Timestamp>> {
        Ok(None)
    }
    /// Returns the names in a folder, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Makes the names in a folder last.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// An open file. A lock on it is free when this is dropped.
pub trait DiskFile: Send + Sync {
    /// Looks at the file itself, whatever its name is by now.
    fn look(&self) -> io::Result<FileLook>;
    /// Tells what the file was when it was opened, which costs a disk nothing that looks at what it opens.
    fn look_when_opened(&self) -> io::Result<FileLook> {
        self.look()
    }
    /// Reads at a place; 0 is the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at the end, perhaps less than all.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Writes over the start: the note of a lock file.
    fn write_note(&self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to a length.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes the bytes last.
    fn sync(&self) -> io::Result<()>;
    /// Takes the exclusive lock; false if another has it.
    fn try_lock(&self) -> io::Result<bool>;
}
