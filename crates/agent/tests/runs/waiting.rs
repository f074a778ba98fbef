//! What waits in a chat and which run is open there, for a program that asks.

use std::collections::BTreeSet;
use std::time::Duration;

use ship_agent::{
    CallAnswer, ChatQueue, ContextOperation, Inbound, OperationOutcome, Outcome, Rules, Stop,
};
use ship_testkit::scripted_model::{call, calls, text};

use crate::harness::{Setup, TestAgent, inbound};

async fn queue(test: &TestAgent, limit: usize) -> ChatQueue {
    test.agent.queue(&test.chat, limit).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_run_that_waits_is_open_until_its_calls_are_answered() {
    let both = calls(&[call("c1", "effect", "{}"), call("c2", "look", "{}")]);
    let rules = Rules {
        approval: BTreeSet::from(["effect".to_owned()]),
        client: BTreeSet::from(["look".to_owned()]),
        ..Rules::default()
    };
    let setup = Setup { rules, ..Setup::scripted(&[both, text("Done.")]) };
    let test = setup.agent();
    assert_eq!(test.agent.queue(&test.chat, 9).await.unwrap(), None, "there is no chat yet");
    assert_eq!(test.say("go").await, Some(Outcome::Parked));
    drop(test);

    // Another process sees the same.
    let test = setup.agent();
    let open = queue(&test, 9).await;
    let run = open.run.as_ref().unwrap();
    let ids: Vec<&str> = run.waiting_calls.iter().map(|call| call.call_id()).collect();
    assert_eq!((ids, run.is_parked(), run.request_id.as_str()), (vec!["c1", "c2"], true, "req go"));
    assert!(run.since.is_some() && !run.is_frozen);
    assert_eq!(open.questions().collect::<Vec<_>>(), ["go"]);
    let answers = open.waiting_calls().iter().map(|call| match call.call_id() {
        "c1" => CallAnswer::decision(call, true),
        _ => CallAnswer::output(call, "seen"),
    });
    let answered = test.agent.answer_all(&test.chat, answers.collect(), &Stop::default()).await;
    assert_eq!(answered.unwrap(), Some(Outcome::Done));
    let empty = ChatQueue { run: None, unanswered: None, waiting: Vec::new(), is_whole: true };
    assert_eq!(queue(&test, 9).await, empty);
}

#[tokio::test]
async fn what_waits_for_the_lane_is_listed_in_its_order_and_talk_of_others_is_not() {
    let rules = Rules { operation_wait: Duration::ZERO, ..Rules::default() };
    let test = Setup::ruled(rules).agent();
    let _ = test.say("hello").await;
    let chat = test.stored().await;
    let lane = chat.lane("test").await.unwrap();
    let aside = Inbound { observed: true, ..inbound("not for you") };
    let first = Inbound { username: Some("Ann".to_owned()), ..inbound("first") };
    for message in [aside, first] {
        test.agent.accept(&test.chat, message).await.unwrap();
    }
    let clear = ContextOperation::Clear;
    let operated = test.agent.operate(&test.chat, clear.clone(), "terminal").await.unwrap();
    assert_eq!(operated, OperationOutcome::Queued);
    test.agent.accept(&test.chat, inbound("second")).await.unwrap();

    let all = queue(&test, 9).await;
    let texts: Vec<&str> = all.waiting.iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!((texts, all.is_whole), (vec!["first", "/clear", "second"], true));
    assert_eq!(all.waiting[0].username.as_deref(), Some("Ann"));
    assert!(all.waiting[0].since.is_some() && all.waiting[0].operation.is_none());
    assert_eq!(all.waiting[1].operation, Some(clear));
    assert_eq!(all.questions().collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!((&all.run, &all.unanswered), (&None, &None));
    let first = queue(&test, 1).await;
    assert_eq!((first.waiting, first.is_whole), (all.waiting[..1].to_vec(), false));

    lane.release().await;
    assert_eq!(test.run().await, Some(Outcome::Done));
    assert!(queue(&test, 9).await.waiting.is_empty());
}
