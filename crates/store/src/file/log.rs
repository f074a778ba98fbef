//! An append-only file of which only synced bytes are trusted.
//!
//! A [`LogFile`] remembers the last known state of its file: its identity, the length of its good part, and the
//! state that its owner folds out of the lines. Before each write it examines the file again, because another
//! process may have added lines, died while doing so, or replaced the file. Lines that it adopts from another
//! process are synced before anything is acknowledged on top of them.
//!
//! After a failed write or sync, the bytes after the last good length may or may not be on disk, and no later sync
//! can be trusted to tell. They are cut off at once, and the cut is synced. If that fails too, other processes may
//! read those bytes, sync them and append after them as soon as the write right is free. So the next write reads
//! the file again. Whole batches are kept, even those of other processes, and published as a new file; only a torn
//! tail is cut. Until that has worked, the file takes no writes.

mod reading;
mod sealing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::min_reader::raise_min_reader;
use super::quarantine;
use super::right::HeldRight;
use super::store_env::{Env, read_from, write_all};
use crate::disk::{DiskFile, FileLook, OpenMode};
use crate::line::{LineOutline, RawLine, UnnumberedLine, decode, leaves_room};
use crate::scan::LineNumbers;
use crate::{StorageError, StorageProblem};
use parking_lot::{Mutex, MutexGuard};

/// The number of bytes at the end of a log that identify it: more than the checksum of its last line.
const ENDING_LEN: usize = 64;

/// The state that the owner of a log keeps in memory.
pub(crate) trait Fold: Default + Send {
    /// Applies a line that is in the log.
    fn apply(&mut self, line: &RawLine, span: Span);

    /// Applies a message of which only the outline was read.
    fn apply_outline(&mut self, message: &LineOutline<'_>, span: Span);

    /// Returns the approximate memory of the state, at the price of no look at each line.
    fn cached_bytes(&self) -> u64 {
        0
    }

    /// Says what is missing from a log in which numbers up to `given` were given.
    fn loss(&self, _given: u64) -> Option<String> {
        None
    }
}

/// The place of a line in its file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    /// The length without the newline.
    pub(crate) len: u64,
}

impl Span {
    /// Whether this line begins directly after another one and its newline.
    pub(crate) fn follows(self, other: Self) -> bool {
        self.offset == other.offset + other.len + 1
    }
}

/// A log and its last known state.
pub(crate) struct LogFile<F> {
    pub(crate) env: Arc<Env>,
    pub(crate) path: PathBuf,
    /// The folder to which cut bytes are moved.
    quarantine: PathBuf,
    state: Mutex<LogFileState<F>>,
    /// The memory of the known state when it was last asked for.
    cached_bytes: AtomicU64,
}

struct LogFileState<F> {
    tail: Option<LogTail<F>>,
    /// The failure after which the file could not be cut back. It stays until the file was read again.
    failed_append: Option<String>,
    /// Whether a sync of the good part, or of the file's name, has failed. Then later syncs are not trusted either,
    /// and the good part is published as a new file.
    unsyncable: bool,
    /// The highest number that was ever written, even if the line was undone: a reader may have seen it.
    shown: u64,
    /// The repairs made since the last call of `take_notes`.
    notes: Vec<StorageProblem>,
}

/// The last known state of a file.
pub(crate) struct LogTail<F> {
    pub(crate) file: (u64, u64),
    /// The length of the good part.
    pub(crate) len: u64,
    /// The last bytes of the good part. The system gives the inode number of a removed file to a new one, so the
    /// number alone does not identify a file.
    ending: Vec<u8>,
    /// Whether the good part is on disk.
    synced: bool,
    /// Whether lines were added since the last sync that need not be on disk yet.
    loose: bool,
    pub(crate) first_seq: u64,
    /// The number of the last line that can be read.
    pub(crate) last_seq: u64,
    /// The highest number that may have been given, also to a line that cannot be read.
    pub(crate) given: u64,
    pub(crate) fold: F,
}

/// The right to change a log whose known state is up to date.
pub(crate) struct Writing<'a, F> {
    log: &'a LogFile<F>,
    state: MutexGuard<'a, LogFileState<F>>,
    /// The open file; `None` if there is no file yet.
    file: Option<Box<dyn DiskFile>>,
    /// The look at the file that the known state was compared with.
    look: Option<FileLook>,
    /// The file that this writing has published.
    published: Option<PublishedFile>,
}

/// A whole file that was just written, and its bytes.
pub(crate) struct PublishedFile {
    look: FileLook,
    pub(crate) bytes: Vec<u8>,
}

impl PublishedFile {
    /// Whether a file is this one, and nothing was added to it.
    pub(crate) fn is_whole_in(&self, look: FileLook) -> bool {
        (look.file, look.len) == (self.look.file, self.bytes.len() as u64)
    }
}

impl<F: Fold> LogFile<F> {
    pub(crate) fn new(env: Arc<Env>, path: PathBuf, quarantine: PathBuf) -> Self {
        let state = LogFileState {
            tail: None,
            failed_append: None,
            unsyncable: false,
            shown: 0,
            notes: Vec::new(),
        };
        Self { env, path, quarantine, state: Mutex::new(state), cached_bytes: AtomicU64::new(0) }
    }

    /// Returns the approximate memory of the known state, or that of a moment ago while a write is under way.
    pub(crate) fn cached_bytes(&self) -> u64 {
        if let Some(state) = self.state.try_lock() {
            let bytes = state.tail.as_ref().map_or(0, |known| known.fold.cached_bytes());
            self.cached_bytes.store(bytes, Ordering::Relaxed);
        }
        self.cached_bytes.load(Ordering::Relaxed)
    }

    /// Drops the known state to free its memory, unless a write is under way or something is left to sync or to undo.
    /// The next write reads the log again.
    pub(crate) fn forget(&self) {
        let Some(mut state) = self.state.try_lock() else { return };
        let is_settled = state.failed_append.is_none() && !state.unsyncable;
        if is_settled && state.tail.as_ref().is_some_and(|known| known.synced && !known.loose) {
            state.tail = None;
            self.cached_bytes.store(0, Ordering::Relaxed);
        }
    }

    /// Raises the `minReader` of the chat, if these lines need it.
    fn raise_min_reader(&self, drafts: &[UnnumberedLine]) -> Result<(), StorageError> {
        raise_min_reader(&self.env, &self.quarantine.with_file_name("chat.json"), drafts)
    }

    /// Prepares a write: undoes a failed one, reads lines of other processes, cuts a torn tail, and syncs what this
    /// process did not write.
    pub(crate) fn begin_writing(&self, right: &HeldRight) -> Result<Writing<'_, F>, StorageError> {
        let mut writing = self.begin_unsynced(right)?;
        writing.sync_adopted()?;
        Ok(writing)
    }

    /// Like [`LogFile::begin_writing`], for a caller that acknowledges nothing before the file is synced: an append and
    /// a sealing sync what this process did not write, too.
    pub(crate) fn begin_unsynced(
        &self,
        _right: &HeldRight,
    ) -> Result<Writing<'_, F>, StorageError> {
        let state = self.state.lock();
        let known = state.tail.as_ref().map(|known| known.file);
        let file = self.env.open_to_write(&self.path, known)?;
        let mut writing = Writing { log: self, state, file, look: None, published: None };
        writing.bring_up_to_date()?;
        Ok(writing)
    }

    /// Like [`LogFile::begin_writing`], for a log that is replaced without being read.
    pub(crate) fn begin_replacing(
        &self,
        _right: &HeldRight,
    ) -> Result<Writing<'_, F>, StorageError> {
        let mut state = self.state.lock();
        state.tail = None;
        let file = self.env.open(&self.path, OpenMode::Append)?;
        Ok(Writing { log: self, state, file, look: None, published: None })
    }

    /// Begins to replace a log by a new one. A file that is as long as after the last write is not read again.
    pub(crate) fn begin_next(&self, right: &HeldRight) -> Result<Writing<'_, F>, StorageError> {
        let state = self.state.lock();
        if self.is_as_known(&state)? {
            return Ok(Writing { log: self, state, file: None, look: None, published: None });
        }
        drop(state);
        self.begin_unsynced(right)
    }

    /// Asks the known state of a file that is as long as after the last write, and on disk. Returns `None` otherwise.
    pub(crate) fn unchanged<T>(
        &self,
        _right: &HeldRight,
        ask: impl FnOnce(&LogTail<F>) -> T,
    ) -> Result<Option<T>, StorageError> {
        let state = self.state.lock();
        let is_on_disk = |known: &&LogTail<F>| known.synced || !self.env.syncs();
        match self.is_as_known(&state)? {
            true => Ok(state.tail.as_ref().filter(is_on_disk).map(ask)),
            false => Ok(None),
        }
    }

    /// Whether the file is the known one with its length, and no write of it has failed.
    fn is_as_known(&self, state: &LogFileState<F>) -> Result<bool, StorageError> {
        let is_settled = state.failed_append.is_none() && !state.unsyncable;
        let Some(known) = state.tail.as_ref().filter(|_| is_settled) else { return Ok(false) };
        let look = self.env.glance(&self.path)?;
        Ok(look.is_some_and(|look| (look.file, look.len) == (known.file, known.len)))
    }

    /// Asks the last known state of the file, which may have changed since. Returns `None` if nothing is known, or
    /// while a write is under way: a reader does not wait for a sync.
    pub(crate) fn last_known<T>(&self, ask: impl FnOnce(&LogTail<F>) -> Option<T>) -> Option<T> {
        self.state.try_lock()?.tail.as_ref().and_then(ask)
    }

    /// Returns the repairs that were made since the last call.
    pub(crate) fn take_notes(&self) -> Vec<StorageProblem> {
        std::mem::take(&mut self.state.lock().notes)
    }

    fn io_error(&self, doing: &'static str) -> impl Fn(std::io::Error) -> StorageError {
        move |error| StorageError::io(doing, &self.path, error)
    }
}

impl<F: Fold> Writing<'_, F> {
    /// Returns the known state of the log; `None` if there is no file yet.
    pub(crate) fn tail(&self) -> Option<&LogTail<F>> {
        self.state.tail.as_ref()
    }

    /// Returns the folder of the log.
    pub(crate) fn folder(&self) -> &Path {
        self.log.folder()
    }

    /// Returns the owner's state, which the owner may change.
    pub(crate) fn fold_mut(&mut self) -> Option<&mut F> {
        self.state.tail.as_mut().map(|known| &mut known.fold)
    }

    /// Whether the log can be appended to: no failed write has to be undone, and syncs are trusted.
    pub(crate) fn is_settled(&self) -> bool {
        self.state.failed_append.is_none() && !self.state.unsyncable
    }

    /// Returns how many numbers after the last line were given to lines that were undone.
    pub(crate) fn undone_numbers(&self) -> u64 {
        self.tail().map_or(0, |known| self.state.shown.saturating_sub(known.given))
    }

    /// Reads the bytes of a line.
    pub(crate) fn read(&self, span: Span) -> Result<Vec<u8>, StorageError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        read_from(&**file, span.offset, span.offset + span.len).map_err(self.log.io_error("read"))
    }

    /// Reads the good part of the file.
    pub(crate) fn read_all(&self) -> Result<Vec<u8>, StorageError> {
        self.read(Span { offset: 0, len: self.tail().map_or(0, |known| known.len) })
    }

    /// Reads what was added since the last look, and sets torn bytes aside.
    fn bring_up_to_date(&mut self) -> Result<(), StorageError> {
        let Some(file) = &self.file else {
            return match self.state.tail.is_some() {
                // A new file in its place would give the same numbers again.
                true => Err(self.damaged_error("it was there before and is gone")),
                false => Ok(()),
            };
        };
        let look = file.stat_when_opened().map_err(self.log.io_error("look at"))?;
        let settled = self.read_new_lines(look).and_then(|()| match self.state.unsyncable {
            // No later sync of this file can be trusted.
            true => self.sync_adopted(),
            false => Ok(()),
        });
        match (settled, self.state.failed_append.take()) {
            // Only a look that succeeds ends an earlier failure; until then, each error names its cause.
            (Err(error), Some(cause)) => {
                self.state.failed_append = Some(cause.clone());
                Err(error.after_failure(&self.log.path, cause))
            }
            (settled, _) => {
                self.look = Some(look);
                settled
            }
        }
    }

    /// Returns how the file looked when this writing began, and how it looks now, after appends alone.
    pub(crate) fn looks(&self) -> Option<(FileLook, FileLook)> {
        let before = self.look.filter(|look| self.tail().is_some_and(|it| it.file == look.file))?;
        Some((before, self.file.as_ref()?.stat().ok()?))
    }

    /// Syncs the lines and the file name that another process wrote, because they may not be on disk.
    pub(crate) fn sync_adopted(&mut self) -> Result<(), StorageError> {
        let synced = self.tail().is_none_or(|known| known.synced) || !self.log.env.syncs();
        if synced && !(self.state.unsyncable && self.tail().is_some()) {
            return Ok(());
        }
        let file = self.file.as_ref().expect("a file that is known is open");
        let synced = match self.state.unsyncable {
            true => self.read_all().and_then(|good| self.publish_anew(&good)),
            false => self.log.env.sync(&**file).map_err(self.log.io_error("sync")),
        };
        let synced = synced.and_then(|()| self.log.env.sync_folder(self.log.folder()));
        self.state.unsyncable = synced.is_err();
        synced?;
        if let Some(known) = &mut self.state.tail {
            (known.synced, known.loose) = (true, false);
        }
        Ok(())
    }

    /// Writes the good part to a new file: after a failed sync, the old file may be good in memory alone.
    fn publish_anew(&mut self, good: &[u8]) -> Result<(), StorageError> {
        let env = &self.log.env;
        let aside = env.write_aside(&self.log.path, good)?;
        env.disk.rename(&aside.path, &self.log.path).map_err(self.log.io_error("rename to"))?;
        self.file = Some(aside.file);
        // The bytes are the same, so only the identity of the file changes.
        if let Some(known) = &mut self.state.tail {
            known.file = aside.look.file;
        }
        Ok(())
    }

    /// Cuts the file to a length, durably. The caller must have read the cut bytes under the same write right.
    fn cut_back(&mut self, len: u64) -> Result<(), StorageError> {
        let Some(file) = &self.file else { return Ok(()) };
        file.truncate(len).map_err(self.log.io_error("cut"))?;
        let synced = self.log.env.sync(&**file);
        // Lines that this sync should have made durable may be in memory alone.
        self.state.unsyncable |= synced.is_err();
        synced.map_err(self.log.io_error("sync"))
    }

    /// Appends lines as one batch, all or nothing. Returns the number of the first.
    pub(crate) fn append(
        &mut self,
        drafts: &[UnnumberedLine],
        sync: bool,
    ) -> Result<u64, StorageError> {
        let known = self.state.tail.as_ref().expect("an append follows a look at the log");
        let (first, count) = (known.next_seq(), drafts.len() as u64);
        // Earlier lines that this sync makes durable too, and perhaps the name of the file.
        let (loose, adopted) = (known.loose, !known.synced);
        // The checksum of a single line shows whether it is whole; only several lines need the marks of a batch.
        let batch = (count > 1).then_some((first, first + count - 1));
        self.check_room(drafts, first)?;
        self.log.raise_min_reader(drafts)?;
        let (bytes, spans) = encode(drafts, first, batch, known.len);
        // Noted before the write: a reader may see the lines even if the write fails and is undone.
        self.state.shown = self.state.shown.max(first + count - 1);
        let file = self.file.as_ref().expect("a log that is known is open");
        let written = write_all(&**file, &bytes).map_err(self.log.io_error("write"));
        let written = written.and_then(|()| match sync {
            true => self.sync_appended(&**file),
            false => Ok(()),
        });
        if let Err(error) = written {
            // Earlier lines that this sync should have made durable may be in memory alone.
            self.state.unsyncable |= sync && (loose || adopted);
            self.cut_failed_append(&error);
            return Err(error);
        }
        let known = self.state.tail.as_mut().expect("an append follows a look at the log");
        known.loose = !sync;
        known.synced |= sync;
        known.extend(&bytes);
        known.last_seq = first + count - 1;
        known.given = known.last_seq;
        known.add_lines(&bytes, &spans);
        Ok(first)
    }

    /// Makes all lines durable that were added so far.
    pub(crate) fn sync_all(&mut self) -> Result<(), StorageError> {
        if self.tail().is_none_or(|known| known.synced && !known.loose) || !self.log.env.syncs() {
            return Ok(());
        }
        let file = self.file.as_ref().expect("a file that is known is open");
        let synced = self.sync_appended(&**file);
        self.state.unsyncable |= synced.is_err();
        synced?;
        if let Some(known) = &mut self.state.tail {
            (known.synced, known.loose) = (true, false);
        }
        Ok(())
    }

    /// Makes appended lines durable, and the name of their file, if another process gave it.
    fn sync_appended(&self, file: &dyn DiskFile) -> Result<(), StorageError> {
        self.log.env.sync(file).map_err(self.log.io_error("sync"))?;
        match self.tail().is_some_and(|known| !known.synced) {
            true => self.log.env.sync_folder(self.log.folder()),
            false => Ok(()),
        }
    }

    /// Cuts off the bytes that a failed append may have left. If that fails too, the next write examines them: a
    /// whole batch stays, and no sync of this file is trusted any more.
    fn cut_failed_append(&mut self, cause: &StorageError) {
        let len = self.state.tail.as_ref().map_or(0, |known| known.len);
        if self.cut_back(len).is_err() {
            self.state.failed_append = Some(cause.to_string());
            self.state.unsyncable = true;
        }
    }

    /// Replaces this file by a new one whose lines have the numbers from `first` on. If there is an old file and
    /// `seal` is given, the old file first gets that name as its second.
    pub(crate) fn publish(
        &mut self,
        drafts: &[UnnumberedLine],
        first: u64,
        seal: Option<&Path>,
    ) -> Result<(), StorageError> {
        if let Some(sealed) = seal {
            self.check_room(drafts, first)?;
            // The old file has its second name before the first one goes to the new file.
            self.seal(sealed)?;
        }
        self.publish_as(drafts, first, true)
    }

    /// Replaces this file like [`Writing::publish`], but the next synced append makes the new one durable. A power cut
    /// before that may leave the old file, or an empty one.
    pub(crate) fn publish_loosely(
        &mut self,
        drafts: &[UnnumberedLine],
        first: u64,
    ) -> Result<(), StorageError> {
        self.publish_as(drafts, first, false)
    }

    fn publish_as(
        &mut self,
        drafts: &[UnnumberedLine],
        first: u64,
        sync: bool,
    ) -> Result<(), StorageError> {
        self.check_room(drafts, first)?;
        self.log.raise_min_reader(drafts)?;
        let env = &self.log.env;
        // The new file is complete before it gets its name, so its lines need no batch.
        let (bytes, spans) = encode(drafts, first, None, 0);
        let aside = match sync {
            true => env.write_aside(&self.log.path, &bytes)?,
            false => env.write_aside_loosely(&self.log.path, &bytes)?,
        };
        // From here until the folder is synced, only the disk knows which of the two files is the log.
        self.state.tail = None;
        env.disk.rename(&aside.path, &self.log.path).map_err(self.log.io_error("rename to"))?;
        if sync {
            let synced = env.sync_folder(self.log.folder());
            self.state.unsyncable = synced.is_err();
            synced?;
        }
        self.file = Some(aside.file);
        let last_seq = first + drafts.len() as u64 - 1;
        let mut known = LogTail {
            file: aside.look.file,
            len: 0,
            ending: Vec::new(),
            synced: sync,
            loose: !sync,
            first_seq: first,
            last_seq,
            given: last_seq,
            fold: F::default(),
        };
        known.extend(&bytes);
        known.add_lines(&bytes, &spans);
        self.state.tail = Some(known);
        self.published = Some(PublishedFile { look: aside.look, bytes });
        Ok(())
    }

    /// Returns the file that was just published.
    pub(crate) fn take_published(&mut self) -> Option<PublishedFile> {
        self.published.take()
    }

    /// Refuses lines with numbers that no reader accepts.
    fn check_room(&self, drafts: &[UnnumberedLine], first: u64) -> Result<(), StorageError> {
        let numbers = (first..).zip(drafts).map(|(seq, draft)| seq.max(draft.rev));
        match numbers.max().is_none_or(leaves_room) {
            true => Ok(()),
            false => Err(self.damaged_error("no number is left for another line")),
        }
    }

    fn damaged_error(&self, what: &str) -> StorageError {
        StorageError::damaged(&self.log.path, what)
    }
}

impl<F> LogTail<F> {
    /// Returns the number of the next line.
    pub(crate) fn next_seq(&self) -> u64 {
        self.given + 1
    }

    /// Whether this is the known file, with nothing changed before the end of the good part.
    fn is_in(&self, file: &dyn DiskFile, look: FileLook) -> std::io::Result<bool> {
        is_same_log(file, look, (self.file, self.len), &self.ending)
    }

    /// Returns the last bytes of the good part.
    pub(crate) fn ending(&self) -> &[u8] {
        &self.ending
    }

    /// Extends the good part by these bytes.
    fn extend(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        let end = &bytes[bytes.len().saturating_sub(ENDING_LEN)..];
        self.ending.extend_from_slice(end);
        self.ending.drain(..self.ending.len().saturating_sub(ENDING_LEN));
    }

    fn numbers(&self) -> LineNumbers {
        LineNumbers { last: self.last_seq, given: self.given }
    }
}

impl<F: Fold> LogTail<F> {
    fn add_lines(&mut self, bytes: &[u8], spans: &[Span]) {
        let start = spans.first().map_or(0, |span| span.offset);
        for &span in spans {
            let from = (span.offset - start) as usize;
            let line = decode(&bytes[from..from + span.len as usize]);
            self.fold.apply(&line.expect("a line that was just written can be read"), span);
        }
    }
}

impl<F> LogFile<F> {
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Stores bytes in the quarantine, durably, before a repair cuts them. Returns whether they are new there.
    fn quarantine(&self, offset: u64, bytes: &[u8]) -> Result<bool, StorageError> {
        quarantine::quarantine_bytes(&self.env, &self.quarantine, &self.path, offset, bytes)
    }
}

/// Encodes lines with the numbers from `first` on. Returns the bytes and the place of each line.
fn encode(
    drafts: &[UnnumberedLine],
    first: u64,
    batch: Option<(u64, u64)>,
    offset: u64,
) -> (Vec<u8>, Vec<Span>) {
    let (mut bytes, mut spans) = (Vec::new(), Vec::with_capacity(drafts.len()));
    for (seq, draft) in (first..).zip(drafts) {
        let start = bytes.len() as u64;
        draft.write(seq, batch, &mut bytes);
        spans.push(Span { offset: offset + start, len: bytes.len() as u64 - start - 1 });
    }
    (bytes, spans)
}

/// Whether an open file is the log with this identity, this length and these last bytes, possibly with
/// more bytes after them.
pub(crate) fn is_same_log(
    file: &dyn DiskFile,
    look: FileLook,
    (number, len): ((u64, u64), u64),
    ending: &[u8],
) -> std::io::Result<bool> {
    if look.file != number || look.len < len {
        return Ok(false);
    }
    Ok(read_from(file, len - ending.len() as u64, len)? == ending)
}
