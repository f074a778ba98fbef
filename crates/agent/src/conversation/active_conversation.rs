//! One conversation, with the agent that works in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ship_context::Journal;
use ship_store::conversation::Conversation;
use ship_store::{ContextId, FileStore, StoreOptions};
use tokio::sync::Mutex;

use super::error::ConversationError;
use super::store::ConversationStore;
use crate::built_in_tools::context_tools;
use crate::conversation_log::{ConversationLog, conversation_chat};
use crate::engine::{ActiveConversation, Agent, ChatMemory, Engine, SystemSources, offered_tools};
use crate::error::RunError;
use crate::inbound::{CallAnswer, Inbound};
use crate::records::{RequestCache, usage_of_run};
use crate::reply::{Outcome, Reply};
use crate::stop::Stop;

/// The channel of a conversation.
const CHANNEL: &str = "conversation";

impl ActiveConversation {
    pub(super) fn new(engine: &Engine, conversation: Conversation) -> Self {
        let id = ContextId::new(engine.clock.now(), engine.ids.next());
        let kept = ConversationLog::new(conversation, id);
        let options = StoreOptions { clock: Arc::clone(&engine.clock), ..StoreOptions::default() };
        let memory = FileStore::in_memory(options);
        // A conversation is a single context, so tools for other contexts have no use.
        let mut tools = engine.tools.clone();
        for tool in context_tools() {
            tools.remove(&tool.spec().name);
        }
        let engine = Engine {
            offered: offered_tools(&tools),
            tools,
            store: Arc::new(ConversationStore { memory, log: kept.clone() }),
            message_ids: Arc::new(kept.clone()),
            // All conversations have the same chat key, so the last request of another one must not be found.
            request_cache: Arc::new(RequestCache::within(&engine.memory)),
            ..engine.clone()
        };
        Self {
            agent: Agent::from_engine(engine),
            log: kept,
            turn: Mutex::default(),
            sent_count: AtomicU64::new(0),
        }
    }

    pub(super) async fn send(
        &self,
        message: Inbound,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        let _alone = self.turn.lock().await;
        self.write_system_line().await?;
        let accepted = self.agent.accept(&conversation_chat(), self.inbound(message)).await?.seq;
        let ran = self.agent.run(&conversation_chat(), stop).await;
        // A message that did not get into the conversation was not said, and must not get in later.
        let came_in = self.log.with(move |context| context.skip_entry(accepted)).await;
        match ran? {
            Some(Outcome::Parked) if !came_in => {
                let place = self.log.with(|context| context.place()).await;
                Err(ConversationError::Waiting { place: place.display().to_string() })
            }
            outcome => self.reply(outcome).await,
        }
    }

    pub(super) async fn answer_calls(
        &self,
        answers: Vec<CallAnswer>,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        let _alone = self.turn.lock().await;
        let outcome = self.agent.answer_all(&conversation_chat(), answers, stop).await?;
        self.reply(outcome).await
    }

    /// Writes the agent's instructions into the conversation, if they changed. Skills are not among them: they have
    /// lines of their own.
    async fn write_system_line(&self) -> Result<(), ConversationError> {
        let (engine, chat) = (&self.agent.engine, conversation_chat());
        let memory = ChatMemory::read(engine, &chat).await;
        let channel = Some(CHANNEL.to_owned());
        let texts = engine.project_texts(&chat).await;
        let sources = SystemSources::for_question(engine, channel, None, texts, memory);
        let blocks = sources.blocks(engine, &chat, &[]);
        let texts: Vec<String> = blocks.into_iter().map(|block| block.text).collect();
        let text = texts.join("\n\n");
        Ok(self.log.with(move |context| context.conversation.write_agent_system(&text)).await?)
    }

    fn inbound(&self, Inbound { text, attachments, request_id, .. }: Inbound) -> Inbound {
        Inbound {
            // Equal texts are different messages, so their keys are numbers.
            key: format!("said:{}", self.sent_count.fetch_add(1, Ordering::Relaxed)),
            text,
            attachments,
            channel: CHANNEL.to_owned(),
            request_id,
            ..Inbound::default()
        }
    }

    async fn reply(&self, outcome: Option<Outcome>) -> Result<Reply, ConversationError> {
        let chat =
            self.agent.engine.store.open(&conversation_chat()).await.map_err(RunError::from)?;
        let Some(chat) = chat else { return Ok(Reply::without_answer(outcome)) };
        let journal = Journal::read(&chat.runs().journal().await.map_err(RunError::from)?);
        let outcome = outcome.unwrap_or(Outcome::Done);
        let messages = match (&outcome, &journal) {
            // The unfinished message of a parked run is not in the conversation yet.
            (Outcome::Parked, journal) => {
                journal.iter().map(|journal| journal.message.clone()).collect()
            }
            (_, Some(journal)) => {
                let id = journal.start.message_id.clone();
                self.log.with(move |context| context.answer(&id)).await
            }
            (_, None) => Vec::new(),
        };
        let records = chat.runs().requests(usize::MAX).await.map_err(RunError::from)?;
        let run_id = journal.map(|journal| journal.start.run_id);
        Ok(Reply {
            outcome,
            messages,
            usage: run_id.and_then(|run_id| usage_of_run(&records, &run_id)),
            model: Some(self.agent.engine.provider.model().to_owned()),
            left_context: None,
            is_from_here: true,
        })
    }
}
