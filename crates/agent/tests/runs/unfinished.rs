//! What a process finds to do when it starts, and what it pays for the chats in which nothing is left.

use ship_agent::{Agent, ContextOperation, FileStore, Outcome, Rules};
use ship_message::FinishReason;
use ship_testkit::chat::options;
use ship_testkit::power;
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::{ScriptedEnd, call, said, step, text};
use ship_testkit::sim::{Fault, SimDisk};

use crate::harness::{Setup, TestAgent, inbound};

async fn unfinished(agent: &Agent) -> Vec<String> {
    let (mut unfinished, mut chats) = (agent.unfinished_chats(), Vec::new());
    while let Some(chat) = unfinished.next().await.unwrap() {
        chats.push(chat.to_string());
    }
    chats
}

#[tokio::test]
async fn a_killed_run_is_found_exactly_if_something_is_left_of_it() {
    let script = [
        step(
            &[said("First."), call("1", "look", "{}")],
            ScriptedEnd::Because(FinishReason::ToolCalls),
        ),
        text("That was all."),
    ];
    let undisturbed = Setup::scripted(&script);
    undisturbed.agent().say("go").await;
    let (mut found, mut finished) = (0, 0);
    for at in sample(0..undisturbed.disk.calls(), 3) {
        let disk = SimDisk::with_fault(at, Fault::KillAfter);
        let setup = Setup { disk, ..Setup::scripted(&script) };
        let accepted = setup.answer_until_killed("go").await.accepted;
        let second = setup.agent();
        let listed = unfinished(&second.agent).await;
        // The second look has nothing but what the first one has noted.
        assert_eq!(unfinished(&setup.agent().agent).await, listed, "killed at call {at}");
        let outcome = second.run().await;
        assert_eq!(listed.len(), usize::from(outcome.is_some()), "killed at call {at}");
        (found, finished) =
            (found + listed.len(), finished + usize::from(accepted && listed.is_empty()));
        assert!(unfinished(&setup.agent().agent).await.is_empty(), "killed at call {at}");
    }
    assert!(found > 20 && finished > 0, "{found} found, {finished} finished");
}

/// A power cut may take the journal, and then the log alone tells that an answer is not in the ledger.
#[tokio::test]
async fn a_run_without_power_is_found_exactly_if_something_is_left_of_it() {
    let many_runs = || Setup { many_runs: true, ..Setup::scripted(&[text("Aye.")]) };
    let setup = many_runs();
    let test = setup.agent();
    test.say("first").await;
    assert!(test.accept("second").await);
    let accepted = setup.disk.ops().len();
    test.run().await;
    let ops = setup.disk.ops();
    let (mut found, mut finished) = (0, 0);
    for cut in sample(accepted..=ops.len(), 2) {
        for (name, disk) in power::states(&ops[..cut]) {
            let at = format!("cut after {cut} changes: {name}");
            let after = TestAgent::on(Box::new(disk), &many_runs());
            let listed = unfinished(&after.agent).await;
            // The second look has nothing but what the first one has noted.
            assert_eq!(unfinished(&after.agent).await, listed, "{at}");
            let before = (after.context().await, after.ledger().await);
            after.run().await;
            let has_run = (after.context().await, after.ledger().await) != before;
            assert_eq!(listed.len(), usize::from(has_run), "{at}");
            assert!(unfinished(&after.agent).await.is_empty(), "{at}");
            (found, finished) = (found + listed.len(), finished + usize::from(listed.is_empty()));
        }
    }
    assert!(found > 20 && finished > 0, "{found} found, {finished} finished");
}

#[tokio::test]
async fn a_parked_run_is_left_alone_until_an_operation_waits() {
    let approval = Rules { approval: ["effect".to_owned()].into(), ..Rules::default() };
    let setup = Setup { many_runs: true, ..Setup::ruled(approval) };
    let test = setup.agent();
    assert_eq!(test.say("/tool effect {}").await, Some(Outcome::Parked));
    assert!(unfinished(&test.agent).await.is_empty());
    let held = test.stored().await.lane("other").await.unwrap();
    let rules = Rules { operation_wait: std::time::Duration::ZERO, ..setup.rules.clone() };
    let waiting = Setup { rules, ..setup.clone() }.agent();
    waiting.agent.operate(&test.chat, ContextOperation::Clear, "terminal").await.unwrap();
    held.release().await;
    assert_eq!(unfinished(&setup.agent().agent).await, [test.chat.as_str()]);
    test.run().await;
    assert!(unfinished(&setup.agent().agent).await.is_empty());
}

#[tokio::test]
async fn a_chat_that_cannot_be_read_is_found_and_one_without_a_key_is_passed_over() {
    let project = tempfile::tempdir().unwrap();
    let store = FileStore::new(project.path(), options()).unwrap();
    let agent = Agent::builder().store(store).build();
    for chat in ["bad", "good", "lost"] {
        agent.send(&chat.parse().unwrap(), "hello").await.unwrap();
    }
    let chats = project.path().join(".ship/chat");
    let log = chats.join("bad/messages/history.jsonl");
    std::fs::write(&log, "no line\n".repeat(9)).unwrap();
    std::fs::rename(chats.join("lost"), chats.join("moved")).unwrap();
    let store = FileStore::new(project.path(), options()).unwrap();
    let agent = Agent::builder().store(store).build();
    assert_eq!(unfinished(&agent).await, ["bad"]);
}

#[tokio::test]
async fn a_restart_opens_none_of_a_thousand_idle_chats_and_finds_the_one_with_a_message() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let test = setup.agent();
    let files = |number: usize| {
        let folder = std::path::PathBuf::from(format!(".ship/chat/{number}"));
        ["chat.json", "messages/history.jsonl", "conversations/history.jsonl"]
            .map(|file| folder.join(file))
    };
    for number in 0..1_000 {
        let chat = test.store.create(&number.to_string().parse().unwrap(), Default::default());
        let chat = chat.await.unwrap();
        chat.note_idle(chat.sizes().await.unwrap()).await.unwrap();
    }
    drop(test);
    let opened = || (0..1_000).flat_map(files).map(|file| setup.disk.times_opened(&file)).sum();
    let (before, calls): (usize, usize) = (opened(), setup.disk.calls());
    assert!(unfinished(&setup.agent().agent).await.is_empty());
    assert_eq!(opened(), before);
    let each = (setup.disk.calls() - calls) / 1_000;
    assert_eq!(each, 3, "calls for each chat");
    let test: TestAgent = setup.agent();
    test.agent.accept(&"500".parse().unwrap(), inbound("hello")).await.unwrap();
    drop(test);
    assert_eq!(unfinished(&setup.agent().agent).await, ["500"]);
}
