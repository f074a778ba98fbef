//! The disk of the machine, used through libc's file calls alone.
//!
//! Every path is walked from the project folder, and no step follows a symbolic link. A program that can plant a
//! link below `.ship` still cannot redirect our reads and writes. The system walks to the folder in one call where
//! it can; otherwise we take one name at a time. `io_uring` and memory maps are not used, so that a tool for fault
//! injection sees every call on a file.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode as Bits, OFlags, Stat};
use rustix::io::Errno;

use super::change_marks::ChangeMarks;
use super::kept_files::{KeptFile, KeptFiles};
use super::{
    ChangeTimes, ChangeWatch, Disk, DiskFile, FileLook, FolderLooks, LinkedFile, NodeKind,
    OpenMode, SeenChange, TimedLook,
};
use crate::Timestamp;

// Chats are private, so other accounts get no access.
const FILE_BITS: Bits = Bits::from_raw_mode(0o600);
const FOLDER_BITS: Bits = Bits::from_raw_mode(0o700);
// A planted link must not lead out of the project.
const PLAIN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);
/// NONBLOCK: opening a planted pipe must not block before we see that it is one.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);
const FOLDER: OFlags = PLAIN.union(OFlags::RDONLY).union(OFlags::DIRECTORY);

/// The time for which the clock of a file system may stand still: its steps are at most 10 ms, but where a time has no
/// fraction of a second, they may be two seconds.
const TICK_NANOS: i128 = 50_000_000;
const LONG_TICK_NANOS: i128 = 3_000_000_000;

fn flags_of(mode: OpenMode) -> OFlags {
    let flags = match mode {
        OpenMode::Read | OpenMode::ReadOften => READ,
        OpenMode::Append => OFlags::RDWR | OFlags::APPEND,
        OpenMode::Create => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL,
        OpenMode::Lock => OFlags::RDWR | OFlags::CREATE,
    };
    PLAIN | OFlags::NONBLOCK | flags
}

/// The disk of the machine, below one project folder.
#[derive(Debug)]
pub struct RealDisk {
    root: OwnedFd,
    kept: Arc<KeptFiles>,
    marks: ChangeMarks,
    /// The path of the project folder, for links of people.
    project: PathBuf,
}

impl RealDisk {
    /// Opens the project folder. Only here are symbolic links followed, because the user
    /// chooses the project folder.
    pub fn new(project: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(project, flags, Bits::empty())?;
        let marks = ChangeMarks::new(project);
        Ok(Self { root, kept: Arc::default(), marks, project: project.to_owned() })
    }

    /// Opens a folder. No step on the way is a symbolic link.
    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        // The walk by steps would follow `..` out of the project folder.
        if path.components().any(|name| !matches!(name, Component::Normal(_))) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path of plain names"));
        }
        if path.as_os_str().is_empty() {
            return self.root.try_clone();
        }
        match self.folder_at_once(path) {
            Some(folder) => Ok(folder),
            None => self.folder_by_steps(path),
        }
    }

    /// Walks to the folder in one call. Returns `None` on any failure; [`RealDisk::folder_by_steps`]
    /// then finds the reason.
    #[cfg(target_os = "linux")]
    fn folder_at_once(&self, path: &Path) -> Option<OwnedFd> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(&self.root, path, FOLDER, Bits::empty(), resolve).ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn folder_at_once(&self, _path: &Path) -> Option<OwnedFd> {
        None
    }

    /// Opens a file for reading in one call, if no step is a symbolic link. Returns `None` on any failure except that
    /// the file is missing; `open_in_folder` then finds the reason. libc has no function for this call, so a file is
    /// not opened for writing by it: tools that inject faults into functions would not see it.
    #[cfg(target_os = "linux")]
    fn file_at_once(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        use rustix::fs::ResolveFlags;
        if path.components().any(|name| !matches!(name, Component::Normal(_))) {
            return Ok(None);
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = flags_of(OpenMode::Read);
        match rustix::fs::openat2(&self.root, path, flags, Bits::empty(), resolve) {
            Err(Errno::NOENT) => Err(Errno::NOENT.into()),
            opened => Ok(opened.ok()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn file_at_once(&self, _path: &Path) -> io::Result<Option<OwnedFd>> {
        Ok(None)
    }

    /// Returns the file that is kept open, if it is still the one at this path.
    fn open_kept(&self, path: &Path, mode: OpenMode) -> Option<RealFile> {
        let (id, file) = self.kept.find(path, mode)?;
        match self.glance(path).ok().filter(|there| there.file == id) {
            Some(opened) => Some(self.real_file(path, mode, file, opened)),
            None => {
                self.kept.forget(path);
                None
            }
        }
    }

    fn real_file(
        &self,
        path: &Path,
        mode: OpenMode,
        file: Arc<File>,
        opened: FileLook,
    ) -> RealFile {
        let lock = (mode == OpenMode::Lock).then(|| {
            let (path, file) = (path.to_owned(), Arc::clone(&file));
            (KeptFile { path, mode, id: opened.file, file }, Arc::clone(&self.kept))
        });
        RealFile { file, opened, lock }
    }

    fn open_in_folder(&self, path: &Path, mode: OpenMode) -> io::Result<OwnedFd> {
        let (folder, name) = self.parent(path)?;
        Ok(retry(|| rustix::fs::openat(&folder, name, flags_of(mode), FILE_BITS))?)
    }

    fn folder_by_steps(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut folder = None;
        for name in path {
            let from = folder.as_ref().unwrap_or(&self.root);
            folder = Some(rustix::fs::openat(from, name, FOLDER, Bits::empty())?);
        }
        folder.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a Path)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.folder(path.parent().unwrap_or(Path::new("")))?, Path::new(name)))
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        if let Some(file) = self.open_kept(path, mode) {
            return Ok(Box::new(file));
        }
        let at_once = match mode {
            OpenMode::Read | OpenMode::ReadOften => self.file_at_once(path)?,
            OpenMode::Append | OpenMode::Create | OpenMode::Lock => None,
        };
        let file = match at_once {
            Some(file) => file,
            None => self.open_in_folder(path, mode)?,
        };
        let file = Arc::new(File::from(file));
        let opened = file_look(&rustix::fs::fstat(&file)?);
        if opened.node != NodeKind::File {
            // The caller treats a device or pipe like a symbolic link: as something that is not a plain file.
            return Err(Errno::LOOP.into());
        }
        if mode == OpenMode::ReadOften {
            let (path, file) = (path.to_owned(), Arc::clone(&file));
            self.kept.keep(KeptFile { path, mode, id: opened.file, file });
        }
        Ok(Box::new(self.real_file(path, mode, file, opened)))
    }

    fn open_known(&self, path: &Path, known: (u64, u64)) -> Option<Box<dyn DiskFile>> {
        // The folders on the way may be links here, but the file is the one that was found without any.
        let flags = flags_of(OpenMode::Append);
        let file = retry(|| rustix::fs::openat(&self.root, path, flags, Bits::empty())).ok()?;
        let file = Arc::new(File::from(file));
        let opened = file_look(&rustix::fs::fstat(&file).ok()?);
        (opened.file == known && opened.node == NodeKind::File)
            .then(|| Box::new(RealFile { file, opened, lock: None }) as Box<dyn DiskFile>)
    }

    fn open_linked(&self, path: &Path) -> io::Result<LinkedFile> {
        let target = self.project.join(path).canonicalize()?;
        if !target.starts_with(self.project.canonicalize()?) {
            return Ok(LinkedFile::Outside(target));
        }
        // The kind is checked before the file is opened: opening a pipe would wait for its other end.
        if !target.metadata()?.is_file() {
            return Ok(LinkedFile::NotAFile);
        }
        let file = File::open(target)?;
        let opened = file_look(&rustix::fs::fstat(&file)?);
        Ok(LinkedFile::Inside(Box::new(RealFile { file: Arc::new(file), opened, lock: None })))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::mkdirat(parent, name, FOLDER_BITS)?)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from, old), (to, new)) = (self.parent(from)?, self.parent(to)?);
        Ok(rustix::fs::linkat(from, old, to, new, AtFlags::empty())?)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.kept.forget(to);
        let (folder, old) = self.parent(from)?;
        if from.parent() == to.parent() {
            let new = to.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            return Ok(rustix::fs::renameat(&folder, old, &folder, new)?);
        }
        let (to, new) = self.parent(to)?;
        Ok(rustix::fs::renameat(folder, old, to, new)?)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.kept.forget(path);
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    }

    fn symlink(&self, target: &str, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::symlinkat(target, parent, name)?)
    }

    fn stat(&self, path: &Path) -> io::Result<FileLook> {
        let (parent, name) = self.parent(path)?;
        Ok(file_look(&rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn glance(&self, path: &Path) -> io::Result<FileLook> {
        Ok(file_look(&rustix::fs::statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn modified(&self, path: &Path) -> io::Result<Option<Timestamp>> {
        let (parent, name) = self.parent(path)?;
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Some(modified(&stat)))
    }

    fn looks_below(&self, folder: &Path) -> io::Result<Option<Box<dyn FolderLooks + '_>>> {
        Ok(Some(Box::new(OpenFolder(self.folder(folder)?))))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(self.folder(path)?)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        // The system lists names in any order; callers rely on a fixed one.
        names.sort_unstable();
        Ok(names)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let folder = self.folder(path)?;
        Ok(retry(|| rustix::fs::fsync(&folder))?)
    }

    fn mark_changed(&self, chat_folder: &str) -> io::Result<()> {
        self.marks.touch(&self.root, chat_folder)
    }

    fn watch_changes(&self, seen: SeenChange) -> io::Result<Option<ChangeWatch>> {
        self.marks.watch(&self.root, seen).map(Some)
    }
}

/// A folder that is open for looks at the files below it.
struct OpenFolder(OwnedFd);

impl FolderLooks for OpenFolder {
    fn look(&self, path: &Path) -> io::Result<TimedLook> {
        let stat = rustix::fs::statat(&self.0, path, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(TimedLook { look: file_look(&stat), modified: Some(modified(&stat)) })
    }
}

/// Returns the time of the last write.
fn modified(stat: &Stat) -> Timestamp {
    let millis = nanos(stat.st_mtime, stat.st_mtime_nsec).div_euclid(1_000_000);
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(0))
}

struct RealFile {
    file: Arc<File>,
    /// The properties at the time of opening.
    opened: FileLook,
    /// A file to be locked, which stays open without its lock, and where it is kept.
    lock: Option<(KeptFile, Arc<KeptFiles>)>,
}

impl Drop for RealFile {
    fn drop(&mut self) {
        let Some((file, kept)) = self.lock.take() else { return };
        // A file that cannot be unlocked is closed, which releases its lock as well.
        if retry(|| rustix::fs::flock(&self.file, FlockOperation::Unlock)).is_ok() {
            kept.keep(file);
        }
    }
}

impl DiskFile for RealFile {
    fn stat(&self) -> io::Result<FileLook> {
        Ok(file_look(&rustix::fs::fstat(&self.file)?))
    }

    fn stat_when_opened(&self) -> io::Result<FileLook> {
        Ok(self.opened)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.file).write(bytes)
    }

    fn write_note(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, 0)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        Ok(retry(|| rustix::fs::ftruncate(&self.file, len))?)
    }

    fn sync(&self) -> io::Result<()> {
        // `fdatasync` also writes the length of the file; the times, which it leaves out, are not needed.
        Ok(retry(|| rustix::fs::fdatasync(&self.file))?)
    }

    fn try_lock(&self) -> io::Result<bool> {
        match retry(|| rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Repeats a call that a signal interrupted before it had an effect.
fn retry<T>(call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    rustix::io::retry_on_intr(call)
}

fn file_look(stat: &Stat) -> FileLook {
    let node = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => NodeKind::File,
        FileType::Directory => NodeKind::Folder,
        _ => NodeKind::Other,
    };
    let len = u64::try_from(stat.st_size).unwrap_or(0);
    let (file, names) = ((stat.st_dev, stat.st_ino), widen(stat.st_nlink));
    FileLook { node, file, len, names, changed: Some(change_times(stat)) }
}

#[expect(clippy::disallowed_methods, reason = "it is compared with times that the system gave")]
fn change_times(stat: &Stat) -> ChangeTimes {
    let bytes = nanos(stat.st_mtime, stat.st_mtime_nsec);
    let properties = nanos(stat.st_ctime, stat.st_ctime_nsec);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
    let is_whole_second = properties.rem_euclid(1_000_000_000) == 0;
    let tick = if is_whole_second { LONG_TICK_NANOS } else { TICK_NANOS };
    let is_settled = i128::try_from(now).is_ok_and(|now| properties + tick < now);
    ChangeTimes::new(bytes, properties, is_settled)
}

/// Joins seconds and nanoseconds, which have other types on each system.
fn nanos(seconds: impl TryInto<i64>, nanos: impl TryInto<i64>) -> i128 {
    let (seconds, nanos) = (seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}

/// Converts the count of names, which has another width on each system.
fn widen(count: impl Into<u64>) -> u64 {
    count.into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn neither_way_to_a_folder_follows_a_symbolic_link_or_leaves_the_project() {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir_all(project.path().join("a/b/c")).unwrap();
        symlink("b", project.path().join("a/link")).unwrap();
        let disk = RealDisk::new(project.path()).unwrap();
        for (path, good) in
            [("a/b/c", true), ("a", true), ("a/link", false), ("a/link/c", false), ("a/no", false)]
        {
            let path = Path::new(path);
            assert_eq!(disk.folder_by_steps(path).is_ok(), good, "{path:?}");
            assert!(good || disk.folder_at_once(path).is_none(), "{path:?}");
            assert_eq!(disk.folder(path).is_ok(), good, "{path:?}");
            let file = path.join("file");
            if good {
                fs::write(project.path().join(&file), "x").unwrap();
            }
            assert_eq!(disk.open(&file, OpenMode::Read).is_ok(), good, "{file:?}");
            assert!(good || !matches!(disk.file_at_once(&file), Ok(Some(_))), "{file:?}");
        }
        symlink("b/file", project.path().join("a/file-link")).unwrap();
        for link in ["a/file-link", "a/../a/b/file"] {
            assert!(disk.open(Path::new(link), OpenMode::Read).is_err(), "{link}");
        }
        for outside in ["..", "a/../..", "/", "./a"] {
            let refused = disk.folder(Path::new(outside)).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{outside}");
        }
    }
}
