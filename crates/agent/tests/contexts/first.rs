//! What people say to one another before anybody asks the agent: kept, never answered, and shown once.

use ship_agent::{ContextOperation, Inbound, Outcome, Rules};
use ship_context::contexts::RecallMode;
use ship_message::UiMessage;
use ship_store::{ChatKey, LedgerBody, Metadata};

use super::place::Place;
use crate::harness::chat;

/// Talk in a group that is not addressed to the agent.
async fn overheard(place: &Place, username: &str, text: &str) {
    let inbound = Inbound {
        observed: true,
        username: Some(username.to_owned()),
        channel: "telegram".to_owned(),
        ..place.inbound(text)
    };
    place.agent.accept(&chat(), inbound).await.unwrap();
    assert_eq!(place.run().await, None, "nobody is answered");
}

#[tokio::test]
async fn what_was_said_before_the_first_question_stands_before_it_once() {
    let place = Place::new();
    overheard(&place, "ada", "the mast is cracked").await;
    overheard(&place, "ben", "then we stay").await;
    assert!(place.agent.contexts(&chat()).await.unwrap().is_none(), "no context began");
    assert_eq!(place.say("what do we do?").await, Some(Outcome::Done));
    insta::assert_snapshot!(place.shown(0).join("\n"));
    overheard(&place, "ada", "and another thing").await;
    place.say("and now?").await;
    let shown = place.shown(0);
    assert_eq!(shown.len(), 3, "what is overheard later is no message: {shown:#?}");
    assert!(!shown.concat().contains("another thing"));
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.say("anew").await;
    assert_eq!(place.shown(0), ["user: anew"], "never after a new context");
}

#[tokio::test]
async fn the_newest_thirty_are_shown() {
    let place = Place::new();
    for nth in 0..40 {
        overheard(&place, "ada", &format!("thing {nth}.")).await;
    }
    place.say("what do we do?").await;
    let shown = place.shown(0).remove(0);
    assert!(!shown.contains("thing 9.") && shown.contains("thing 10."), "{shown}");
    assert!(shown.contains("thing 39."));
}

#[tokio::test]
async fn it_is_marked_in_the_ledger_and_nowhere_else() {
    let place = Place::new();
    overheard(&place, "ada", "the mast is cracked").await;
    place.say("what do we do?").await;
    let lines = place.stored().await.ledger().after(None, 10).await.unwrap();
    let LedgerBody::Entry(entry) = &lines[0].body else { panic!("an entry") };
    assert_eq!(entry.entry.get("meta").unwrap().to_string(), r#"{"observed":true}"#);
    let LedgerBody::Entry(entry) = &lines[1].body else { panic!("an entry") };
    assert!(entry.entry.get("meta").is_none());
}

#[tokio::test]
async fn every_message_says_where_it_was_said() {
    let place = Place::new();
    overheard(&place, "ada", "the mast is cracked").await;
    let asked = Inbound {
        channel: "telegram".to_owned(),
        chat_id: Some("-7".to_owned()),
        thread_id: Some("3".to_owned()),
        chat_type: Some("supergroup".to_owned()),
        ..place.inbound("what do we do?")
    };
    place.agent.accept(&chat(), asked).await.unwrap();
    place.run().await;
    let messages = place.messages().await;
    assert_eq!(messages.len(), 3, "a reference, the question, the answer");
    for message in &messages {
        let metadata = message.metadata().unwrap().to_string();
        let said = r#""chatKey":"terminal:main","channel":"telegram","chatId":"-7","messageThreadId":"3","chatType":"supergroup""#;
        assert!(metadata.contains(said), "{metadata}");
    }
}

#[tokio::test]
async fn what_a_chat_makes_says_that_it_is_of_this_chat() {
    let place = Place::ruled(Rules { keep_last_messages: 2, ..Rules::default() });
    let key = |message: &UiMessage| Metadata::of(message).chat_key().map(str::to_owned);
    for text in ["the trip", "the boat", "the sail"] {
        place.say(&format!("{text} {}", "and so on ".repeat(60))).await;
    }
    let asked = Inbound { thread_id: Some("3".to_owned()), ..place.inbound("and in a thread?") };
    place.agent.accept(&chat(), asked).await.unwrap();
    place.run().await;
    place.done(ContextOperation::New { title: None, reason: None }).await;
    let recall = ContextOperation::Recall { which: "last".to_owned(), mode: RecallMode::Summary };
    place.done(recall).await;
    let shown = place.messages().await;
    let metadata = shown[0].metadata().unwrap().to_string();
    let here = r#""chatKey":"terminal:main","channel":"terminal","messageThreadId":"3""#;
    assert!(metadata.contains(here), "{metadata}");
    // The messages of a copy say where they were said, and its summary is its own.
    place.done(ContextOperation::Load { which: "last".to_owned() }).await;
    let other: ChatKey = "terminal:other".parse().unwrap();
    place.done(ContextOperation::Fork { at: None, to: Some(other.clone()) }).await;
    assert!(place.agent.compact(&other, None).await.unwrap().is_some());
    let copied = place.store.open(&other).await.unwrap().unwrap();
    let view = copied.log().view().await.unwrap().unwrap();
    let keys: Vec<_> = view.messages().map(key).collect();
    assert_eq!(keys[0].as_deref(), Some("terminal:other"), "{keys:?}");
    assert_eq!(keys[1].as_deref(), Some("terminal:main"), "{keys:?}");
}
