//! The two rights, each a lock on a file that is never replaced, with a note about the holder in it.
//!
//! The lock ends with its process, so there are no stale locks, and no process guesses by age. The note is for
//! people: it names the holder. Whether a right is free never depends on it.
//!
//! If a person removes the file of a lane, its holder notices that before its next write. The write right is held for
//! one operation only, and its file is opened for each.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use ship_message::json::{Json, Object};
use tokio::sync::Notify;

use super::holder;
use super::store_env::{Env, read_from};
use crate::disk::{DiskFile, FileLook, OpenMode};
use crate::{Busy, ChatKey, Holder, Right, StorageError, Timestamp};

/// The length of every note, so that a short one overwrites a longer one completely.
const NOTE_LEN: usize = 256;
// A longer purpose could make the note longer than the others.
const PURPOSE_CHARS_MAX: usize = 60;
/// The time within which a note of the same process counts as fresh.
const NOTE_MS: i64 = 1000;

/// One right of one chat, for which this process competes.
pub(crate) struct RightFile {
    env: Arc<Env>,
    chat: ChatKey,
    right: Right,
    path: PathBuf,
    /// Whether a thread of this process holds it. Other threads wait here instead of asking the disk.
    taken: Mutex<bool>,
    freed: Condvar,
    /// The note that was last seen in the file, and how the file looked then.
    noted: Mutex<Option<(Holder, FileLook)>>,
}

/// Says whether the caller will try again if the right is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Attempt {
    /// The caller tries again.
    MoreToCome,
    /// The caller has waited for `lock.waitMs` and gives up now.
    Last,
    /// The caller does not wait at all.
    Only,
}

/// A right that is held until this value is dropped.
pub(crate) struct HeldRight {
    source: Arc<RightFile>,
    /// The locked file. It is closed before the next thread is woken.
    file: Option<Box<dyn DiskFile>>,
    /// The identity of that file, for a right that is held for long.
    locked: Option<(u64, u64)>,
    lost: Arc<LostLane>,
}

/// Whether a lane is lost, for its holder to wait for.
#[derive(Default)]
pub(crate) struct LostLane {
    is_lost: AtomicBool,
    noticed: Notify,
}

impl LostLane {
    fn note(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
        self.noticed.notify_waiters();
    }

    pub(crate) async fn until_lost(&self) {
        loop {
            // The wake-up is asked for before the look, so that none is missed between the two.
            let mut noticed = std::pin::pin!(self.noticed.notified());
            noticed.as_mut().enable();
            if self.is_lost.load(Ordering::Relaxed) {
                return;
            }
            noticed.await;
        }
    }
}

impl RightFile {
    pub(crate) fn new(env: Arc<Env>, chat: ChatKey, right: Right, path: PathBuf) -> Self {
        Self {
            env,
            chat,
            right,
            path,
            taken: Mutex::new(false),
            freed: Condvar::new(),
            noted: Mutex::default(),
        }
    }

    /// Takes the right, and waits up to `lock.waitMs` for other holders.
    #[expect(
        clippy::disallowed_methods,
        reason = "a lock with a time limit can only be tried again"
    )]
    pub(crate) fn take(self: &Arc<Self>, purpose: &str) -> Result<HeldRight, StorageError> {
        let wait = Duration::from_millis(self.env.options.lock_wait_ms);
        let deadline = Instant::now() + wait;
        self.take_among_threads(deadline)?;
        // From here on, dropping `held` releases the right.
        let mut held = HeldRight::of(self);
        let failed = |error| StorageError::io("lock", &self.path, error);
        let file = self.env.disk.open(&self.path, OpenMode::Lock).map_err(failed)?;
        // The write right is held for one operation, so the first pauses are short. Behind a slow disk, asking more
        // often than every 5 ms would only cost time of the processor.
        let mut pause = Duration::from_micros(100);
        while !file.try_lock().map_err(failed)? {
            if Instant::now() >= deadline {
                return Err(self.busy_error(read_note(&*file), self.env.options.lock_wait_ms));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        self.write_note(&*file, purpose);
        held.file = Some(file);
        Ok(held)
    }

    /// Takes the right if it is free now. The last attempt fails with the name of the holder.
    pub(crate) fn try_take(
        self: &Arc<Self>,
        purpose: &str,
        attempt: Attempt,
    ) -> Result<Option<HeldRight>, StorageError> {
        if let Some(held) = self.take_if_free(purpose)? {
            return Ok(Some(held));
        }
        match attempt {
            Attempt::MoreToCome => Ok(None),
            Attempt::Last => Err(self.busy_error(self.holder()?, self.env.options.lock_wait_ms)),
            Attempt::Only => Err(self.busy_error(self.holder()?, 0)),
        }
    }

    /// Takes the right if it is free now, without a wait of any kind.
    pub(crate) fn take_if_free(
        self: &Arc<Self>,
        purpose: &str,
    ) -> Result<Option<HeldRight>, StorageError> {
        let taken = std::mem::replace(&mut *self.taken.lock(), true);
        if taken {
            return Ok(None);
        }
        let failed = |error| StorageError::io("lock", &self.path, error);
        let mut held = HeldRight::of(self);
        let file = self.env.disk.open(&self.path, OpenMode::Lock).map_err(failed)?;
        // If another process has the lock, dropping `held` lets other threads of this process try again.
        if !file.try_lock().map_err(failed)? {
            return Ok(None);
        }
        self.write_note(&*file, purpose);
        if self.right == Right::Lane {
            held.locked = Some(file.stat_when_opened().map_err(failed)?.file);
        }
        held.file = Some(file);
        Ok(Some(held))
    }

    /// Writes a note about this holder, unless this process wrote one a moment ago: a note changes a file, and a
    /// hundred notes in a second would slow down every sync. The write right changes its purpose all the time, so
    /// its note may show the purpose of a moment ago.
    fn write_note(&self, file: &dyn DiskFile, purpose: &str) {
        let now = self.env.options.now();
        let Ok(look) = file.stat_when_opened() else { return };
        let mut noted = self.noted.lock();
        if !noted.as_ref().is_some_and(|(_, known)| *known == look) {
            *noted = read_note(file).map(|last| (last, look));
        }
        let fresh = noted.as_ref().is_some_and(|(last, _)| {
            let age = now.millis() - last.since.millis();
            let same = self.right == Right::Write || last.purpose == purpose;
            // The age is negative if the clock went back.
            last.pid() == Some(self.env.process) && same && (0..NOTE_MS).contains(&age)
        });
        // A right without its note is still held.
        if !fresh && file.write_note(&note_bytes(now, purpose)).is_ok() {
            *noted = file.stat().ok().and_then(|look| Some((read_note(file)?, look)));
        }
    }

    fn take_among_threads(&self, deadline: Instant) -> Result<(), StorageError> {
        let mut taken = self.taken.lock();
        while *taken {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.busy_error(self.holder()?, self.env.options.lock_wait_ms));
            }
            self.freed.wait_for(&mut taken, left);
        }
        *taken = true;
        Ok(())
    }

    /// Returns the holder that the note names.
    pub(crate) fn holder(&self) -> Result<Option<Holder>, StorageError> {
        let file = self.env.open(&self.path, OpenMode::Read)?;
        Ok(file.and_then(|file| read_note(&*file)))
    }

    fn busy_error(&self, holder: Option<Holder>, waited_ms: u64) -> StorageError {
        let (chat, right) = (self.chat.clone(), self.right);
        let is_stopped = holder.as_ref().is_some_and(|holder| self.is_stopped(holder));
        StorageError::Busy(Box::new(Busy { chat, right, holder, is_stopped, waited_ms }))
    }

    /// Whether the process of a holder is known to be stopped.
    pub(crate) fn is_stopped(&self, holder: &Holder) -> bool {
        // If the lock file cannot be examined, nothing is known.
        let look = self.env.stat(&self.path).ok().flatten();
        holder.pid().zip(look).is_some_and(|(pid, look)| holder::is_stopped(pid, look.file))
    }
}

impl HeldRight {
    fn of(source: &Arc<RightFile>) -> Self {
        Self { source: Arc::clone(source), file: None, locked: None, lost: Arc::default() }
    }

    /// Returns what learns of it when the right is lost.
    pub(crate) fn lost(&self) -> Arc<LostLane> {
        Arc::clone(&self.lost)
    }

    /// Fails if the locked file is no longer at its path: then another process can take the right.
    pub(crate) fn check(&self) -> Result<(), StorageError> {
        let Some(locked) = self.locked else { return Ok(()) };
        let path = &self.source.path;
        match self.source.env.glance(path)?.is_some_and(|there| there.file == locked) {
            true => Ok(()),
            false => {
                self.lost.note();
                let how = format!("{} was removed or replaced", path.display());
                Err(StorageError::LaneLost { chat: self.source.chat.clone(), how })
            }
        }
    }

    /// Writes the note once more as it is, so that the time of the last write to its file is now.
    pub(crate) fn touch(&self) -> Result<(), StorageError> {
        self.check()?;
        let Some(file) = &self.file else { return Ok(()) };
        // Escapes and long characters in the purpose may make a note longer than `NOTE_LEN`.
        let note = read_from(&**file, 0, 4 * NOTE_LEN as u64);
        let touched = note.and_then(|note| file.write_note(&note));
        touched.map_err(|error| StorageError::io("write", &self.source.path, error))
    }
}

impl Drop for HeldRight {
    fn drop(&mut self) {
        // The lock is released first, or the woken thread would find it still taken.
        self.file = None;
        *self.source.taken.lock() = false;
        self.source.freed.notify_one();
        // Only a lane has a known file: it is held for long, and callers wait for it in tasks.
        if self.locked.is_some() {
            self.source.env.note_arrival(&self.source.chat);
        }
    }
}

pub(super) fn note_bytes(now: Timestamp, purpose: &str) -> Vec<u8> {
    let mut object = Object::new();
    object.set("pid", u64::from(std::process::id()));
    object.set("since", now.to_string());
    object.set("for", purpose.chars().take(PURPOSE_CHARS_MAX).collect::<String>());
    let mut text = Json::from(object).to_string().into_bytes();
    text.resize(NOTE_LEN.max(text.len() + 1) - 1, b' ');
    text.push(b'\n');
    text
}

pub(super) fn read_note(file: &dyn DiskFile) -> Option<Holder> {
    // One call reads all of it; a note is only for people.
    let mut bytes = [0; 4 * NOTE_LEN];
    let len = file.read_at(&mut bytes, 0).ok()?;
    let line = bytes[..len].split(|&byte| byte == b'\n').next()?;
    let note = Json::parse_bytes(line).ok()?;
    Some(Holder {
        host: None,
        process: u32::try_from(note.get("pid")?.as_u64()?).ok()?.to_string(),
        since: Timestamp::parse(note.get("since")?.as_str()?)?,
        purpose: note.get("for")?.as_str()?.to_owned(),
    })
}
