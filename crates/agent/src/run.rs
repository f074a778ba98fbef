//! Runs: one entry point for everything that an agent does.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use ship_context::{Journal, KnownTools, Recovery, RunStart, recover};
use ship_message::json::Json;
use ship_provider::Provider;
use ship_store::{
    About, AcceptError, Accepted, AppendError, Chat, ChatKey, Clock, ContextId, Head, LaneError,
    LedgerBody, LedgerLine, LedgerSeq, NewMessage, OnDamage, OpenError, ReadError, RotateError,
    Rotation, StorageError, Store, View,
};
use tokio::sync::{Mutex, Notify};

use crate::conversation::Current;
use crate::events::{Hub, Listener, Outcome};
use crate::inbound::{Answer, Inbound, message_of};
use crate::names::{ByPlace, Names};
use crate::work::Work;
use crate::{Ids, Rules, RunLog, RunNote, Surroundings, Tool};

/// How many ledger lines are read at once.
const LEDGER_PAGE: usize = 200;

/// What an agent is made of.
pub struct AgentParts {
    /// What keeps its chats.
    pub store: Arc<dyn Store>,
    /// What answers its requests.
    pub provider: Arc<dyn Provider>,
    /// What it can have done.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Its project.
    pub surroundings: Arc<dyn Surroundings>,
    /// Its limits and habits.
    pub rules: Rules,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// Where its ids come from.
    pub ids: Arc<dyn Ids>,
    /// Where it tells what it does.
    pub log: Arc<dyn RunLog>,
}

/// An agent.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<Inner>,
    /// The conversation that it is in, the same for all its clones.
    pub(crate) current: Arc<tokio::sync::Mutex<Current>>,
}

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: BTreeMap<String, Arc<dyn Tool>>,
    pub(crate) surroundings: Arc<dyn Surroundings>,
    pub(crate) rules: Rules,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) log: Arc<dyn RunLog>,
    pub(crate) names: Arc<dyn Names>,
    pub(crate) hub: Arc<Hub>,
    /// The chats that this agent has looked after once.
    pub(crate) repaired: Arc<Mutex<HashSet<ChatKey>>>,
}

/// Stops a run: what was said until then is kept.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    notify: Arc<Notify>,
}

impl Stop {
    /// Stops the run that was given this, at once or when it begins.
    pub fn stop(&self) {
        self.notify.notify_one();
    }

    pub(crate) async fn stopped(&self) {
        self.notify.notified().await;
    }
}

/// Why a chat could not be run. What was accepted stays accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The chat cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Somebody else runs the chat, and will see what has come in.
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The chat cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The ledger cannot be written.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// The context cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A context cannot be begun.
    #[error(transparent)]
    Rotate(#[from] RotateError),
    /// The journal cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Nothing waits for this answer.
    #[error("nothing in `{chat}` waits for `{id}`; it may have been answered already")]
    NotWaiting {
        /// The chat.
        chat: ChatKey,
        /// What the answer was for.
        id: String,
    },
}

impl KnownTools for Inner {
    fn is_safe_to_repeat(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|tool| tool.is_safe_to_repeat())
    }

    fn runs_on_client(&self, name: &str) -> bool {
        self.rules.client.contains(name)
    }
}

impl Agent {
    /// Makes an agent of all its parts. Of two tools of one name the later one counts.
    pub fn from_parts(parts: AgentParts) -> Self {
        let tools = parts.tools.into_iter().map(|tool| (tool.spec().name, tool)).collect();
        let inner = Inner {
            store: parts.store,
            provider: parts.provider,
            tools,
            surroundings: parts.surroundings,
            rules: parts.rules,
            clock: parts.clock,
            ids: parts.ids,
            log: parts.log,
            names: Arc::new(ByPlace),
            hub: Arc::default(),
            repaired: Arc::default(),
        };
        Self::of(inner)
    }

    pub(crate) fn of(inner: Inner) -> Self {
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
    /// When the chat or its ledger cannot be written. The message is not accepted then.
    pub async fn accept(&self, chat: &ChatKey, inbound: Inbound) -> Result<Accepted, RunError> {
        let about = About { channel: Some(inbound.channel.clone()), target: None };
        let entry = inbound.into_entry(chat, self.inner.clock.now());
        let chat = self.inner.store.create(chat, about).await?;
        Ok(chat.accept(entry).await?)
    }

    /// Does whatever is to be done in a chat, until nothing is. Tells how the last run ended; `None` when
    /// there was nothing to do.
    ///
    /// # Errors
    /// When somebody else runs the chat, or it cannot be read or written. A model or a tool that fails is no
    /// error here: the person is told, and the outcome says so.
    pub async fn run(&self, chat: &ChatKey, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        let Some(chat) = self.inner.store.open(chat).await? else { return Ok(None) };
        let mut outcome = None;
        loop {
            let lane = chat.lane("run").await?;
            self.inner.repair_once(&*chat).await?;
            let held = Held { agent: Arc::clone(&self.inner), chat: Arc::clone(&chat), lane };
            while let Some(next) = held.do_next(stop).await? {
                let parked = next == Outcome::Parked;
                outcome = Some(next);
                if parked {
                    return Ok(outcome);
                }
            }
            drop(held);
            // What came in between the last look and the release would wait for nobody.
            if !is_waiting(&*chat).await? {
                return Ok(outcome);
            }
        }
    }

    /// Answers what a parked run waits for, and goes on with it.
    ///
    /// # Errors
    /// When nothing waits for it, and as [`Agent::run`].
    pub async fn answer(
        &self,
        chat: &ChatKey,
        answer: Answer,
        stop: &Stop,
    ) -> Result<Option<Outcome>, RunError> {
        let not_waiting = |id: &str| RunError::NotWaiting { chat: chat.clone(), id: id.to_owned() };
        let id = match &answer {
            Answer::Approval { approval_id, .. } => approval_id.clone(),
            Answer::Output { call_id, .. } => call_id.clone(),
        };
        let open = self.inner.store.open(chat).await?.ok_or_else(|| not_waiting(&id))?;
        let lane = open.lane("answer").await?;
        let journal = Journal::read(&open.journal().await?).ok_or_else(|| not_waiting(&id))?;
        let line = crate::calls::answered(&journal, answer).ok_or_else(|| not_waiting(&id))?;
        lane.journal(vec![line.into_object()], ship_store::Synced::Now).await?;
        drop(lane);
        self.run(chat, stop).await
    }

    /// What a model would be sent now: the system blocks, the messages as shown, and the tools.
    ///
    /// # Errors
    /// When the chat cannot be read.
    pub async fn inspect(&self, chat: &ChatKey) -> Result<crate::request::NextRequest, RunError> {
        crate::request::next_request(&self.inner, chat).await
    }
}

impl Inner {
    /// Sets aside what a crash left half written, the first time this agent writes a chat. No repair is silent:
    /// each is a line in the log.
    async fn repair_once(&self, chat: &dyn Chat) -> Result<(), RunError> {
        let new = self.repaired.lock().await.insert(chat.key().clone());
        if !new {
            return Ok(());
        }
        for problem in chat.repair().await? {
            let fields = vec![
                ("file", Json::from(problem.file)),
                ("offset", problem.offset.into()),
                ("problem", problem.kind.as_str().into()),
                ("message", problem.message.into()),
                ("remedy", problem.remedy.into()),
            ];
            self.log.write(chat.key(), RunNote { kind: "repair", fields, ..RunNote::default() });
        }
        Ok(())
    }
}

/// Whether messages wait behind the inbox cursor.
async fn is_waiting(chat: &dyn Chat) -> Result<bool, ReadError> {
    let inbox = chat.view().await?.and_then(|view| view.inbox);
    Ok(new_lines(chat, inbox).await?.iter().any(is_message))
}

fn is_message(line: &LedgerLine) -> bool {
    matches!(&line.body, LedgerBody::Entry(entry) if entry.entry.str("role") == Some("user"))
}

/// Everything in the ledger behind the inbox cursor.
async fn new_lines(
    chat: &dyn Chat,
    inbox: Option<LedgerSeq>,
) -> Result<Vec<LedgerLine>, ReadError> {
    let mut lines = Vec::new();
    let mut after = inbox;
    loop {
        let page = chat.ledger_after(after, LEDGER_PAGE).await?;
        let full = page.len() == LEDGER_PAGE;
        after = page.last().map(|line| line.seq).or(after);
        lines.extend(page);
        if !full {
            return Ok(lines);
        }
    }
}

/// A chat whose lane we hold.
struct Held {
    agent: Arc<Inner>,
    chat: Arc<dyn Chat>,
    lane: Arc<dyn ship_store::Lane>,
}

impl Held {
    /// Does the next thing that is to be done; `None` when nothing is.
    async fn do_next(&self, stop: &Stop) -> Result<Option<Outcome>, RunError> {
        let view = self.chat.view().await?;
        let lines = new_lines(&*self.chat, view.as_ref().and_then(|view| view.inbox)).await?;
        let journal = Journal::read(&self.chat.journal().await?);
        let recent = self.chat.ledger_before(None, LEDGER_PAGE).await?;
        let delivered = |start: &RunStart| {
            let key = answer_key(&start.run_id);
            recent.iter().any(|line| matches!(&line.body, LedgerBody::Entry(e) if e.key == key))
        };
        match recover(view.as_ref(), &lines, journal, delivered, &*self.agent) {
            Recovery::Idle => Ok(None),
            Recovery::Parked(_) => Ok(Some(Outcome::Parked)),
            Recovery::Deliver(message) => {
                let journal = Journal::read(&self.chat.journal().await?);
                if let (Some(journal), Some(view)) = (journal, view) {
                    let work = self.work(&view, &journal);
                    crate::finish::deliver(&work, &message).await?;
                }
                Ok(Some(Outcome::Done))
            }
            Recovery::Continue(journal) => {
                let view = self.first_context(view).await?;
                let work = self.work(&view, &journal);
                Ok(Some(crate::step::run(&work, journal, stop).await?))
            }
            Recovery::RunPending => {
                let view = self.first_context(view).await?;
                let view = self.promote(view, &lines).await?;
                let start = self.start_run(&view);
                self.lane.begin_journal(start.to_object()).await?;
                let Some(journal) = Journal::read(&[start.to_object()]) else { return Ok(None) };
                let work = self.work(&view, &journal);
                Ok(Some(crate::step::run(&work, journal, stop).await?))
            }
        }
    }

    fn work(&self, view: &View, journal: &Journal) -> Arc<Work> {
        let (agent, chat) = (Arc::clone(&self.agent), Arc::clone(&self.chat));
        Arc::new(Work::new(agent, chat, Arc::clone(&self.lane), view, journal))
    }

    /// A chat's first context begins with the first message that is to be answered.
    async fn first_context(&self, view: Option<View>) -> Result<View, RunError> {
        if let Some(view) = view {
            return Ok(view);
        }
        let context = ContextId::new(self.agent.clock.now(), self.agent.ids.next());
        let rotation = Rotation {
            expected: None,
            head: Head::new(context),
            pieces: Vec::new(),
            damage: OnDamage::Refuse,
        };
        self.lane.rotate(rotation).await?;
        self.read_view().await
    }

    async fn read_view(&self) -> Result<View, RunError> {
        let view = self.chat.view().await?;
        Ok(view.expect("a log that was just written is there: only the lane's holder writes it"))
    }

    /// Puts what has come in into the context, in the ledger's order, exactly once.
    async fn promote(&self, view: View, lines: &[LedgerLine]) -> Result<View, RunError> {
        let said = lines.iter().filter(|line| is_message(line)).enumerate();
        let entry = |(nth, line): (usize, &LedgerLine)| match &line.body {
            LedgerBody::Entry(entry) => {
                let id = self.agent.names.question(line.seq, nth);
                let message = message_of(entry, id).into_json();
                let message = message.as_object().cloned().unwrap_or_default();
                Some(NewMessage { message, rev: 0, inbox: Some(line.seq) }.into())
            }
            LedgerBody::Delivery(_) => None,
        };
        let batch: Vec<ship_store::Entry> = said.filter_map(entry).collect();
        if batch.is_empty() {
            return Ok(view);
        }
        self.lane.append(batch, view.position).await?;
        self.read_view().await
    }

    fn start_run(&self, view: &View) -> RunStart {
        let id = self.agent.ids.next();
        let metadata = view.messages().next_back().and_then(|message| message.get("metadata"));
        let request_id =
            metadata.and_then(|metadata| metadata.get("requestId")).and_then(Json::as_str);
        RunStart {
            run_id: format!("run_{id:016x}"),
            message_id: self.agent.names.answer(id),
            request_id: request_id.map_or_else(|| format!("req_{id:016x}"), str::to_owned),
            inbox: view.inbox,
        }
    }
}

/// The ledger key of what a run's answer told the person.
pub(crate) fn answer_key(run_id: &str) -> String {
    format!("answer:{run_id}")
}
