//! Forks and rewinds from anywhere: from what a compaction has sealed away, from another context, to another chat.

use ship_agent::{ContextOperation, Inbound, OperationOutcome, Outcome, Rules, Stop};
use ship_context::contexts::RecallMode;
use ship_message::json::Json;
use ship_store::ChatKey;

use super::place::{Place, line, words};
use crate::harness::chat;

/// A chat with a small budget, in which many things were said: what came early is summed up.
async fn compacted() -> Place {
    let rules = Rules { input_tokens_max: Some(500), keep_last_messages: 4, ..Rules::default() };
    let place = Place::ruled(rules);
    place.say("word 0").await;
    place.say("word 1").await;
    place.done(ContextOperation::Checkpoint { name: "early".to_owned() }).await;
    place.done(ContextOperation::Rename { title: "Words".to_owned() }).await;
    for nth in 2..30 {
        place.say(&format!("word {nth} {}", "and so on ".repeat(12))).await;
    }
    let context = place.context().await;
    assert!(context[0].starts_with("assistant: ## Facts"), "{context:#?}");
    place
}

fn fork(at: &str) -> ContextOperation {
    ContextOperation::Fork { at: Some(at.to_owned()), to: None }
}

fn rewind(to: &str) -> ContextOperation {
    ContextOperation::Rewind { to: to.to_owned() }
}

/// How many logs a compaction has sealed.
async fn compactions(place: &Place) -> usize {
    place.stored().await.log().sealed().await.unwrap().len()
}

const EARLY: [&str; 4] =
    ["user: word 0", "assistant: Aye: word 0", "user: word 1", "assistant: Aye: word 1"];

#[tokio::test]
async fn a_checkpoint_that_was_sealed_away_is_forked_from_with_the_original_messages() {
    for operation in [fork("early"), rewind("early")] {
        let place = compacted().await;
        assert!(compactions(&place).await >= 2, "by more than one compaction");
        place.done(operation.clone()).await;
        assert_eq!(place.context().await, EARLY, "{operation:?}");
        assert_eq!(place.archived().await[0].1, "Words");
        assert_eq!(place.say("other word").await, Some(Outcome::Done));
        place.done(ContextOperation::Undo).await;
        assert!(place.context().await[0].starts_with("assistant: ## Facts"));
    }
}

#[tokio::test]
async fn a_message_that_was_sealed_away_is_forked_from_with_all_that_was_before_it() {
    let place = compacted().await;
    let third = place.id_of("word 3").await;
    place.done(rewind(&third)).await;
    let context: Vec<String> = place.context().await;
    assert_eq!(context.len(), 7, "{context:#?}");
    assert_eq!(context[..4], EARLY);
    assert!(context[6].starts_with("user: word 3"), "{context:#?}");
    assert_eq!(place.run().await, None, "it was answered before, and is not answered again");
    assert_eq!(place.say("go on").await, Some(Outcome::Done));
}

#[tokio::test]
async fn a_message_of_an_archived_context_is_forked_from() {
    let place = Place::new();
    place.say("the trip").await;
    place.say("the boat").await;
    let boat = place.id_of("the boat").await;
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.say("soup").await;
    place.done(fork(&boat)).await;
    assert_eq!(
        place.context().await,
        ["user: the trip", "assistant: Aye: the trip", "user: the boat"]
    );
    assert_eq!(place.archived().await.len(), 2, "the trip and the soup");
    assert_eq!(place.run().await, None);
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.done(ContextOperation::Load { which: "last".to_owned() }).await;
    assert_eq!(place.context().await.len(), 3, "and its question is there when one comes back");
}

#[tokio::test]
async fn who_goes_back_can_come_forward_again() {
    let place = Place::new();
    for name in ["one", "two", "three"] {
        place.say(name).await;
        place.done(ContextOperation::Checkpoint { name: name.to_owned() }).await;
    }
    let all = place.context().await;
    place.done(rewind("one")).await;
    assert_eq!(place.context().await.len(), 2);
    place.done(rewind("three")).await;
    assert_eq!(place.context().await, all);
    place.done(rewind("two")).await;
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.done(ContextOperation::Load { which: "last".to_owned() }).await;
    place.done(rewind("three")).await;
    assert_eq!(place.context().await, all);
}

#[tokio::test]
async fn a_compaction_keeps_checkpoints_and_title_and_can_be_undone_after_leaving_and_coming_back()
{
    let place = compacted().await;
    let view = place.view().await;
    assert_eq!(place.agent.contexts(&chat()).await.unwrap().unwrap().active.title(), "Words");
    assert!(view.head.checkpoints.iter().any(|checkpoint| checkpoint.name == "early"));
    let short = place.context().await.len();
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.say("soup").await;
    place.done(ContextOperation::Load { which: "Words".to_owned() }).await;
    assert_eq!(place.context().await.len(), short);
    let undone = place.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, ship_agent::CompactionUndo::Messages(_)), "{undone:?}");
    assert!(place.context().await.len() > short, "originals are back");
}

fn elsewhere() -> ChatKey {
    "api:chat:7".parse().unwrap()
}

async fn fork_to(place: &Place, at: Option<&str>) -> OperationOutcome {
    let to = Some(elsewhere());
    place.operate(ContextOperation::Fork { at: at.map(str::to_owned), to }).await
}

#[tokio::test]
async fn another_chat_gets_a_copy_and_this_one_stays() {
    let place = Place::ruled(Rules { input_tokens_max: Some(200_000), ..Rules::default() });
    let long = "all work and no play ".repeat(3_000);
    place.say("the trip").await;
    place.say(&long).await;
    let before = place.context().await;
    let blobs = place.disk_names("blobs");
    let OperationOutcome::Done(changed) = fork_to(&place, None).await else { panic!("it is made") };
    assert_eq!(changed.chat, Some(elsewhere()));
    assert_eq!(place.context().await, before, "this chat stays as it is");
    assert_eq!(place.disk_names("blobs"), blobs, "blobs are shared");
    assert!(!blobs.is_empty());

    let other = place.store.open(&elsewhere()).await.unwrap().unwrap();
    let copied = other.log().view().await.unwrap().unwrap();
    assert_eq!(copied.messages().map(line).collect::<Vec<_>>(), before);
    assert!(other.ledger().after(None, 10).await.unwrap().is_empty(), "its ledger is empty");
    let from = copied.head.forked_from.unwrap();
    assert_eq!(from.get("chatKey").and_then(Json::as_str), Some("terminal:main"));

    for nth in 0..4 {
        let inbound = Inbound {
            key: format!("there {nth}"),
            text: format!("there {nth}"),
            channel: "http".to_owned(),
            request_id: format!("there {nth}"),
            ..Inbound::default()
        };
        place.agent.accept(&elsewhere(), inbound).await.unwrap();
        let outcome = place.agent.run(&elsewhere(), &Stop::default()).await.unwrap();
        assert_eq!(outcome, Some(Outcome::Done), "it answers");
    }
    let view = other.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().count(), before.len() + 8);
    assert_eq!(words(view.messages().next_back().unwrap()), "Aye: there 3");
    assert!(other.verify().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_chat_that_has_a_context_gets_no_copy() {
    let place = Place::new();
    place.say("the trip").await;
    assert!(matches!(fork_to(&place, None).await, OperationOutcome::Done(_)));
    let OperationOutcome::NotDone(not) = fork_to(&place, None).await else {
        panic!("it is refused")
    };
    assert!(not.line.contains("already has a context"), "{not:?}");
    assert_eq!(place.say("still there?").await, Some(Outcome::Done));
}

#[tokio::test]
async fn a_copy_of_what_was_sealed_away_is_as_good() {
    let place = compacted().await;
    assert!(matches!(fork_to(&place, Some("early")).await, OperationOutcome::Done(_)));
    let other = place.store.open(&elsewhere()).await.unwrap().unwrap();
    let view = other.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().map(line).collect::<Vec<_>>(), EARLY);
}

#[tokio::test]
async fn the_active_context_is_known_by_the_beginning_of_its_id() {
    let place = Place::new();
    place.say("the trip").await;
    let contexts = place.agent.contexts(&chat()).await.unwrap().unwrap();
    let id = contexts.active.context().as_str();
    for which in [id, &id[..id.len() - 1], "c_"] {
        let refused = place.operate(ContextOperation::Load { which: which.to_owned() }).await;
        assert_eq!(refused.line(), "You are already in “the trip”.", "{which}");
    }
}

#[tokio::test]
async fn the_beginning_of_several_ids_means_none_of_them_even_if_one_is_the_active_one() {
    let place = Place::new();
    place.say("the trip").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    place.say("soup?").await;
    let contexts = place.agent.contexts(&chat()).await.unwrap().unwrap();
    let trip = contexts.index.items()[0].context.to_string();
    let which = || "c_".to_owned();
    let recall = ContextOperation::Recall { which: which(), mode: RecallMode::Summary };
    for operation in [ContextOperation::Load { which: which() }, recall] {
        let OperationOutcome::NotDone(refused) = place.operate(operation).await else {
            panic!("it is not clear which one is meant")
        };
        assert_eq!(refused.line, "Several contexts fit `c_`; name one by its id:");
        let titles: Vec<&str> = refused.offered.iter().map(|named| &*named.title).collect();
        assert_eq!(titles, ["Dinner", "the trip"]);
    }
    let looked = async |which: &str| place.agent.look_at_context(&chat(), which).await.unwrap();
    assert!(looked("c_").await.is_err());
    for title in ["Dinner", "din"] {
        assert_eq!(looked(title).await.unwrap().title(), "Dinner", "the active one");
    }
    assert_eq!(looked(&trip).await.unwrap().title(), "the trip");
    let recall = ContextOperation::Recall { which: "dinner".to_owned(), mode: RecallMode::Full };
    let refused = place.operate(recall).await;
    assert_eq!(refused.line(), "The model sees “Dinner” already: you are in it.");
}

#[tokio::test]
async fn the_title_of_a_branch_says_what_it_is() {
    let place = Place::new();
    place.say("the trip").await;
    place.done(ContextOperation::Checkpoint { name: "early".to_owned() }).await;
    place.say("the boat").await;
    let boat = place.id_of("the boat").await;
    let active =
        async || place.agent.contexts(&chat()).await.unwrap().unwrap().active.title().to_owned();
    place.done(fork("early")).await;
    assert_eq!(active().await, "the trip (copy up to ‘early’)");
    place.done(ContextOperation::Fork { at: None, to: None }).await;
    assert_eq!(active().await, "the trip (copy)");
    place.done(rewind("early")).await;
    assert_eq!(active().await, "the trip (back at ‘early’)");
    place.done(rewind(&boat)).await;
    assert_eq!(active().await, "the trip (rewound)");
    place.done(ContextOperation::Load { which: "the trip (copy)".to_owned() }).await;
    place.done(ContextOperation::Load { which: "the trip".to_owned() }).await;
    place.done(ContextOperation::Fork { at: None, to: None }).await;
    assert_eq!(active().await, "the trip (copy 2)", "two copies of one context differ");
}

#[tokio::test]
async fn a_branch_of_a_context_that_was_renamed_says_what_it_is() {
    let place = Place::new();
    place.say("the trip").await;
    place.done(ContextOperation::Checkpoint { name: "early".to_owned() }).await;
    place.done(ContextOperation::Rename { title: "Dinner".to_owned() }).await;
    place.say("the boat").await;
    let other = "terminal:other".parse().unwrap();
    let line = place.done(ContextOperation::Fork { at: None, to: Some(other) }).await;
    assert!(line.contains("as “Dinner (copy)”"), "{line}");
    let active =
        async || place.agent.contexts(&chat()).await.unwrap().unwrap().active.title().to_owned();
    place.done(ContextOperation::Fork { at: None, to: None }).await;
    assert_eq!(active().await, "Dinner (copy)");
    place.done(rewind("early")).await;
    assert_eq!(active().await, "Dinner (back at ‘early’)");
}

#[tokio::test]
async fn a_checkpoint_that_is_set_again_was_somewhere_else_only_if_something_was_said_since() {
    let place = Place::new();
    let checkpoint = || ContextOperation::Checkpoint { name: "early".to_owned() };
    place.say("the trip").await;
    for _ in 0..2 {
        let line = place.done(checkpoint()).await;
        assert_eq!(line, "Checkpoint “early” is here. To come back: /rewind early");
    }
    place.say("the boat").await;
    let line = place.done(checkpoint()).await;
    assert!(line.contains("It was somewhere else before."), "{line}");
}

#[tokio::test]
async fn a_question_is_asked_again_and_both_answers_are_kept() {
    let place = Place::new();
    let refused = place.operate(ContextOperation::Retry).await;
    assert_eq!(refused.line(), "Nothing was said in `terminal:main` yet.");
    place.say("the trip").await;
    place.say("the boat").await;
    place.minds(|seen| super::place::says(&format!("Well, {} messages.", seen.len())));
    let told = place.done(ContextOperation::Retry).await;
    assert!(told.starts_with("Asking again. The earlier answer is kept in “the trip”"), "{told}");
    // Another process may have to give the answer.
    let place = place.again();
    place.minds(|seen| super::place::says(&format!("Well, {} messages.", seen.len())));
    assert_eq!(place.run().await, Some(Outcome::Done));
    let trip = ["user: the trip", "assistant: Aye: the trip"];
    let boat = ["user: the boat", "assistant: Well, 3 messages."];
    assert_eq!(place.context().await, [trip, boat].concat());
    assert_eq!(place.again().run().await, None, "once");
    let refused =
        place.operate(ContextOperation::Load { which: "The trip (asked again)".to_owned() });
    assert_eq!(refused.await.line(), "You are already in “the trip (asked again)”.");
    place.done(ContextOperation::Undo).await;
    let first = ["user: the boat", "assistant: Aye: the boat"];
    assert_eq!(place.context().await, [trip, first].concat());
    // A question that is asked again can be left before it is answered.
    place.done(ContextOperation::Retry).await;
    let refused = place.operate(ContextOperation::Retry).await;
    assert_eq!(refused.line(), "The last message is not answered yet.");
    place.done(ContextOperation::Undo).await;
    assert_eq!(place.run().await, None);
    assert_eq!(place.context().await, [trip, first].concat());
}
