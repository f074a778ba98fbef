//! Where a conversation's bytes are: in memory, or in one file.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

/// Bytes that are only added to. What `append` has returned from will be there after a power cut, if the
/// place is one that outlives the process at all.
pub(super) trait EntryStorage: Send + Sync {
    /// Adds bytes at the end and makes them last.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the bytes to a length and makes that last.
    fn cut(&mut self, len: u64) -> io::Result<()>;
    /// Whether the bytes are where we left them and `len` long.
    fn is_unchanged(&self, len: u64) -> io::Result<bool>;
    /// Reads at a place; 0 is the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// Reads the first bytes of a place.
pub(super) struct Prefix<'a> {
    pub(super) place: &'a dyn EntryStorage,
    pub(super) at: u64,
    pub(super) end: u64,
}

impl Read for Prefix<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let count = self.place.read_at(&mut buffer[..wanted], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A file that would be, held in memory.
#[derive(Default)]
pub(super) struct Memory(Vec<u8>);

impl EntryStorage for Memory {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }

    fn is_unchanged(&self, len: u64) -> io::Result<bool> {
        Ok(self.0.len() as u64 == len)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        (&self.0[start..]).read(buffer)
    }
}

/// A file, locked if it is open for writing.
pub(super) struct OnDisk {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl EntryStorage for OnDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.file.sync_data()
    }

    /// The lock keeps out whoever asks for it; an editor does not ask, and replaces the file besides.
    fn is_unchanged(&self, len: u64) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        let theirs = match std::fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            found => found?,
        };
        Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()) && ours.len() == len)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}
