//! Follows the chain of sealed logs back from the live one, as far as a reader needs it.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::chat::ChatFiles;
use super::rotate::sealed_path;
use crate::{SealedName, Seq, StorageError};

/// The log before each sealed one that was read. Heads never change, so pages that follow one another read each once.
#[derive(Default)]
pub(crate) struct SealedChain {
    before: Mutex<HashMap<SealedName, Option<SealedName>>>,
}

/// The memory of two names in a map, with the room that it keeps free.
const LINK_BYTES: u64 = 256;

impl SealedChain {
    /// Returns the approximate memory of the chain.
    pub(super) fn cached_bytes(&self) -> u64 {
        self.before.lock().len() as u64 * LINK_BYTES
    }

    /// Forgets the chain to free its memory.
    pub(super) fn forget(&self) {
        *self.before.lock() = HashMap::new();
    }
}

impl ChatFiles {
    /// Returns the sealed logs with lines after a number, the oldest first. `newest` is the one that
    /// the live log replaced.
    pub(super) fn sealed_after(
        &self,
        newest: Option<SealedName>,
        after: Seq,
    ) -> Result<Vec<SealedName>, StorageError> {
        let (mut names, mut next) = (Vec::new(), newest);
        while let Some(name) = next.take().filter(|name| name.range().1 > after) {
            if name.range().0 > after.next() {
                next = self.log_before(&name)?;
            }
            names.push(name);
        }
        names.reverse();
        Ok(names)
    }

    /// Returns the log that a sealed one replaced: from its head or, if that cannot be read, from the folder.
    fn log_before(&self, name: &SealedName) -> Result<Option<SealedName>, StorageError> {
        if let Some(before) = self.chain.before.lock().get(name) {
            return Ok(before.clone());
        }
        let first = name.range().0;
        let Some(head) = self.sealed_head(&sealed_path(&self.paths.archive, name))? else {
            return self.sealed_before(Some(first));
        };
        // Each log replaces an older one; only a forged chain could form a circle.
        let before = head.sealed.filter(|older| older.range().1 < first);
        self.chain.before.lock().insert(name.clone(), before.clone());
        Ok(before)
    }
}
