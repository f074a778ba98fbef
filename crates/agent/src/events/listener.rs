//! The listeners: each follows one chat, or all chats of an agent.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use ship_store::ChatKey;

use super::RunEvent;
use super::chat_events::ReaderId;
use super::hub::SharedHub;

/// Receives the events of one chat in order.
///
/// It begins with the answer that is being written, if there is one: its `start` and its chunks so far, with the deltas
/// of each text joined. What follows comes as it is sent, none missing and none twice. A listener that reads slowly
/// delays no run; it finds more deltas joined.
///
/// What ended is kept for it until it is 1 MiB behind the beginning of a new answer. Then it gets [`RunEvent::Missed`],
/// and begins again with that answer.
#[derive(Debug)]
pub struct Listener {
    hub: Arc<SharedHub>,
    chat: ChatKey,
    id: ReaderId,
}

impl Listener {
    pub(super) fn new(hub: Arc<SharedHub>, chat: ChatKey, id: ReaderId) -> Self {
        Self { hub, chat, id }
    }

    /// Waits for the next event; `None` when the agent is gone.
    pub async fn next(&mut self) -> Option<Arc<RunEvent>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Polls for the next event; none when the agent is gone.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Arc<RunEvent>>> {
        self.hub.poll_chat(&self.chat, self.id, context)
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<Arc<RunEvent>> {
        self.hub.read_chat(&self.chat, self.id)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.hub.leave_chat(&self.chat, self.id);
    }
}

/// Receives the events of all chats, each with the key of its chat. Those of one chat come in order, as in a
/// [`Listener`]. A listener that leaves more than 1,000 chats unread misses what it has not read of those without a run,
/// and gets [`RunEvent::Missed`] for each. With more than 10,000 of these unread it ends.
#[derive(Debug)]
pub struct AgentListener {
    hub: Arc<SharedHub>,
    id: ReaderId,
}

impl AgentListener {
    pub(super) fn new(hub: Arc<SharedHub>, id: ReaderId) -> Self {
        Self { hub, id }
    }

    /// Waits for the next event of any chat; `None` when the agent is gone, or when too much was left unread.
    pub async fn next(&mut self) -> Option<(ChatKey, Arc<RunEvent>)> {
        poll_fn(|context| self.hub.poll_all(self.id, context)).await
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<(ChatKey, Arc<RunEvent>)> {
        self.hub.read_any(self.id)
    }
}

impl Drop for AgentListener {
    fn drop(&mut self) {
        self.hub.leave_all(self.id);
    }
}
