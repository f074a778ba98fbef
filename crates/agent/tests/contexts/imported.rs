//! An import goes below the live context, and everything that a person can do with that stays possible.

use ship_agent::{CompactionUndo, ContextOperation, Rules};
use ship_store::{ContextId, Head, Import, ImportPiece, LiveAfterImport, SealedName, Timestamp};
use ship_testkit::chat::message;
use ship_testkit::sim::SimDisk;

use super::place::Place;
use crate::harness::chat;

/// Imports two logs of another context.
async fn import(place: &Place) -> Vec<SealedName> {
    let stored = place.stored().await;
    let lane = stored.lane("import").await.unwrap();
    let head = || {
        let context = ContextId::new(Timestamp::from_millis(1_770_000_000_000), 9_000);
        let title = Some("Imported".to_owned());
        ImportPiece::Log(Head { title, ..Head::new(context) })
    };
    let line = |id: &str| ImportPiece::Line(message(id, "of another program").into());
    let pieces = [head(), line("i1"), line("i2"), head(), line("i3")];
    let (expected, live) = (place.view().await.position, LiveAfterImport::Kept);
    let import = Import { expected, live, source: Box::new(pieces.into_iter().map(Ok)) };
    lane.import(import).await.unwrap().logs
}

/// A chat that was about the trip and is about dinner.
async fn at_dinner() -> Place {
    let place = Place::on(SimDisk::default(), Rules { keep_last_messages: 2, ..Rules::default() });
    place.say("plan the trip").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    place.say("soup?").await;
    place
}

#[tokio::test]
async fn the_chat_goes_on_and_its_last_switch_is_undone() {
    let place = at_dinner().await;
    let (context, archived) = (place.context().await, place.archived().await);
    import(&place).await;
    assert_eq!((place.context().await, place.archived().await), (context.clone(), archived));
    let place = place.again();
    place.say("fish?").await;
    assert_eq!(place.shown(0)[..context.len()], context);
    let left = place.done(ContextOperation::Undo).await;
    assert!(left.contains("trip"), "{left}");
    assert!(place.context().await[0].contains("plan the trip"));
    assert_eq!(place.stored().await.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_title_and_a_checkpoint_from_before_an_import_are_taken_back_and_found() {
    let place = at_dinner().await;
    place.done(ContextOperation::Checkpoint { name: "soup".to_owned() }).await;
    place.done(ContextOperation::Rename { title: "Supper".to_owned() }).await;
    import(&place).await;
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
    place.say("fish?").await;
    let contexts = place.agent.contexts(&chat()).await.unwrap().unwrap();
    assert_eq!(contexts.checkpoints, ["soup"]);
    place.done(ContextOperation::Rewind { to: "soup".to_owned() }).await;
    assert!(!place.context().await.iter().any(|line| line.contains("fish?")));
}

#[tokio::test]
async fn a_compaction_from_before_an_import_is_undone() {
    let place = at_dinner().await;
    for nth in 0..4 {
        place.say(&format!("number {nth} of dinner: {}", "soup ".repeat(60))).await;
    }
    let before = place.context().await;
    place.agent.compact(&chat(), None).await.unwrap().expect("there is something to sum up");
    import(&place).await;
    let undone = place.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, CompactionUndo::Messages(_)), "{undone:?}");
    assert_eq!(place.context().await, before);
}
