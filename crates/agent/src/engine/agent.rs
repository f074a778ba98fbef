//! The agent: an engine, and its current conversation.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ship_store::{ChatKey, StorageProblem};
use tokio::sync::Mutex;

use super::Engine;
use crate::conversation_log::ConversationLog;
use crate::events::{AgentListener, Listener};

/// An agent that answers in chats or conversations. Clones share everything.
#[derive(Clone)]
pub struct Agent {
    pub(crate) engine: Arc<Engine>,
    /// The current conversation, which all clones share.
    pub(crate) current: Arc<Mutex<CurrentConversation>>,
}

impl Agent {
    pub(crate) fn from_engine(inner: Engine) -> Self {
        Self { engine: Arc::new(inner), current: Arc::default() }
    }

    /// Follows the events of a chat: the answer that is being written, and what follows.
    pub fn listen(&self, chat: &ChatKey) -> Listener {
        self.engine.hub.listen(chat)
    }

    /// Follows the events of all chats.
    pub fn listen_to_all(&self) -> AgentListener {
        self.engine.hub.listen_to_all()
    }

    /// Returns what was repaired or found damaged since the last call; the newest 1,000 are kept. The log has it too.
    pub fn take_repairs(&self) -> Vec<StorageProblem> {
        self.engine.repairs.take()
    }

    /// Waits until the log has all lines that were taken before. A log is written by a thread of its own, so a process
    /// calls this before it ends, unless it drops the agent and all of its runs.
    pub fn flush_log(&self) {
        self.engine.log.flush();
    }

    /// Adds a warning that the model's window is unknown, unless it was told before. Without this call, it is told after
    /// the first answer.
    pub async fn warn_of_unknown_window(&self, chat: &ChatKey) {
        self.engine.tell_unknown_window_early(chat).await;
    }

    /// Returns how many tokens the model takes at once, if that is known.
    pub fn window_tokens(&self) -> Option<u64> {
        self.engine.window_tokens()
    }

    /// Returns the warnings since the last call that the system and the tools fill the budget of a request. Each is
    /// given once for a chat.
    pub fn take_budget_warnings(&self) -> Vec<String> {
        self.engine.budget_warnings.take()
    }
}

/// The current conversation of an agent.
#[derive(Default)]
pub(crate) enum CurrentConversation {
    /// A conversation in memory, which begins with the first message.
    #[default]
    Unbegun,
    In(Arc<ActiveConversation>),
    /// No conversation: this file was closed to load it again, which failed. Continuing in
    /// memory would lose messages.
    Left(PathBuf),
}

/// One conversation, and the agent on it.
pub(crate) struct ActiveConversation {
    /// The same agent, with the conversation as its store.
    pub(crate) agent: Agent,
    pub(crate) log: ConversationLog,
    /// Held for one message at a time, until it is answered.
    pub(crate) turn: Mutex<()>,
    pub(crate) sent_count: AtomicU64,
}
