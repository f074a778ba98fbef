//! A disk in memory that counts every call, fails as it is told, and remembers what was synced.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ship_store::disk::{ChangeWatch, Disk, DiskFile, FileLook, MemoryDisk, OpenMode, SeenChange};
use ship_store::{Clock, Timestamp};

/// What shall go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed just before the call.
    KillBefore,
    /// The process is killed just after the call.
    KillAfter,
    /// Half of a write is done, then the process is killed.
    Torn,
    /// Half of a write is done and reported, which is legal.
    Short,
    /// The call fails with this error of the system, and does nothing.
    Fail(i32, Lasts),
    /// Half of a write is done, then it fails.
    FailHalf(i32),
}

/// For how long calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// The fault happens once.
    Once,
    /// From then on.
    Forever,
}

/// A change of the disk, or the promise that changes last.
#[derive(Debug, Clone)]
pub enum Op {
    /// A name was given: to a folder, a file or a link.
    Name(PathBuf, Named),
    /// A file has another name than before.
    Rename(PathBuf, PathBuf, u64),
    /// A name was taken away.
    Remove(PathBuf),
    /// Bytes were written at a place in a file.
    Write(u64, usize, Vec<u8>),
    /// A file was cut.
    Truncate(u64, usize),
    /// The bytes of a file last.
    Sync(u64),
    /// A sync of a file failed: what was not synced before never will be.
    SyncFailed(u64),
    /// The names in a folder last.
    SyncFolder(PathBuf),
}

/// What a name was given to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The name of a folder.
    Folder,
    /// The name of a file.
    File(u64),
    /// A symbolic link to this.
    Link(String),
}

/// A disk in memory that fails as it is told. Clones share it.
#[derive(Clone)]
pub struct SimDisk {
    disk: MemoryDisk,
    /// The changes that all processes made.
    ops: Arc<Mutex<Vec<Op>>>,
    times: Arc<Mutex<WriteTimes>>,
    state: Arc<Mutex<State>>,
    syncs_changed: Arc<Condvar>,
}

/// The times of the last writes, on a disk that keeps them.
#[derive(Default)]
struct WriteTimes {
    clock: Option<Arc<dyn Clock>>,
    last: BTreeMap<u64, Timestamp>,
}

/// Calls that would change the disk and fail, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// How many calls that change the disk work before.
    pub after: usize,
    /// How many fail.
    pub len: usize,
    /// The error of the system.
    pub code: i32,
    /// Whether a write that fails is done by half.
    pub tears: bool,
}

/// Whether syncs are done at once.
#[derive(Default, PartialEq, Eq)]
enum Syncs {
    #[default]
    Free,
    Held {
        waiting: usize,
    },
}

#[derive(Default)]
struct State {
    calls: usize,
    /// How many calls were made that would change the disk.
    changes: usize,
    /// Where in those the failing ones are.
    window: Option<(usize, Window)>,
    plan: Option<(usize, Fault)>,
    /// The error that every change fails with, while the disk is full or read-only.
    no_writes: Option<i32>,
    /// The error that every link fails with, on a disk that has none.
    no_links: Option<i32>,
    /// A folder that takes no new names, and the error that says so.
    closed: Option<(PathBuf, i32)>,
    /// The error that every write fails with after half of it, and every cut at once.
    torn_writes: Option<i32>,
    syncs: Syncs,
    next_sync: Option<i32>,
    dead: bool,
    /// How many bytes were read of each file.
    reads: BTreeMap<u64, u64>,
    /// How often each name was opened to be read.
    looks: BTreeMap<PathBuf, usize>,
}

impl SimDisk {
    /// Makes an empty disk on which nothing goes wrong.
    pub fn new() -> Self {
        Self {
            disk: MemoryDisk::new(),
            ops: Arc::default(),
            times: Arc::default(),
            state: Arc::default(),
            syncs_changed: Arc::default(),
        }
    }

    /// Returns the disk as another process has it, for which nothing goes wrong. Both note their changes in one list.
    #[must_use]
    pub fn other_process(&self) -> Self {
        Self { state: Arc::default(), ..self.clone() }
    }

    /// Keeps the times of writes by this clock, from now on.
    pub fn keep_times(&self, clock: Arc<dyn Clock>) {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).clock = Some(clock);
    }

    /// Fails calls that change the disk, from now on.
    pub fn fail_changes(&self, window: Window) {
        let mut state = self.lock();
        state.window = Some((state.changes, window));
    }

    /// How many calls were made that would change the disk.
    pub fn changes(&self) -> usize {
        self.lock().changes
    }

    /// Makes an empty disk on which `fault` happens at call number `at`.
    pub fn with_fault(at: usize, fault: Fault) -> Self {
        let sim = Self::new();
        sim.lock().plan = Some((at, fault));
        sim
    }

    /// Lets `fault` happen `calls` calls from now.
    pub fn fail_in(&self, calls: usize, fault: Fault) {
        let mut state = self.lock();
        state.plan = Some((state.calls + calls, fault));
    }

    /// Lets nothing go wrong any more.
    pub fn heal(&self) {
        let mut state = self.lock();
        (state.plan, state.window) = (None, None);
    }

    /// Fails everything that would change the disk with this error, or lets it work again.
    pub fn fail_writes(&self, code: Option<i32>) {
        self.lock().no_writes = code;
    }

    /// Does every write by half and then fails it, and cuts nothing; or lets it work again.
    pub fn tear_writes(&self, code: Option<i32>) {
        self.lock().torn_writes = code;
    }

    /// Fails every hard link with this error.
    pub fn refuse_links(&self, code: i32) {
        self.lock().no_links = Some(code);
    }

    /// Fails everything that would give a name in this folder.
    pub fn close_folder(&self, folder: &Path, code: i32) {
        self.lock().closed = Some((folder.to_owned(), code));
    }

    /// Fails a change that gives a name, if its folder takes none.
    fn nameable(&self, path: &Path) -> io::Result<()> {
        match &self.lock().closed {
            Some((folder, code)) if path.parent() == Some(folder) => {
                Err(io::Error::from_raw_os_error(*code))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Fails the next sync of a file, once.
    pub fn fail_next_sync(&self, code: i32) {
        self.lock().next_sync = Some(code);
    }

    /// Lets every sync of a file wait, from now until [`SimDisk::release_syncs`].
    pub fn hold_syncs(&self) {
        self.lock().syncs = Syncs::Held { waiting: 0 };
    }

    /// Blocks until a sync waits.
    pub fn wait_for_held_sync(&self) {
        let is_free = |state: &mut State| state.syncs == Syncs::Held { waiting: 0 };
        drop(self.syncs_changed.wait_while(self.lock(), is_free));
    }

    /// Lets the syncs that wait go on, and holds no more.
    pub fn release_syncs(&self) {
        self.lock().syncs = Syncs::Free;
        self.syncs_changed.notify_all();
    }

    fn wait_while_syncs_are_held(&self) {
        let mut state = self.lock();
        if let Syncs::Held { waiting } = &mut state.syncs {
            *waiting += 1;
            self.syncs_changed.notify_all();
            let is_held = |state: &mut State| state.syncs != Syncs::Free;
            drop(self.syncs_changed.wait_while(state, is_held));
        }
    }

    /// Returns how many bytes were read of all files.
    pub fn bytes_read(&self) -> u64 {
        self.lock().reads.values().sum()
    }

    /// Returns how many bytes were read of the file that has this name now.
    pub fn bytes_read_of(&self, path: &Path) -> u64 {
        let number = self.disk.stat(path).map(|look| look.file.1);
        number.ok().and_then(|number| self.lock().reads.get(&number).copied()).unwrap_or(0)
    }

    /// Returns how often the file with this name was opened to be read.
    pub fn times_opened(&self, path: &Path) -> usize {
        self.lock().looks.get(path).copied().unwrap_or(0)
    }

    /// Fails a change while the disk takes none.
    fn writable(&self) -> io::Result<()> {
        self.lock().no_writes.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
    }

    /// Counts a call that changes the disk, and fails it in its window.
    fn changing(&self) -> Result<(), Window> {
        let mut state = self.lock();
        state.changes += 1;
        let change = state.changes - 1;
        let fails = |&(from, window): &(usize, Window)| {
            let first = from + window.after;
            (first..first + window.len).contains(&change)
        };
        state.window.filter(fails).map_or(Ok(()), |(_, window)| Err(window))
    }

    fn change(&self) -> io::Result<()> {
        self.changing().map_err(|window| io::Error::from_raw_os_error(window.code))
    }

    fn note(&self, op: Option<Op>) {
        if let Some(Op::Write(number, ..)) = op {
            let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
            let now = times.clock.as_ref().map(|clock| clock.now());
            times.last.extend(now.map(|now| (number, now)));
        }
        self.ops.lock().unwrap_or_else(PoisonError::into_inner).extend(op);
    }

    /// Starts another process on the disk as the killed one left it.
    pub fn revive(&self) {
        let mut state = self.lock();
        (state.plan, state.dead) = (None, false);
    }

    /// How many calls were made.
    pub fn calls(&self) -> usize {
        self.lock().calls
    }

    /// Returns the changes so far.
    pub fn ops(&self) -> Vec<Op> {
        self.ops.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many changes there are so far.
    pub fn ops_len(&self) -> usize {
        self.ops.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether the process was killed.
    pub fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// Returns the disk as another process sees it.
    pub fn memory(&self) -> MemoryDisk {
        self.disk.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and tells what goes wrong with it.
    fn count(&self) -> io::Result<Option<Fault>> {
        let mut state = self.lock();
        let call = state.calls;
        state.calls += 1;
        if state.dead {
            return Err(killed());
        }
        let fault = match state.plan {
            Some((at, fault)) if call == at => Some(fault),
            Some((at, fault @ Fault::Fail(_, Lasts::Forever))) if call > at => Some(fault),
            _ => None,
        };
        match fault {
            Some(Fault::KillBefore) => {
                state.dead = true;
                Err(killed())
            }
            Some(Fault::Fail(code, _)) => Err(io::Error::from_raw_os_error(code)),
            fault => Ok(fault),
        }
    }

    /// Makes a call that cannot be done by half.
    fn call<T>(
        &self,
        run: impl FnOnce() -> io::Result<T>,
        op: impl FnOnce(&T) -> Option<Op>,
    ) -> io::Result<T> {
        let fault = self.count()?;
        let done = run()?;
        self.note(op(&done));
        let mut state = self.lock();
        match fault {
            Some(Fault::KillAfter | Fault::Torn) => {
                state.dead = true;
                Err(killed())
            }
            Some(Fault::FailHalf(code)) => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(done),
        }
    }
}

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

fn killed() -> io::Error {
    io::Error::other("the process was killed")
}

fn no_op<T>(_: &T) -> Option<Op> {
    None
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let there = self.disk.stat(path).is_ok();
        let makes = matches!(mode, OpenMode::Create | OpenMode::Lock) && !there;
        if makes {
            self.nameable(path)?;
            self.writable()?;
            self.change()?;
        }
        let open = || {
            let file = self.disk.open(path, mode)?;
            let number = file.stat()?.file.1;
            Ok((file, number))
        };
        let name = |(_, number): &(Box<dyn DiskFile>, u64)| {
            makes.then(|| Op::Name(path.to_owned(), Named::File(*number)))
        };
        let (file, number) = self.call(open, name)?;
        if matches!(mode, OpenMode::Read | OpenMode::ReadOften) {
            *self.lock().looks.entry(path.to_owned()).or_default() += 1;
        }
        Ok(Box::new(SimFile { sim: self.clone(), file, number }))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.writable()?;
        self.change()?;
        let op = |_: &()| Some(Op::Name(path.to_owned(), Named::Folder));
        self.call(|| self.disk.make_folder(path), op)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.writable()?;
        self.change()?;
        self.nameable(to)?;
        let refused = self.lock().no_links;
        let link = || {
            if let Some(code) = refused {
                return Err(io::Error::from_raw_os_error(code));
            }
            self.disk.link(from, to)?;
            Ok(self.disk.stat(to)?.file.1)
        };
        self.call(link, |file| Some(Op::Name(to.to_owned(), Named::File(*file)))).map(|_| ())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.writable()?;
        self.change()?;
        self.nameable(to)?;
        let rename = || {
            self.disk.rename(from, to)?;
            Ok(self.disk.stat(to)?.file.1)
        };
        let op = |file: &u64| Some(Op::Rename(from.to_owned(), to.to_owned(), *file));
        self.call(rename, op).map(|_| ())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        self.call(|| self.disk.remove(path), |_| Some(Op::Remove(path.to_owned())))
    }

    fn symlink(&self, target: &str, path: &Path) -> io::Result<()> {
        self.writable()?;
        self.change()?;
        let op = |_: &()| Some(Op::Name(path.to_owned(), Named::Link(target.to_owned())));
        self.call(|| self.disk.symlink(target, path), op)
    }

    fn stat(&self, path: &Path) -> io::Result<FileLook> {
        self.call(|| self.disk.stat(path), no_op)
    }

    fn modified(&self, path: &Path) -> io::Result<Option<Timestamp>> {
        let number = self.disk.stat(path)?.file.1;
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(times.last.get(&number).copied())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.call(|| self.disk.list(path), no_op)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        self.call(|| self.disk.sync_folder(path), |_| Some(Op::SyncFolder(path.to_owned())))
    }

    // Marks are no content, so no fault meets them.
    fn mark_changed(&self, chat_folder: &str) -> io::Result<()> {
        self.disk.mark_changed(chat_folder)
    }

    fn watch_changes(&self, seen: SeenChange) -> io::Result<Option<ChangeWatch>> {
        self.disk.watch_changes(seen)
    }
}

struct SimFile {
    sim: SimDisk,
    file: Box<dyn DiskFile>,
    number: u64,
}

impl DiskFile for SimFile {
    fn stat(&self) -> io::Result<FileLook> {
        self.sim.call(|| self.file.stat(), no_op)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.sim.call(|| self.file.read_at(buffer, offset), no_op)?;
        *self.sim.lock().reads.entry(self.number).or_default() += read as u64;
        Ok(read)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.sim.writable()?;
        let mut fault = self.sim.count()?;
        if let Some(code) = self.sim.lock().torn_writes {
            fault = Some(Fault::FailHalf(code));
        }
        match self.sim.changing() {
            Err(window) if window.tears => fault = Some(Fault::FailHalf(window.code)),
            Err(window) => return Err(io::Error::from_raw_os_error(window.code)),
            Ok(()) => {}
        }
        let done = match fault {
            Some(Fault::Torn | Fault::Short | Fault::FailHalf(_)) => &bytes[..bytes.len() / 2],
            _ => bytes,
        };
        let offset = usize::try_from(self.file.stat()?.len).unwrap_or(usize::MAX);
        self.file.write(done)?;
        self.sim.note(Some(Op::Write(self.number, offset, done.to_vec())));
        let mut state = self.sim.lock();
        match fault {
            Some(Fault::KillAfter | Fault::Torn) => {
                state.dead = true;
                Err(killed())
            }
            Some(Fault::FailHalf(code)) => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(done.len()),
        }
    }

    fn write_note(&self, bytes: &[u8]) -> io::Result<()> {
        self.sim.writable()?;
        let op = |_: &()| Some(Op::Write(self.number, 0, bytes.to_vec()));
        self.sim.call(|| self.file.write_note(bytes), op)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        if let Some(code) = self.sim.lock().torn_writes {
            return Err(io::Error::from_raw_os_error(code));
        }
        self.sim.change()?;
        let cut = usize::try_from(len).unwrap_or(usize::MAX);
        self.sim.call(|| self.file.truncate(len), |_| Some(Op::Truncate(self.number, cut)))
    }

    fn sync(&self) -> io::Result<()> {
        self.sim.wait_while_syncs_are_held();
        let failure = self.sim.lock().next_sync.take();
        let failure = failure.map(io::Error::from_raw_os_error).or(self.sim.change().err());
        let synced = match failure {
            Some(error) => Err(error),
            None => self.sim.call(|| self.file.sync(), |_| Some(Op::Sync(self.number))),
        };
        if synced.is_err() {
            self.sim.note(Some(Op::SyncFailed(self.number)));
        }
        synced
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.sim.call(|| self.file.try_lock(), no_op)
    }
}
