//! Stops the run of a chat, whichever process works on it.
//!
//! The stop goes through the ledger, like an operation: the holder of the lane finds it there. It names its run, so it
//! stops no later one. A run that no process works on, because it waits or its process is gone, is ended here.

use std::sync::Arc;

use ship_context::Journal;
use ship_store::{Chat, ChatKey, LaneError, StorageError, View};

use super::lane_loop::LaneLoop;
use crate::engine::{Agent, LockedChat};
use crate::error::RunError;
use crate::inbox::stop_entry;

/// The effect of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// Nothing was running.
    NothingRan,
    /// The run has ended; what it had said is kept.
    Stopped,
    /// The stop is durable, and the process that runs the chat has not followed it yet.
    Asked,
}

impl Agent {
    /// Stops the run of a chat, in any process. What it has said until then is kept. If no process works on the run, it
    /// ends here, and messages that wait and whose senders do not are answered before this returns.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, StopOutcome};
    ///
    /// let (agent, chat) = (Agent::builder().build(), "api:main".parse()?);
    /// agent.send(&chat, "hello").await?;
    /// assert_eq!(agent.stop_run(&chat, "http").await?, StopOutcome::NothingRan);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the chat cannot be read or written.
    pub async fn stop_run(&self, chat: &ChatKey, channel: &str) -> Result<StopOutcome, RunError> {
        let Some(open) = self.engine.store.open(chat).await? else {
            return Ok(StopOutcome::NothingRan);
        };
        let Some(run_id) = open_run(&*open).await? else { return Ok(StopOutcome::NothingRan) };
        let entry = stop_entry(chat, &run_id, channel, self.engine.clock.now());
        open.ledger().accept(entry).await?;
        let patience = tokio::time::Instant::now() + self.engine.rules.operation_wait;
        loop {
            let moment = open.moment();
            match open.lane_now("stop").await {
                Ok(lane) => {
                    let (engine, chat) = (Arc::clone(&self.engine), Arc::clone(&open));
                    let locked = LockedChat { engine, chat, lane };
                    let work = async |view| end_run(&locked, view, &run_id).await;
                    self.work_and_release(&locked, work).await?;
                }
                // The holder of the lane ends the run.
                Err(LaneError::Storage(StorageError::Busy(_))) => {}
                Err(error) => return Err(error.into()),
            }
            if open_run(&*open).await?.as_ref() != Some(&run_id) {
                return Ok(StopOutcome::Stopped);
            }
            if tokio::time::timeout_at(patience, open.changed(moment)).await.is_err() {
                return Ok(StopOutcome::Asked);
            }
        }
    }
}

/// Ends a run of a locked chat.
async fn end_run(locked: &LockedChat, view: Option<View>, run_id: &str) -> Result<(), RunError> {
    let repaired = locked.engine.repair_once(&*locked.chat, &*locked.lane).await?;
    let held = LaneLoop::new(locked.clone(), repaired.or(view));
    locked.with_heartbeat(Box::pin(held.end_stopped_run(run_id))).await
}

/// Returns the id of the run that has not ended.
async fn open_run(chat: &dyn Chat) -> Result<Option<String>, RunError> {
    let journal = Journal::read(&chat.runs().journal().await?);
    Ok(journal.filter(|journal| !journal.has_ended).map(|journal| journal.start.run_id))
}
