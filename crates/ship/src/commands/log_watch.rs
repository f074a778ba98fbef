//! Waits until a process writes to the logs of a project.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// The time after which the logs are read again although no write was reported.
const SLOW_LOOK: Duration = Duration::from_secs(10);
/// The same as long as the folder is not there, or the system cannot watch it.
const UNWATCHED_LOOK: Duration = Duration::from_secs(1);

/// A watch of the folder of the logs.
pub(super) struct LogWatch {
    folder: PathBuf,
    written: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
}

impl LogWatch {
    pub(super) fn new(root: &Path) -> Self {
        let folder = root.join(".ship/logs");
        Self { folder, written: Arc::default(), watcher: None }
    }

    /// Waits until the logs may have grown. The first call returns at once, and what is written after it is noticed.
    pub(super) async fn until_written(&mut self) {
        let look = match self.watcher {
            Some(_) => SLOW_LOOK,
            None => {
                self.watcher = self.watch().ok();
                if self.watcher.is_some() {
                    // What was written before the watch began is read now.
                    return;
                }
                UNWATCHED_LOOK
            }
        };
        let _ = tokio::time::timeout(look, self.written.notified()).await;
    }

    fn watch(&self) -> notify::Result<RecommendedWatcher> {
        let written = Arc::clone(&self.written);
        let report = move |event: notify::Result<Event>| {
            // To read the logs opens them, which is reported, too.
            if event.is_ok_and(|event| !event.kind.is_access()) {
                written.notify_one();
            }
        };
        let mut watcher = notify::recommended_watcher(report)?;
        watcher.watch(&self.folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    }
}
