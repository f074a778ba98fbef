//! Damaged logs of archived contexts: what the snapshot of a context still tells comes back with the context.

use std::sync::Arc;

use ship_agent::{CompactionUndo, ContextOperation, Rules};
use ship_message::UiMessage;
use ship_store::View;

use super::damaged::{flip, path, replace};
use super::place::{Place, calls, says, words};
use crate::harness::chat;

/// The end of the name of the sealed log of the context “Second”.
const SECOND: &str = "-4-9.jsonl";

const SAID: [&str; 4] =
    ["user: alpha", "assistant: Aye: alpha", "user: beta", "assistant: Aye: beta"];

fn echo(place: &Place) {
    place.minds(|seen| says(&format!("Aye: {}", words(seen.last().unwrap()))));
}

fn load(which: &str) -> ContextOperation {
    ContextOperation::Load { which: which.to_owned() }
}

/// A chat that has left the context “Second”, with two questions and their answers.
async fn second_left(rules: Rules) -> (Place, View) {
    let place = Place::ruled(rules);
    echo(&place);
    place.say("one").await;
    place.done(ContextOperation::New { title: Some("Second".to_owned()), reason: None }).await;
    place.say("alpha").await;
    place.say("beta").await;
    let view = place.view().await;
    place.done(load("-")).await;
    (place, view)
}

/// Keeps the first `lines` lines of a log.
fn cut_after(place: &Place, part: &str, lines: usize) {
    let log = path(place, part);
    let bytes = place.setup.disk.memory().contents().remove(&log).unwrap().unwrap();
    let kept: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').take(lines).collect();
    replace(place, &log, &kept.concat());
}

/// Injures the log of “Second”: a cut after so many lines, or a flipped bit in a line with these words.
fn injure(place: &Place, injury: &str) -> Place {
    match injury.parse() {
        Ok(lines) => cut_after(place, SECOND, lines),
        Err(_) => flip(place, SECOND, injury),
    }
    let place = place.again();
    echo(&place);
    place
}

fn ids(view: &View) -> Vec<String> {
    view.messages().map(|message| message.id().unwrap().to_owned()).collect()
}

fn source(message: &UiMessage) -> &str {
    message.metadata().and_then(|metadata| metadata.get("source")?.as_str()).unwrap()
}

/// The injuries of the log, and the number of messages that each costs.
const INJURIES: [(&str, usize); 7] =
    [("1", 4), ("2", 4), ("4", 2), ("5", 1), ("\"alpha\"", 1), ("Aye: alpha", 1), ("Aye: beta", 1)];

#[tokio::test]
async fn messages_that_a_log_has_lost_come_back_in_their_place_under_their_ids() {
    for (injury, lost) in INJURIES {
        for operation in [load("Second"), ContextOperation::Undo] {
            let (place, before) = second_left(Rules::default()).await;
            let place = injure(&place, injury);
            let line = place.done(operation.clone()).await;
            let told = match lost {
                1 => "The text of one lost message was restored".to_owned(),
                lost => format!("The texts of {lost} lost messages were restored"),
            };
            assert!(line.contains(&told), "{injury} {operation:?}: {line}");
            assert!(line.contains("One place of the log cannot be read"), "{injury}: {line}");
            let view = place.view().await;
            assert_eq!(place.context().await, SAID, "{injury} {operation:?}");
            assert_eq!(ids(&view), ids(&before), "{injury} {operation:?}");
            let restored = view.messages().filter(|message| source(message) == "ledger").count();
            assert_eq!(restored, lost, "{injury} {operation:?}");
            assert_eq!(place.disk_names("quarantine/archive-c_"), [""; 0], "{injury}");
        }
    }
}

#[tokio::test]
async fn after_a_restoring_load_a_new_message_is_answered_once_with_its_own_answer() {
    for (injury, _) in INJURIES {
        let (place, _) = second_left(Rules::default()).await;
        let place = injure(&place, injury);
        place.stored().await.repair().await.unwrap();
        for which in ["Second", "-", "Second"] {
            place.done(load(which)).await;
        }
        let asked = place.model().requests().len();
        place.say("gamma").await;
        assert_eq!(place.model().requests().len(), asked + 1, "{injury}");
        let context = place.context().await;
        assert_eq!(context[..4], SAID, "{injury}");
        assert_eq!(context[4..], ["user: gamma", "assistant: Aye: gamma"], "{injury}");
        place.done(ContextOperation::Fork { at: None, to: None }).await;
        let titles = place.archived().await.into_iter().map(|(_, title)| title);
        assert_eq!(titles.collect::<Vec<_>>(), ["Second", "one"], "{injury}");
        place.done(load("Second")).await;
        assert_eq!(place.context().await, context, "{injury}");
    }
}

#[tokio::test]
async fn a_message_that_the_ledger_does_not_have_comes_back_with_its_text() {
    let (place, _) = second_left(Rules::default()).await;
    for words in ["\"alpha\"", "Aye: alpha"] {
        flip(&place, "conversations/history.jsonl", words);
    }
    let place = injure(&place, "1");
    place.done(load("Second")).await;
    assert_eq!(place.context().await, SAID);
    let view = place.view().await;
    let sources: Vec<&str> = view.messages().map(source).collect();
    assert_eq!(sources, ["snapshot", "snapshot", "ledger", "ledger"]);
}

/// A chat that has left a compacted context “Tides”. Returns its messages.
async fn compacted_left() -> (Place, Vec<String>) {
    let place = Place::ruled(Rules { keep_last_messages: 2, ..Rules::default() });
    echo(&place);
    for text in ["which boat?", "which port?", "which tide?"] {
        place.say(&format!("{text} {}", "The tide is low and the wind is fair. ".repeat(40))).await;
    }
    place.done(ContextOperation::Rename { title: "Tides".to_owned() }).await;
    assert!(place.agent.compact(&chat(), None).await.unwrap().is_some(), "something is left out");
    let said = place.context().await;
    place.done(ContextOperation::New { title: None, reason: None }).await;
    (place, said)
}

/// The name of the log of the context that was just left.
async fn last_sealed(place: &Place) -> String {
    place.view().await.head.sealed.unwrap().as_str().to_owned()
}

#[tokio::test]
async fn a_lost_summary_comes_back_and_its_compaction_can_be_undone_if_its_event_is_there() {
    for (is_cut, undone) in [(false, CompactionUndo::Messages(4)), (true, CompactionUndo::Nothing)]
    {
        let (place, said) = compacted_left().await;
        let log = last_sealed(&place).await;
        match is_cut {
            true => cut_after(&place, &log, 1),
            false => flip(&place, &log, "## Facts"),
        }
        let place = place.again();
        echo(&place);
        place.done(load("Tides")).await;
        assert_eq!(place.context().await, said, "cut: {is_cut}");
        assert_eq!(place.agent.undo_compaction(&chat()).await.unwrap(), undone, "cut: {is_cut}");
        assert!(place.context().await.len() >= said.len(), "cut: {is_cut}");
    }
}

/// A chat whose run was compacted on its way.
async fn compacted_in_a_run() -> Place {
    let rules = Rules { input_tokens_max: Some(700), keep_last_messages: 2, ..Rules::default() };
    let place = Place::ruled(rules);
    let effects = Arc::clone(&place.effects);
    let long = "The tide is low and the wind is fair. ".repeat(10);
    place.minds(move |_| match effects.lock().unwrap().len() {
        12.. => says("I have seen enough."),
        _ => calls("effect", &format!("{{\"what\":\"{long}\"}}")),
    });
    place.say("look around").await;
    assert_eq!(place.effects.lock().unwrap().len(), 12);
    place
}

#[tokio::test]
async fn the_answer_of_a_run_that_was_compacted_comes_back_after_that_was_undone() {
    let place = compacted_in_a_run().await;
    let undone = place.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, CompactionUndo::Messages(_)), "{undone:?}");
    let mut said = place.context().await;
    assert_eq!(said.pop().unwrap(), "assistant: [effect done] [effect done] I have seen enough.");
    place.done(ContextOperation::New { title: None, reason: None }).await;
    flip(&place, &last_sealed(&place).await, "I have seen enough.");
    let place = place.again();
    echo(&place);
    place.done(load("-")).await;
    // What the snapshot does not tell, the calls, stays lost.
    said.push("assistant: I have seen enough.".to_owned());
    assert_eq!(place.context().await, said);
    place.say("gamma").await;
    assert_eq!(place.context().await.last().unwrap(), "assistant: Aye: gamma");
}
