//! An agent of which everything is known: its disk, its clock, its model, and what its tools have done.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ship_agent::{
    Agent, AgentBuilder, IdSource, Inbound, Outcome, RandomIds, Rules, RunLog, RunLogEntry, Stop,
    Tool, built_in_tools,
};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_provider::{Offline, Provider};
use ship_store::disk::Disk;
use ship_store::{ChatKey, FileStore, LedgerBody, Store, StoreOptions};
use ship_testkit::chat::options;
use ship_testkit::clock::ManualClock;
use ship_testkit::scripted_model::{ScriptedModel, ScriptedStep};
use ship_testkit::sim::SimDisk;

/// The same id always: what is to be one thing must not depend on luck.
struct OneId;

impl IdSource for OneId {
    fn next(&self) -> u64 {
        7
    }
}

/// A tool that counts its effects, and how many changes the disk had seen at each.
fn counting(
    name: &str,
    count: Arc<AtomicUsize>,
    disk: Option<(SimDisk, Arc<Mutex<Vec<usize>>>)>,
) -> Tool {
    let schema = Json::Object(Object::from([("type", "object")]));
    Tool::with_schema(name, "counts", schema, move |input, _| {
        let (count, disk) = (Arc::clone(&count), disk.clone());
        Box::pin(async move {
            count.fetch_add(1, Ordering::SeqCst);
            if let Some((disk, changes)) = &disk {
                changes.lock().unwrap().push(disk.ops_len());
            }
            match input.get("do").and_then(Json::as_str) {
                Some("panic") => panic!("a fault of the tool"),
                Some("hang") => std::future::pending().await,
                Some("wait") => {
                    for _ in 0..60 {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    Ok(Json::from("waited"))
                }
                Some("fail") => Err("no such thing".to_owned()),
                Some("long") => Ok(Json::from("long ".repeat(100))),
                _ => Ok(Json::from("done")),
            }
        })
    })
}

/// A log that is kept to be looked at.
#[derive(Default)]
pub(crate) struct KeptLog(Mutex<Vec<RunLogEntry>>);

impl RunLog for KeptLog {
    fn write(&self, _: &ChatKey, note: RunLogEntry) {
        self.0.lock().unwrap().push(note);
    }
}

impl KeptLog {
    /// The lines of a kind, each with its fields and texts.
    pub(crate) fn of(&self, kind: &str) -> Vec<String> {
        let notes = self.0.lock().unwrap();
        let line = |note: &RunLogEntry| {
            let fields = note.fields.iter().chain(&note.texts);
            fields.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        notes.iter().filter(|note| note.kind.as_str() == kind).map(line).collect()
    }
}

/// What a test agent is made of. Made again of the same, it is the agent after a restart.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    pub(crate) disk: SimDisk,
    pub(crate) rules: Rules,
    pub(crate) clock: ManualClock,
    /// What the model says; the offline model when there is none.
    pub(crate) script: Vec<ScriptedStep>,
    /// Whether ids differ, which several runs in one chat need.
    pub(crate) many_runs: bool,
}

impl Setup {
    pub(crate) fn scripted(script: &[ScriptedStep]) -> Self {
        Self { script: script.to_vec(), ..Self::default() }
    }

    pub(crate) fn ruled(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    pub(crate) fn agent(&self) -> TestAgent {
        TestAgent::on(Box::new(self.disk.clone()), self)
    }
}

pub(crate) struct TestAgent {
    pub(crate) agent: Agent,
    pub(crate) chat: ChatKey,
    pub(crate) store: Arc<FileStore>,
    pub(crate) model: ScriptedModel,
    pub(crate) log: Arc<KeptLog>,
    effects: Arc<AtomicUsize>,
    looks: Arc<AtomicUsize>,
    /// How many changes the disk had seen at each effect.
    pub(crate) changes: Arc<Mutex<Vec<usize>>>,
}

impl TestAgent {
    pub(crate) fn on(disk: Box<dyn Disk>, setup: &Setup) -> Self {
        let options = StoreOptions { clock: Arc::new(setup.clock.clone()), ..options() };
        let store = Arc::new(FileStore::on_disk(disk, options));
        let (effects, looks) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (log, changes) = (Arc::<KeptLog>::default(), Arc::<Mutex<Vec<usize>>>::default());
        let seen = Some((setup.disk.clone(), Arc::clone(&changes)));
        let model = ScriptedModel::of_steps(setup.script.clone());
        let provider: Arc<dyn Provider> = match setup.script.is_empty() {
            true => Arc::new(Offline),
            false => Arc::new(model.clone()),
        };
        let agent = Agent::builder()
            .store(Arc::clone(&store) as Arc<dyn Store>)
            .shared_provider(provider)
            .without_built_in_tools()
            .tool(counting("effect", Arc::clone(&effects), seen))
            .tool(counting("look", Arc::clone(&looks), None).safe_to_repeat())
            .rules(setup.rules.clone())
            .clock(Arc::new(setup.clock.clone()))
            .ids(match setup.many_runs {
                true => Arc::new(RandomIds),
                false => Arc::new(OneId),
            })
            .log(Arc::clone(&log) as Arc<dyn RunLog>);
        let agent = built_in_tools().into_iter().fold(agent, AgentBuilder::tool).build();
        let chat = "terminal:main".parse().unwrap();
        Self { agent, chat, store, model, log, effects, looks, changes }
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

    pub(crate) async fn run(&self) -> Option<Outcome> {
        self.agent.run(&self.chat, &Stop::default()).await.unwrap()
    }

    /// The messages of the context, each as it is stored.
    pub(crate) async fn messages(&self) -> Vec<UiMessage> {
        let chat = self.store.open(&self.chat).await.unwrap().unwrap();
        let Some(view) = chat.log().view().await.unwrap() else { return Vec::new() };
        view.messages().cloned().collect()
    }

    /// The context, a line a message: its text and its calls.
    pub(crate) async fn context(&self) -> Vec<String> {
        self.messages().await.iter().map(line).collect()
    }

    /// The ledger's entries whole: key and content.
    pub(crate) async fn entries(&self) -> Vec<(String, Object)> {
        let chat = self.store.open(&self.chat).await.unwrap().unwrap();
        let lines = chat.ledger().after(None, 100).await.unwrap();
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
        // An order to the offline model must not be given twice.
        request_id: format!("req {}", text.replace('/', "").replace('\n', " ")),
        ..Inbound::default()
    }
}

/// A message on a line: its text and its calls.
pub(crate) fn line(message: &UiMessage) -> String {
    let mut parts = Vec::new();
    for part in message.parts() {
        match part {
            ship_message::UiPart::Text(text) => parts.push(text.text().to_owned()),
            ship_message::UiPart::Tool(tool) => {
                let result = tool.error_text().map(str::to_owned);
                let result =
                    result.or_else(|| tool.output().map(Json::to_string)).unwrap_or_default();
                parts.push(format!("[{} {}]", tool.name().unwrap_or_default(), result));
            }
            _ => {}
        }
    }
    format!("{}: {}", message.role().name().unwrap_or("?"), parts.join(" "))
}

/// A field of a message's metadata.
pub(crate) fn mark<'a>(message: &'a UiMessage, key: &str) -> Option<&'a Json> {
    message.metadata()?.get(key)
}
