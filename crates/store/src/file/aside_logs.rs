//! Writes the logs of an import aside, a block at a time, and gives them their names at once.

use std::path::{Path, PathBuf};

use super::rotate::sealed_path;
use super::store_env::{Env, UNFINISHED, write_all};
use crate::disk::{DiskFile, OpenMode};
use crate::line::{UnnumberedLine, leaves_room};
use crate::{SealedName, Seq, StorageError};

/// The number of bytes that are collected before they are written.
const BLOCK_BYTES: usize = 256 * 1024;

/// The logs of an import, which are removed again unless they are published.
pub(super) struct AsideLogs<'a> {
    env: &'a Env,
    archive: &'a Path,
    logs: Vec<AsideLog>,
    /// The log that is being written, and the bytes that were collected.
    open: Option<(Box<dyn DiskFile>, Vec<u8>)>,
    is_kept: bool,
}

struct AsideLog {
    aside: PathBuf,
    /// The path of the sealed log, once the log is whole.
    path: Option<PathBuf>,
}

impl<'a> AsideLogs<'a> {
    pub(super) fn new(env: &'a Env, archive: &'a Path) -> Self {
        Self { env, archive, logs: Vec::new(), open: None, is_kept: false }
    }

    /// Begins a log with this first number.
    pub(super) fn begin(&mut self, first: Seq) -> Result<(), StorageError> {
        let aside = self.archive.join(format!("imported.{first}{UNFINISHED}"));
        self.env.remove(&aside)?;
        self.logs.push(AsideLog { aside: aside.clone(), path: None });
        let file = self.env.disk.open(&aside, OpenMode::Create);
        let file = file.map_err(|error| StorageError::io("write", &aside, error))?;
        self.open = Some((file, Vec::new()));
        Ok(())
    }

    pub(super) fn add(&mut self, seq: Seq, line: &UnnumberedLine) -> Result<(), StorageError> {
        let Some((_, bytes)) = &mut self.open else { return Ok(()) };
        if !leaves_room(seq.get().max(line.rev)) {
            let what = "no number is left for another line".to_owned();
            return Err(StorageError::damaged(self.archive, what));
        }
        line.write(seq.get(), None, bytes);
        if bytes.len() >= BLOCK_BYTES { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> Result<(), StorageError> {
        let Some((file, bytes)) = &mut self.open else { return Ok(()) };
        let written = write_all(&**file, bytes);
        bytes.clear();
        written.map_err(|error| self.failed("write", error))
    }

    /// Ends the open log, durably, if there is one; it gets this name later.
    pub(super) fn end(&mut self, name: Option<SealedName>) -> Result<(), StorageError> {
        self.write_block()?;
        let Some((file, _)) = self.open.take() else { return Ok(()) };
        self.env.sync(&*file).map_err(|error| self.failed("sync", error))?;
        if let Some(log) = self.logs.last_mut() {
            log.path = name.map(|name| sealed_path(self.archive, &name));
        }
        Ok(())
    }

    /// Gives the logs their names.
    pub(super) fn name_logs(&self) -> Result<(), StorageError> {
        for AsideLog { aside, path } in &self.logs {
            let Some(path) = path else { continue };
            let renamed = self.env.disk.rename(aside, path);
            renamed.map_err(|error| StorageError::io("rename to", path, error))?;
        }
        Ok(())
    }

    /// Leaves the logs where they are.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    fn failed(&self, doing: &'static str, error: std::io::Error) -> StorageError {
        let path = self.logs.last().map_or(self.archive, |log| &log.aside);
        StorageError::io(doing, path, error)
    }
}

impl Drop for AsideLogs<'_> {
    /// Removes the logs of an import that failed. Those that stay are found by a repair.
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        for AsideLog { aside, path } in &self.logs {
            let _ = self.env.remove(aside);
            if let Some(path) = path {
                let _ = self.env.remove(path);
            }
        }
    }
}
