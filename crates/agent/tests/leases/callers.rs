//! The callers of a chat in several processes: what each of them does, and what must hold when all of them are done.

use std::sync::Arc;

use ship_agent::{Agent, CallAnswer, ContextOperation, Outcome, Rules, RunError, Stop, Tool};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_store::{ChatKey, Store};
use ship_testkit::chat::{everything, ledger_keys};
use ship_testkit::clock::ManualClock;
use ship_testkit::interleaving::Task;
use ship_testkit::random::Random;
use ship_testkit::scripted_model::{ScriptedModel, ScriptedStep, call, calls, text};

use crate::harness::{chat, inbound};

/// What a caller holds a lane for, besides a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Holding {
    NewContext,
    Title,
    /// A copy in another chat, whose lane is held for it.
    Copy,
    Compaction,
    CompactionPreview,
    CompactionUndo,
    /// An answer to a call that does not wait.
    LateAnswer,
    Repair,
    Stop,
}

impl Holding {
    pub(super) const ALL: [Self; 9] = [
        Self::NewContext,
        Self::Title,
        Self::Copy,
        Self::Compaction,
        Self::CompactionPreview,
        Self::CompactionUndo,
        Self::LateAnswer,
        Self::Repair,
        Self::Stop,
    ];

    /// Chooses one that stops no run of another caller: all but the last.
    fn peaceful(random: &mut Random) -> Self {
        Self::ALL[random.below(Self::ALL.len() - 1)]
    }

    /// The chat to which a message comes meanwhile.
    pub(super) fn chat(self) -> ChatKey {
        match self {
            Self::Copy => copy(),
            _ => chat(),
        }
    }

    /// The message that is said before. A stop needs a run that waits.
    pub(super) fn said_before(self) -> &'static str {
        match self {
            Self::Stop => "ask",
            _ => "first",
        }
    }
}

fn copy() -> ChatKey {
    "terminal:copy".parse().unwrap()
}

/// A caller in a process of its own.
pub(super) struct Caller {
    agent: Agent,
}

/// Answers every message, after a call that needs approval if the message is `ask`.
fn mind(seen: &[UiMessage]) -> ScriptedStep {
    match seen.last() {
        Some(last) if last.role() == Role::User && last.text().ends_with("ask") => {
            calls(&[call("1", "look", "{}")])
        }
        _ => text("Aye."),
    }
}

impl Caller {
    pub(super) fn of(store: Arc<dyn Store>) -> Self {
        let schema = Json::Object(Object::from([("type", "object")]));
        let look = Tool::with_schema("look", "looks", schema, |_, _| {
            Box::pin(async { Ok(Json::from("seen")) })
        });
        let rules = Rules { approval: ["look".to_owned()].into(), ..Rules::default() };
        let agent = Agent::builder()
            .shared_store(store)
            .rules(rules)
            .clock(Arc::new(ManualClock::default()));
        let agent = agent.provider(ScriptedModel::new(mind)).without_built_in_tools().tool(look);
        Self { agent: agent.build() }
    }

    pub(super) async fn accept(&self, to: &ChatKey, text: &str) {
        self.agent.accept(to, inbound(text)).await.unwrap();
    }

    /// Accepts a message and runs the chat. If another process runs it, that one has to see the message.
    pub(super) async fn accept_and_run_now(&self, to: &ChatKey, text: &str) {
        self.accept(to, text).await;
        unless_elsewhere(self.agent.run_now(to, &Stop::default()).await);
    }

    /// Accepts a message and waits for the lane.
    pub(super) async fn accept_and_run(&self, text: &str) {
        self.accept(&chat(), text).await;
        unless_elsewhere(self.agent.run(&chat(), &Stop::default()).await);
    }

    /// Sends a message and waits for its answer.
    pub(super) async fn send(&self, text: &str) {
        let reply = self.agent.send(&chat(), inbound(text)).await.unwrap();
        assert_eq!(reply.text(), "Aye.");
    }

    /// Holds a lane for something else than a run.
    pub(super) async fn hold(&self, holding: Holding) {
        let operate = async |operation| {
            unless_elsewhere(self.agent.operate(&chat(), operation, "terminal").await);
        };
        match holding {
            Holding::NewContext => {
                operate(ContextOperation::New { title: None, reason: None }).await;
            }
            Holding::Title => operate(ContextOperation::Rename { title: "Title".into() }).await,
            Holding::Copy => {
                operate(ContextOperation::Fork { at: None, to: Some(copy()) }).await;
            }
            Holding::Compaction => unless_elsewhere(self.agent.compact(&chat(), None).await),
            Holding::CompactionPreview => {
                unless_elsewhere(self.agent.plan_compaction(&chat()).await);
            }
            Holding::CompactionUndo => unless_elsewhere(self.agent.undo_compaction(&chat()).await),
            Holding::LateAnswer => {
                let output = CallAnswer::Output { call_id: "9".into(), output: Ok(Json::Null) };
                let answered = self.agent.answer(&chat(), output, &Stop::default()).await;
                let error = answered.unwrap_err();
                let is_late = matches!(error, RunError::NotWaiting { .. });
                assert!(is_late || error.is_elsewhere(), "{error:?}");
            }
            Holding::Repair => unless_elsewhere(self.agent.repair(&chat()).await),
            Holding::Stop => unless_elsewhere(self.agent.stop_run(&chat(), "terminal").await),
        }
    }
}

/// Checks that a call did not fail, unless another process has the lane.
fn unless_elsewhere<T>(done: Result<T, RunError>) {
    if let Err(error) = done {
        assert!(error.is_elsewhere(), "{error:?}");
    }
}

/// Begins a chat in which something was said.
pub(super) async fn begin(store: Arc<dyn Store>, said: &str) {
    let caller = Caller::of(store);
    caller.accept(&chat(), said).await;
    let outcome = caller.agent.run(&chat(), &Stop::default()).await.unwrap();
    let is_parked = outcome == Some(Outcome::Parked);
    assert_eq!(is_parked, said == "ask", "{outcome:?}");
}

/// Checks that each message is in the chat once, and that nothing is left to do.
pub(super) async fn check(store: Arc<dyn Store>, key: &ChatKey, texts: &[&str], at: &str) {
    let stored = store.open(key).await.unwrap().unwrap();
    let keys = ledger_keys(&*stored).await;
    let messages = everything(&*stored).await.unwrap();
    for text in texts {
        let key = format!("terminal:{text}");
        assert_eq!(keys.iter().filter(|known| **known == key).count(), 1, "{at}: {keys:?}");
        let said = messages.iter().filter(|message| message.text().ends_with(text)).count();
        assert_eq!(said, 1, "{at}: `{text}` waits, and no process runs it");
    }
    let left = Caller::of(store).agent.run(key, &Stop::default()).await.unwrap();
    assert_eq!(left, None, "{at}: something was left to do");
}

/// Makes the tasks of callers by a seed: each sender says one of the texts in one way or another, and each holder holds
/// the lane for something else.
pub(super) fn tasks<'a>(
    (senders, texts): (&'a [&'a Caller], &'a [&'a str]),
    holders: &'a [&'a Caller],
    key: &'a ChatKey,
    random: &mut Random,
) -> Vec<Task<'a>> {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (sender, text) in senders.iter().zip(texts) {
        tasks.push(match random.below(3) {
            0 => Box::pin(sender.accept_and_run_now(key, text)),
            1 => Box::pin(sender.accept_and_run(text)),
            _ => Box::pin(sender.send(text)),
        });
    }
    for holder in holders {
        tasks.push(Box::pin(holder.hold(Holding::peaceful(random))));
    }
    tasks
}
