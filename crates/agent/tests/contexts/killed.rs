//! Killed at every call to the disk while a context is left: what comes after is as if it had been done, or as if it
//! had not been asked for, and never something between the two.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ship_agent::{ContextOperation, Inbound, Outcome, Rules, Stop};
use ship_message::{Role, UiMessage, UiPart};
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::ScriptedPart;
use ship_testkit::sim::{Fault, SimDisk};

use super::place::{Place, ScriptedStep, calls, line, says, words};
use crate::harness::chat;

/// A model that has an effect first, then switches, then answers.
fn switches(name: &'static str, input: &'static str) -> impl Fn(&[UiMessage]) -> ScriptedStep {
    move |seen| {
        let asked = seen.iter().rev().find(|message| message.role() == Role::User).unwrap();
        let last = line(seen.last().unwrap());
        match (words(asked).as_str(), last.contains("[effect"), last.contains(&format!("[{name}")))
        {
            ("go", false, false) => calls("effect", "{}"),
            ("go", true, false) => calls(name, input),
            (asked, _, _) => says(&format!("Aye: {asked}")),
        }
    }
}

/// A chat with two contexts, “trip” and “dinner”, in the second of which the model works.
async fn two_contexts(disk: &SimDisk) -> Place {
    let place = Place::on(disk.clone(), Rules::default());
    place.say("the trip").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    place.say("soup").await;
    place
}

/// What is left: the context, the titles of the others, and what was said to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Left {
    context: Vec<String>,
    archived: BTreeSet<String>,
    ledger: Vec<String>,
}

async fn left(place: &Place) -> Left {
    let archived = place.archived().await.into_iter().map(|(_, title)| title).collect();
    // Lines for the person name ids that differ from run to run.
    let is_said =
        |line: &String| !line.starts_with("assistant: Now in ") && !line.starts_with("command");
    let ledger = place.ledger().await.into_iter().filter(is_said).collect();
    Left { context: place.context().await, archived, ledger }
}

/// Killed before a call is killed after the one before it.
fn faults(calls: usize) -> impl Iterator<Item = (usize, Fault)> {
    let kills = (0..calls).map(|at| (at, Fault::KillAfter));
    std::iter::once((0, Fault::KillBefore)).chain(sample(kills, SAMPLE))
}

/// One call in so many is killed at.
const SAMPLE: usize = 4;

/// Kills a run that switches in its middle, at every call to the disk.
async fn a_models_switch(name: &'static str, input: &'static str) {
    let place = two_contexts(&SimDisk::default()).await;
    place.minds(switches(name, input));
    let before = place.setup.disk.calls();
    place.say("go").await;
    let calls = place.setup.disk.calls() - before;
    let wanted = left(&place).await;
    assert_eq!(wanted.context.iter().filter(|line| *line == "user: go").count(), 1);

    let mut kills = 0;
    for (at, fault) in faults(calls) {
        let first = two_contexts(&SimDisk::default()).await;
        first.minds(switches(name, input));
        first.setup.disk.fail_in(at, fault);
        let accepted = first.try_accept("go").await.is_ok();
        let _ = first.agent.run(&chat(), &Stop::default()).await;
        if !first.setup.disk.is_dead() {
            continue;
        }
        kills += 1;
        let second = first.again();
        if !accepted {
            // Nobody was told that it was taken, so it is said again: under its own key, as a channel does.
            let inbound = Inbound {
                key: "k3".to_owned(),
                text: "go".to_owned(),
                channel: "terminal".to_owned(),
                request_id: "req_3".to_owned(),
                ..Inbound::default()
            };
            second.agent.accept(&chat(), inbound).await.unwrap();
        }
        second.run().await;
        let effects = second.effects.lock().unwrap().len();
        assert!(effects <= 1, "killed at {at}: {effects} effects");
        assert_eq!(left(&second).await, wanted, "killed at {at} {fault:?}");
        let problems = second.stored().await.verify().await.unwrap();
        assert!(problems.is_empty(), "killed at {at}: {problems:?}");
        assert_eq!(second.run().await, None, "killed at {at}: nothing is left to do");
    }
    assert!(kills > calls / SAMPLE / 2, "only {kills} kills in {calls} calls");
}

#[tokio::test]
async fn a_model_that_begins_a_new_context_and_is_killed_has_begun_it_once() {
    a_models_switch("chat_context_new", r#"{"title":"Clean"}"#).await;
}

#[tokio::test]
async fn a_model_that_loads_a_context_and_is_killed_has_loaded_it_once() {
    a_models_switch("chat_context_load", r#"{"query":"trip"}"#).await;
}

#[tokio::test]
async fn a_model_that_forks_and_is_killed_has_forked_once() {
    a_models_switch("chat_context_fork", "{}").await;
}

/// Kills a person's operation at every call to the disk. A message waits; it is answered once, wherever that is.
async fn a_persons(operation: ContextOperation) {
    let place = two_contexts(&SimDisk::default()).await;
    let answered = ["user: and then?".to_owned(), "assistant: Aye: and then?".to_owned()];
    let not_done = ([said(&place).await, answered.to_vec()].concat(), place.archived().await.len());
    place.accept("and then?").await;
    let before = place.setup.disk.calls();
    place.done(operation.clone()).await;
    let calls = place.setup.disk.calls() - before;
    place.run().await;
    let done = (said(&place).await, place.archived().await.len());

    let (mut kills, mut undone) = (0, 0);
    for (at, fault) in faults(calls) {
        let first = two_contexts(&SimDisk::default()).await;
        first.accept("and then?").await;
        first.setup.disk.fail_in(at, fault);
        let _ = first.agent.operate(&chat(), operation.clone(), "terminal").await;
        if !first.setup.disk.is_dead() {
            continue;
        }
        kills += 1;
        let second = first.again();
        second.run().await;
        let found = (said(&second).await, second.archived().await.len());
        match found == not_done {
            true => undone += 1,
            false => assert_eq!(found, done, "killed at {at} {fault:?}"),
        }
        let files = second.stored().await.derived().archived_contexts().await.unwrap().len();
        assert_eq!(files, found.1, "killed at {at} {fault:?}: a file for each that is listed");
        let ledger = second.ledger().await;
        let answers = ledger.iter().filter(|line| **line == answered[1]).count();
        assert_eq!(answers, 1, "killed at {at} {fault:?}: {ledger:#?}");
        assert_eq!(second.run().await, None, "killed at {at}: nothing is left to do");
        let problems = second.stored().await.verify().await.unwrap();
        assert!(problems.is_empty(), "killed at {at}: {problems:?}");
    }
    assert!(
        kills > calls / SAMPLE / 2 && undone > 0,
        "{kills} kills in {calls} calls, {undone} before"
    );
}

/// What is in the context, without the calls that differ.
async fn said(place: &Place) -> Vec<String> {
    let is_text =
        |message: &UiMessage| message.parts().iter().any(|part| matches!(part, UiPart::Text(_)));
    let view = place.view().await;
    view.messages().filter(|message| is_text(message)).map(line).collect()
}

#[tokio::test]
async fn a_person_who_begins_a_new_context_and_is_killed_has_begun_it_or_not() {
    a_persons(ContextOperation::New { title: Some("Clean".to_owned()), reason: None }).await;
}

#[tokio::test]
async fn a_person_who_loads_a_context_and_is_killed_has_loaded_it_or_not() {
    a_persons(ContextOperation::Load { which: "trip".to_owned() }).await;
}

#[tokio::test]
async fn a_person_who_undoes_and_is_killed_has_undone_it_or_not() {
    a_persons(ContextOperation::Undo).await;
}

#[tokio::test]
async fn a_person_who_forks_and_is_killed_has_forked_or_not() {
    a_persons(ContextOperation::Fork { at: None, to: None }).await;
}

/// A model has promised to switch and is killed; before anybody goes on, a person asks for something else.
#[tokio::test]
async fn a_person_who_comes_between_a_promise_and_its_switch_gets_both_in_their_order() {
    let promises = || switches("chat_context_new", "{}");
    let place = two_contexts(&SimDisk::default()).await;
    place.accept("go").await;
    let (disk, before) = (place.setup.disk.clone(), place.setup.disk.calls());
    let promised = Arc::new(Mutex::new(None));
    let (mind, noted) = (promises(), Arc::clone(&promised));
    place.minds(move |seen| {
        let does = mind(seen);
        if matches!(&does.says[..], [ScriptedPart::Call(_, tool, _)] if tool == "chat_context_new")
        {
            noted.lock().unwrap().get_or_insert(disk.calls() - before);
        }
        does
    });
    place.run().await;
    let (from, to) = (promised.lock().unwrap().unwrap(), place.setup.disk.calls() - before);
    for operation in [
        ContextOperation::Load { which: "trip".to_owned() },
        ContextOperation::Load { which: "nowhere".to_owned() },
        ContextOperation::Undo,
        ContextOperation::New { title: None, reason: None },
    ] {
        for at in sample(from..to, 2 * SAMPLE + 1) {
            let first = two_contexts(&SimDisk::default()).await;
            first.minds(promises());
            first.accept("go").await;
            first.setup.disk.fail_in(at, Fault::KillAfter);
            let _ = first.agent.run(&chat(), &Stop::default()).await;
            if !first.setup.disk.is_dead() {
                continue;
            }
            let second = first.again();
            second.operate(operation.clone()).await;
            second.run().await;
            let told = format!("killed at {at}, then {operation:?}");
            assert_eq!(second.run().await, None, "{told}");
            let ledger = second.ledger().await;
            let ends = ["assistant: Aye: go", "assistant: (stopped)"];
            let answers = ledger.iter().filter(|line| ends.contains(&line.as_str())).count();
            assert_eq!(answers, 1, "{told}: {ledger:#?}");
            // Who begins anew knows nothing of what was done before.
            let effects = if operation.name() == "new" { 2 } else { 1 };
            assert!(second.effects.lock().unwrap().len() <= effects, "{told}");
            assert_eq!(second.say("still there?").await, Some(Outcome::Done), "{told}");
        }
    }
}
