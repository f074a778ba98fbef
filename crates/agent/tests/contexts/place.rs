//! A chat with a model that does what it is told, and what is left of it all.
//!
//! It is a layer over the agent of the other tests: time passes with every message, ids are counted over restarts, and
//! its tools let others do something while a run is at work.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ship_agent::{ContextOperation, IdSource, Inbound, OperationOutcome, Outcome, Rules, RunError};
use ship_message::{Role, UiMessage};
use ship_store::FileStore;
use ship_store::disk::{Disk, OpenMode};
use ship_testkit::chat::options;
use ship_testkit::scripted_model::{ScriptedEnd, ScriptedModel, half, step};
use ship_testkit::sim::SimDisk;

use super::tools::{Meanwhile, effect};
use crate::harness::{Setup, TestAgent, chat};

pub(crate) use crate::harness::line;

pub(crate) use ship_testkit::scripted_model::{ScriptedStep, calls_tool as calls, text as says};

/// Begins to answer and never ends.
pub(crate) fn hangs() -> ScriptedStep {
    step(&[half("Well")], ScriptedEnd::Hangs)
}

/// A chat.
pub(crate) struct Place {
    test: TestAgent,
    /// What the tool `effect` has done.
    pub(crate) effects: Arc<Mutex<Vec<String>>>,
    /// What the tool `meanwhile` has others do.
    pub(crate) meanwhile: Meanwhile,
    said: Arc<AtomicUsize>,
    ids: Arc<Counted>,
}

impl Deref for Place {
    type Target = TestAgent;

    fn deref(&self) -> &TestAgent {
        &self.test
    }
}

/// Ids that are the same in every run of a test.
#[derive(Default)]
struct Counted(AtomicU64);

impl IdSource for Counted {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::on(SimDisk::default(), Rules::default())
    }

    pub(crate) fn ruled(rules: Rules) -> Self {
        Self::on(SimDisk::default(), rules)
    }

    pub(crate) fn on(disk: SimDisk, rules: Rules) -> Self {
        let model = ScriptedModel::new(|seen| {
            let asked = seen.iter().rev().find(|message| message.role() == Role::User).unwrap();
            says(&format!("Aye: {}", words(asked)))
        });
        let setup = Setup { disk, model: Some(model), ..Setup::ruled(rules) };
        Self::with(&setup, Arc::default(), Arc::default(), Arc::default())
    }

    /// A chat that was about the trip and is about dinner, with a model of this mind.
    pub(crate) async fn at_dinner(
        mind: impl Fn(&[UiMessage]) -> ScriptedStep + Send + Sync + 'static,
    ) -> Self {
        let place = Self::new();
        place.minds(mind);
        place.say("plan the trip").await;
        place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
        place.say("soup?").await;
        place
    }

    /// The same chat, in another process.
    pub(crate) fn again(&self) -> Self {
        self.meanwhile.end();
        self.setup.disk.revive();
        let (effects, said) = (Arc::clone(&self.effects), Arc::clone(&self.said));
        Self::with(&self.setup, effects, said, Arc::clone(&self.ids))
    }

    fn with(
        setup: &Setup,
        effects: Arc<Mutex<Vec<String>>>,
        said: Arc<AtomicUsize>,
        ids: Arc<Counted>,
    ) -> Self {
        let meanwhile = Meanwhile::default();
        let store = FileStore::on_disk(Box::new(setup.disk.clone()), options());
        let test = TestAgent::with_tools(store, setup, |agent| {
            let ids = Arc::clone(&ids) as Arc<dyn IdSource>;
            agent.tool(effect(Arc::clone(&effects))).tool(meanwhile.tool()).ids(ids)
        });
        *meanwhile.agent.lock().unwrap() = Some(test.agent.clone());
        *meanwhile.store.lock().unwrap() = Some(Arc::clone(&test.store));
        Self { test, effects, meanwhile, said, ids }
    }

    /// Gives the model another mind.
    pub(crate) fn minds(
        &self,
        mind: impl Fn(&[UiMessage]) -> ScriptedStep + Send + Sync + 'static,
    ) {
        self.model().set_mind(mind);
    }

    pub(crate) async fn say(&self, text: &str) -> Option<Outcome> {
        self.accept(text).await;
        self.run().await
    }

    pub(crate) async fn accept(&self, text: &str) {
        self.try_accept(text).await.unwrap();
    }

    pub(crate) async fn try_accept(&self, text: &str) -> Result<(), RunError> {
        let inbound = self.inbound(text);
        self.agent.accept(&chat(), inbound).await.map(drop)
    }

    /// A message of its own, said a second later than the one before.
    pub(crate) fn inbound(&self, text: &str) -> Inbound {
        let nth = self.said.fetch_add(1, Ordering::Relaxed) + 1;
        self.setup.clock.advance(1_000);
        Inbound {
            key: format!("k{nth}"),
            text: text.to_owned(),
            channel: "terminal".to_owned(),
            request_id: format!("req_{nth}"),
            ..Inbound::default()
        }
    }

    pub(crate) async fn operate(&self, operation: ContextOperation) -> OperationOutcome {
        self.setup.clock.advance(1_000);
        self.agent.operate(&chat(), operation, "terminal").await.unwrap()
    }

    /// Does it and gives the line that the person reads.
    pub(crate) async fn done(&self, operation: ContextOperation) -> String {
        match self.operate(operation).await {
            OperationOutcome::Done(changed) => changed.line,
            other => panic!("{other:?}"),
        }
    }

    /// The active context, a line a message.
    pub(crate) async fn context(&self) -> Vec<String> {
        self.messages().await.iter().map(line).collect()
    }

    /// The id of what a person said, from its first words on.
    pub(crate) async fn id_of(&self, text: &str) -> String {
        let all = ship_testkit::chat::everything(&*self.stored().await).await.unwrap();
        let is_it =
            |message: &&UiMessage| message.role() == Role::User && message.text().starts_with(text);
        all.iter().find(is_it).unwrap().id().unwrap().to_owned()
    }

    /// The names of files on the disk that have this in them.
    pub(crate) fn disk_names(&self, part: &str) -> Vec<String> {
        use ship_testkit::sim::{Named, Op};
        let name = |op: Op| match op {
            Op::Name(path, Named::File(_)) => Some(path.display().to_string()),
            Op::Rename(_, path, _) => Some(path.display().to_string()),
            _ => None,
        };
        let names = self.setup.disk.ops().into_iter().filter_map(name);
        let mut names: Vec<String> = names.filter(|name| name.contains(part)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The text of a file on the disk.
    pub(crate) fn file(&self, ends_with: &str) -> String {
        let names = self.disk_names("/contexts/");
        let name = names.iter().find(|name| name.ends_with(ends_with)).unwrap();
        let file =
            self.setup.disk.memory().open(std::path::Path::new(name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; usize::try_from(file.stat().unwrap().len).unwrap()];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
        String::from_utf8(bytes).unwrap()
    }

    /// What the model was shown in its nth request from the end.
    pub(crate) fn shown(&self, from_end: usize) -> Vec<String> {
        let requests = self.model().requests();
        let view = &requests[requests.len() - 1 - from_end].view;
        // A message without parts is not sent.
        view.iter().filter(|message| !message.parts().is_empty()).map(line).collect()
    }

    /// The ids and titles of the archived contexts.
    pub(crate) async fn archived(&self) -> Vec<(String, String)> {
        let contexts = self.agent.contexts(&chat()).await.unwrap().unwrap();
        let items = contexts.index.items().iter();
        items.map(|item| (item.context.to_string(), item.title.clone())).collect()
    }
}

/// A person's words alone: who wrote them and when stands before them.
pub(crate) fn words(message: &UiMessage) -> String {
    let text = message.text();
    text.lines().last().unwrap_or_default().to_owned()
}
