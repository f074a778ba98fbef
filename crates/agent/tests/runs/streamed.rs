//! The chunks of a run have the order of the AI SDK, and make the messages that are stored.

mod latecomers;
mod subscriber;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;

use proptest::prelude::*;
use ship_agent::{CallAnswer, Outcome, Rules, RunEvent, Stop, Tool, ToolFuture};
use ship_message::json::{Json, Object};
use ship_message::{Chunk, FinishReason, UiPart};
use ship_store::FileStore;
use ship_testkit::chat::options;
use ship_testkit::scripted_model::{
    ScriptedEnd, ScriptedModel, ScriptedPart, ScriptedStep, call, calls, half, said, step, text,
};

use self::latecomers::Latecomers;
use self::subscriber::{Subscriber, assert_assembled, assert_ordered, heard, kinds};
use crate::harness::{Setup, TestAgent};
use crate::runs::settled;

/// An agent with a tool that needs an approval, `effect`, and one of the client, `look`.
fn asking(script: &[ScriptedStep]) -> Setup {
    let rules = Rules {
        approval: BTreeSet::from(["effect".to_owned()]),
        client: BTreeSet::from(["look".to_owned()]),
        ..Rules::default()
    };
    Setup { rules, many_runs: true, ..Setup::scripted(script) }
}

/// The same with the tools for contexts, and a model that takes one step at each request, whatever it sees. It has
/// answered once, so that there is a context to leave.
async fn taking(script: Vec<ScriptedStep>) -> TestAgent {
    let steps = Mutex::new(VecDeque::from([vec![text("Aye.")], script].concat()));
    let next = move || steps.lock().unwrap().pop_front().unwrap_or_else(|| text("Done."));
    let setup = Setup { model: Some(ScriptedModel::new(move |_| next())), ..asking(&[]) };
    let test = TestAgent::with_tools(FileStore::in_memory(options()), &setup, |agent| {
        let schema = Json::Object(Object::from([("type", "object")]));
        let run = |_, _| Box::pin(async { Ok(Json::from("done")) }) as ToolFuture;
        agent.tool(Tool::with_schema("effect", "does it", schema, run))
    });
    assert_eq!(test.say("hi").await, Some(Outcome::Done));
    test
}

fn approval(id: &str, approved: bool) -> CallAnswer {
    CallAnswer::Approval { approval_id: format!("approve_{id}"), approved, reason: None }
}

fn output(id: &str, output: Result<Json, String>) -> CallAnswer {
    CallAnswer::Output { call_id: id.to_owned(), output }
}

async fn answer_all(test: &TestAgent, answers: Vec<CallAnswer>) -> Option<Outcome> {
    test.agent.answer_all(&test.chat, answers, &Stop::default()).await.unwrap()
}

#[tokio::test]
async fn the_results_of_a_step_come_before_its_end() {
    let both = [said("So."), call("1", "look", "{}"), call("2", "effect", r#"{"do":"fail"}"#)];
    let test = Setup::scripted(&[calls(&both), text("Done.")]).agent();
    let mut events = test.agent.listen(&test.chat);
    assert_eq!(test.say("go").await, Some(Outcome::Done));
    let chunks = heard(&mut events);
    let wanted = [
        "start",
        "start-step",
        "text-start",
        "text-end",
        "tool-input-available",
        "tool-input-available",
        "tool-output-available",
        "tool-output-error",
        "finish-step",
        "start-step",
        "text-start",
        "text-end",
        "finish-step",
        "finish stop",
    ];
    assert_eq!(kinds(&chunks), wanted);
    assert_assembled(&test, &chunks).await;
}

#[tokio::test]
async fn a_parked_run_ends_its_stream_and_begins_it_again_with_the_answers() {
    let asks = calls(&[call("1", "effect", "{}"), call("2", "look", "{}")]);
    let parked = [
        "start",
        "start-step",
        "tool-input-available",
        "tool-input-available",
        "tool-approval-request",
        "finish-step",
        "finish tool-calls",
    ];
    let goes_on = ["start-step", "text-start", "text-end", "finish-step", "finish stop"];
    for (approved, given, outputs) in [
        (true, Ok(Json::from("seen")), ["tool-output-available", "tool-output-available"]),
        (false, Err("no light".to_owned()), ["tool-output-error", "tool-output-denied"]),
    ] {
        let test = asking(&[asks.clone(), text("Done.")]).agent();
        let mut events = test.agent.listen(&test.chat);
        assert_eq!(test.say("go").await, Some(Outcome::Parked));
        let mut chunks = heard(&mut events);
        assert_eq!(kinds(&chunks), parked);
        // A part of the answers continues nothing.
        assert_eq!(answer_all(&test, vec![output("2", given)]).await, Some(Outcome::Parked));
        assert_eq!(heard(&mut events), []);
        assert_eq!(answer_all(&test, vec![approval("1", approved)]).await, Some(Outcome::Done));
        let continued = heard(&mut events);
        let wanted = [&["start"], outputs.as_slice(), &goes_on].concat();
        assert_eq!(kinds(&continued), wanted);
        chunks.extend(continued);
        assert_assembled(&test, &chunks).await;
    }
}

#[tokio::test]
async fn a_run_that_is_ended_without_a_decision_tells_the_results_of_its_calls() {
    let asks = calls(&[call("1", "effect", "{}"), call("2", "look", "{}")]);
    let test = asking(&[asks]).agent();
    assert_eq!(test.say("go").await, Some(Outcome::Parked));
    let mut events = test.agent.listen(&test.chat);
    test.model().set_mind(|_| text("Aye."));
    assert_eq!(test.say("never mind").await, Some(Outcome::Done));
    let results = ["start", "tool-output-denied", "tool-output-error", "finish stop"];
    let aye = ["start", "start-step", "text-start", "text-end", "finish-step", "finish stop"];
    let chunks = heard(&mut events);
    assert_eq!(kinds(&chunks), [results.as_slice(), &aye].concat());
    assert_ordered(&chunks);
}

#[tokio::test]
async fn a_failed_answer_ends_its_step_and_a_stopped_one_is_aborted() {
    let failing = step(&[half("I was")], ScriptedEnd::Fails("the mast broke"));
    let test = Setup::scripted(&[failing]).agent();
    let mut events = test.agent.listen(&test.chat);
    assert!(matches!(test.say("go").await, Some(Outcome::Failed(_))));
    let chunks = heard(&mut events);
    let begun = ["start", "start-step", "text-start"];
    let failed = ["text-start", "text-end", "error", "finish-step", "finish error"];
    assert_eq!(kinds(&chunks), [begun.as_slice(), &failed].concat());
    assert_assembled(&test, &chunks).await;

    let test = Setup::scripted(&[step(&[half("I was")], ScriptedEnd::Hangs)]).agent();
    let mut events = test.agent.listen(&test.chat);
    let stop = Stop::default();
    assert!(test.accept("go").await);
    let stopping = async {
        test.model().is_asked_for(1).await;
        stop.stop();
    };
    let (outcome, ()) = tokio::join!(test.agent.run(&test.chat, &stop), stopping);
    assert_eq!(outcome.unwrap(), Some(Outcome::Stopped));
    let chunks = heard(&mut events);
    assert_eq!(kinds(&chunks), [begun.as_slice(), &["abort"]].concat());
    assert_assembled(&test, &chunks).await;
}

#[tokio::test]
async fn a_run_that_switches_begins_the_other_message_with_the_call() {
    let switches = calls(&[said("Anew."), call("1", "chat_context_new", "{}")]);
    let test = taking(vec![switches, text("Here.")]).await;
    let mut events = test.agent.listen(&test.chat);
    assert_eq!(test.say("go").await, Some(Outcome::Done));
    let chunks = heard(&mut events);
    let called = ["tool-input-available", "tool-output-available", "finish-step"];
    let wanted = [
        ["start", "start-step", "text-start", "text-end"].as_slice(),
        &called,
        &["start 2", "start-step"],
        &called,
        &["start-step", "text-start", "text-end", "finish-step", "finish stop"],
    ];
    assert_eq!(kinds(&chunks), wanted.concat());
    assert_assembled(&test, &chunks).await;
}

#[tokio::test]
async fn a_run_that_is_settled_begins_each_message_with_what_is_not_settled_and_says_nothing_twice()
{
    let test = settled::setup().agent();
    let mut events = test.agent.listen(&test.chat);
    assert_eq!(test.say("go").await, Some(Outcome::Done));
    let mut printed = String::new();
    let mut chunks = Vec::new();
    while let Some(event) = events.try_next() {
        if let RunEvent::Chunk(Chunk::TextDelta(_, delta)) = &*event {
            printed.push_str(delta.as_str());
        }
        if let RunEvent::Chunk(chunk) | RunEvent::Repeated(chunk) = &*event {
            chunks.push(chunk.clone());
        }
    }
    assert_eq!(printed, "First.Then.That was all.");
    let starts = kinds(&chunks).iter().filter(|kind| kind.starts_with("start ")).count();
    assert!(starts > 2, "{:#?}", kinds(&chunks));
    assert_assembled(&test, &chunks).await;
}

/// Stands for a text of more deltas than are kept apart.
const MANY_WORDS: &str = "many words";

/// A step of a random run, without its calls' ids.
fn random_step() -> impl Strategy<Value = (Option<&'static str>, Vec<&'static str>, bool)> {
    let tool = prop::sample::select(vec!["effect", "look", "chat_send", "chat_context_new"]);
    let words = prop::option::of(prop::sample::select(vec!["Well then.", MANY_WORDS]));
    (words, prop::collection::vec(tool, 0..4), prop::bool::weighted(0.2))
}

fn script(steps: Vec<(Option<&'static str>, Vec<&'static str>, bool)>) -> Vec<ScriptedStep> {
    const IDS: [&str; 20] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r",
        "s", "t",
    ];
    let mut ids = IDS.into_iter();
    let mut made = |(words, tools, breaks_off): (Option<&str>, Vec<&str>, bool)| {
        let words = words.map(|words| match words {
            MANY_WORDS => said(&"aye ".repeat(600)),
            words => said(words),
        });
        let mut says: Vec<ScriptedPart> = words.into_iter().collect();
        let input = r#"{"text":"hi"}"#;
        says.extend(tools.into_iter().map(|tool| call(ids.next().unwrap(), tool, input)));
        let reason = FinishReason::ToolCalls;
        step(&says, if breaks_off { ScriptedEnd::BreaksOff } else { ScriptedEnd::Because(reason) })
    };
    steps.into_iter().map(&mut made).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_subscriber_of_any_run_assembles_what_is_stored_whenever_it_joins(
        steps in prop::collection::vec(random_step(), 1..6),
        approved in any::<bool>(),
        paces in prop::collection::vec(0usize..40, 1..50),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let test = taking(script(steps)).await;
            let mut events = test.agent.listen(&test.chat);
            let mut latecomers = Latecomers::new(&test, paces);
            let mut outcome = latecomers.join_during(test.say("go")).await;
            let mut chunks = heard(&mut events);
            while outcome == Some(Outcome::Parked) {
                let mut so_far = Subscriber::after(&chunks);
                let message = so_far.messages[so_far.current].message().clone();
                let waiting = message.parts().iter().filter_map(|part| match part {
                    UiPart::Tool(tool) if !tool.state().is_terminal() => Some(tool),
                    _ => None,
                });
                let answers = waiting.map(|tool| match tool.name() {
                    Some("effect") => approval(tool.call_id(), approved),
                    _ => output(tool.call_id(), Ok(Json::from("seen"))),
                });
                let answering = answer_all(&test, answers.collect());
                outcome = latecomers.join_during(answering).await;
                chunks.extend(heard(&mut events));
            }
            latecomers.assert_assembled(&chunks);
            assert_assembled(&test, &chunks).await;
        });
    }
}
