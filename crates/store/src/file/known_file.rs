//! Remembers the bytes of a small file that is read at every turn.
//!
//! One look shows whether the file has changed since; only then is it opened and read again.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::store_env::Env;
use crate::StorageError;
use crate::disk::{FileLook, NodeKind};

/// The bytes of a small file, as long as it does not change.
#[derive(Default)]
pub(crate) struct KnownFile {
    known: Mutex<Option<(FileLook, Arc<[u8]>)>>,
}

impl KnownFile {
    /// Reads the file at a path; `None` if it is missing.
    pub(super) fn read(&self, env: &Env, path: &Path) -> Result<Option<Arc<[u8]>>, StorageError> {
        let look = env.glance(path)?;
        if let Some(bytes) = look.and_then(|look| self.bytes_of(look)) {
            return Ok(Some(bytes));
        }
        let Some((look, bytes)) = env.read(path)? else { return Ok(None) };
        Ok(Some(self.keep(look, bytes)))
    }

    /// Returns the remembered bytes if a file that looks like this surely has them.
    pub(super) fn bytes_of(&self, look: FileLook) -> Option<Arc<[u8]>> {
        let known = self.known.lock();
        known.as_ref().filter(|(known, _)| *known == look).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Remembers what was read of a file that looked like this, if a change would be sure to show.
    pub(super) fn keep(&self, look: FileLook, bytes: Vec<u8>) -> Arc<[u8]> {
        let bytes: Arc<[u8]> = bytes.into();
        let is_sure = look.node == NodeKind::File && look.changed.is_some_and(|it| it.is_settled());
        *self.known.lock() = is_sure.then(|| (look, Arc::clone(&bytes)));
        bytes
    }

    /// Forgets the bytes to free their memory.
    pub(super) fn forget(&self) {
        *self.known.lock() = None;
    }

    /// Returns the memory of the bytes.
    pub(super) fn cached_bytes(&self) -> u64 {
        self.known.lock().as_ref().map_or(0, |(_, bytes)| bytes.len() as u64)
    }
}
