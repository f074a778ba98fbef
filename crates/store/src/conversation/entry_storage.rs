//! Stores the bytes of a conversation, in memory or in one file.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

/// Bytes that are only appended. When `append` has returned, the bytes survive a power cut, if the storage outlives
/// the process at all.
pub(super) trait EntryStorage: Send + Sync {
    /// Appends bytes and makes them durable.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the bytes to a length and makes that durable.
    fn cut(&mut self, len: u64) -> io::Result<()>;
    /// Whether the bytes have this length and are still in the place where we left them.
    fn is_unchanged(&self, len: u64) -> io::Result<bool>;
    /// Reads at an offset. Returns 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// Reads a range of the stored bytes.
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

/// The bytes of a conversation that has no file.
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

/// A file, which is locked if it is open for writing.
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

    /// The lock keeps out other writers that ask for it. An editor does not ask, and usually replaces the file.
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
