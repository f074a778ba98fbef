//! One conversation, and the agent on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ship_context::Journal;
use ship_message::{Role, UiMessage};
use ship_store::conversation::Conversation;
use ship_store::{ContextId, FileStore, StoreOptions};
use tokio::sync::Mutex;

use super::error::ConversationError;
use super::store::ConversationStore;
use crate::built_in_tools::context_tools;
use crate::conversation_log::{ConversationLog, chat};
use crate::engine::{ActiveConversation, Agent, Engine};
use crate::error::RunError;
use crate::events::Outcome;
use crate::inbound::{CallAnswer, Inbound};
use crate::stop::Stop;

/// What came of something that was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// How the run ended.
    pub outcome: Outcome,
    /// What the agent said, with all its steps, as the file has it. Of a run that is parked, what it has
    /// said so far, with the calls that wait for an answer; that is not in the file yet.
    pub message: UiMessage,
}

impl Reply {
    /// What a person would read.
    pub fn text(&self) -> String {
        self.message.text()
    }
}

impl ActiveConversation {
    pub(super) fn new(agent: &Engine, conversation: Conversation) -> Self {
        let id = ContextId::new(agent.clock.now(), agent.ids.next());
        let kept = ConversationLog::new(conversation, id);
        let options = StoreOptions { clock: Arc::clone(&agent.clock), ..StoreOptions::default() };
        let memory = FileStore::in_memory(options);
        // A conversation is one context, and has no other to go to.
        let mut tools = agent.tools.clone();
        for tool in context_tools() {
            tools.remove(&tool.spec().name);
        }
        let agent = Engine {
            tools,
            store: Arc::new(ConversationStore { memory, log: kept.clone() }),
            names: Arc::new(kept.clone()),
            recorded: Arc::default(),
            ..agent.clone()
        };
        Self { agent: Agent::of(agent), kept, turn: Mutex::default(), said: AtomicU64::new(0) }
    }

    pub(super) async fn say(&self, text: String, stop: &Stop) -> Result<Reply, ConversationError> {
        let _alone = self.turn.lock().await;
        let accepted = self.agent.accept(&chat(), self.inbound(text)).await?.seq;
        let ran = self.agent.run(&chat(), stop).await;
        // What did not come into the conversation was not said, and must not come in later.
        let came_in = self.kept.with(move |context| context.pass_over(accepted)).await;
        match ran? {
            Some(Outcome::Parked) if !came_in => {
                let place = self.kept.with(|context| context.place()).await;
                Err(ConversationError::Waiting { place: place.display().to_string() })
            }
            outcome => self.reply(outcome).await,
        }
    }

    pub(super) async fn decide(
        &self,
        answer: CallAnswer,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        let _alone = self.turn.lock().await;
        let outcome = self.agent.answer(&chat(), answer, stop).await?;
        self.reply(outcome).await
    }

    fn inbound(&self, text: String) -> Inbound {
        Inbound {
            key: format!("said:{}", self.said.fetch_add(1, Ordering::Relaxed)),
            text,
            channel: "conversation".to_owned(),
            request_id: format!("req_{:016x}", self.agent.inner.ids.next()),
            ..Inbound::default()
        }
    }

    async fn reply(&self, outcome: Option<Outcome>) -> Result<Reply, ConversationError> {
        let outcome = outcome.unwrap_or(Outcome::Done);
        let message = match outcome {
            Outcome::Parked => self.so_far().await?,
            Outcome::Done | Outcome::Stopped | Outcome::Failed(_) => {
                self.kept.with(|context| context.messages().pop()).await
            }
        };
        let silence = || UiMessage::new("", Role::Assistant, Vec::new());
        Ok(Reply { outcome, message: message.unwrap_or_else(silence) })
    }

    /// What a parked run has said so far.
    async fn so_far(&self) -> Result<Option<UiMessage>, RunError> {
        let Some(chat) = self.agent.inner.store.open(&chat()).await? else { return Ok(None) };
        let journal = Journal::read(&chat.runs().journal().await?);
        Ok(journal.map(|journal| journal.message))
    }
}
