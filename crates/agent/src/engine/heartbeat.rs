//! Shows other processes that the holder of a lane is at work.
//!
//! A model can write an answer for longer than `context.run.toolDeadlineMs`, and nothing of the answer is on disk before
//! it is complete. A process whose chat does not change for that long is taken for frozen, so the holder of a lane
//! touches it from time to time. Short work ends before the first time.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use ship_store::StorageError;

use super::locked_chat::LockedChat;
use crate::error::RunError;

/// The longest interval between two signs of life.
const INTERVAL_MAX: Duration = Duration::from_secs(15);

/// The shortest interval, whatever the deadline of tools is.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

impl LockedChat {
    /// Works on the chat, and shows meanwhile that this process is alive. It does so in the task of the work: when
    /// the work blocks its thread, there is no sign of life. The work is boxed because it is all that a run does,
    /// too much for the stack of a thread to hold twice.
    ///
    /// When the lane is lost, the work is dropped where it is, and has no further effect: another process
    /// may run the chat.
    pub(crate) async fn with_heartbeat<T>(
        &self,
        work: Pin<Box<impl Future<Output = Result<T, RunError>>>>,
    ) -> Result<T, RunError> {
        tokio::select! {
            biased;
            () = self.lane.lost() => {
                let how = "it was taken away".to_owned();
                Err(StorageError::LaneLost { chat: self.chat.key().clone(), how }.into())
            }
            done = work => done,
            never = self.show_life() => match never {},
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a sign of life comes from time to time")]
    async fn show_life(&self) -> Infallible {
        let interval = interval(self.engine.rules.tool_deadline);
        loop {
            tokio::time::sleep(interval).await;
            // The work does not depend on it. If nothing can be written, other processes may stop waiting for it.
            let _ = self.lane.touch().await;
        }
    }
}

/// Returns an interval of which several fit into the time after which a silent process counts as frozen.
fn interval(tool_deadline: Duration) -> Duration {
    (tool_deadline / 4).clamp(INTERVAL_MIN, INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_life_are_rare_and_yet_come_several_times_before_a_process_counts_as_frozen() {
        for (deadline_ms, every_ms) in [(120_000, 15_000), (8_000, 2_000), (400, 100), (1, 10)] {
            let every = interval(Duration::from_millis(deadline_ms));
            assert_eq!(every, Duration::from_millis(every_ms), "{deadline_ms}");
        }
    }
}
