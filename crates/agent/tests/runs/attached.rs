//! Files that come with a message: durable with it, and parts of it from then on.

use ship_agent::{Attachment, Inbound, Outcome, Rules};
use ship_message::json::Json;
use ship_message::{UiMessage, UiPart};
use ship_testkit::scripted_model::text;

use crate::harness::{Setup, inbound};

/// More than a line of the ledger keeps itself: its text is a blob.
const PICTURE_BYTES: usize = 60_000;

fn with_files() -> Inbound {
    let notes = Attachment::Text { name: "notes.txt".to_owned(), text: "one\ntwo\n".to_owned() };
    let picture = Attachment::File {
        name: "a.png".to_owned(),
        media_type: "image/png".to_owned(),
        bytes: vec![7; PICTURE_BYTES],
    };
    Inbound { attachments: vec![notes, picture], ..inbound("look") }
}

/// Asserts that a message has the text, the notes and the picture, in order.
#[track_caller]
fn assert_has_files(message: &UiMessage) {
    // What the model is told of the person and the time stands before it all.
    let parts: Vec<&UiPart> = message.parts().iter().rev().take(3).rev().collect();
    let [UiPart::Text(text), UiPart::Text(notes), UiPart::File(picture)] = parts[..] else {
        panic!("{:?}", message.parts());
    };
    assert_eq!(text.text(), "look");
    assert_eq!(notes.text(), "<file name=\"notes.txt\">\none\ntwo\n</file>");
    assert_eq!((picture.filename(), picture.media_type()), (Some("a.png"), "image/png"));
    let base64 = picture.url().strip_prefix("data:image/png;base64,").unwrap();
    assert_eq!(base64, "BwcH".repeat(PICTURE_BYTES / 3));
}

#[tokio::test]
async fn files_are_kept_with_their_message_and_come_into_the_context_with_it() {
    let setup = Setup::scripted(&[text("I see.")]);
    let test = setup.agent();
    assert!(test.agent.accept(&test.chat, with_files()).await.unwrap().is_new);
    assert!(!test.agent.accept(&test.chat, with_files()).await.unwrap().is_new, "the same key");
    let entries = test.entries().await;
    let kept = entries[0].1.get("attachments").and_then(Json::as_array).unwrap();
    assert_eq!((entries.len(), kept.len()), (1, 2));

    // Another process answers.
    let test = setup.agent();
    let next = test.agent.inspect(&test.chat).await.unwrap();
    assert_has_files(next.messages.last().unwrap());
    assert_eq!(test.run().await, Some(Outcome::Done));
    let messages = setup.agent().messages().await;
    assert_eq!(messages.len(), 2);
    assert_has_files(&messages[0]);
}

#[tokio::test]
async fn a_message_that_is_too_long_with_its_files_is_refused() {
    let rules = Rules { message_bytes: PICTURE_BYTES, ..Rules::default() };
    let test = Setup::ruled(rules).agent();
    let error = test.agent.accept(&test.chat, with_files()).await.unwrap_err();
    assert!(error.to_string().contains("60012 bytes"), "{error}");
    assert!(test.accept("a short one").await);
    assert_eq!(test.ledger().await, ["user: a short one"], "nothing of it is kept");
}

#[tokio::test]
async fn files_count_when_it_is_decided_which_waiting_messages_fit_together() {
    let rules = Rules { window: Some(6_000), max_tokens: 100, ..Rules::default() };
    let script = [text("One."), text("Two."), text("Three.")];
    let setup = Setup { rules, many_runs: true, without_tools: true, ..Setup::scripted(&script) };
    let test = setup.agent();
    for key in ["1", "2", "3"] {
        let message = Inbound { key: key.to_owned(), ..with_files() };
        test.agent.accept(&test.chat, message).await.unwrap();
    }
    test.run().await;
    let answers = test.ledger().await.iter().filter(|line| line.starts_with("assistant")).count();
    assert!(answers > 1, "three pictures do not fit into half of the window");
}

#[tokio::test]
async fn a_client_names_its_message_links_files_and_says_where_answers_go() {
    let setup = Setup::scripted(&[text("I see.")]);
    let test = setup.agent();
    let url = "https://example.org/a.png".to_owned();
    let linked =
        Attachment::Linked { name: "a.png".to_owned(), media_type: "image/png".to_owned(), url };
    let target = Json::from("room 7");
    let message = Inbound {
        attachments: vec![linked],
        client_id: Some("client-1".to_owned()),
        language: Some("de".to_owned()),
        target: Some(target.clone()),
        ..inbound("look")
    };
    test.agent.accept(&test.chat, message.clone()).await.unwrap();
    test.run().await;
    let asked = test.messages().await.swap_remove(0);
    let metadata = asked.metadata().unwrap();
    assert_eq!(metadata.get("clientId").and_then(Json::as_str), Some("client-1"));
    assert_eq!(metadata.get("language").and_then(Json::as_str), Some("de"));
    let Some(UiPart::File(file)) = asked.parts().last() else { panic!("{:?}", asked.parts()) };
    assert_eq!(file.url(), "https://example.org/a.png", "it is not fetched");
    let chat = test.store.open(&test.chat).await.unwrap().unwrap();
    assert_eq!(chat.about().await.unwrap().target, Some(target));

    let moved = Some(Json::from("room 8"));
    let again = Inbound { key: "2".to_owned(), target: moved.clone(), ..message };
    test.agent.accept(&test.chat, again).await.unwrap();
    let about = chat.about().await.unwrap();
    assert_eq!(about.target, moved);
    assert_eq!(about.channel.as_deref(), Some("terminal"), "the rest stays");
}
