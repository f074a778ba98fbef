//! Keeps the records of a project: one file for each, below `.ship/records`.
//!
//! A file holds the content as JSON and nothing else, so a person can read and change it. Its version is the digest of
//! its bytes: a change by hand is another version, too. Readers need no lock, because a file is replaced by a rename.
//! Writers hold `.ship/records/lock` between looking at the version and the rename.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest as _, Sha256};
use ship_message::json::{Json, Object};

use super::lease::FileLease;
use super::store::blocking;
use super::store_env::Env;
use crate::chat_folder::hex;
use crate::disk::{DiskFile, OpenMode};
use crate::rules::check_version;
use crate::{
    Lease, LeaseError, ProjectRecords, RecordError, RecordName, RecordVersion, StorageError,
    StoreFuture, StoredRecord,
};

const FOLDER: &str = ".ship/records";
const LOCK: &str = ".ship/records/lock";
/// The end of the name of a record's file. Leases have another, so that no name is both.
const RECORD: &str = ".json";
/// The record of what is known of hosts. Its files are older than records, and have a place of their own.
const HOSTS: &str = "hosts";
const HOSTS_FILE: &str = ".ship/hosts.json";
const HOSTS_SET_ASIDE: &str = ".ship/hosts.damaged.json";
/// The number of bytes of a digest that make a version.
const VERSION_BYTES: usize = 16;

/// The records of a project on files.
pub(super) struct FileRecords(Arc<RecordFiles>);

struct RecordFiles {
    env: Arc<Env>,
    /// The write right among the threads of this process.
    writing: Mutex<()>,
    /// Whether this process has synced the folder.
    is_made: AtomicBool,
}

/// The write right of all records. It ends when this value is dropped.
struct RecordLock<'a> {
    /// The locked file is closed before another thread goes on.
    _file: Box<dyn DiskFile>,
    _among_threads: MutexGuard<'a, ()>,
}

impl FileRecords {
    pub(super) fn new(env: Arc<Env>) -> Self {
        Self(Arc::new(RecordFiles {
            env,
            writing: Mutex::default(),
            is_made: AtomicBool::new(false),
        }))
    }

    fn run<T: Send + 'static, E: Send + 'static>(
        &self,
        name: &RecordName,
        work: impl FnOnce(&RecordFiles, &RecordName) -> Result<T, E> + Send + 'static,
    ) -> StoreFuture<'_, T, E> {
        let (files, name) = (Arc::clone(&self.0), name.clone());
        blocking(move || work(&files, &name))
    }
}

impl ProjectRecords for FileRecords {
    fn read(&self, name: &RecordName) -> StoreFuture<'_, Option<StoredRecord>, RecordError> {
        self.run(name, RecordFiles::read)
    }

    fn put(
        &self,
        name: &RecordName,
        value: Object,
        expected: Option<RecordVersion>,
    ) -> StoreFuture<'_, RecordVersion, RecordError> {
        self.run(name, |files, name| files.put(name, value, expected))
    }

    fn remove(
        &self,
        name: &RecordName,
        expected: RecordVersion,
    ) -> StoreFuture<'_, (), RecordError> {
        self.run(name, |files, name| files.remove(name, expected))
    }

    fn set_aside(&self, name: &RecordName) -> StoreFuture<'_, (), RecordError> {
        self.run(name, RecordFiles::set_aside)
    }

    fn names(&self, prefix: &str) -> StoreFuture<'_, Vec<RecordName>, StorageError> {
        let (files, prefix) = (Arc::clone(&self.0), prefix.to_owned());
        blocking(move || files.names(&prefix))
    }

    fn lease(
        &self,
        name: &RecordName,
        purpose: &str,
    ) -> StoreFuture<'_, Arc<dyn Lease>, LeaseError> {
        let purpose = purpose.to_owned();
        self.run(name, move |files, name| {
            files.make_folder()?;
            let path = named_file(name, ".lease");
            Ok(Arc::new(FileLease::take(&files.env, name, path, &purpose)?) as Arc<dyn Lease>)
        })
    }
}

impl RecordFiles {
    fn read(&self, name: &RecordName) -> Result<Option<StoredRecord>, RecordError> {
        let path = record_path(name);
        let Some((_, bytes)) = self.env.read(&path)? else { return Ok(None) };
        match Json::parse_bytes(&bytes) {
            Ok(Json::Object(value)) => {
                Ok(Some(StoredRecord { value, version: version_of(&bytes) }))
            }
            _ => Err(RecordError::Damaged { name: name.clone(), path }),
        }
    }

    fn put(
        &self,
        name: &RecordName,
        value: Object,
        expected: Option<RecordVersion>,
    ) -> Result<RecordVersion, RecordError> {
        let _lock = self.lock(name)?;
        check_version(name, self.version(name)?, expected)?;
        let text = format!("{}\n", Json::from(value));
        self.env.replace(&record_path(name), text.as_bytes())?;
        Ok(version_of(text.as_bytes()))
    }

    fn remove(&self, name: &RecordName, expected: RecordVersion) -> Result<(), RecordError> {
        let _lock = self.lock(name)?;
        check_version(name, self.version(name)?, Some(expected))?;
        let path = record_path(name);
        self.env.remove(&path)?;
        Ok(self.env.sync_folder(path.parent().unwrap_or(Path::new("")))?)
    }

    fn set_aside(&self, name: &RecordName) -> Result<(), RecordError> {
        let _lock = self.lock(name)?;
        let path = match self.read(name) {
            Err(RecordError::Damaged { path, .. }) => path,
            read => return read.map(|_| ()),
        };
        let aside = match name.as_str() {
            HOSTS => PathBuf::from(HOSTS_SET_ASIDE),
            _ => named_file(name, ".damaged"),
        };
        let renamed = self.env.disk.rename(&path, &aside);
        renamed.map_err(|error| StorageError::io("rename to", &aside, error))?;
        Ok(self.env.sync_folder(path.parent().unwrap_or(Path::new("")))?)
    }

    fn names(&self, prefix: &str) -> Result<Vec<RecordName>, StorageError> {
        let named = |file: &String| -> Option<RecordName> {
            file.strip_suffix(RECORD)?.replace("%2F", "/").parse().ok()
        };
        let files = self.env.list(Path::new(FOLDER))?;
        let mut names: Vec<RecordName> = files.iter().filter_map(named).collect();
        if self.env.stat(Path::new(HOSTS_FILE))?.is_some() {
            names.extend(HOSTS.parse::<RecordName>());
        }
        names.retain(|name| name.as_str().starts_with(prefix));
        names.sort_unstable();
        Ok(names)
    }

    fn version(&self, name: &RecordName) -> Result<Option<RecordVersion>, RecordError> {
        Ok(self.read(name)?.map(|record| record.version))
    }

    /// Makes the folder of records and leases. Another process may have made it just before it died, so its name is
    /// synced once by each.
    fn make_folder(&self) -> Result<(), StorageError> {
        if self.is_made.load(Ordering::Relaxed) {
            return Ok(());
        }
        for folder in [".ship", FOLDER].map(Path::new) {
            self.env.ensure_folder(folder)?;
            self.env.sync_folder(folder.parent().unwrap_or(Path::new("")))?;
        }
        self.is_made.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Takes the right to write records, and waits up to `lock.waitMs` for other holders.
    #[expect(
        clippy::disallowed_methods,
        reason = "a lock with a time limit can only be tried again"
    )]
    fn lock(&self, name: &RecordName) -> Result<RecordLock<'_>, RecordError> {
        self.make_folder()?;
        let (path, waited_ms) = (Path::new(LOCK), self.env.options.lock_wait_ms);
        let deadline = Instant::now() + Duration::from_millis(waited_ms);
        let busy = || RecordError::Busy { name: name.clone(), path: path.to_owned(), waited_ms };
        let among_threads = self.writing.try_lock_until(deadline).ok_or_else(busy)?;
        let failed = |error| StorageError::io("lock", path, error);
        let file = self.env.disk.open(path, OpenMode::Lock).map_err(failed)?;
        let mut pause = Duration::from_micros(100);
        while !file.try_lock().map_err(failed)? {
            if Instant::now() >= deadline {
                return Err(busy());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        Ok(RecordLock { _file: file, _among_threads: among_threads })
    }
}

/// Returns the file of a name with this end. All files are in one folder, so that none has the name of another's folder.
fn named_file(name: &RecordName, end: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{}{end}", name.as_str().replace('/', "%2F")))
}

fn record_path(name: &RecordName) -> PathBuf {
    match name.as_str() {
        HOSTS => PathBuf::from(HOSTS_FILE),
        _ => named_file(name, RECORD),
    }
}

fn version_of(bytes: &[u8]) -> RecordVersion {
    RecordVersion::new(hex(&Sha256::digest(bytes)[..VERSION_BYTES]))
}
