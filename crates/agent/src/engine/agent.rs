//! The agent: an engine, and the conversation that it is in.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

use ship_store::{ChatKey, StorageProblem};
use tokio::sync::Mutex;

use super::{AgentParts, Engine};
use crate::chat::LedgerMessageIds;
use crate::conversation_log::ConversationLog;
use crate::events::Listener;
use crate::tokens::TokenMeter;

/// An agent.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<Engine>,
    /// The conversation that it is in, the same for all its clones.
    pub(crate) current: Arc<Mutex<CurrentConversation>>,
}

impl Agent {
    /// Makes an agent of all its parts. Of two tools of one name the later one counts.
    pub fn from_parts(parts: AgentParts) -> Self {
        let tools = parts.tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect();
        let scales = Arc::new(TokenMeter::new(parts.provider.model()));
        let inner = Engine {
            store: parts.store,
            provider: parts.provider,
            tools,
            surroundings: parts.surroundings,
            rules: parts.rules,
            clock: parts.clock,
            ids: parts.ids,
            log: parts.log,
            names: Arc::new(LedgerMessageIds),
            hub: Arc::default(),
            said: Arc::default(),
            scales,
            drafts: Arc::default(),
            recorded: Arc::default(),
            repaired: Arc::default(),
            repairs: Arc::default(),
            warned: Arc::default(),
        };
        Self::of(inner)
    }

    pub(crate) fn of(inner: Engine) -> Self {
        Self { inner: Arc::new(inner), current: Arc::default() }
    }

    /// Follows what happens in a chat from now on.
    pub fn listen(&self, chat: &ChatKey) -> Listener {
        self.inner.hub.listen(chat)
    }

    /// Returns what was repaired or found damaged since the last call. The log has it too.
    pub fn take_repairs(&self) -> Vec<StorageProblem> {
        std::mem::take(&mut *self.inner.repairs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The conversation that an agent is in.
#[derive(Default)]
pub(crate) enum CurrentConversation {
    /// One in memory, once something is said.
    #[default]
    Unbegun,
    In(Arc<ActiveConversation>),
    /// None: this file was left to load it anew, which failed. To go on in memory would lose what is said.
    Left(PathBuf),
}

/// One conversation, and the agent on it.
pub(crate) struct ActiveConversation {
    /// The same agent, with the conversation for its store.
    pub(crate) agent: Agent,
    pub(crate) kept: ConversationLog,
    /// One thing is said at a time, and answered before the next.
    pub(crate) turn: Mutex<()>,
    pub(crate) said: AtomicU64,
}
