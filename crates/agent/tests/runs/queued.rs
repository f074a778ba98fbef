//! Many messages that came in while nobody answered: each is in the context once, in order, and answered.

use std::path::Path;

use ship_agent::{Inbound, Outcome, Rules, Stop};
use ship_message::Role;
use ship_store::disk::{Disk, OpenMode};
use ship_store::{LedgerBody, LedgerLine};
use ship_testkit::scripted_model::{ScriptedEnd, step, text};
use ship_testkit::sim::Fault;

use crate::harness::{Setup, TestAgent, inbound};

/// More calls to the disk than any test here needs. A run that never ends dies there.
const CALLS_MAX: usize = 2_000_000;

/// An agent with a window of its own, which says the same always.
fn setup(window: u64) -> Setup {
    let rules = Rules { window: Some(window), max_tokens: 100, ..Rules::default() };
    Setup { rules, many_runs: true, ..Setup::scripted(&[text("Noted.")]) }
}

/// Takes the last line of the journal away: what a run is left with that is killed at its last write.
fn lose_the_end(setup: &Setup) {
    let path = Path::new(".ship/chat/terminal%3Amain/messages/run.jsonl");
    let file = setup.disk.open(path, OpenMode::Append).unwrap();
    let mut bytes = vec![0; usize::try_from(file.stat().unwrap().len).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    let lines = bytes.strip_suffix(b"\n").unwrap();
    let last = lines.iter().rposition(|&byte| byte == b'\n').unwrap();
    assert!(String::from_utf8_lossy(&bytes[last..]).contains(r#""kind":"end""#));
    file.truncate(last as u64 + 1).unwrap();
}

/// Accepts a text under a name of its own.
async fn accept_as(test: &TestAgent, name: &str, text: &str) {
    let inbound = Inbound { text: text.to_owned(), ..inbound(name) };
    test.agent.accept(&test.chat, inbound).await.unwrap();
}

async fn ledger_lines(test: &TestAgent) -> Vec<LedgerLine> {
    let chat = test.stored().await;
    chat.ledger().after(None, usize::MAX).await.unwrap()
}

/// The requests of all answers in the ledger: each names the last message that it answers.
async fn answered_requests(test: &TestAgent) -> Vec<String> {
    let request = |line: LedgerLine| match line.body {
        LedgerBody::Entry(entry) if entry.key.starts_with("answer:") => {
            entry.entry.str("requestId").map(str::to_owned)
        }
        _ => None,
    };
    ledger_lines(test).await.into_iter().filter_map(request).collect()
}

/// The texts of the person in the context and in the logs that it goes back to, in order, each once.
async fn asked(test: &TestAgent) -> Vec<String> {
    let chat = test.stored().await;
    let mut views = Vec::new();
    for log in chat.log().sealed().await.unwrap().into_iter().rev() {
        views.push(chat.log().sealed_view(&log.name).await.unwrap());
    }
    views.extend(chat.log().view().await.unwrap());
    let lines = views.iter().flat_map(|view| &view.lines);
    // A rotation copies a line with its place in the ledger.
    let mut texts = std::collections::BTreeMap::new();
    for line in lines.filter(|line| line.inbox.is_some()) {
        let Some(message) = line.message() else { continue };
        if message.role() == Role::User {
            texts.insert(line.inbox, message.text());
        }
    }
    texts.into_values().collect()
}

#[tokio::test]
async fn a_run_killed_at_its_last_write_holds_up_no_message_however_many_came_in_since() {
    let setup = setup(100_000);
    assert_eq!(setup.agent().say("first").await, Some(Outcome::Done));
    lose_the_end(&setup);
    let test = setup.agent();
    let texts: Vec<String> = (0..211).map(|number| format!("message {number}")).collect();
    for text in &texts {
        assert!(test.accept(text).await);
    }
    setup.disk.fail_in(CALLS_MAX / 10, Fault::KillBefore);
    let outcome = test.agent.run(&test.chat, &Stop::default()).await;
    assert_eq!(outcome.unwrap(), Some(Outcome::Done), "the run comes to an end");
    assert_eq!(asked(&test).await[1..], texts);
    assert_eq!(answered_requests(&test).await, ["req first", "req message 210"]);
    assert_eq!(test.run().await, None, "nothing is left to do");
}

#[tokio::test]
async fn a_run_that_was_delivered_more_than_a_week_ago_is_not_delivered_again() {
    let setup = setup(100_000);
    assert_eq!(setup.agent().say("first").await, Some(Outcome::Done));
    lose_the_end(&setup);
    let test = setup.agent();
    // What people say to one another is never run. The ledger is sealed for it, and its keys are forgotten.
    for number in 0..300 {
        let text = "x ".repeat(15_000);
        let talk = Inbound { text, observed: true, ..inbound(&number.to_string()) };
        test.agent.accept(&test.chat, talk).await.unwrap();
    }
    drop(test);
    setup.clock.advance(8 * 24 * 3_600_000);
    let test = setup.agent();
    setup.disk.fail_in(CALLS_MAX, Fault::KillBefore);
    assert_eq!(test.run().await, None);
    assert_eq!(answered_requests(&test).await, ["req first"]);
}

#[tokio::test]
async fn a_run_takes_in_the_messages_that_fit_half_its_budget_and_the_next_one_the_rest() {
    let setup = setup(40_000);
    let test = setup.agent();
    // Over a thousand tokens each; half the budget is eighteen thousand.
    let text = "word ".repeat(1_000);
    let texts: Vec<String> = (0..40).map(|number| format!("{number} {text}")).collect();
    for (number, text) in texts.iter().enumerate() {
        accept_as(&test, &number.to_string(), text).await;
    }
    assert_eq!(test.run().await, Some(Outcome::Done));
    assert_eq!(asked(&test).await, texts);
    assert_eq!(answered_requests(&test).await, ["req 16", "req 33", "req 39"]);
}

#[tokio::test]
async fn a_message_larger_than_half_the_budget_is_taken_in_by_itself() {
    let setup = setup(40_000);
    let test = setup.agent();
    let large = "word ".repeat(20_000);
    for (name, text) in [("1", "before"), ("2", &large), ("3", "behind")] {
        accept_as(&test, name, text).await;
    }
    assert!(test.run().await.is_some());
    assert_eq!(asked(&test).await, ["before", &large, "behind"]);
    assert_eq!(answered_requests(&test).await, ["req 1", "req 2", "req 3"]);
}

/// Lets messages come in after the process was killed that ran the chat, and runs it again. Gives how often the
/// model was asked, and how many bytes were read, for each message.
async fn cost_of(count: usize) -> (usize, u64) {
    let killed = setup(20_000).with_script(&[step(&[], ScriptedEnd::Hangs)]);
    let test = killed.agent();
    assert!(test.accept("first").await);
    let stop = Stop::default();
    let asked_once = async {
        test.model().is_asked_for(1).await;
    };
    tokio::select! {
        outcome = test.agent.run(&test.chat, &stop) => panic!("the model hangs: {outcome:?}"),
        () = asked_once => {}
    }
    let texts: Vec<String> = (0..count).map(|number| format!("message {number}")).collect();
    for text in &texts {
        assert!(test.accept(text).await);
    }
    drop(test);
    let test = killed.clone().with_script(&[text("Noted.")]).agent();
    killed.disk.fail_in(CALLS_MAX, Fault::KillBefore);
    let before = killed.disk.bytes_read();
    assert_eq!(test.run().await, Some(Outcome::Done));
    let read = killed.disk.bytes_read() - before;
    assert_eq!(asked(&test).await[1..], texts);
    let answers = answered_requests(&test).await;
    assert_eq!(answers.last(), Some(&format!("req message {}", count - 1)));
    let requests = test.model().asked();
    (requests, read / count as u64)
}

#[tokio::test]
async fn thousands_of_messages_cost_in_proportion() {
    let ((few_requests, few), (requests, many)) = (cost_of(500).await, cost_of(2_000).await);
    assert!(requests <= few_requests * 5, "{requests} requests for 2,000, {few_requests} for 500");
    assert!(many <= few * 2, "{many} bytes read for each of 2,000 messages, {few} of 500");
}

#[tokio::test]
async fn a_new_process_reads_once_what_people_said_to_each_other() {
    let setup = setup(100_000);
    let test = setup.agent();
    assert_eq!(test.say("first").await, Some(Outcome::Done));
    for number in 0..12_000 {
        let text = format!("This is the {number}th thing that I tell you all.");
        let talk = Inbound { text, observed: true, ..inbound(&number.to_string()) };
        test.agent.accept(&test.chat, talk).await.unwrap();
    }
    drop(test);
    let folder = Path::new(".ship/chat/terminal%3Amain/conversations");
    let sealed = (1..).map(|number| folder.join(format!("archive-{number}.jsonl")));
    let sizes = sealed.map_while(|path| Some(setup.disk.stat(&path).ok()?.len));
    let ledger_bytes: u64 = sizes.sum();
    assert!(ledger_bytes > 2_000_000, "{ledger_bytes}");
    let before = setup.disk.bytes_read();
    assert_eq!(setup.agent().run().await, None);
    let read = setup.disk.bytes_read() - before;
    assert!(read * 2 <= ledger_bytes * 3, "{read} bytes read of {ledger_bytes}");
}
