//! Opens, locks and creates the files of conversations; no symbolic link is followed.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::entry_scan::Extent;
use super::entry_storage::{EntryStorage as _, OnDisk, Prefix};
use super::{CreateError, LoadConversationError};

/// The bytes of an unfinished write that were cut off the end of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The number of bytes that were cut.
    pub cut_bytes: u64,
    /// The file to which they were appended.
    pub quarantine: PathBuf,
}

/// Opens a file for reading.
pub(super) fn open_to_read(path: &Path) -> Result<OnDisk, LoadConversationError> {
    open_existing(path, OFlags::RDONLY)
}

/// Opens a file for appending and locks it until it is closed.
pub(super) fn open_to_write(path: &Path) -> Result<OnDisk, LoadConversationError> {
    let opened = open_existing(path, OFlags::RDWR | OFlags::APPEND)?;
    match opened.file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(LoadConversationError::InUse { path: path.to_owned() });
        }
        Err(TryLockError::Error(source)) => return Err(load_error("lock", path, source)),
    }
    // A killed writer may have left whole lines, and the name, in the system's cache only. We trust both from here
    // on, so both must be durable.
    opened.file.sync_data().map_err(|source| load_error("sync", path, source))?;
    sync_folder(folder_of(path))
        .map_err(|source| load_error("sync the folder of", path, source))?;
    Ok(opened)
}

fn open_existing(path: &Path, flags: OFlags) -> Result<OnDisk, LoadConversationError> {
    let file = match open(path, flags) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(LoadConversationError::NotFound { path: path.to_owned() });
        }
        Err(error) if is_not_plain(&error) => {
            return Err(LoadConversationError::NotPlain { path: path.to_owned() });
        }
        Err(source) => return Err(load_error("open", path, source)),
    };
    let metadata = file.metadata().map_err(|source| load_error("look at", path, source))?;
    if !metadata.is_file() {
        return Err(LoadConversationError::NotPlain { path: path.to_owned() });
    }
    Ok(OnDisk { file, path: path.to_owned() })
}

/// Moves a torn tail to the quarantine of the file. The copy is durable before the tail is cut, so that
/// a crash loses nothing.
pub(super) fn quarantine_tail(
    place: &mut OnDisk,
    extent: Extent,
) -> Result<Repair, LoadConversationError> {
    let quarantine = path_beside(&place.path, ".quarantine");
    let failed = |source| load_error("set a torn tail aside in", &quarantine, source);
    let mut tail = Vec::new();
    let mut rest = Prefix { place, at: extent.whole, end: extent.total };
    rest.read_to_end(&mut tail).map_err(failed)?;
    // The quarantine collects the tails of several crashes.
    tail.push(b'\n');
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mut aside = open(&quarantine, flags).map_err(failed)?;
    aside.write_all(&tail).map_err(failed)?;
    aside.sync_data().map_err(failed)?;
    sync_folder(folder_of(&quarantine)).map_err(failed)?;
    place
        .cut(extent.whole)
        .map_err(|source| load_error("cut a torn tail off", &place.path, source))?;
    Ok(Repair { cut_bytes: extent.total - extent.whole, quarantine })
}

/// Creates a file with these bytes, open for writing and locked. It appears whole or not at all: the bytes are
/// written and synced under another name in the same folder first.
pub(super) fn publish(path: &Path, mut contents: impl Read) -> Result<OnDisk, CreateError> {
    if path.file_name().is_none() {
        return Err(CreateError::NoName { path: path.to_owned() });
    }
    // This check only avoids making folders for nothing; the link below decides whether the path is free.
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(CreateError::Exists { path: path.to_owned() });
    }
    let folder = folder_of(path);
    make_folder(folder).map_err(|source| create_error("make the folder", folder, source))?;
    let (staging, mut file) =
        open_staging(folder).map_err(|source| create_error("make a file in", folder, source))?;
    let written = io::copy(&mut contents, &mut file).and_then(|_| {
        file.sync_all()?;
        // The lock is free: no other process knows the file yet.
        file.lock()?;
        // A link, not a rename: `link` fails if the path is taken, and so overwrites nothing.
        std::fs::hard_link(&staging, path)
    });
    // The staging name is not needed any more, whatever the result; one that stays behind does no harm.
    let _ = std::fs::remove_file(&staging);
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(CreateError::Exists { path: path.to_owned() });
        }
        Err(source) => return Err(create_error("write", path, source)),
    }
    if let Err(source) = sync_folder(folder) {
        // A power cut may still remove the name, so we do not promise it.
        let _ = std::fs::remove_file(path);
        return Err(create_error("sync the folder of", path, source));
    }
    Ok(OnDisk { file, path: path.to_owned() })
}

/// Opens a new file under a name that no other program uses.
fn open_staging(folder: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".conversation-{}-{count}.new", std::process::id()));
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        match open(&path, flags) {
            // A process with the same id left this file behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((path, opened?)),
        }
    }
}

/// Creates a folder and its parents, and syncs each name.
fn make_folder(folder: &Path) -> io::Result<()> {
    let above = folder_of(folder);
    if folder.is_dir() {
        // The process that made it may have died before it synced the name.
        return match sync_folder(above) {
            // We make no folders where we may not read, so this one is not ours.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            synced => synced,
        };
    }
    if above == folder {
        return Err(io::ErrorKind::NotFound.into());
    }
    make_folder(above)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        // Another process that made the folder meanwhile may not have synced its name.
        _ => sync_folder(above),
    }
}

/// Opens a file that only its owner may read; a link is not followed. NONBLOCK: opening a planted pipe must not
/// block before we see that it is one.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let always = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let bits = Mode::from_raw_mode(0o600);
    let opened = rustix::io::retry_on_intr(|| rustix::fs::open(path, flags | always, bits))?;
    Ok(File::from(opened))
}

fn is_not_plain(error: &io::Error) -> bool {
    // `O_NOFOLLOW` reports a link as LOOP, and opening a socket fails with NXIO.
    let codes = [Errno::LOOP, Errno::ISDIR, Errno::NXIO].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn path_beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

fn load_error(doing: &'static str, path: &Path, source: io::Error) -> LoadConversationError {
    LoadConversationError::Io { doing, path: path.to_owned(), source }
}

fn create_error(doing: &'static str, path: &Path, source: io::Error) -> CreateError {
    CreateError::Io { doing, path: path.to_owned(), source }
}
