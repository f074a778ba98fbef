//! A chat whose context log was taken away or replaced by an older one: what was answered is not run again.

use std::path::{Path, PathBuf};

use ship_agent::{CallAnswer, ContextOperation, Outcome, Rules, Stop};
use ship_store::disk::{Disk, OpenMode};
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::{call, calls, text};
use ship_testkit::sim::Fault;

use crate::harness::{Setup, TestAgent};

/// Takes the context log away, as somebody might from outside.
fn lose_context(setup: &Setup) {
    let log = Path::new(".ship/chat/terminal%3Amain/messages/history.jsonl");
    setup.disk.remove(log).unwrap();
}

async fn problems(test: &TestAgent) -> Vec<String> {
    let chat = test.stored().await;
    chat.verify().await.unwrap().into_iter().map(|problem| problem.message).collect()
}

#[tokio::test]
async fn what_was_answered_is_not_run_again_and_what_was_not_is() {
    let setup = Setup::default();
    let test = setup.agent();
    test.say("/tool effect {}").await;
    assert_eq!(problems(&test).await, Vec::<String>::new());
    drop(test);
    lose_context(&setup);

    let test = setup.agent();
    let told = "the ledger has answers, but the context log that they came from is missing";
    assert_eq!(problems(&test).await, [told]);
    assert_eq!(test.run().await, None, "nothing waits");
    assert_eq!(test.say("and now?").await, Some(Outcome::Done));
    assert_eq!(test.effects(), 0);
    assert_eq!(test.context().await[0], "user: and now?");
    assert_eq!(test.context().await.len(), 2);
    assert_eq!(test.run().await, None);
}

#[tokio::test]
async fn a_message_that_came_in_while_another_was_answered_is_still_waiting() {
    let hang = calls(&[call("1", "look", r#"{"do":"hang"}"#)]);
    let mut setup = Setup::scripted(&[hang, text("Done.")]);
    setup.rules.tool_deadline = std::time::Duration::from_millis(20);
    let test = setup.agent();
    assert!(test.accept("first").await);
    let stop = Stop::default();
    let second = async {
        while test.looks() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(test.accept("second").await);
        // The first is answered, and the run of the second is stopped before it said anything.
        while test.ledger().await.len() < 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = test.agent.run(&test.chat, &stop) => {}
        () = second => {}
    }
    assert_eq!(
        test.ledger().await[..3],
        ["user: first", "user: second", "assistant: [Done]"]
            .map(|line| line.replace("[Done]", "Done."))
    );
    drop(test);
    let _ = setup.disk.remove(Path::new(".ship/chat/terminal%3Amain/messages/run.jsonl"));
    lose_context(&setup);

    let test = setup.with_script(&[text("Here.")]).agent();
    test.run().await;
    assert_eq!(test.context().await, ["user: second", "assistant: Here."]);
}

#[tokio::test]
async fn a_run_that_waits_goes_on_with_its_question() {
    let rules = Rules { approval: ["effect".to_owned()].into(), ..Rules::default() };
    let script = vec![calls(&[call("1", "effect", "{}")]), text("Done.")];
    let setup = Setup { rules, ..Setup::scripted(&script) };
    assert_eq!(setup.agent().say("please").await, Some(Outcome::Parked));
    lose_context(&setup);

    let test = setup.agent();
    let approval_id = "approve_1".to_owned();
    let answer = CallAnswer::Approval { approval_id, approved: true, reason: None };
    let outcome = test.agent.answer(&test.chat, answer, &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Done));
    assert_eq!(test.context().await, ["user: please", "assistant: [effect \"done\"] Done."]);
    assert_eq!(test.effects(), 1);
}

/// Kills the agent that begins again at calls to the disk.
#[tokio::test]
async fn an_agent_that_is_killed_while_it_begins_again_does_not_run_what_was_answered() {
    let mut kills = 0;
    let answered_and_lost = || async {
        let setup = Setup::default();
        setup.agent().say("/tool effect {}").await;
        lose_context(&setup);
        setup
    };
    let whole = answered_and_lost().await;
    let before = whole.disk.calls();
    whole.agent().say("and now?").await;
    for at in sample(0..whole.disk.calls() - before, 3) {
        let setup = answered_and_lost().await;
        setup.disk.fail_in(at, Fault::KillBefore);
        let test = setup.agent();
        let accepted = test.accept("and now?").await;
        let _ = test.agent.run(&test.chat, &Stop::default()).await;
        assert_eq!(test.effects(), 0, "killed at call {at}");
        drop(test);
        assert!(setup.disk.is_dead(), "killed at call {at}");
        setup.disk.revive();
        let test = setup.agent();
        assert!(accepted || test.accept("and now?").await);
        test.run().await;
        assert_eq!(test.effects(), 0, "killed at call {at}");
        assert_eq!(test.context().await.len(), 2, "killed at call {at}");
        kills += 1;
    }
    assert!(kills > 20, "only {kills} kills");
}

const CONTEXT: &str = "messages/history.jsonl";

fn chat_file(name: &str) -> PathBuf {
    Path::new(".ship/chat/terminal%3Amain").join(name)
}

fn read(setup: &Setup, name: &str) -> Vec<u8> {
    let file = setup.disk.open(&chat_file(name), OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.stat().unwrap().len).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// Puts an older version of the context log in its place, as a restore does.
fn restore_context(setup: &Setup, bytes: &[u8]) {
    let aside = chat_file("restored");
    setup.disk.open(&aside, OpenMode::Create).unwrap().write(bytes).unwrap();
    setup.disk.rename(&aside, &chat_file(CONTEXT)).unwrap();
}

#[tokio::test]
async fn what_was_answered_is_not_run_again_in_an_older_context_and_stands_in_it() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let test = setup.agent();
    test.say("first").await;
    let older = read(&setup, CONTEXT);
    test.say("/tool effect {}").await;
    let told = test.ledger().await.pop().unwrap();
    drop(test);
    restore_context(&setup, &older);

    let test = setup.agent();
    let behind = "the ledger has answers up to entry 4, but the context has read up to 2";
    assert_eq!(problems(&test).await, [behind]);
    assert_eq!(test.run().await, None, "nothing waits");
    assert_eq!(test.effects(), 0);
    assert_eq!(test.context().await[2..], ["user: /tool effect {}".to_owned(), told]);
    assert_eq!(test.log.of("repair").len(), 1);
    assert_eq!(problems(&test).await, Vec::<String>::new());
    assert_eq!(test.say("and now?").await, Some(Outcome::Done));
    assert_eq!((test.effects(), test.context().await.len()), (0, 6));
    drop(test);
    assert_eq!(setup.agent().run().await, None);
}

/// The older context was copied between the question and its answer, so that it ends with the question.
#[tokio::test]
async fn an_older_context_that_ends_with_a_question_gets_the_answer_that_was_given() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let test = setup.agent();
    test.say("/tool effect {}").await;
    let newer = read(&setup, CONTEXT);
    let lines = newer.split_inclusive(|&byte| byte == b'\n').take(2);
    let older: Vec<u8> = lines.flatten().copied().collect();
    drop(test);
    restore_context(&setup, &older);

    let test = setup.agent();
    assert_eq!(test.context().await, ["user: /tool effect {}"]);
    assert_eq!(test.run().await, None);
    assert_eq!((test.effects(), test.context().await.len()), (0, 2));
    assert_eq!(test.run().await, None);
}

#[tokio::test]
async fn what_waits_behind_what_was_answered_is_run_in_an_older_context() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let test = setup.agent();
    test.say("first").await;
    let older = read(&setup, CONTEXT);
    test.say("/tool effect {}").await;
    assert!(test.accept("third").await);
    drop(test);
    restore_context(&setup, &older);

    let test = setup.agent();
    assert_eq!(test.run().await, Some(Outcome::Done));
    assert_eq!(test.effects(), 0);
    let context = test.context().await;
    assert_eq!((context.len(), context[4].as_str()), (6, "user: third"));
}

#[tokio::test]
async fn an_operation_that_was_done_is_not_done_again_in_an_older_context() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let test = setup.agent();
    test.say("first").await;
    let older = read(&setup, CONTEXT);
    let new = ContextOperation::New { title: None, reason: None };
    test.agent.operate(&test.chat, new, "terminal").await.unwrap();
    drop(test);
    restore_context(&setup, &older);

    let test = setup.agent();
    assert_eq!(test.run().await, None);
    assert_eq!(test.context().await.len(), 2, "it is still the context that was restored");
}

#[tokio::test]
async fn the_ledger_knows_how_far_an_answer_answers() {
    let test = Setup::default().agent();
    assert!(test.accept("one").await && test.accept("two").await);
    test.run().await;
    let answer = test.entries().await.pop().unwrap().1;
    assert_eq!(answer.get("meta").unwrap().to_string(), r#"{"answersTo":3}"#);
}
