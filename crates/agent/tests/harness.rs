//! An agent of which everything is known: its disk, its clock, its model, and what its tools have done.
//!
//! It is a module of the tests and not of the testkit: with the agent below it, the testkit would be built anew with
//! each change of the agent.

mod conversation;
mod counting;
mod fixed_project;
mod kept_log;
mod lines;
mod project_folder;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ship_agent::{
    Agent, AgentBuilder, IdSource, Inbound, Outcome, Rules, RunError, RunLog, Stop, built_in_tools,
};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::disk::Disk;
use ship_store::{Chat, ChatKey, FileStore, LedgerBody, Store, StoreOptions, View};
use ship_testkit::chat::options;
use ship_testkit::clock::ManualClock;
use ship_testkit::scripted_model::{ScriptedModel, ScriptedStep};
use ship_testkit::sim::SimDisk;

pub(crate) use conversation::ConversationAgent;
use counting::counting;
pub(crate) use fixed_project::FixedProject;
pub(crate) use kept_log::KeptLog;
pub(crate) use lines::{line, line_with_outputs};
pub(crate) use project_folder::{ProjectFolder, write};

/// The chat that the tests talk in.
pub(crate) fn chat() -> ChatKey {
    "terminal:main".parse().unwrap()
}

/// The same id always: what is to be one thing must not depend on luck.
struct OneId;

impl IdSource for OneId {
    fn next(&self) -> u64 {
        7
    }
}

/// What a test agent is made of. Made again of the same, it is the agent after a restart.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    pub(crate) disk: SimDisk,
    pub(crate) rules: Rules,
    pub(crate) clock: ManualClock,
    /// The offline model when there is none.
    pub(crate) model: Option<ScriptedModel>,
    /// Whether ids differ, which several runs in one chat need.
    pub(crate) many_runs: bool,
    /// Whether it has no tool at all, so that a request holds little but what was said.
    pub(crate) without_tools: bool,
}

impl Setup {
    pub(crate) fn scripted(script: &[ScriptedStep]) -> Self {
        Self::default().with_script(script)
    }

    pub(crate) fn ruled(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// The same with a model that says something else.
    pub(crate) fn with_script(self, script: &[ScriptedStep]) -> Self {
        Self { model: Some(ScriptedModel::of_steps(script.to_vec())), ..self }
    }

    pub(crate) fn model(&self) -> &ScriptedModel {
        self.model.as_ref().unwrap()
    }

    /// Has an agent answer until its disk dies, and revives the disk.
    pub(crate) async fn answer_until_killed(&self, text: &str) -> Killed {
        let agent = self.agent();
        let accepted = agent.accept(text).await;
        let _ = agent.try_run().await;
        let (effects, looks) = (agent.effects(), agent.looks());
        let died = self.disk.is_dead();
        drop(agent);
        self.disk.revive();
        Killed { died, accepted, effects, looks }
    }

    pub(crate) fn agent(&self) -> TestAgent {
        TestAgent::on(Box::new(self.disk.clone()), self)
    }
}

/// What an agent leaves behind that was killed while it answered.
pub(crate) struct Killed {
    /// Whether the disk died at all: a call that finds or writes nothing is not a place to die after.
    pub(crate) died: bool,
    /// Whether the message was acknowledged.
    pub(crate) accepted: bool,
    pub(crate) effects: usize,
    pub(crate) looks: usize,
}

pub(crate) struct TestAgent {
    pub(crate) agent: Agent,
    pub(crate) chat: ChatKey,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) log: Arc<KeptLog>,
    pub(crate) setup: Setup,
    effects: Arc<AtomicUsize>,
    looks: Arc<AtomicUsize>,
    /// How many changes the disk had seen at each effect.
    pub(crate) changes: Arc<Mutex<Vec<usize>>>,
}

impl TestAgent {
    pub(crate) fn on(disk: Box<dyn Disk>, setup: &Setup) -> Self {
        let (effects, looks) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let changes = Arc::<Mutex<Vec<usize>>>::default();
        let seen = Some((setup.disk.clone(), Arc::clone(&changes)));
        let options = StoreOptions { clock: Arc::new(setup.clock.clone()), ..options() };
        let store = FileStore::on_disk(disk, options);
        let agent = Self::with_tools(store, setup, |agent| {
            let agent = agent.without_built_in_tools();
            if setup.without_tools {
                return agent;
            }
            let agent = agent
                .tool(counting("effect", Arc::clone(&effects), seen))
                .tool(counting("look", Arc::clone(&looks), None).safe_to_repeat());
            built_in_tools().into_iter().fold(agent, AgentBuilder::tool)
        });
        Self { effects, looks, changes, ..agent }
    }

    /// An agent on a store, which gets its tools, and whatever else is its own, from a test.
    pub(crate) fn with_tools(
        store: FileStore,
        setup: &Setup,
        add: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Self {
        let (store, clock) = (Arc::new(store), Arc::new(setup.clock.clone()));
        let builder =
            Agent::builder().shared_store(store.clone()).rules(setup.rules.clone()).clock(clock);
        let builder = if setup.many_runs { builder } else { builder.ids(Arc::new(OneId)) };
        Self::built(builder, store, setup, add)
    }

    /// An agent with a log to read and the setup's model, which is otherwise as a builder makes it.
    fn built(
        builder: AgentBuilder,
        store: Arc<dyn Store>,
        setup: &Setup,
        add: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Self {
        let log = Arc::<KeptLog>::default();
        let builder = builder.log(Arc::clone(&log) as Arc<dyn RunLog>);
        let builder = match &setup.model {
            Some(model) => builder.provider(model.clone()),
            None => builder,
        };
        Self {
            agent: add(builder).build(),
            chat: chat(),
            store,
            log,
            setup: setup.clone(),
            effects: Arc::default(),
            looks: Arc::default(),
            changes: Arc::default(),
        }
    }

    pub(crate) fn model(&self) -> &ScriptedModel {
        self.setup.model()
    }

    /// How often the tool that must not run twice has run.
    pub(crate) fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    /// How often the tool that may run twice has run.
    pub(crate) fn looks(&self) -> usize {
        self.looks.load(Ordering::SeqCst)
    }

    pub(crate) async fn accept(&self, text: &str) -> bool {
        self.agent.accept(&self.chat, inbound(text)).await.is_ok()
    }

    pub(crate) async fn say(&self, text: &str) -> Option<Outcome> {
        assert!(self.accept(text).await);
        self.run().await
    }

    /// Goes on with a message that another agent has not answered to its end. The sender sends it again unless it was
    /// acknowledged.
    pub(crate) async fn go_on(&self, text: &str, killed: &Killed) -> Option<Outcome> {
        if !killed.accepted {
            assert!(self.accept(text).await);
        }
        self.run().await
    }

    pub(crate) async fn run(&self) -> Option<Outcome> {
        self.try_run().await.unwrap()
    }

    pub(crate) async fn try_run(&self) -> Result<Option<Outcome>, RunError> {
        self.agent.run(&self.chat, &Stop::default()).await
    }

    /// The chat as it is stored.
    pub(crate) async fn stored(&self) -> Arc<dyn Chat> {
        self.store.open(&self.chat).await.unwrap().unwrap()
    }

    pub(crate) async fn view(&self) -> View {
        self.stored().await.log().view().await.unwrap().unwrap()
    }

    /// The messages of the context, each as it is stored.
    pub(crate) async fn messages(&self) -> Vec<UiMessage> {
        let view = self.stored().await.log().view().await.unwrap();
        view.iter().flat_map(View::messages).cloned().collect()
    }

    /// The ids of the messages of the context.
    pub(crate) async fn ids(&self) -> Vec<String> {
        let messages = self.messages().await;
        messages.iter().map(|message| message.id().unwrap().to_owned()).collect()
    }

    /// The context, a line a message: its text and its calls.
    pub(crate) async fn context(&self) -> Vec<String> {
        self.messages().await.iter().map(line_with_outputs).collect()
    }

    /// The ledger's entries whole: key and content.
    pub(crate) async fn entries(&self) -> Vec<(String, Object)> {
        let lines = self.stored().await.ledger().after(None, 1_000).await.unwrap();
        let entry = |body: &LedgerBody| match body {
            LedgerBody::Entry(entry) => Some((entry.key.clone(), entry.entry.clone())),
            LedgerBody::Delivery(_) => None,
        };
        lines.iter().filter_map(|line| entry(&line.body)).collect()
    }

    /// The ledger, a line an entry.
    pub(crate) async fn ledger(&self) -> Vec<String> {
        let text = |(_, entry): &(String, Object)| {
            let of = |key: &str| entry.str(key).unwrap_or_default().to_owned();
            format!("{}: {}", of("role"), of("text"))
        };
        self.entries().await.iter().map(text).collect()
    }
}

/// A message from the terminal; each text is a message of its own.
pub(crate) fn inbound(text: &str) -> Inbound {
    Inbound {
        key: format!("terminal:{text}"),
        text: text.to_owned(),
        channel: "terminal".to_owned(),
        // An order to the offline model must not be given twice, and a long text not be twice as long.
        request_id: format!("req {:.40}", text.replace('/', "").replace('\n', " ")),
        ..Inbound::default()
    }
}

/// A field of a message's metadata.
pub(crate) fn mark<'a>(message: &'a UiMessage, key: &str) -> Option<&'a Json> {
    message.metadata()?.get(key)
}
