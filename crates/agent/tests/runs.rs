//! What an agent does with what comes in, and what is left of it when it is killed.

#![expect(clippy::unwrap_used, reason = "a store that cannot be read fails the test")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ship_agent::{
    Agent, AgentParts, Answer, Ids, Inbound, NoLog, Nowhere, Outcome, Rules, RunEvent, Running,
    Stop, Tool, ToolContext, built_in_tools,
};
use ship_message::json::{Json, Object};
use ship_message::{Chunk, UiMessage};
use ship_provider::{Offline, ToolSpec};
use ship_store::disk::Disk;
use ship_store::{ChatKey, FileStore, LedgerBody, Store};
use ship_testkit::chat::options;
use ship_testkit::clock::ManualClock;
use ship_testkit::sim::{Fault, SimDisk};

/// The same id always: what is to be one thing must not depend on luck.
struct OneId;

impl Ids for OneId {
    fn next(&self) -> u64 {
        7
    }
}

/// A tool that counts its effects.
struct Counting {
    name: &'static str,
    safe: bool,
    count: Arc<AtomicUsize>,
}

impl Tool for Counting {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: "counts".to_owned(),
            input_schema: Json::Object(Object::from([("type", "object")])),
        }
    }

    fn is_safe_to_repeat(&self) -> bool {
        self.safe
    }

    fn run(self: Arc<Self>, input: Json, _context: ToolContext) -> Running {
        Box::pin(async move {
            self.count.fetch_add(1, Ordering::SeqCst);
            match input.get("do").and_then(Json::as_str) {
                Some("panic") => panic!("a fault of the tool"),
                Some("hang") => std::future::pending().await,
                Some("fail") => Err("no such thing".to_owned()),
                _ => Ok(Json::from("done")),
            }
        })
    }
}

struct TestAgent {
    agent: Agent,
    chat: ChatKey,
    store: Arc<FileStore>,
    effects: Arc<AtomicUsize>,
}

impl TestAgent {
    fn on(disk: Box<dyn Disk>) -> Self {
        Self::with_rules(disk, Rules::default())
    }

    fn with_rules(disk: Box<dyn Disk>, rules: Rules) -> Self {
        let store = Arc::new(FileStore::on_disk(disk, options()));
        let effects = Arc::new(AtomicUsize::new(0));
        let mut tools = built_in_tools();
        for (name, safe) in [("effect", false), ("look", true)] {
            tools.push(Arc::new(Counting { name, safe, count: Arc::clone(&effects) }));
        }
        let agent = Agent::from_parts(AgentParts {
            store: Arc::clone(&store) as Arc<dyn Store>,
            provider: Arc::new(Offline),
            tools,
            surroundings: Arc::new(Nowhere),
            rules,
            clock: Arc::new(ManualClock::default()),
            ids: Arc::new(OneId),
            log: Arc::new(NoLog),
        });
        Self { agent, chat: "terminal:main".parse().unwrap(), store, effects }
    }

    async fn accept(&self, text: &str) -> bool {
        let inbound = Inbound {
            key: format!("terminal:{text}"),
            text: text.to_owned(),
            channel: "terminal".to_owned(),
            request_id: "req".to_owned(),
            ..Inbound::default()
        };
        self.agent.accept(&self.chat, inbound).await.is_ok()
    }

    async fn say(&self, text: &str) -> Option<Outcome> {
        assert!(self.accept(text).await);
        self.agent.run(&self.chat, &Stop::default()).await.unwrap()
    }

    async fn messages(&self) -> Vec<UiMessage> {
        let chat = self.store.open(&self.chat).await.unwrap().unwrap();
        let Some(view) = chat.view().await.unwrap() else { return Vec::new() };
        view.messages().map(|m| UiMessage::from_json(Json::Object(m.clone())).unwrap()).collect()
    }

    /// The context, a line a message: its text and its calls.
    async fn context(&self) -> Vec<String> {
        self.messages().await.iter().map(line).collect()
    }

    /// The ledger, a line an entry.
    async fn ledger(&self) -> Vec<String> {
        let chat = self.store.open(&self.chat).await.unwrap().unwrap();
        let lines = chat.ledger_after(None, 100).await.unwrap();
        let text = |body: &LedgerBody| match body {
            LedgerBody::Entry(entry) => {
                let of = |key: &str| entry.entry.str(key).unwrap_or_default().to_owned();
                format!("{}: {}", of("role"), of("text"))
            }
            LedgerBody::Delivery(_) => "delivery".to_owned(),
        };
        lines.iter().map(|line| text(&line.body)).collect()
    }
}

fn line(message: &UiMessage) -> String {
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

const WHO: &str = "I am the offline model, a small stand-in without a language model.";

#[tokio::test]
async fn a_message_is_answered_and_both_are_in_the_context_and_in_the_ledger() {
    let test = TestAgent::on(Box::new(SimDisk::new()));
    assert_eq!(test.say("hello").await, Some(Outcome::Done));
    let answer = format!("assistant: {WHO} You said: hello");
    assert_eq!(test.context().await, ["user: hello".to_owned(), answer.clone()]);
    assert_eq!(test.ledger().await, ["user: hello".to_owned(), answer]);
}

#[tokio::test]
async fn the_same_message_again_is_the_same_message() {
    let test = TestAgent::on(Box::new(SimDisk::new()));
    test.say("hello").await;
    assert_eq!(test.say("hello").await, None);
    assert_eq!(test.context().await.len(), 2);
}

#[tokio::test]
async fn tools_run_step_by_step_and_their_failures_are_told_to_the_model() {
    let test = TestAgent::on(Box::new(SimDisk::new()));
    let text = "/tool look {}\n/tool effect {\"do\":\"fail\"}\n/tool effect {\"do\":\"panic\"}\n/tool nothing {}";
    assert_eq!(test.say(text).await, Some(Outcome::Done));
    let context = test.context().await;
    assert_eq!(context.len(), 2);
    let told = "[look \"done\"] [effect no such thing] [effect the tool failed inside; this is a fault of the tool] [nothing there is no tool `nothing`; there are: chat_send, effect, look, skills_list, skills_load, skills_unload]";
    assert!(context[1].contains(told), "{}", context[1]);
}

#[tokio::test]
async fn a_tool_that_hangs_is_ended_at_its_deadline() {
    let rules = Rules { tool_deadline: Duration::from_millis(20), ..Rules::default() };
    let test = TestAgent::with_rules(Box::new(SimDisk::new()), rules);
    test.say("/tool effect {\"do\":\"hang\"}").await;
    assert!(test.context().await[1].contains("did not answer within 20 ms"));
}

#[tokio::test]
async fn a_run_that_does_not_end_is_ended_after_its_steps() {
    let rules = Rules { max_steps: 2, ..Rules::default() };
    let test = TestAgent::with_rules(Box::new(SimDisk::new()), rules);
    let outcome = test.say("/tool look {}\n/tool look {}\n/tool look {}").await;
    assert!(
        matches!(outcome, Some(Outcome::Failed(sentence)) if sentence.contains("stopped after 2 steps"))
    );
    assert!(test.context().await[1].contains("stopped after 2 steps"));
}

#[tokio::test]
async fn chat_send_delivers_a_text_once_and_no_more_than_it_may() {
    let rules = Rules { chat_sends_max: 2, ..Rules::default() };
    let test = TestAgent::with_rules(Box::new(SimDisk::new()), rules);
    let sends = ["a", "a", "b", "c"].map(|text| format!("/tool chat_send {{\"text\":\"{text}\"}}"));
    test.say(&sends.join("\n")).await;
    let ledger = test.ledger().await;
    assert_eq!(&ledger[1..3], ["assistant: a", "assistant: b"]);
    assert_eq!(ledger.len(), 4, "{ledger:?}");
    let context = test.context().await;
    assert!(context[1].contains("chat_send may deliver 2 texts in one run"), "{}", context[1]);
}

#[tokio::test]
async fn a_stopped_run_keeps_what_was_said() {
    let test = TestAgent::on(Box::new(SimDisk::new()));
    assert!(test.accept("/tool look {}\n/tool effect {\"do\":\"hang\"}").await);
    let stop = Stop::default();
    let mut events = test.agent.listen(&test.chat);
    let run = test.agent.run(&test.chat, &stop);
    let stopping = async {
        // Stopped once the first tool has answered, while the second hangs.
        while let Some(event) = events.next().await {
            if matches!(&event, RunEvent::Chunk(Chunk::ToolInputAvailable { tool_name, .. }) if tool_name == "effect")
            {
                stop.stop();
                break;
            }
        }
    };
    let (outcome, ()) = tokio::join!(run, stopping);
    assert_eq!(outcome.unwrap(), Some(Outcome::Stopped));
    let messages = test.messages().await;
    assert!(line(&messages[1]).contains("[look \"done\"] [effect interrupted, outcome unknown]"));
    assert_eq!(messages[1].metadata().unwrap().get("interrupted"), Some(&Json::Bool(true)));
}

#[tokio::test]
async fn a_tool_that_needs_a_word_waits_for_it_across_a_restart() {
    let rules = Rules { approval: BTreeSet::from(["effect".to_owned()]), ..Rules::default() };
    for (approved, told) in [(true, "[effect \"done\"]"), (false, "[effect ]")] {
        let disk = SimDisk::new();
        let test = TestAgent::with_rules(Box::new(disk.clone()), rules.clone());
        assert_eq!(test.say("/tool effect {}").await, Some(Outcome::Parked));
        assert_eq!(test.context().await.len(), 1, "nothing is said until the word is given");
        drop(test);

        let test = TestAgent::with_rules(Box::new(disk), rules.clone());
        assert_eq!(
            test.agent.run(&test.chat, &Stop::default()).await.unwrap(),
            Some(Outcome::Parked)
        );
        let approval_id = "approve_offline_1_0".to_owned();
        let answer = Answer::Approval { approval_id, approved, reason: None };
        let outcome =
            test.agent.answer(&test.chat, answer.clone(), &Stop::default()).await.unwrap();
        assert_eq!(outcome, Some(Outcome::Done));
        assert_eq!(test.effects.load(Ordering::SeqCst), usize::from(approved));
        assert!(test.context().await[1].contains(told), "{:?}", test.context().await);
        assert!(test.agent.answer(&test.chat, answer, &Stop::default()).await.is_err());
    }
}

#[tokio::test]
async fn a_tool_of_the_client_waits_for_its_output() {
    let rules = Rules { client: BTreeSet::from(["effect".to_owned()]), ..Rules::default() };
    let test = TestAgent::with_rules(Box::new(SimDisk::new()), rules);
    assert_eq!(test.say("/tool effect {}").await, Some(Outcome::Parked));
    let answer = Answer::Output {
        call_id: "offline_1_0".to_owned(),
        output: Ok(Json::from("from the client")),
    };
    let outcome = test.agent.answer(&test.chat, answer, &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Done));
    assert_eq!(test.effects.load(Ordering::SeqCst), 0);
    assert!(test.context().await[1].contains("[effect \"from the client\"]"));
}

const SCRIPT: &str =
    "/tool look {}\n/tool chat_send {\"text\":\"on my way\"}\n/tool effect {}\n/tool look {}";

/// Kills the agent at every call to the disk, lets another one go on, and compares with one that lived.
#[tokio::test]
async fn a_run_killed_anywhere_and_continued_ends_as_if_it_had_not_been() {
    let disk = SimDisk::new();
    let undisturbed = TestAgent::on(Box::new(disk.clone()));
    undisturbed.say(SCRIPT).await;
    let calls = disk.calls();
    let (context, ledger) = (undisturbed.context().await, undisturbed.ledger().await);
    let interrupted =
        context[1].replace("[effect \"done\"]", "[effect interrupted, outcome unknown]");
    let interrupted =
        interrupted.replace("- effect: done", "- effect: interrupted, outcome unknown");

    let (mut kills, mut unknown) = (0, 0);
    for (at, fault) in (0..calls).flat_map(|at| [(at, Fault::KillBefore), (at, Fault::KillAfter)]) {
        let disk = SimDisk::with_fault(at, fault);
        let first = TestAgent::on(Box::new(disk.clone()));
        let accepted = first.accept(SCRIPT).await;
        let _ = first.agent.run(&first.chat, &Stop::default()).await;
        let effects = first.effects.load(Ordering::SeqCst);
        if !disk.is_dead() {
            // A call that finds nothing is not a place to die after.
            continue;
        }
        kills += 1;
        drop(first);
        disk.revive();
        let second = TestAgent::on(Box::new(disk));
        if !accepted {
            // It was not acknowledged, so whoever sent it sends it again.
            assert!(second.accept(SCRIPT).await);
        }
        second.agent.run(&second.chat, &Stop::default()).await.unwrap();
        let found = second.context().await;
        assert_eq!(found.len(), 2, "killed at call {at}: {found:?}");
        if found[1] == interrupted {
            unknown += 1;
        } else {
            assert_eq!(found, context, "killed at call {at}");
        }
        let ledger_found = second.ledger().await;
        assert_eq!(ledger_found.len(), ledger.len(), "killed at call {at}: {ledger_found:?}");
        // `look` is safe to repeat and may have run once more; `effect` never.
        let total = effects + second.effects.load(Ordering::SeqCst);
        assert!(total <= 4, "killed at call {at}: {total} effects");
    }
    assert!(kills > calls, "only {kills} kills in {calls} calls to the disk");
    assert!((1..30).contains(&unknown), "{unknown} runs did not know what became of the call");
}
