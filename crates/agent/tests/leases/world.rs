//! A chat in a database that several processes share. Its next run has everything in it: a compaction, calls with
//! effects and without, a text that is sent, a switch of contexts, and messages that come before and meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ship_agent::{Agent, Outcome, Rules, RunError, Stop, Tool};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_provider::{AnswerFuture, ChunkSink, Provider, Request};
use ship_store::{About, NewLine, Store as _};
use ship_testkit::chat::{everything, first_context, ledger_keys, message};
use ship_testkit::clock::ManualClock;
use ship_testkit::map_store::MapStore;
use ship_testkit::scripted_model::{ScriptedModel, ScriptedStep, call, calls, text};

use crate::harness::{chat, inbound, line_with_outputs};

/// The number of messages that were said before a test begins.
const BEFORE: usize = 16;

/// The chat, and what is known of all its processes.
pub(super) struct World {
    pub(super) database: MapStore,
    clock: ManualClock,
    is_later_sent: Arc<AtomicBool>,
    /// How often any process ran the tool that must not run twice.
    effects: Arc<AtomicUsize>,
}

/// One process: its agent, and its way to the database.
pub(super) struct Process {
    pub(super) store: MapStore,
    pub(super) agent: Agent,
    /// How often this process ran the tool that must not run twice.
    pub(super) effects: Arc<AtomicUsize>,
}

impl Process {
    pub(super) async fn accept(&self, text: &str) -> Result<(), RunError> {
        self.agent.accept(&chat(), inbound(text)).await.map(|_| ())
    }

    pub(super) async fn run(&self) -> Result<Option<Outcome>, RunError> {
        self.agent.run(&chat(), &Stop::default()).await
    }
}

impl World {
    /// A chat that has been talked in for so long that its next request is compacted.
    pub(super) async fn new() -> Self {
        let clock = ManualClock::default();
        let database = MapStore::new(clock.clone());
        let chat = database.create(&chat(), About::default()).await.unwrap();
        let lane = chat.lane("test").await.unwrap();
        let position = lane.rotate(first_context()).await.unwrap().position;
        let said = |nth: usize| {
            let words = "The sea is wide and blue. ".repeat(50);
            let mut said = message(&format!("m{nth}"), &format!("{nth:03} {words}"));
            said.set("role", if nth.is_multiple_of(2) { "user" } else { "assistant" });
            NewLine::from(said)
        };
        lane.append((0..BEFORE).map(said).collect(), position).await.unwrap();
        lane.release().await;
        Self { database, clock, is_later_sent: Arc::default(), effects: Arc::default() }
    }

    /// The same with two messages that wait.
    pub(super) async fn asked() -> Self {
        let world = Self::new().await;
        let outside = world.process();
        for text in ["also", "go"] {
            outside.accept(text).await.unwrap();
        }
        world
    }

    /// Another process that runs the chat.
    pub(super) fn process(&self) -> Process {
        let store = self.database.another_process();
        let rules =
            Rules { input_tokens_max: Some(5_000), keep_last_messages: 4, ..Rules::default() };
        let builder = Agent::builder().shared_store(Arc::new(store.clone())).rules(rules);
        let builder = builder.clock(Arc::new(self.clock.clone())).provider(VisitingModel {
            model: ScriptedModel::new(mind),
            store: store.clone(),
            outside: self.outside(),
            is_later_sent: Arc::clone(&self.is_later_sent),
        });
        let effects = Arc::<AtomicUsize>::default();
        let counts = vec![Arc::clone(&self.effects), Arc::clone(&effects)];
        let effect = visiting("effect", store.clone(), counts);
        let look = visiting("look", store.clone(), Vec::new()).safe_to_repeat();
        Process { agent: builder.tool(effect).tool(look).build(), store, effects }
    }

    /// A process that only accepts messages.
    fn outside(&self) -> Agent {
        let store = Arc::new(self.database.another_process());
        Agent::builder().shared_store(store).clock(Arc::new(self.clock.clone())).build()
    }

    pub(super) fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    /// What was said since the chat began, in all its contexts, a line a message.
    pub(super) async fn said(&self) -> Vec<String> {
        let stored = self.database.open(&chat()).await.unwrap().unwrap();
        let messages = everything(&*stored).await.unwrap();
        messages.iter().skip(BEFORE).map(line_with_outputs).collect()
    }

    /// Checks that each message was answered once, and that nothing was done twice. `at` names the case.
    pub(super) async fn check(&self, at: &str) {
        let stored = self.database.open(&chat()).await.unwrap().unwrap();
        let keys = ledger_keys(&*stored).await;
        for text in ["also", "go", "later"] {
            let key = format!("terminal:{text}");
            assert_eq!(keys.iter().filter(|known| **known == key).count(), 1, "{at}: {keys:?}");
        }
        let lines = stored.ledger().after(None, 1_000).await.unwrap();
        let told: Vec<String> = lines
            .iter()
            .filter_map(|line| match &line.body {
                ship_store::LedgerBody::Entry(entry) => {
                    let of = |key| entry.entry.str(key).unwrap_or_default();
                    Some(format!("{}: {}", of("role"), of("text")))
                }
                ship_store::LedgerBody::Delivery(_) => None,
            })
            .collect();
        let said = self.said().await;
        for answer in ["Aye: go", "Aye: later"] {
            let answers = told.iter().filter(|told| told.ends_with(answer)).count();
            assert_eq!(answers, 1, "{at}: {answer} in {told:#?}");
            let answers = said.iter().filter(|said| said.ends_with(answer)).count();
            assert_eq!(answers, 1, "{at}: {answer} in {said:#?}");
        }
        let texts = |wanted: &str| said.iter().filter(|said| said.contains(wanted)).count();
        let sent = told.iter().filter(|told| told.ends_with("on my way")).count();
        // A call that could not be made is told to the model, which goes on without it.
        let is_refused = |tool: &str| texts(&format!("[{tool} the store cannot be reached")) == 1;
        assert_eq!(sent, usize::from(!is_refused("chat_send")), "{at}: {said:#?}");
        let is_unknown = texts("[effect interrupted, outcome unknown]") == 1;
        assert!(self.effects() == 1 || (self.effects() == 0 && is_unknown), "{at}: {said:#?}");
        assert_eq!(texts("[effect "), 1, "{at}: {said:#?}");
        let sealed = stored.log().sealed().await.unwrap();
        let switches = usize::from(!is_refused("chat_context_new"));
        assert_eq!(sealed.len(), 1 + switches, "{at}: one compaction and {switches} switches");
    }

    /// Checks that nothing is left to do.
    pub(super) async fn check_idle(&self, at: &str) {
        let rows = self.database.rows();
        assert_eq!(self.process().run().await.unwrap(), None, "{at}");
        assert_eq!(self.database.rows(), rows, "{at}");
    }
}

/// Decides by what it sees, so that another process goes on where one has stopped.
fn mind(seen: &[UiMessage]) -> ScriptedStep {
    let question = seen.iter().rev().find(|message| message.role() == Role::User).unwrap();
    let question = question.text();
    let own = seen.iter().rev().take_while(|message| message.role() == Role::Assistant);
    let made: Vec<String> = own
        .flat_map(UiMessage::parts)
        .filter_map(|part| match part {
            UiPart::Tool(tool) => Some(tool.call_id().to_owned()),
            _ => None,
        })
        .collect();
    let has = |id: &str| made.iter().any(|made| made == id);
    if !question.ends_with("go") || has("5") {
        let last = question.split_whitespace().last().unwrap_or_default();
        return text(&format!("Aye: {last}"));
    }
    match (has("4"), has("2")) {
        (true, _) => calls(&[call("5", "look", "{}")]),
        (false, true) => calls(&[call("4", "chat_context_new", "{}")]),
        (false, false) => calls(&[
            call("1", "look", "{}"),
            call("2", "effect", "{}"),
            call("3", "chat_send", r#"{"text":"on my way"}"#),
        ]),
    }
}

/// A tool at whose beginning and end its process can stop. Between them it has its effect, which is counted.
fn visiting(name: &'static str, store: MapStore, counts: Vec<Arc<AtomicUsize>>) -> Tool {
    let schema = Json::Object(Object::from([("type", "object")]));
    Tool::with_schema(name, "counts", schema, move |_, _| {
        let (store, counts) = (store.clone(), counts.clone());
        Box::pin(async move {
            store.visit(name).await;
            for count in &counts {
                count.fetch_add(1, Ordering::SeqCst);
            }
            store.visit("end of a tool").await;
            Ok(Json::from("done"))
        })
    })
}

/// A model during whose work its process can stop. During its first work a message comes in.
struct VisitingModel {
    model: ScriptedModel,
    store: MapStore,
    outside: Agent,
    is_later_sent: Arc<AtomicBool>,
}

impl Provider for VisitingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn model(&self) -> &str {
        self.model.model()
    }

    fn window_tokens(&self) -> Option<u64> {
        self.model.window_tokens()
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        Box::pin(async move {
            if !self.is_later_sent.swap(true, Ordering::SeqCst) {
                self.outside.accept(&chat(), inbound("later")).await.unwrap();
            }
            self.store.visit("model").await;
            let answered = self.model.answer(request, body, sink).await;
            self.store.visit("end of the model").await;
            answered
        })
    }
}
