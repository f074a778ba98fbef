//! Caches the view of the live log: if the log has only grown, only the new lines are parsed.
//!
//! The cache never shows what is not on disk now. The bytes that are known are not read again as long as the file, its
//! length and the times of its last change are those of the last look, or those after our own append to the file that
//! the last look has seen. Otherwise all bytes are read, and their checksum is compared, which is cheap beside parsing
//! them. Times that may stay the same after another change do not count, except those of our own append: only another
//! program's edit in place, of the same length and within the same few milliseconds, would go unnoticed, and only until
//! the file is looked at with other times.
//!
//! Anything but added lines, such as another file, damage, a replaced message or a missing blob, makes it read the log
//! from the beginning. A long log is read in blocks, so that its bytes are never in memory all at once.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::blobs::read_blob;
use super::log::PublishedFile;
use super::store_env::{Env, read_from};
use super::view::view_of;
use crate::disk::{ChangeTimes, DiskFile, FileLook, OpenMode};
use crate::rules::GrowingView;
use crate::scan::scan;
use crate::{StorageError, View};
use parking_lot::Mutex;

/// The size of the blocks in which a long log is read.
const BLOCK_BYTES: u64 = 1024 * 1024;

/// The size of the blocks in which the known part of a log is compared: the processor has each in its cache.
const COMPARED_BYTES: u64 = 128 * 1024;

/// The memory of a view for each byte of its log, with what is kept of its messages beside them, and for each line.
const MEMORY_PER_BYTE: u64 = 2;
const MEMORY_PER_LINE: u64 = 2 * 1024;

/// The cached view of a log.
#[derive(Default)]
pub(crate) struct ViewCache {
    state: Mutex<Option<CachedView>>,
    /// The approximate memory of the view.
    bytes: AtomicU64,
    /// The log that this process has just published. Its first view is made of these bytes.
    published: Mutex<Option<PublishedFile>>,
    /// How the log looked after the last append of this process.
    appended: Mutex<Option<FileLook>>,
}

struct CachedView {
    file: (u64, u64),
    /// The number of bytes that were read, and their checksum.
    len: u64,
    crc: u32,
    /// The times of the last change with which the file had those bytes, if they tell whether it has changed since.
    changed: Option<ChangeTimes>,
    growing: GrowingView,
}

impl ViewCache {
    /// Reads a log as a view; `None` if there is no file.
    pub(crate) fn read(&self, env: &Env, path: &Path) -> Result<Option<View>, StorageError> {
        let Some(file) = env.open(path, OpenMode::ReadOften)? else {
            self.forget();
            return Ok(None);
        };
        let failed = |error| StorageError::io("read", path, error);
        let look = file.stat_when_opened().map_err(failed)?;
        let log = OpenLog { env, path, file: &*file, look };
        let mut state = self.state.lock();
        // The view is taken out, so that an error below leaves none that is half changed.
        let kept = match state.take() {
            Some(kept) if kept.is_in(&log).map_err(failed)? => Some(kept),
            Some(_) | None => log.first_block()?,
        };
        if let Some(mut kept) = kept
            && kept.add_new_lines(&log).map_err(failed)?
        {
            kept.note_look(look, *self.appended.lock());
            self.bytes.store(kept.memory(), Ordering::Relaxed);
            return Ok(Some(state.insert(kept).growing.view().clone()));
        }
        self.bytes.store(0, Ordering::Relaxed);
        let bytes = match self.published.lock().take().filter(|it| it.is_whole_in(look)) {
            Some(published) => published.bytes,
            None => read_from(&*file, 0, look.len).map_err(failed)?,
        };
        let seen = view_of(env, path, &bytes)?;
        if seen.whole {
            let kept = state.insert(CachedView::new(look, &bytes, seen.view.clone()));
            self.bytes.store(kept.memory(), Ordering::Relaxed);
        }
        Ok(Some(seen.view))
    }

    /// Notes an append of this process: if the file was the known one before it, nothing but the append has changed it.
    pub(crate) fn note_append(&self, before: FileLook, after: FileLook) {
        *self.appended.lock() = Some(after);
        if let Some(kept) = &mut *self.state.lock()
            && kept.is_unchanged(before)
        {
            kept.changed = after.changed;
        }
    }

    /// Returns the approximate memory of the cached view, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the length of the log when it was last read, if its view is cached.
    pub(crate) fn known_len(&self) -> Option<u64> {
        self.state.try_lock()?.as_ref().map(|cached| cached.len)
    }

    /// Drops the cached view to free its memory.
    pub(crate) fn forget(&self) {
        *self.state.lock() = None;
        self.bytes.store(0, Ordering::Relaxed);
        *self.published.lock() = None;
    }

    /// Keeps the log that was just published for its first view, unless it is long. The view of the log before it is
    /// not asked for again.
    pub(crate) fn keep_published(&self, file: Option<PublishedFile>) {
        self.forget();
        let kept = file.filter(|file| file.bytes.len() as u64 <= BLOCK_BYTES);
        let bytes = kept.as_ref().map_or(0, |file| file.bytes.len() as u64);
        self.bytes.store(bytes, Ordering::Relaxed);
        *self.published.lock() = kept;
    }
}

/// A log that is being read.
struct OpenLog<'a> {
    env: &'a Env,
    path: &'a Path,
    file: &'a dyn DiskFile,
    look: FileLook,
}

impl OpenLog<'_> {
    /// Reads the block that begins at a place, up to the end of its last line.
    fn read_block(&self, from: u64) -> io::Result<Vec<u8>> {
        let end = (from + BLOCK_BYTES).min(self.look.len);
        let mut bytes = read_from(self.file, from, end)?;
        if end < self.look.len {
            bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
        }
        Ok(bytes)
    }

    /// Reads the first block of a long log as a view. Returns `None` for a short log, and for a log with
    /// a damaged beginning.
    fn first_block(&self) -> Result<Option<CachedView>, StorageError> {
        if self.look.len <= BLOCK_BYTES {
            return Ok(None);
        }
        let failed = |error| StorageError::io("read", self.path, error);
        let mut bytes = self.read_block(0).map_err(failed)?;
        bytes.truncate(scan(&bytes, None).good_len);
        // The reading of the whole log reports what is wrong with it.
        let seen = view_of(self.env, self.path, &bytes).ok().filter(|seen| seen.whole);
        Ok(seen.map(|seen| CachedView::new(self.look, &bytes, seen.view)))
    }
}

/// Returns the times of a look if every later change is sure to have others.
fn settled_times(look: FileLook) -> Option<ChangeTimes> {
    look.changed.filter(|changed| changed.is_settled())
}

impl CachedView {
    fn new(look: FileLook, bytes: &[u8], view: View) -> Self {
        let (len, crc) = (bytes.len() as u64, crc32c::crc32c(bytes));
        let changed = settled_times(look);
        Self { file: look.file, len, crc, changed, growing: GrowingView::new(view) }
    }

    /// Whether a file surely begins with the bytes that the view was made of.
    fn is_unchanged(&self, look: FileLook) -> bool {
        look.file == self.file
            && look.len >= self.len
            && self.changed.is_some()
            && self.changed == look.changed
    }

    /// Notes a look at the file, all bytes of which are known. `appended` is the look after our last append.
    fn note_look(&mut self, look: FileLook, appended: Option<FileLook>) {
        if self.changed.is_none() || self.changed != look.changed {
            self.changed = settled_times(look).or(look.changed.filter(|_| appended == Some(look)));
        }
    }

    fn memory(&self) -> u64 {
        let lines = self.growing.view().lines.len() as u64;
        self.len * MEMORY_PER_BYTE + lines * MEMORY_PER_LINE
    }

    /// Tells whether the log begins with the bytes that the view was made of.
    fn is_in(&self, log: &OpenLog<'_>) -> io::Result<bool> {
        if self.is_unchanged(log.look) {
            return Ok(true);
        }
        if log.look.file != self.file || log.look.len < self.len {
            return Ok(false);
        }
        let (mut at, mut crc) = (0, 0);
        while at < self.len {
            let block = read_from(log.file, at, (at + COMPARED_BYTES).min(self.len))?;
            // The file has become shorter since it was opened.
            if block.is_empty() {
                return Ok(false);
            }
            crc = crc32c::crc32c_append(crc, &block);
            at += block.len() as u64;
        }
        Ok(crc == self.crc)
    }

    /// Adds the new lines to the view. Returns `false` if there is anything but whole lines, or if a line does more
    /// than add to the view. Then the cached view must be dropped, because it may be half changed.
    fn add_new_lines(&mut self, log: &OpenLog<'_>) -> io::Result<bool> {
        while self.len < log.look.len {
            let mut bytes = log.read_block(self.len)?;
            let is_last = self.len + bytes.len() as u64 == log.look.len;
            let found = scan(&bytes, Some(self.growing.view().position.seq.get() + 1));
            if !is_last {
                // A batch that goes on in the next block is read with that.
                bytes.truncate(found.good_len);
            }
            // Without a line end in a whole block there is nothing to add, and the log is read in one piece.
            if bytes.is_empty() || !found.is_whole(&bytes) {
                return Ok(false);
            }
            for found in found.lines {
                let added = self.growing.add(found.line, |digest| read_blob(log.env, digest));
                if added.is_none() {
                    return Ok(false);
                }
            }
            self.len += bytes.len() as u64;
            self.crc = crc32c::crc32c_append(self.crc, &bytes);
        }
        Ok(true)
    }
}
