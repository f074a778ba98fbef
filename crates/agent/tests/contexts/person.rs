//! What a person does with contexts.

use ship_agent::{Operated, Operation, Outcome};

use crate::place::Place;

fn new(title: &str) -> Operation {
    Operation::New { title: Some(title.to_owned()), reason: None }
}

#[tokio::test]
async fn a_context_is_left_and_come_back_to() {
    let place = Place::new();
    place.say("plan the trip").await;
    let before = place.context().await;
    let line = place.done(new("Dinner")).await;
    assert!(line.starts_with("Now in “Dinner”. Left “plan the trip”; to return: "), "{line}");
    assert_eq!(place.context().await, Vec::<String>::new());
    place.say("soup?").await;
    let line = place.done(Operation::Load { which: "trip".to_owned() }).await;
    assert!(line.starts_with("Now in “plan the trip”. Left “Dinner”"), "{line}");
    assert_eq!(place.context().await, before);
    assert_eq!(place.archived().await[0].1, "Dinner");
    let Operated::NotDone(not) = place.operate(Operation::Load { which: "moon".to_owned() }).await
    else {
        panic!("there is no such context")
    };
    assert_eq!(not.offered.len(), 1, "{not:?}");
    assert_eq!(place.context().await, before, "nothing has changed");
    assert_eq!(place.say("and on").await, Some(Outcome::Done));
}

#[tokio::test]
async fn undo_brings_back_what_was_left_and_undo_of_that_what_was_undone() {
    let place = Place::new();
    place.say("plan the trip").await;
    let trip = place.context().await;
    place.done(new("Dinner")).await;
    place.say("soup?").await;
    let dinner = place.context().await;
    let line = place.done(Operation::Undo).await;
    assert!(line.contains("Left “Dinner”"), "{line}");
    assert_eq!(place.context().await, trip);
    assert_eq!(place.archived().await.len(), 1);
    place.done(Operation::Undo).await;
    assert_eq!(place.context().await, dinner);
    assert_eq!(place.archived().await.len(), 1);
}

#[tokio::test]
async fn a_checkpoint_can_be_rewound_to_and_forked_from() {
    let place = Place::new();
    place.say("one").await;
    place.done(Operation::Checkpoint { name: "early".to_owned() }).await;
    let early = place.context().await;
    place.say("two").await;
    let late = place.context().await;
    place.done(Operation::Rewind { to: "early".to_owned() }).await;
    assert_eq!(place.context().await, early);
    assert_eq!(place.archived().await.len(), 1);
    place.done(Operation::Undo).await;
    assert_eq!(place.context().await, late);
    assert_eq!(place.archived().await.len(), 0, "nothing was said in the other one");
    place.done(Operation::Fork { at: Some("early".to_owned()), to: None }).await;
    assert_eq!(place.context().await, early);
    assert_eq!(place.say("other two").await, Some(Outcome::Done));
}

#[tokio::test]
async fn what_was_taken_along_and_answered_is_not_answered_again_after_an_undo() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.accept("soup?").await;
    place.done(new("Dinner")).await;
    assert_eq!(place.run().await, Some(Outcome::Done));
    place.done(Operation::Undo).await;
    assert_eq!(place.context().await.last().unwrap(), "user: soup?", "the view is as it was");
    assert_eq!(place.run().await, None, "nobody waits");
    let ledger = place.ledger().await;
    assert_eq!(ledger.iter().filter(|line| *line == "assistant: Aye: soup?").count(), 1);
}
