//! Keeps the list of the last purges in `messages/purges.json`, one line with its checksum.
//!
//! The file is derived from the tombstones. If it is missing or cannot be read, a reader that needs it looks at the
//! heads of all sealed logs.

use std::path::PathBuf;

use super::chat::{ChatFiles, Paths};
use super::published::read_copy;
use crate::rules::PurgeList;
use crate::{ReadError, SealedLog, SealedName, StorageError};

/// The file of the list.
pub(crate) const PURGES: &str = "purges.json";

impl ChatFiles {
    /// Returns the logs that were purged after the purge with this number, and the number of the last of them. A reader
    /// without a number gets all.
    pub(super) fn purged_after(
        &self,
        number: Option<u64>,
    ) -> Result<(Vec<SealedLog>, u64), ReadError> {
        let list = self.read_purges()?;
        let (mut purged, mut last) = (Vec::new(), number.unwrap_or(0));
        let Some(new) = list.as_ref().zip(number).and_then(|(list, number)| list.after(number))
        else {
            let is_done = match list.as_ref().and_then(PurgeList::last_log) {
                Some(log) => self.is_purged(log)?,
                None => true,
            };
            let last = list.map_or(0, |list| list.last() - u64::from(!is_done));
            let all = self.sealed_logs(None, usize::MAX)?;
            return Ok((all.into_iter().filter(|log| log.purged.is_some()).collect(), last));
        };
        for (number, name) in new {
            // As long as the log is there, it is not purged; the next purge settles that.
            let Some(log) = self.sealed_log(name)?.filter(|log| log.purged.is_some()) else {
                break;
            };
            purged.push(log);
            last = *number;
        }
        Ok((purged, last))
    }

    /// Puts a purge into the list, durably, before the log is gone. The caller holds the write right.
    pub(super) fn list_purge(&self, log: &SealedName) -> Result<(), StorageError> {
        let now = self.env.options.now();
        let mut list = match self.read_purges()? {
            Some(list) if list != PurgeList::default() => list,
            Some(_) | None => PurgeList::begin(now),
        };
        if let Some(last) = list.last_log()
            && !self.is_purged(last)?
        {
            list.remove_last();
        }
        list.add(log.clone(), now);
        let (number, line) = list.to_line(now);
        let mut bytes = Vec::new();
        line.write(number, None, &mut bytes);
        self.env.replace(&purges_path(&self.paths), &bytes)
    }

    fn is_purged(&self, log: &SealedName) -> Result<bool, StorageError> {
        Ok(self.sealed_log(log)?.is_some_and(|log| log.purged.is_some()))
    }

    /// Reads the list, which is empty without a file; `None` if it cannot be read.
    fn read_purges(&self) -> Result<Option<PurgeList>, StorageError> {
        match self.env.read(&purges_path(&self.paths))? {
            Some((_, bytes)) => Ok(read_copy(&bytes).as_ref().and_then(PurgeList::read)),
            None => Ok(Some(PurgeList::default())),
        }
    }
}

fn purges_path(paths: &Paths) -> PathBuf {
    paths.messages.join(PURGES)
}
