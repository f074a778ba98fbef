//! What an undo takes back: the last operation, whatever was compacted since.

use ship_agent::{CompactionUndo, ContextOperation, OperationOutcome, Rules};
use ship_context::contexts::RecallMode;
use ship_store::{LogPiece, Rotation, Seq};
use ship_testkit::sim::SimDisk;

use super::damaged::{LIVE, flip};
use super::place::Place;
use crate::harness::{Setup, chat};

fn rename(title: &str) -> ContextOperation {
    ContextOperation::Rename { title: title.to_owned() }
}

fn checkpoint(name: &str) -> ContextOperation {
    ContextOperation::Checkpoint { name: name.to_owned() }
}

fn recall() -> ContextOperation {
    ContextOperation::Recall { which: "trip".to_owned(), mode: RecallMode::Summary }
}

/// A chat that was about the trip and is about dinner, at length.
async fn at_dinner() -> Place {
    let place = Place::on(SimDisk::default(), Rules { keep_last_messages: 2, ..Rules::default() });
    place.say("plan the trip").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    talk(&place).await;
    place
}

/// Says so much that there is something to sum up.
async fn talk(place: &Place) {
    for nth in 0..4 {
        place.say(&format!("number {nth} of dinner: {}", "soup ".repeat(60))).await;
    }
}

async fn compact(place: &Place) {
    let compacted = place.agent.compact(&chat(), None).await.unwrap();
    assert!(compacted.is_some_and(|compacted| compacted.messages > 0));
}

async fn title(place: &Place) -> String {
    place.agent.contexts(&chat()).await.unwrap().unwrap().active.title().to_owned()
}

async fn checkpoints(place: &Place) -> Vec<String> {
    place.agent.contexts(&chat()).await.unwrap().unwrap().checkpoints
}

/// What an undo that does nothing says.
async fn refused(place: &Place) -> String {
    match place.operate(ContextOperation::Undo).await {
        OperationOutcome::NotDone(not_done) => not_done.line,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_undo_takes_back_the_title_that_was_given_before_a_compaction_and_not_the_switch() {
    let place = at_dinner().await;
    place.done(rename("Supper")).await;
    talk(&place).await;
    compact(&place).await;
    place.say("fish?").await;
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
    assert_eq!(title(&place).await, "Dinner");
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Supper” again.");
    assert_eq!(title(&place).await, "Supper");
    // The same over another compaction, in another process.
    talk(&place).await;
    compact(&place).await;
    let place = place.again();
    place.say("bread?").await;
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
    assert_eq!(place.archived().await.len(), 1, "no context was left by any of it");
}

#[tokio::test]
async fn an_undo_takes_back_the_checkpoint_that_was_made_before_a_compaction() {
    let place = at_dinner().await;
    place.done(checkpoint("here")).await;
    let before = place.context().await;
    talk(&place).await;
    place.done(checkpoint("here")).await;
    talk(&place).await;
    compact(&place).await;
    place.say("fish?").await;
    assert_eq!(place.done(ContextOperation::Undo).await, "The checkpoint “here” is removed.");
    place.done(ContextOperation::Rewind { to: "here".to_owned() }).await;
    assert_eq!(place.context().await, before, "its name stands for the earlier place again");
    place.done(ContextOperation::Undo).await;
    assert_eq!(
        place.done(ContextOperation::Undo).await.split('“').next(),
        Some("Now in "),
        "the redo"
    );
}

#[tokio::test]
async fn an_undone_checkpoint_comes_back_behind_a_compaction() {
    let place = at_dinner().await;
    place.done(checkpoint("here")).await;
    let before = place.context().await;
    assert_eq!(place.done(ContextOperation::Undo).await, "The checkpoint “here” is removed.");
    talk(&place).await;
    compact(&place).await;
    place.say("fish?").await;
    assert_eq!(checkpoints(&place).await, Vec::<String>::new());
    assert_eq!(
        place.done(ContextOperation::Undo).await,
        "The checkpoint “here” is back where it was."
    );
    assert_eq!(checkpoints(&place).await, ["here"]);
    place.done(ContextOperation::Rewind { to: "here".to_owned() }).await;
    assert_eq!(place.context().await, before);
}

/// A context that was come back to ends with the line of that switch, and what was shown stands behind it.
#[tokio::test]
async fn a_recall_in_a_context_that_was_come_back_to_is_taken_back_as_often_as_it_is_shown() {
    let place = at_dinner().await;
    place.done(ContextOperation::Undo).await;
    place.done(ContextOperation::Undo).await;
    place.done(recall()).await;
    for _ in 0..2 {
        let told = place.done(ContextOperation::Undo).await;
        assert_eq!(told, "The reference is removed.");
        let told = place.done(ContextOperation::Undo).await;
        assert_eq!(told, "The reference is shown again.");
    }
}

#[tokio::test]
async fn a_recall_is_taken_back_and_shown_again_where_it_was() {
    let place = at_dinner().await;
    let without = place.context().await;
    place.done(recall()).await;
    place.say("fish?").await;
    let with = place.context().await;
    for _ in 0..2 {
        assert_eq!(place.done(ContextOperation::Undo).await, "The reference is removed.");
        let now = place.context().await;
        assert_eq!(now.len() + 1, with.len());
        assert_eq!(now[..without.len()], without[..]);
        assert_eq!(place.done(ContextOperation::Undo).await, "The reference is shown again.");
        assert_eq!(place.context().await, with);
    }
    // Taken back, compacted, and shown again.
    place.done(ContextOperation::Undo).await;
    talk(&place).await;
    compact(&place).await;
    place.say("bread?").await;
    let place = place.again();
    place.done(ContextOperation::Undo).await;
    let context = place.context().await.join("\n");
    assert!(context.contains("contextId"), "the reference is there again: {context}");
    assert_eq!(place.archived().await.len(), 1, "no context was left by any of it");
}

#[tokio::test]
async fn a_reference_that_stays_in_the_log_is_not_taken_back_before_a_later_title() {
    let place = at_dinner().await;
    talk(&place).await;
    place.done(recall()).await;
    place.done(rename("Supper")).await;
    compact(&place).await;
    place.say("fish?").await;
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
}

#[tokio::test]
async fn a_reference_that_was_summed_up_is_not_taken_back_and_the_way_to_do_it_works() {
    let place = at_dinner().await;
    place.done(recall()).await;
    talk(&place).await;
    compact(&place).await;
    place.say("fish?").await;
    let line = refused(&place).await;
    assert!(line.contains("`/compact --undo` brings the originals back"), "{line}");
    let undone = place.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, CompactionUndo::Messages(_)), "{undone:?}");
    assert_eq!(place.done(ContextOperation::Undo).await, "The reference is removed.");
}

#[tokio::test]
async fn behind_a_compaction_an_undo_names_how_that_is_undone() {
    let place = at_dinner().await;
    place.done(rename("Supper")).await;
    talk(&place).await;
    compact(&place).await;
    let (context, named) = (place.context().await, title(&place).await);
    for _ in 0..2 {
        let line = refused(&place).await;
        assert!(line.contains("was a compaction; `/compact --undo` undoes it"), "{line}");
    }
    assert_eq!((place.context().await, title(&place).await), (context, named), "nothing changed");
    place.agent.undo_compaction(&chat()).await.unwrap();
    assert_eq!(title(&place).await, "Supper");
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
}

#[tokio::test]
async fn an_undo_behind_a_compaction_takes_back_the_switch_when_that_was_the_last_operation() {
    let place = at_dinner().await;
    compact(&place).await;
    place.say("fish?").await;
    let line = place.done(ContextOperation::Undo).await;
    assert!(line.starts_with("Now in “plan the trip”"), "{line}");
}

#[tokio::test]
async fn an_undo_tells_once_that_a_copy_stays_and_then_takes_back_what_was_before_it() {
    let place = at_dinner().await;
    place.done(rename("Supper")).await;
    for to in ["api:chat:7", "api:chat:8"] {
        place.done(ContextOperation::Fork { at: None, to: to.parse().ok() }).await;
    }
    let line = refused(&place).await;
    assert!(line.contains("The copy in `api:chat:8`") && line.contains("undo again"), "{line}");
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
}

#[tokio::test]
async fn an_undo_behind_a_compaction_takes_back_what_was_before_a_copy() {
    let place = at_dinner().await;
    place.done(rename("Supper")).await;
    place.done(ContextOperation::Fork { at: None, to: "api:chat:7".parse().ok() }).await;
    talk(&place).await;
    compact(&place).await;
    place.say("fish?").await;
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
}

#[tokio::test]
async fn talk_of_a_group_is_not_taken_back_by_an_undo() {
    let place = Place::new();
    let talk = ship_agent::Inbound { observed: true, ..place.inbound("the mast is cracked") };
    place.agent.accept(&chat(), talk).await.unwrap();
    place.say("what do we do?").await;
    assert_eq!(refused(&place).await, "There is nothing to undo.");
}

#[tokio::test]
async fn a_compaction_whose_line_is_damaged_is_the_last_thing_that_happened_and_is_taken_back() {
    for is_repaired in [false, true] {
        let place = at_dinner().await;
        let before = place.context().await;
        compact(&place).await;
        flip(&place, LIVE, "\"compacted\"");
        let place = place.again();
        if is_repaired {
            repair(&place).await;
        }
        let line = refused(&place).await;
        assert!(line.contains("`/compact --undo` undoes it"), "{line}");
        let undone = place.agent.undo_compaction(&chat()).await.unwrap();
        assert_eq!(undone, CompactionUndo::Messages(6), "repaired: {is_repaired}");
        assert_eq!(place.context().await, before);
        let undone = place.agent.undo_compaction(&chat()).await.unwrap();
        assert_eq!(undone, CompactionUndo::Nothing);
    }
}

/// Puts a whole log in the place of a damaged one, as `ship repair` does.
async fn repair(place: &Place) {
    let (view, lane) = (place.view().await, place.stored().await.lane("repair").await.unwrap());
    assert!(!view.problems.is_empty(), "there is damage");
    let expected = Some(view.position.generation);
    let pieces = vec![LogPiece::KeepFrom(Seq::new(0))];
    lane.rotate(Rotation { expected, head: view.head, pieces }).await.unwrap();
}

#[tokio::test]
async fn where_a_chat_has_one_context_a_rewind_is_undone_and_a_switch_is_not() {
    let here = || "here".to_owned();
    let new = ContextOperation::New { title: None, reason: None };
    for (operations, is_undone) in [
        (&[new.clone()][..], false),
        (&[new, ContextOperation::Undo], false),
        (&[ContextOperation::Fork { at: None, to: None }], false),
        (&[ContextOperation::Rewind { to: here() }], true),
    ] {
        let mut setup = Setup { many_runs: true, ..Setup::default() };
        let test = setup.agent();
        test.say("hello").await;
        let checkpoint = [ContextOperation::Checkpoint { name: here() }];
        for operation in checkpoint.iter().chain(operations) {
            test.agent.operate(&chat(), operation.clone(), "terminal").await.unwrap();
        }
        setup.rules.contexts.enabled = false;
        let test = setup.agent();
        let undone = test.agent.operate(&chat(), ContextOperation::Undo, "terminal").await.unwrap();
        let is_refused = undone.line().contains("`context.contexts.enabled` is false");
        assert_eq!(is_refused, !is_undone, "{operations:?}: {undone:?}");
    }
}
