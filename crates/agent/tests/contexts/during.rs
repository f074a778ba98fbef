//! What a person does while a run is at work: at the next step, and whatever waits for an answer gets one.

use ship_agent::{CallAnswer, ContextOperation, OperationOutcome, Outcome, Rules, Stop};
use ship_context::contexts::RecallMode;
use ship_message::{Role, UiMessage};
use ship_testkit::sim::Fault;

use super::place::{Place, ScriptedStep, calls, hangs, line, says, words};
use crate::harness::chat;

/// A model that lets others do something in the middle of “go”, and answers all else.
fn waits(seen: &[UiMessage]) -> ScriptedStep {
    let asked = seen.iter().rev().find(|message| message.role() == Role::User).unwrap();
    let asked = words(asked);
    match (asked.as_str(), line(seen.last().unwrap()).contains("[meanwhile")) {
        ("go", false) => calls("meanwhile", "{}"),
        _ => says(&format!("Aye: {asked}")),
    }
}

/// A chat in which something was said, and a context that was left.
async fn chat_at_work() -> Place {
    let place = Place::new();
    place.say("the trip").await;
    place.done(new("Dinner")).await;
    place.say("soup").await;
    place.done(ContextOperation::Checkpoint { name: "soup".to_owned() }).await;
    place.minds(waits);
    place
}

fn new(title: &str) -> ContextOperation {
    ContextOperation::New { title: Some(title.to_owned()), reason: None }
}

fn load(which: &str) -> ContextOperation {
    ContextOperation::Load { which: which.to_owned() }
}

/// Says “go”, with an operation in its middle, and gives what came of both.
async fn in_the_middle(place: &Place, operation: ContextOperation) -> (Outcome, OperationOutcome) {
    place.meanwhile.operation(operation);
    let outcome = place.say("go").await.unwrap();
    place.meanwhile.settled().await;
    let operated = place.meanwhile.operated.lock().unwrap().pop().unwrap();
    (outcome, operated)
}

#[tokio::test]
async fn a_new_context_is_begun_at_the_next_step_and_the_message_is_answered_in_it() {
    let place = chat_at_work().await;
    // In the clean context the model is asked once more, and nothing more happens meanwhile.
    let (outcome, operated) = in_the_middle(&place, new("Clean")).await;
    assert_eq!(outcome, Outcome::Done);
    let OperationOutcome::Done(changed) = operated else { panic!("{operated:?}") };
    assert_eq!(changed.left.unwrap().title, "Dinner");
    assert_eq!(
        place.context().await,
        ["user: go", "assistant: [meanwhile done] Aye: go"],
        "it began anew with the message alone"
    );
    let ledger = place.ledger().await;
    assert_eq!(ledger.iter().filter(|line| *line == "assistant: Aye: go").count(), 1, "{ledger:?}");
    assert!(ledger.iter().any(|line| line.contains("Now in “Clean”. Left “Dinner”")), "{ledger:?}");
    place.done(load("last")).await;
    let back = place.context().await;
    assert_eq!(back, ["user: soup", "assistant: Aye: soup", "assistant: [meanwhile done]"]);
}

#[tokio::test]
async fn a_fork_is_made_at_the_next_step_and_the_message_is_answered_in_it() {
    let place = chat_at_work().await;
    let (outcome, operated) =
        in_the_middle(&place, ContextOperation::Fork { at: None, to: None }).await;
    assert_eq!(outcome, Outcome::Done);
    assert!(matches!(operated, OperationOutcome::Done(_)), "{operated:?}");
    assert_eq!(
        place.context().await,
        ["user: soup", "assistant: Aye: soup", "user: go", "assistant: [meanwhile done] Aye: go"]
    );
    assert_eq!(place.archived().await.len(), 2);
}

#[tokio::test]
async fn a_title_a_checkpoint_and_a_reference_do_not_disturb_a_run() {
    let archived = Place::archived(&chat_at_work().await).await;
    assert_eq!(archived.len(), 1);
    for operation in [
        ContextOperation::Rename { title: "Supper".to_owned() },
        ContextOperation::Checkpoint { name: "here".to_owned() },
        ContextOperation::Recall { which: "last".to_owned(), mode: RecallMode::Summary },
    ] {
        let place = chat_at_work().await;
        let (outcome, operated) = in_the_middle(&place, operation.clone()).await;
        assert_eq!(outcome, Outcome::Done, "{operation:?}");
        assert!(matches!(operated, OperationOutcome::Done(_)), "{operated:?}");
        let context = place.context().await;
        let answer = "assistant: [meanwhile done] Aye: go";
        assert_eq!(context.last().unwrap(), answer, "{operation:?}: {context:#?}");
        assert_eq!(context.iter().filter(|line| *line == "user: go").count(), 1, "{context:#?}");
        assert_eq!(place.archived().await.len(), 1, "{operation:?}");
    }
}

#[tokio::test]
async fn going_elsewhere_stops_the_run_first() {
    for (operation, after) in [
        (load("trip"), vec!["user: the trip", "assistant: Aye: the trip"]),
        (ContextOperation::Clear, vec![]),
        (
            ContextOperation::Rewind { to: "soup".to_owned() },
            vec!["user: soup", "assistant: Aye: soup"],
        ),
        (ContextOperation::Undo, vec!["user: the trip", "assistant: Aye: the trip"]),
    ] {
        let place = chat_at_work().await;
        if operation == ContextOperation::Undo {
            // The checkpoint would be taken back first, and that stops nothing.
            place.done(ContextOperation::Clear).await;
            place.done(load("trip")).await;
            place.done(load("Dinner")).await;
        }
        let (outcome, operated) = in_the_middle(&place, operation.clone()).await;
        assert_eq!(outcome, Outcome::Stopped, "{operation:?}");
        assert!(matches!(operated, OperationOutcome::Done(_)), "{operated:?}");
        assert_eq!(place.context().await, after, "{operation:?}");
        let ledger = place.ledger().await;
        assert!(ledger.contains(&"assistant: (stopped)".to_owned()), "{ledger:#?}");
        assert_eq!(place.run().await, None, "{operation:?}: nothing is left to do");
        place.done(load("Dinner")).await;
        let left = place.context().await;
        assert!(left.contains(&"user: go".to_owned()), "it was stopped where it was: {left:#?}");
    }
}

#[tokio::test]
async fn an_operation_that_cannot_be_done_is_told_and_stops_nothing() {
    let place = chat_at_work().await;
    let (outcome, operated) = in_the_middle(&place, load("moon")).await;
    assert_eq!(outcome, Outcome::Done);
    let OperationOutcome::NotDone(not) = operated else { panic!("{operated:?}") };
    assert_eq!(not.offered.len(), 1, "{not:?}");
    let last = place.context().await.pop().unwrap();
    assert_eq!(last, "assistant: [meanwhile done] Aye: go");
    assert_eq!(place.run().await, None);
}

#[tokio::test]
async fn what_was_said_before_and_after_an_operation_is_answered_where_it_leads() {
    for operation in [new("Clean"), load("trip")] {
        let place = chat_at_work().await;
        place.meanwhile.message(place.inbound("before"));
        place.meanwhile.operation(operation.clone());
        place.meanwhile.message(place.inbound("after"));
        place.say("go").await;
        place.meanwhile.settled().await;
        // A load ends the run at once, perhaps before the last message is there.
        place.run().await;
        let context = place.context().await;
        for text in ["user: before", "user: after"] {
            let count = context.iter().filter(|line| *line == text).count();
            assert_eq!(count, 1, "{operation:?}: {text} in {context:#?}");
        }
        assert_eq!(context.last().unwrap(), "assistant: Aye: after", "{operation:?}");
        assert_eq!(place.run().await, None, "{operation:?}");
    }
}

/// A call that waits for a person's word.
async fn parked() -> Place {
    let rules = Rules { approval: ["effect".to_owned()].into(), ..Rules::default() };
    let place = Place::ruled(rules);
    place.say("the trip").await;
    place.minds(|seen| match line(seen.last().unwrap()).contains("[effect") {
        true => says("It is done."),
        false if words(seen.last().unwrap()) == "go" => calls("effect", "{}"),
        false => says(&format!("Aye: {}", words(seen.last().unwrap()))),
    });
    assert_eq!(place.say("go").await, Some(Outcome::Parked));
    place
}

#[tokio::test]
async fn a_run_that_waits_for_a_word_still_waits_when_its_context_got_a_title() {
    let place = parked().await;
    place.done(ContextOperation::Rename { title: "Waiting".to_owned() }).await;
    assert_eq!(place.run().await, Some(Outcome::Parked));
    let approval_id = "approve_c1".to_owned();
    let answer = CallAnswer::Approval { approval_id, approved: true, reason: None };
    let outcome = place.agent.answer(&chat(), answer, &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Done));
    assert_eq!(place.effects.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_run_that_waits_for_a_word_goes_on_without_it_in_a_new_context() {
    let place = parked().await;
    place.done(new("Clean")).await;
    assert_eq!(place.run().await, Some(Outcome::Parked), "it asks again, in the new context");
    assert_eq!(place.context().await, ["user: go"]);
    assert_eq!(place.archived().await.len(), 1);
    let answer =
        CallAnswer::Approval { approval_id: "approve_c1".to_owned(), approved: true, reason: None };
    assert!(
        place.agent.answer(&chat(), answer, &Stop::default()).await.is_err(),
        "the word for what was left comes too late"
    );
    assert_eq!(place.effects.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_run_that_waits_for_a_word_is_stopped_by_who_goes_elsewhere() {
    let place = parked().await;
    place.done(ContextOperation::Clear).await;
    assert_eq!(place.context().await, Vec::<String>::new());
    assert_eq!(place.run().await, None);
    assert!(place.ledger().await.contains(&"assistant: (stopped)".to_owned()));
}

#[tokio::test]
async fn a_run_that_was_killed_goes_on_in_the_context_that_a_person_began() {
    let place = chat_at_work().await;
    place.accept("go").await;
    let before = place.setup.disk.calls();
    let (disk, asked) = (place.setup.disk.clone(), std::sync::Mutex::new(0));
    place.minds(move |seen| {
        *asked.lock().unwrap() += 1;
        if *asked.lock().unwrap() == 2 {
            disk.fail_in(0, Fault::KillBefore);
        }
        waits(seen)
    });
    assert!(place.agent.run(&chat(), &Stop::default()).await.is_err(), "killed");
    assert!(place.setup.disk.calls() > before);
    let place = place.again();
    place.minds(waits);
    place.done(new("Clean")).await;
    assert_eq!(place.run().await, Some(Outcome::Done));
    assert_eq!(place.context().await, ["user: go", "assistant: [meanwhile done] Aye: go"]);
    assert_eq!(place.run().await, None);
}

#[tokio::test]
async fn clear_stops_the_very_first_answer_at_once_like_any_other() {
    for is_first in [true, false] {
        let place = Place::new();
        if !is_first {
            place.say("hello").await;
        }
        place.minds(|_| hangs());
        place.accept("go").await;
        let agent = place.agent.clone();
        let run = tokio::spawn(async move { agent.run(&chat(), &Stop::default()).await.unwrap() });
        place.model().is_asked_for(if is_first { 1 } else { 2 }).await;
        let line = place.done(ContextOperation::Clear).await;
        assert!(line.contains("Left “"), "first {is_first}: {line}");
        assert_eq!(run.await.unwrap(), Some(Outcome::Stopped), "first {is_first}");
        assert_eq!(place.context().await, Vec::<String>::new(), "first {is_first}");
        let ledger = place.ledger().await;
        assert!(ledger.contains(&"assistant: Well".to_owned()), "as far as it came: {ledger:#?}");
        assert_eq!(
            place.archived().await.len(),
            1,
            "first {is_first}: what was asked can be found"
        );
        place.minds(waits);
        assert_eq!(place.say("hello again").await, Some(Outcome::Done), "first {is_first}");
        assert_eq!(place.context().await, ["user: hello again", "assistant: Aye: hello again"]);
    }
}
