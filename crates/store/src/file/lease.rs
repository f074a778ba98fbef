//! A lease on files: a lock on a file that is never replaced, beside the records.
//!
//! The lock ends with its process. If a person removes the file, another process can lock a new one, so the holder looks
//! now and then whether its file is still there.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::right::{note_bytes, read_note};
use super::store::blocking;
use super::store_env::Env;
use crate::disk::{DiskFile, OpenMode};
use crate::{Lease, LeaseError, RecordName, StorageError, StoreFuture};

/// The pause between two looks at the file of a lease that is held.
const LOOK_PAUSE: Duration = Duration::from_secs(5);

/// A lease that this process holds.
pub(super) struct FileLease {
    env: Arc<Env>,
    path: PathBuf,
    /// The identity of the locked file.
    locked: (u64, u64),
    /// The locked file; `None` once the lease is released.
    file: Mutex<Option<Box<dyn DiskFile>>>,
    released: Notify,
}

impl FileLease {
    /// Takes a lease if it is free.
    pub(super) fn take(
        env: &Arc<Env>,
        name: &RecordName,
        path: PathBuf,
        purpose: &str,
    ) -> Result<Self, LeaseError> {
        let failed = |error| StorageError::io("lock", &path, error);
        let file = env.disk.open(&path, OpenMode::Lock).map_err(failed)?;
        if !file.try_lock().map_err(failed)? {
            return Err(LeaseError::Held { name: name.clone(), holder: read_note(&*file) });
        }
        // A lease without its note is still held.
        let _ = file.write_note(&note_bytes(env.options.now(), purpose));
        let locked = file.stat_when_opened().map_err(failed)?.file;
        let (env, file) = (Arc::clone(env), Mutex::new(Some(file)));
        Ok(Self { env, path, locked, file, released: Notify::new() })
    }

    /// Whether the locked file is still at its path. If that cannot be found out, the lock counts as held.
    async fn is_held(&self) -> bool {
        if self.file.lock().is_none() {
            return false;
        }
        let (env, path, locked) = (Arc::clone(&self.env), self.path.clone(), self.locked);
        let look = blocking(move || env.stat(&path)).await;
        look.map_or(true, |found| found.is_some_and(|found| found.file == locked))
    }
}

impl Lease for FileLease {
    #[expect(clippy::disallowed_methods, reason = "no system tells that a locked file was removed")]
    fn lost(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let mut released = std::pin::pin!(self.released.notified());
                // From here on, a release is not missed.
                released.as_mut().enable();
                if !self.is_held().await {
                    return;
                }
                tokio::select! {
                    () = released => {}
                    () = tokio::time::sleep(LOOK_PAUSE) => {}
                }
            }
        })
    }

    fn release(&self) -> StoreFuture<'_, (), StorageError> {
        let file = self.file.lock().take();
        self.released.notify_waiters();
        blocking(move || {
            drop(file);
            Ok(())
        })
    }
}
