//! Stops runs: a run ends with what it has said, and a caller that waits for another run stops waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ship_store::{Chat, Lane, LaneError, StorageError};
use tokio::sync::Notify;

/// Stops a run; what it has said until then is kept. The caller that stops begins no other run.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    notify: Arc<Notify>,
    is_stopped: Arc<AtomicBool>,
    is_leaving: Arc<AtomicBool>,
    left: Arc<Notify>,
}

impl Stop {
    /// Stops the run that was given this value, at once or when it begins.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.notify.notify_one();
    }

    /// Tells the run to leave between two steps, for a process that ends. Nothing of the run is lost or settled: it stays
    /// in its journal, and the next run of the chat, in any process, continues it. The wait for another run ends, too.
    pub fn leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.left.notify_waiters();
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(crate) async fn until_stopped(&self) {
        self.notify.notified().await;
    }

    /// Waits until the caller is to stop or to leave.
    pub(crate) async fn until_over(&self) {
        tokio::select! {
            () = self.until_stopped() => {
                // The wait has consumed the signal, and the caller's next run needs it.
                self.stop();
            }
            () = self.until_leaving() => {}
        }
    }

    async fn until_leaving(&self) {
        // The wake-up is asked for before the look, so that none is missed between the two.
        let mut left = std::pin::pin!(self.left.notified());
        left.as_mut().enable();
        if !self.is_leaving() {
            left.await;
        }
    }
}

/// Takes the lane. If the caller stops or leaves while another process has it, the caller stops waiting. A free lane is
/// taken all the same, so that the run begins and reports that it was stopped.
pub(crate) async fn lane_unless_stopped(
    chat: &dyn Chat,
    stop: &Stop,
) -> Result<Option<Arc<dyn Lane>>, LaneError> {
    match chat.lane_now("run").await {
        Err(LaneError::Storage(StorageError::Busy(_))) => {}
        taken => return taken.map(Some),
    }
    tokio::select! {
        lane = chat.lane("run") => lane.map(Some),
        () = stop.until_over() => Ok(None),
    }
}
