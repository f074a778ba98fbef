//! Logs without their head, or gone: the context keeps its id, others keep theirs, and each can be loaded.

use ship_agent::{ContextOperation, Rules, Stop};
use ship_store::ContextId;
use ship_store::disk::Disk;
use ship_testkit::sim::Fault;

use super::damaged::{ARCHIVE, HEAD_COPY, LIVE, SNAPSHOT, flip, new, path, replace};
use super::place::{Place, says, words};
use crate::harness::chat;

/// A chat in a context “Two”, which has left the context “One”.
async fn in_the_second_context() -> Place {
    let place = Place::ruled(Rules { keep_last_messages: 2, ..Rules::default() });
    place.minds(|_| says("Aye."));
    place.say("one alpha").await;
    place.done(ContextOperation::Rename { title: "One".to_owned() }).await;
    place.done(ContextOperation::New { title: Some("Two".to_owned()), reason: None }).await;
    place.say("two beta").await;
    place
}

/// Opens the chat again, as a new process does.
fn again(place: &Place) -> Place {
    let place = place.again();
    place.minds(|_| says("Aye."));
    place
}

/// Damages the head of the live log, and removes its copy.
fn injured(place: &Place) -> Place {
    flip(place, LIVE, "\"event\":\"head\"");
    place.setup.disk.memory().remove(&path(place, HEAD_COPY)).unwrap();
    again(place)
}

fn load(which: &str) -> ContextOperation {
    ContextOperation::Load { which: which.to_owned() }
}

/// Loads each context by its title, and returns what was said in it.
async fn said_in(place: &Place, titles: &[&str]) -> Vec<Vec<String>> {
    let mut said = Vec::new();
    for title in titles {
        place.done(load(title)).await;
        said.push(place.context().await);
    }
    said
}

#[tokio::test]
async fn a_context_without_its_head_keeps_its_id_and_no_other_context_is_lost() {
    let place = in_the_second_context().await;
    let before = place.view().await.head;
    let place = injured(&place);
    let read = place.view().await.head;
    assert_eq!((&read.context, &read.title), (&before.context, &before.title), "read only");
    place.done(ContextOperation::New { title: Some("Three".to_owned()), reason: None }).await;
    let titles: Vec<String> = place.archived().await.into_iter().map(|(_, title)| title).collect();
    assert_eq!(titles, ["Two", "One"]);
    assert_eq!(
        said_in(&place, &["One", "Two"]).await,
        [["user: one alpha", "assistant: Aye."], ["user: two beta", "assistant: Aye."]]
    );
    assert_eq!(place.view().await.head.context, before.context);
}

#[tokio::test]
async fn an_undo_after_a_lost_head_takes_back_the_operation_and_not_the_repair() {
    for operation in [new(), load("One"), ContextOperation::Fork { at: None, to: None }] {
        let place = in_the_second_context().await;
        place.done(operation.clone()).await;
        place.say("gamma").await;
        let place = injured(&place);
        let line = place.done(ContextOperation::Undo).await;
        assert!(line.starts_with("Now in “Two”."), "{operation:?}: {line}");
        assert_eq!(place.context().await, ["user: two beta", "assistant: Aye."], "{operation:?}");
    }
}

#[tokio::test]
async fn a_compaction_and_its_undo_heal_a_lost_head_as_other_operations_do() {
    let place = in_the_second_context().await;
    for text in ["which boat?", "which port?"] {
        place.say(&format!("{text} {}", "The tide is low and the wind is fair. ".repeat(40))).await;
    }
    let before = place.view().await.head.context;
    let place = injured(&place);
    let compacted = place.agent.compact(&chat(), None).await.unwrap();
    assert!(compacted.is_some(), "something is left out");
    let place = injured(&place);
    let undone = place.agent.undo_compaction(&chat()).await.unwrap();
    assert_eq!(undone, ship_agent::CompactionUndo::Messages(4));
    assert_eq!(place.view().await.head.context, before);
}

#[tokio::test]
async fn after_the_live_log_is_lost_every_context_with_a_sealed_log_can_be_loaded() {
    let place = in_the_second_context().await;
    place.done(load("One")).await;
    place.setup.disk.memory().remove(&path(&place, LIVE)).unwrap();
    let place = again(&place);
    place.say("three").await;
    assert_eq!(place.view().await.head.title.as_deref(), Some("Two"), "the newest sealed log");
    assert_eq!(said_in(&place, &["One"]).await, [["user: one alpha", "assistant: Aye."]]);
    let archived = place.archived().await;
    assert_eq!(archived.len(), 1, "{archived:?}");
}

#[tokio::test]
async fn an_older_copy_of_the_live_log_takes_nothing_from_the_context_that_was_left_later() {
    let place = Place::new();
    place.minds(|_| says("Aye."));
    place.say("one alpha").await;
    let log = path(&place, LIVE);
    let older = place.setup.disk.memory().contents().remove(&log).unwrap().unwrap();
    place.say("one omega").await;
    let one = place.view().await.head.context;
    place.done(new()).await;
    place.say("two beta").await;
    replace(&place, &log, &older);
    let place = again(&place);
    place.done(new()).await;
    assert_eq!(place.archived().await.len(), 2);
    place.done(load(one.as_str())).await;
    assert_eq!(
        place.context().await,
        ["user: one alpha", "assistant: Aye.", "user: one omega", "assistant: Aye."]
    );
}

#[tokio::test]
async fn a_compacted_context_without_its_head_keeps_title_checkpoints_and_undo() {
    let place = in_the_second_context().await;
    for text in ["which boat?", "which port?"] {
        place.say(&format!("{text} {}", "The tide is low and the wind is fair. ".repeat(40))).await;
    }
    place.done(ContextOperation::Rename { title: "Tides".to_owned() }).await;
    place.done(ContextOperation::Checkpoint { name: "here".to_owned() }).await;
    assert!(place.agent.compact(&chat(), None).await.unwrap().is_some());
    let before = place.view().await.head;
    flip(&place, LIVE, "\"event\":\"head\"");
    let place = again(&place);
    place.say("and now?").await;
    let head = place.view().await.head;
    assert_eq!((head.title.as_deref(), head.checkpoints), (Some("Tides"), before.checkpoints));
    let line = place.done(ContextOperation::Undo).await;
    assert!(line.contains("here"), "{line}");
}

#[tokio::test]
async fn a_loaded_context_that_was_cut_gets_back_what_was_loaded_and_verify_names_the_cut() {
    let place = in_the_second_context().await;
    place.say("two gamma").await;
    place.done(load("One")).await;
    place.done(load("Two")).await;
    let before = place.context().await;
    cut_before(&place, LIVE, "two gamma");
    let place = again(&place);
    let problems = place.stored().await.verify().await.unwrap();
    assert!(problems.iter().any(|it| it.message.contains("was published with")), "{problems:?}");
    place.say("and now?").await;
    assert_eq!(place.context().await[..4], before);
    assert_eq!(place.context().await[4..], ["user: and now?", "assistant: Aye."]);
}

/// Cuts a log before the line that holds these words.
fn cut_before(place: &Place, part: &str, words: &str) {
    let log = path(place, part);
    let bytes = place.setup.disk.memory().contents().remove(&log).unwrap().unwrap();
    let at = bytes.windows(words.len()).position(|found| found == words.as_bytes()).unwrap();
    let end = bytes[..at].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    replace(place, &log, &bytes[..end]);
}

fn echoes(place: &Place) {
    place.minds(|seen| says(&format!("Aye: {}", words(seen.last().unwrap()))));
}

/// A chat that said “alpha” in a context, which it has left for another, and “beta” there.
async fn two_contexts() -> (Place, ContextId) {
    let place = Place::new();
    echoes(&place);
    place.say("alpha").await;
    let one = place.view().await.head.context;
    place.done(new()).await;
    place.say("beta").await;
    (place, one)
}

#[tokio::test]
async fn a_question_whose_answer_is_lost_stays_in_its_context_and_is_not_answered_again() {
    let (place, one) = two_contexts().await;
    cut_before(&place, ARCHIVE, "Aye: alpha");
    place.setup.disk.memory().remove(&path(&place, SNAPSHOT)).unwrap();
    place.done(load(one.as_str())).await;
    assert_eq!(place.context().await, ["user: alpha"]);
    place.done(load("beta")).await;
    place.done(load(one.as_str())).await;
    place.say("gamma").await;
    assert_eq!(place.context().await, ["user: alpha", "user: gamma", "assistant: Aye: gamma"]);
}

#[tokio::test]
async fn a_context_that_was_cut_gets_no_answer_of_another_context() {
    let (place, one) = two_contexts().await;
    place.done(load(one.as_str())).await;
    place.say("gamma").await;
    cut_before(&place, LIVE, "Aye: alpha");
    let place = again(&place);
    echoes(&place);
    place.say("delta").await;
    assert_eq!(
        place.context().await,
        [
            "user: alpha",
            "assistant: Aye: alpha",
            "user: gamma",
            "assistant: Aye: gamma",
            "user: delta",
            "assistant: Aye: delta"
        ]
    );
}

#[tokio::test]
async fn all_that_an_older_copy_lacks_comes_back_from_the_ledger_however_long_it_is() {
    let place = Place::ruled(Rules { input_tokens_max: Some(12_000), ..Rules::default() });
    echoes(&place);
    place.say("alpha").await;
    let log = path(&place, LIVE);
    let older = place.setup.disk.memory().contents().remove(&log).unwrap().unwrap();
    let long = |name: &str| format!("{name} {}", "The tide is low. ".repeat(500));
    for name in ["beta", "gamma", "delta"] {
        place.say(&long(name)).await;
    }
    replace(&place, &log, &older);
    let place = again(&place);
    echoes(&place);
    place.say("omega").await;
    let files = place.setup.disk.memory().contents().into_iter();
    let logs = files.filter(|(path, _)| path.to_string_lossy().contains("/messages/"));
    let logs = logs.filter_map(|(_, bytes)| Some(String::from_utf8_lossy(&bytes?).into_owned()));
    let logs: String = logs.collect();
    for name in ["beta", "gamma", "delta"] {
        assert!(logs.contains(&format!("\"{name} The tide")), "the question {name}");
        assert!(logs.contains(&format!("Aye: {name} The tide")), "the answer to {name}");
    }
}

#[tokio::test]
async fn a_question_whose_answer_is_lost_is_not_answered_again_after_an_operation() {
    let operations = [
        ContextOperation::Rename { title: "Z".to_owned() },
        ContextOperation::Checkpoint { name: "here".to_owned() },
    ];
    for operation in operations {
        let place = Place::new();
        echoes(&place);
        place.say("alpha").await;
        place.say("beta").await;
        place.done(operation).await;
        flip(&place, LIVE, "Aye: beta");
        let place = again(&place);
        echoes(&place);
        place.say("gamma").await;
        let context = place.context().await;
        assert_eq!(context.last().unwrap(), "assistant: Aye: gamma");
        let asked = place.shown(0);
        assert!(asked.iter().any(|line| line.contains("Aye: beta")), "{asked:?}");
        let answers = place.ledger().await;
        let beta = answers.iter().filter(|line| line.as_str() == "assistant: Aye: beta").count();
        assert_eq!(beta, 1, "{answers:?}");
    }
}

#[tokio::test]
async fn a_killed_run_whose_question_is_lost_answers_it_once() {
    let place = Place::new();
    echoes(&place);
    place.say("alpha").await;
    place.accept("beta").await;
    let disk = place.setup.disk.clone();
    place.minds(move |_| {
        disk.fail_in(0, Fault::KillBefore);
        says("never heard")
    });
    let _ = place.agent.run(&chat(), &Stop::default()).await;
    assert!(place.setup.disk.is_dead());
    let place = again(&place);
    flip(&place, LIVE, "beta");
    let place = again(&place);
    echoes(&place);
    place.run().await;
    assert_eq!(
        place.context().await,
        ["user: alpha", "assistant: Aye: alpha", "user: beta", "assistant: Aye: beta"]
    );
    assert_eq!(place.ledger().await.len(), 4, "{:?}", place.ledger().await);
}

#[tokio::test]
async fn an_answer_that_the_ledger_has_lost_is_named_and_comes_back() {
    let place = Place::new();
    echoes(&place);
    place.say("alpha").await;
    cut_before(&place, "conversations/history.jsonl", "Aye: alpha");
    let place = place.again();
    echoes(&place);
    let problems = place.stored().await.verify().await.unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.starts_with("the answer to entry 2 is missing"), "{problems:?}");
    place.say("beta").await;
    let ledger = place.ledger().await;
    assert_eq!(ledger.iter().filter(|line| line.contains("Aye: alpha")).count(), 1, "{ledger:?}");
    assert_eq!(ledger.iter().filter(|line| line.contains("Aye: beta")).count(), 1, "{ledger:?}");
    assert_eq!(place.stored().await.verify().await.unwrap(), []);
    assert_eq!(place.context().await.len(), 4);
}
