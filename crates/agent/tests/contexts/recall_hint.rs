//! The hint at earlier messages that are about the same as the newest one.

use ship_agent::{ContextOperation, RENDERING, Rules};
use ship_message::UiMessage;

use super::place::Place;
use crate::harness::chat;

const HINT: &str = "Earlier messages about this, not in view";

/// A chat that left a context about a database, with this setting.
async fn at_dinner(recall_hint: bool) -> Place {
    let place = Place::ruled(Rules { recall_hint, ..Rules::default() });
    place.say("the database listens at port 5432").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    place.say("soup?").await;
    place
}

/// The texts of the last request, with the facts before each message of the person.
fn texts(place: &Place) -> Vec<String> {
    let requests = place.model().requests();
    requests.last().unwrap().view.iter().map(UiMessage::text).collect()
}

#[tokio::test]
async fn the_newest_message_says_how_many_earlier_ones_are_about_the_same_and_of_when() {
    let place = at_dinner(true).await;
    place.say("at which port does the database listen?").await;
    let shown = texts(&place);
    let asked = shown.last().unwrap();
    let line = format!("\n{HINT}: 2, of 2026-02-05");
    assert!(asked.contains(&line), "the question and its echo: {asked}");
    assert!(!shown[..shown.len() - 1].iter().any(|line| line.contains(HINT)), "{shown:?}");
    assert!(!shown.iter().any(|line| line.contains("5432")), "nothing is fetched: {shown:?}");
    place.say("and salt?").await;
    let later = texts(&place);
    assert_eq!(later[..shown.len()], shown, "a hint stays with its message");
    assert!(!later.last().unwrap().contains(HINT), "nobody spoke of salt: {later:?}");
    for call in place.agent.requests(&chat(), 100).await.unwrap() {
        let past = place.agent.past_request(&chat(), &call.record.id).await.unwrap().unwrap();
        assert!(past.is_equal && past.missing.is_empty(), "{}", call.record.id);
        assert_eq!(past.call.record.rendering, RENDERING);
    }
}

#[tokio::test]
async fn what_the_model_sees_is_no_hint_and_neither_is_one_word_alone() {
    let place = at_dinner(true).await;
    for text in ["the fish costs eleven crowns", "eleven crowns for the fish?", "a database?"] {
        place.say(text).await;
        let shown = texts(&place).pop().unwrap();
        assert!(!shown.contains(HINT), "{shown}");
    }
}

#[tokio::test]
async fn a_preview_of_the_next_request_has_the_hint_too() {
    let place = at_dinner(true).await;
    place.accept("at which port does the database listen?").await;
    let preview = place.agent.inspect(&chat()).await.unwrap();
    let said = format!("{:?}", preview.messages.last().unwrap());
    assert!(said.contains(HINT), "{said}");
}

#[tokio::test]
async fn without_the_setting_no_request_has_a_hint() {
    let place = at_dinner(false).await;
    place.say("at which port does the database listen?").await;
    let shown = texts(&place).join("\n");
    assert!(!shown.contains(HINT) && shown.contains("at which port"), "{shown}");
}
