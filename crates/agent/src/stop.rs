//! Stopping: a run ends with what it has said, and who waits for somebody else's run stops waiting.

use std::sync::Arc;
use std::time::Duration;

use ship_store::{Chat, Lane, LaneError};
use tokio::sync::Notify;

/// How long a lane that nobody holds may take to be had.
const FREE_LANE_WAIT: Duration = Duration::from_millis(100);

/// Stops a run: what was said until then is kept.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    notify: Arc<Notify>,
}

impl Stop {
    /// Stops the run that was given this, at once or when it begins.
    pub fn stop(&self) {
        self.notify.notify_one();
    }

    pub(crate) async fn stopped(&self) {
        self.notify.notified().await;
    }
}

/// Takes the lane. Who stops while somebody else has it stops waiting; one that is free is taken all the same, so
/// that the run begins and says that it was stopped.
pub(crate) async fn lane_unless_stopped(
    chat: &dyn Chat,
    stop: &Stop,
) -> Result<Option<Arc<dyn Lane>>, LaneError> {
    let mut waiting = chat.lane("run");
    tokio::select! {
        lane = &mut waiting => return lane.map(Some),
        () = stop.stopped() => stop.stop(),
    }
    tokio::time::timeout(FREE_LANE_WAIT, waiting).await.ok().transpose()
}
