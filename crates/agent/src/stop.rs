//! Stops runs: a run ends with what it has said, and a caller that waits for another run stops waiting.

use std::sync::Arc;
use std::time::Duration;

use ship_store::{Chat, Lane, LaneError};
use tokio::sync::Notify;

/// The time that taking a free lane may need.
const FREE_LANE_WAIT: Duration = Duration::from_millis(100);

/// Stops a run; what it has said until then is kept.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    notify: Arc<Notify>,
}

impl Stop {
    /// Stops the run that was given this value, at once or when it begins.
    pub fn stop(&self) {
        self.notify.notify_one();
    }

    pub(crate) async fn until_stopped(&self) {
        self.notify.notified().await;
    }
}

/// Takes the lane. If the caller stops while another process has it, the caller stops waiting. A free lane is taken
/// all the same, so that the run begins and reports that it was stopped.
pub(crate) async fn lane_unless_stopped(
    chat: &dyn Chat,
    stop: &Stop,
) -> Result<Option<Arc<dyn Lane>>, LaneError> {
    let mut waiting = chat.lane("run");
    tokio::select! {
        lane = &mut waiting => return lane.map(Some),
        // The wait has consumed the signal, and the run needs it again.
        () = stop.until_stopped() => stop.stop(),
    }
    tokio::time::timeout(FREE_LANE_WAIT, waiting).await.ok().transpose()
}
