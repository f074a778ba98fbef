//! Contexts whose logs are damaged or gone: everything goes on with what can be read.

use std::path::{Path, PathBuf};

use ship_agent::{ContextOperation, OperationOutcome, Outcome};
use ship_store::disk::{Disk, OpenMode};

use super::place::{Place, calls, line, says, words};

/// The only file whose path holds `part`.
pub(crate) fn path(place: &Place, part: &str) -> PathBuf {
    let disk = place.setup.disk.memory();
    let mut found = disk
        .contents()
        .into_iter()
        .filter(|(path, bytes)| bytes.is_some() && path.to_string_lossy().contains(part));
    found.next().expect("a file").0
}

pub(crate) fn replace(place: &Place, path: &Path, bytes: &[u8]) {
    let disk = place.setup.disk.memory();
    disk.remove(path).unwrap();
    disk.open(path, OpenMode::Create).unwrap().write(bytes).unwrap();
}

/// Flips a bit in the line of a file that holds these words.
pub(crate) fn flip(place: &Place, part: &str, words: &str) {
    let path = path(place, part);
    let mut bytes = place.setup.disk.memory().contents().remove(&path).unwrap().unwrap();
    let at = bytes.windows(words.len()).position(|found| found == words.as_bytes()).unwrap();
    bytes[at] ^= 1;
    replace(place, &path, &bytes);
}

pub(crate) const LIVE: &str = "messages/history.jsonl";
pub(crate) const HEAD_COPY: &str = "messages/head.json";
pub(crate) const ARCHIVE: &str = "messages/archive/2";
pub(crate) const SNAPSHOT: &str = "contexts/archive/c_";

/// A chat that has said two things.
async fn begun() -> Place {
    let place = Place::new();
    place.minds(|seen| says(&format!("Aye: {}", words(seen.last().unwrap()))));
    place.say("plan the trip").await;
    place.say("which boat?").await;
    place
}

pub(crate) fn new() -> ContextOperation {
    ContextOperation::New { title: None, reason: None }
}

#[tokio::test]
async fn a_damaged_line_stops_no_operation() {
    let operations = [
        new(),
        ContextOperation::Clear,
        ContextOperation::Fork { at: None, to: None },
        ContextOperation::Checkpoint { name: "here".to_owned() },
        ContextOperation::Rename { title: "Boats".to_owned() },
    ];
    for operation in operations {
        let place = begun().await;
        flip(&place, LIVE, "Aye: plan the trip");
        let place = place.again();
        place.minds(|seen| says(&format!("Aye: {}", words(seen.last().unwrap()))));
        let operated = place.operate(operation.clone()).await;
        assert!(matches!(operated, OperationOutcome::Done(_)), "{operation:?}: {operated:?}");
        assert_eq!(place.say("and now?").await, Some(Outcome::Done), "{operation:?}");
    }
}

#[tokio::test]
async fn a_damaged_context_without_a_snapshot_is_loaded_as_far_as_it_can_be_read_and_the_person_is_told()
 {
    let place = begun().await;
    place.operate(new()).await;
    flip(&place, ARCHIVE, "Aye: plan the trip");
    place.setup.disk.memory().remove(&path(&place, SNAPSHOT)).unwrap();
    let line = place.done(ContextOperation::Load { which: "last".to_owned() }).await;
    assert!(line.contains("One place of the log cannot be read and is left out"), "{line}");
    // The end of the line is what a command for the shell is made of, so the note stands before it.
    assert!(line.ends_with("Now in “plan the trip”."), "{line}");
    assert_eq!(
        place.context().await,
        ["user: plan the trip", "user: which boat?", "assistant: Aye: which boat?"]
    );
}

#[tokio::test]
async fn one_injury_of_an_archived_log_is_one_place_wherever_it_is() {
    for injury in ["the last line", "all behind the head"] {
        let place = begun().await;
        place.operate(new()).await;
        let log = path(&place, ARCHIVE);
        let bytes = place.setup.disk.memory().contents().remove(&log).unwrap().unwrap();
        match injury {
            "the last line" => flip(&place, ARCHIVE, "Aye: which boat?"),
            _ => {
                replace(&place, &log, bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap())
            }
        }
        assert_eq!(place.stored().await.verify().await.unwrap().len(), 1, "{injury}");
        let line = place.done(ContextOperation::Load { which: "last".to_owned() }).await;
        assert!(line.starts_with("One place of the log cannot be read"), "{injury}: {line}");
    }
}

#[tokio::test]
async fn a_model_that_loads_a_damaged_context_gets_all_that_is_told_and_a_note() {
    let place = begun().await;
    place.operate(new()).await;
    flip(&place, ARCHIVE, "Aye: plan the trip");
    place.minds(|seen| {
        let last = seen.last().unwrap();
        match line(last).contains("[chat_context_load ") {
            true => says("We are back."),
            false => calls("chat_context_load", r#"{"query":"trip"}"#),
        }
    });
    assert_eq!(place.say("back to the trip").await, Some(Outcome::Done));
    let context = place.context().await;
    assert_eq!(
        context[..3],
        ["user: plan the trip", "assistant: Aye: plan the trip", "user: which boat?"]
    );
    let view = place.view().await;
    let answer = view.messages().next_back().unwrap();
    let told = answer.to_string();
    assert!(told.contains("One place of the log cannot be read"), "{told}");
}

#[tokio::test]
async fn a_model_that_forks_a_damaged_context_gets_a_note() {
    let place = begun().await;
    flip(&place, LIVE, "Aye: plan the trip");
    let place = place.again();
    place.minds(|seen| {
        let last = seen.last().unwrap();
        match line(last).contains("[chat_context_fork ") {
            true => says("In a copy."),
            false => calls("chat_context_fork", "{}"),
        }
    });
    assert_eq!(place.say("try it in a copy").await, Some(Outcome::Done));
    let view = place.view().await;
    let answer = view.messages().next_back().unwrap();
    let told = answer.to_string();
    assert!(told.contains("One place of the log cannot be read"), "{told}");
}

#[tokio::test]
async fn a_context_whose_log_is_gone_is_not_loaded_and_the_chat_goes_on() {
    for remains in [None, Some(&b""[..])] {
        let place = begun().await;
        place.operate(new()).await;
        let log = path(&place, ARCHIVE);
        match remains {
            Some(bytes) => replace(&place, &log, bytes),
            None => place.setup.disk.memory().remove(&log).unwrap(),
        }
        let operated = place.operate(ContextOperation::Load { which: "last".to_owned() }).await;
        let OperationOutcome::NotDone(not_done) = operated else { panic!("{operated:?}") };
        assert!(not_done.line.contains("from a copy"), "{}", not_done.line);
        assert_eq!(place.say("soup?").await, Some(Outcome::Done));
        assert_eq!(place.again().say("and bread?").await, Some(Outcome::Done));
    }
}
