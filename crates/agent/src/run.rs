//! Runs: one entry point for everything that an agent does.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, PoisonError};

use ship_context::{Journal, KnownTools};
use ship_message::json::Json;
use ship_provider::Provider;
use ship_store::{
    About, AcceptError, Accepted, Chat, ChatKey, Clock, Lane, LedgerSeq, ReadError, RefusedInput,
    StorageProblem, Store,
};
use tokio::sync::Mutex;

use crate::chat::{LedgerMessageIds, MessageCache, MessageIds};
use crate::compact::{SummaryDrafts, finish_purge};
use crate::contexts::ContextArchive;
use crate::conversation::CurrentConversation;
use crate::error::RunError;
use crate::events::{EventHub, Listener, Outcome};
use crate::held::LaneLoop;
use crate::id_source::IdSource;
use crate::inbound::{CallAnswer, Inbound};
use crate::locked_chat::LockedChat;
use crate::project_source::ProjectSource;
use crate::queue::NextInput;
use crate::records::RequestCache;
use crate::rules::Rules;
use crate::run_log::{RunLog, RunLogEntry};
use crate::stop::{Stop, lane_unless_stopped};
use crate::tokens::TokenMeter;
use crate::tool::Tool;

/// What an agent is made of.
pub struct AgentParts {
    /// What keeps its chats.
    pub store: Arc<dyn Store>,
    /// What answers its requests.
    pub provider: Arc<dyn Provider>,
    /// What it can have done.
    pub tools: Vec<Tool>,
    /// Its project.
    pub surroundings: Arc<dyn ProjectSource>,
    /// Its limits and habits.
    pub rules: Rules,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// Where its ids come from.
    pub ids: Arc<dyn IdSource>,
    /// Where it tells what it does.
    pub log: Arc<dyn RunLog>,
}

/// An agent.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<Engine>,
    /// The conversation that it is in, the same for all its clones.
    pub(crate) current: Arc<tokio::sync::Mutex<CurrentConversation>>,
}

#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: BTreeMap<String, Tool>,
    pub(crate) surroundings: Arc<dyn ProjectSource>,
    pub(crate) rules: Rules,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) log: Arc<dyn RunLog>,
    pub(crate) names: Arc<dyn MessageIds>,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) said: Arc<MessageCache>,
    pub(crate) scales: Arc<TokenMeter>,
    /// Summaries that are not in force yet.
    pub(crate) drafts: Arc<SummaryDrafts>,
    pub(crate) recorded: Arc<RequestCache>,
    /// The chats that this agent has looked after once.
    pub(crate) repaired: Arc<Mutex<HashSet<ChatKey>>>,
    /// What was repaired or found damaged, until the edge asks.
    pub(crate) repairs: Arc<std::sync::Mutex<Vec<StorageProblem>>>,
    /// The warnings that the log has.
    pub(crate) warned: Arc<Mutex<HashSet<String>>>,
}

impl KnownTools for Engine {
    fn is_safe_to_repeat(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(Tool::is_safe_to_repeat)
    }

    fn runs_on_client(&self, name: &str) -> bool {
        self.rules.client.contains(name)
    }
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

    /// Makes a message durable. When this returns, the message is accepted; the same key again is the same
    /// message.
    ///
    /// # Errors
    /// When the text is longer than the rules allow, or the chat or its ledger cannot be written. The message
    /// is not accepted then.
    pub async fn accept(&self, chat: &ChatKey, inbound: Inbound) -> Result<Accepted, RunError> {
        let (bytes, max) = (inbound.text.len(), self.inner.rules.message_bytes);
        if bytes > max {
            let refused = RefusedInput::TooLarge { id: inbound.key, bytes, max };
            return Err(AcceptError::Refused(refused).into());
        }
        let about = About { channel: Some(inbound.channel.clone()), target: None };
        let entry = inbound.into_entry(chat, self.inner.clock.now());
        let chat = self.inner.store.create(chat, about).await?;
        Ok(chat.accept(entry).await?)
    }

    /// Does whatever is to be done in a chat, until nothing is. Tells how the last run ended; `None` when
    /// there was nothing to do, or it was stopped while somebody else ran the chat.
    ///
    /// # Errors
    /// When somebody else runs the chat, or it cannot be read or written. A model or a tool that fails is no
    /// error here: the person is told, and the outcome says so.
    pub async fn run(&self, chat: &ChatKey, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        self.run_with(chat, stop, LaneWait::Waits).await
    }

    /// As [`Agent::run`], but waits for nobody: when somebody else runs the chat, that is said at once.
    ///
    /// # Errors
    /// As [`Agent::run`].
    pub async fn run_now(&self, chat: &ChatKey, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        self.run_with(chat, stop, LaneWait::None).await
    }

    async fn run_with(
        &self,
        chat: &ChatKey,
        stop: &Stop,
        patience: LaneWait,
    ) -> Result<Option<Outcome>, RunError> {
        let Some(chat) = self.inner.store.open(chat).await? else { return Ok(None) };
        let mut outcome = None;
        loop {
            let lane = match patience {
                LaneWait::None => chat.lane_now("run").await?,
                LaneWait::Waits => match lane_unless_stopped(&*chat, stop).await? {
                    Some(lane) => lane,
                    None => return Ok(outcome),
                },
            };
            self.inner.repair_once(&*chat, &*lane).await?;
            let engine = Arc::clone(&self.inner);
            let held = LaneLoop::new(LockedChat { engine, chat: Arc::clone(&chat), lane });
            let done = held.do_all(stop).await?;
            outcome = done.outcome.or(outcome);
            drop(held);
            // What came in between the last look and the release would wait for nobody.
            if outcome == Some(Outcome::Parked)
                || !self.inner.is_waiting(&*chat, done.inbox, outcome.as_ref()).await?
            {
                return Ok(outcome);
            }
        }
    }

    /// Returns what was repaired or found damaged since the last call. The log has it too.
    pub fn take_repairs(&self) -> Vec<StorageProblem> {
        std::mem::take(&mut *self.inner.repairs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers what a parked run waits for, and goes on with it.
    ///
    /// # Errors
    /// When nothing waits for it, and as [`Agent::run`].
    pub async fn answer(
        &self,
        chat: &ChatKey,
        answer: CallAnswer,
        stop: &Stop,
    ) -> Result<Option<Outcome>, RunError> {
        let not_waiting = |id: &str| RunError::NotWaiting { chat: chat.clone(), id: id.to_owned() };
        let id = match &answer {
            CallAnswer::Approval { approval_id, .. } => approval_id.clone(),
            CallAnswer::Output { call_id, .. } => call_id.clone(),
        };
        let open = self.inner.store.open(chat).await?.ok_or_else(|| not_waiting(&id))?;
        let lane = open.lane("answer").await?;
        let journal = Journal::read(&open.journal().await?).ok_or_else(|| not_waiting(&id))?;
        let line = crate::calls::answered(&journal, answer).ok_or_else(|| not_waiting(&id))?;
        lane.journal(vec![line.into_object()], ship_store::Synced::Now).await?;
        drop(lane);
        self.run(chat, stop).await
    }
}

impl Engine {
    /// Whether messages wait behind the inbox cursor. What was answered stays answered when that cannot be
    /// read: it is told to the log, and whoever runs the chat next looks again.
    pub(crate) async fn is_waiting(
        &self,
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
        answered: Option<&Outcome>,
    ) -> Result<bool, ReadError> {
        match NextInput::read(self, chat, inbox).await {
            Ok(queue) => Ok(!queue.is_empty()),
            Err(error) if answered.is_some() => {
                let fields =
                    vec![("message", Json::from(self.surroundings.mask(&error.to_string())))];
                self.log.write(
                    chat.key(),
                    RunLogEntry { kind: "error", fields, ..RunLogEntry::default() },
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Sets aside what a crash left half written, the first time this agent writes a chat. No repair is silent:
    /// each is a line in the log.
    pub(crate) async fn repair_once(
        &self,
        chat: &dyn Chat,
        lane: &dyn Lane,
    ) -> Result<(), RunError> {
        let new = self.repaired.lock().await.insert(chat.key().clone());
        if !new {
            return Ok(());
        }
        self.note_repairs(chat.key(), chat.repair().await?);
        // What is known of archived contexts is made again if it is missing.
        if let Some(view) = chat.view().await? {
            ContextArchive::open(self, chat, &view).await?;
        }
        finish_purge(chat, lane).await
    }
}

impl Engine {
    /// Tells the log what was repaired or found damaged, and keeps it for the edge.
    pub(crate) fn note_repairs(&self, chat: &ChatKey, problems: Vec<StorageProblem>) {
        for problem in &problems {
            let fields = vec![
                ("file", Json::from(problem.file.as_str())),
                ("offset", problem.offset.into()),
                ("problem", problem.kind.as_str().into()),
                ("message", problem.message.as_str().into()),
                ("remedy", problem.remedy.as_str().into()),
            ];
            self.log.write(chat, RunLogEntry { kind: "repair", fields, ..RunLogEntry::default() });
        }
        self.repairs.lock().unwrap_or_else(PoisonError::into_inner).extend(problems);
    }
}

/// Whether to wait for a lane that somebody else holds.
#[derive(Clone, Copy)]
enum LaneWait {
    /// Up to `lock.waitMs`.
    Waits,
    None,
}
