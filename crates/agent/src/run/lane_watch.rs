//! Watches the process that runs a chat, for callers that wait for it.

use std::time::Duration;

use ship_store::{ChatKey, LaneHolder};
use tokio::time::Instant;

use crate::engine::Agent;
use crate::error::RunError;
use crate::events::{LaneWaiting, Listener, RunEvent};

/// The time after which listeners are told that a run has not begun and waits for another process.
const WAIT_UNTOLD: Duration = Duration::from_secs(1);

impl Agent {
    /// Returns the process that holds the lane of a chat if it is frozen: its process is stopped, or it has not
    /// touched the chat for longer than `context.run.toolDeadlineMs`. Waiting for it is useless.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn frozen_holder(&self, chat: &ChatKey) -> Result<Option<LaneHolder>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        Ok(chat.lane_holder().await?.filter(|holder| self.engine.is_frozen(holder)))
    }
}

/// Watches the process that runs the chat, and informs listeners while a reply waits for it.
pub(super) struct LaneWatch<'a> {
    agent: &'a Agent,
    chat: &'a ChatKey,
    listener: Listener,
    until: Instant,
    /// The last information for listeners: none, or whether the process is frozen.
    notified: Option<bool>,
}

impl<'a> LaneWatch<'a> {
    pub(super) fn new(agent: &'a Agent, chat: &'a ChatKey) -> Self {
        let mut listener = agent.listen(chat);
        // What another run has said is no sign that this one has begun.
        while listener.try_next().is_some() {}
        Self { agent, chat, listener, until: Instant::now() + WAIT_UNTOLD, notified: None }
    }

    /// Waits for a run. A run that sends events has begun, so listeners need no information from here.
    #[expect(clippy::disallowed_methods, reason = "a long wait is reported after a while")]
    pub(super) async fn wait<T>(&mut self, running: impl Future<Output = T>) -> T {
        let mut running = std::pin::pin!(running);
        loop {
            tokio::select! {
                result = &mut running => return result,
                Some(_) = self.listener.next() => self.notified = self.notified.or(Some(false)),
                () = tokio::time::sleep_until(self.until), if self.notified.is_none() => {
                    // The run itself meets the same error and returns it.
                    let _ = self.check_holder(LaneWaiting::Lane).await;
                }
            }
        }
    }

    /// Checks the process that holds the lane, and informs listeners if something is new: that it is frozen, or
    /// `otherwise`. Fails if the process was already frozen at the last check.
    pub(super) async fn check_holder(&mut self, otherwise: LaneWaiting) -> Result<(), RunError> {
        let frozen = self.agent.frozen_holder(self.chat).await?.map(Box::new);
        let tell = |waiting| self.agent.engine.hub.send(self.chat, RunEvent::Waiting(waiting));
        match (&frozen, self.notified) {
            (Some(holder), Some(true)) => return Err(RunError::Frozen(holder.clone())),
            (Some(holder), _) => tell(LaneWaiting::FrozenProcess(holder.clone())),
            (None, None) => tell(otherwise),
            (None, Some(_)) => {}
        }
        self.notified = Some(frozen.is_some());
        Ok(())
    }
}
