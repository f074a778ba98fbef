//! Seals a log: the whole file gets a second name, or a copy gets it where files cannot have two.
//!
//! An interrupted sealing leaves a second name or a copy behind. The next one finds it, and renames it or moves it into
//! the quarantine; it never takes it for the log.

use std::path::{Path, PathBuf};

use super::super::quarantine::set_aside;
use super::super::store_env::{UNFINISHED, read_from, temporary_name};
use super::{Fold, Writing};
use crate::disk::{DiskFile, FileLook};
use crate::{Explain as _, StorageError};

impl<F: Fold> Writing<'_, F> {
    /// Gives the whole file a second name, durably. Where files cannot have two names, a copy gets it.
    pub(crate) fn seal(&mut self, sealed: &Path) -> Result<(), StorageError> {
        let Some(file) = &self.file else { return Ok(()) };
        // A sealed file is not written again, so this is the last chance to sync its lines.
        if let Err(error) = self.log.env.sync(&**file) {
            self.state.unsyncable = true;
            return Err(self.log.io_error("sync")(error));
        }
        let (env, folder) = (&self.log.env, sealed.parent().unwrap_or(Path::new("")));
        let failed = |error| StorageError::io("seal as", sealed, error);
        let look = file.stat().map_err(self.log.io_error("look at"))?;
        match self.second_name(look, sealed)? {
            // A sync of that name has failed, so only a new name can be made durable.
            Some(name) if env.is_unsynced(folder) => {
                env.remove(&name)?;
                self.link_or_copy(&**file, sealed)?;
            }
            Some(name) if name == sealed => {}
            // An interrupted rotation left another second name, which is renamed.
            Some(name) => env.disk.rename(&name, sealed).map_err(failed)?,
            None => {
                if self.is_left_over(sealed)? {
                    self.quarantine_file(sealed)?;
                }
                self.link_or_copy(&**file, sealed)?;
            }
        }
        env.sync_folder(folder)?;
        env.mark_synced(folder);
        Ok(())
    }

    /// Gives the file a second name. Where the file system has no hard links, a copy is
    /// written, synced and renamed.
    fn link_or_copy(&self, file: &dyn DiskFile, sealed: &Path) -> Result<(), StorageError> {
        let Err(error) = self.log.env.disk.link(&self.log.path, sealed) else { return Ok(()) };
        if !is_no_links_error(&error) {
            return Err(StorageError::io("seal as", sealed, error));
        }
        self.copy(file, sealed).map_err(|copying| self.cannot_seal(sealed, &error, &copying))
    }

    fn cannot_seal(
        &self,
        sealed: &Path,
        linking: &std::io::Error,
        copying: &StorageError,
    ) -> StorageError {
        StorageError::CannotSeal {
            path: self.log.path.clone(),
            sealed: sealed.to_owned(),
            linking: linking.to_string(),
            copying: Box::new(copying.explain()),
        }
    }

    /// Checks that the file can get a second name or a copy. The one that it gets for that ends like an unfinished
    /// file and is removed again.
    pub(crate) fn check_seal(&self, sealed: &Path) -> Result<(), StorageError> {
        let Some(file) = &self.file else { return Ok(()) };
        let (env, trial) = (&self.log.env, temporary_name(sealed));
        // An interrupted trial may have left its file.
        env.remove(&trial)?;
        match env.disk.link(&self.log.path, &trial) {
            Ok(()) => {}
            Err(error) if is_no_links_error(&error) => {
                let bytes = self.whole(&**file)?;
                let copied = env.write_aside(sealed, &bytes);
                copied.map_err(|copying| self.cannot_seal(sealed, &error, &copying))?;
            }
            Err(error) => return Err(StorageError::io("seal as", sealed, error)),
        }
        env.remove(&trial)
    }

    fn whole(&self, file: &dyn DiskFile) -> Result<Vec<u8>, StorageError> {
        let len = file.stat().map_err(self.log.io_error("look at"))?.len;
        read_from(file, 0, len).map_err(self.log.io_error("read"))
    }

    fn copy(&self, file: &dyn DiskFile, sealed: &Path) -> Result<(), StorageError> {
        let env = &self.log.env;
        // A link fails if the name is taken; `replace` would overwrite the file.
        if env.stat(sealed)?.is_some() {
            let exists = std::io::ErrorKind::AlreadyExists.into();
            return Err(StorageError::io("seal as", sealed, exists));
        }
        env.replace(sealed, &self.whole(file)?)?;
        self.quarantine_earlier_copies(sealed)
    }

    /// Moves copies of this log that interrupted sealings left under other names into the quarantine, and removes
    /// unfinished ones. Such a name contains the number of the first line too.
    fn quarantine_earlier_copies(&self, sealed: &Path) -> Result<(), StorageError> {
        let Some(first) = self.tail().map(|known| format!("-{}-", known.first_seq)) else {
            return Ok(());
        };
        let folder = sealed.parent().unwrap_or(Path::new(""));
        for name in self.log.env.list(folder)?.iter().filter(|name| name.contains(&first)) {
            let path = folder.join(name);
            if name.ends_with(UNFINISHED) {
                self.log.env.remove(&path)?;
            } else if path != sealed && self.is_left_over(&path)? {
                self.quarantine_file(&path)?;
            }
        }
        Ok(())
    }

    /// Whether another file has a name under which this log could be sealed.
    pub(crate) fn is_taken(&self, sealed: &Path) -> Result<bool, StorageError> {
        Ok(self.log.env.stat(sealed)?.is_some() && !self.is_left_over(sealed)?)
    }

    /// Whether an interrupted sealing left this file: it is the log itself, or an earlier version or copy of it
    /// that holds nothing more.
    fn is_left_over(&self, sealed: &Path) -> Result<bool, StorageError> {
        let Some((look, bytes)) = self.log.env.read(sealed)? else { return Ok(false) };
        let Some(file) = &self.file else { return Ok(false) };
        let live = file.stat().map_err(self.log.io_error("look at"))?;
        if look.file == live.file {
            return Ok(true);
        }
        let end = (bytes.len() as u64).min(live.len);
        let begins = read_from(&**file, 0, end).map_err(self.log.io_error("read"))?;
        Ok(begins == bytes)
    }

    /// Moves the log itself into the quarantine. Returns whether there was one.
    pub(crate) fn quarantine_log(&mut self) -> Result<bool, StorageError> {
        if self.file.is_none() {
            return Ok(false);
        }
        self.quarantine_file(&self.log.path)?;
        self.state.tail = None;
        self.file = None;
        Ok(true)
    }

    /// Moves a file into the quarantine, durably.
    fn quarantine_file(&self, path: &Path) -> Result<(), StorageError> {
        set_aside(&self.log.env, &self.log.quarantine, path)
    }

    fn second_name(&self, live: FileLook, sealed: &Path) -> Result<Option<PathBuf>, StorageError> {
        // Most logs have one name; then the folder is not listed.
        if live.names < 2 {
            return Ok(None);
        }
        let folder = sealed.parent().unwrap_or(Path::new(""));
        for name in self.log.env.list(folder)? {
            let path = folder.join(name);
            if path != self.log.path
                && self.log.env.stat(&path)?.is_some_and(|look| look.file == live.file)
            {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// Whether an error says that files cannot have a second name here: FAT, some network and FUSE file systems, a
/// folder on another volume, a kernel that protects hard links, or a file with too many names.
fn is_no_links_error(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let codes =
        [Errno::PERM, Errno::XDEV, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS, Errno::MLINK];
    codes.iter().any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}
