//! The same file again, and one that has grown.

use ship_agent::{ContextFate, ContextOperation, FileFormat};

use super::place::{Place, talk};
use crate::harness::chat;

#[tokio::test]
async fn the_same_file_again_changes_nothing() {
    for is_used in [false, true] {
        let place = Place::new();
        if is_used {
            place.say("trip?").await;
        }
        place.import(FileFormat::UiMessage, &talk(&["a", "b"])).await;
        let before = place.files();
        let fates = place.fates(FileFormat::UiMessage, &talk(&["a", "b"])).await;
        assert_eq!(fates, [ContextFate::Unchanged]);
        assert_eq!(place.files(), before, "used: {is_used}");
    }
}

#[tokio::test]
async fn a_file_that_has_grown_is_a_newer_log_of_the_same_context() {
    let place = Place::new();
    place.say("trip?").await;
    for texts in [&["a", "b"][..], &["a", "b", "c"], &["a", "b", "c", "d"]] {
        place.import(FileFormat::UiMessage, &talk(texts)).await;
        assert_eq!(place.archived().await, [("a".to_owned(), texts.len() as u64)]);
    }
    let texts: Vec<String> = place.history().await.iter().map(|message| message.text()).collect();
    assert_eq!(texts.len(), 6, "each message once: {texts:?}");
}

#[tokio::test]
async fn the_last_message_of_a_file_may_have_grown_itself() {
    let place = Place::new();
    place.say("trip?").await;
    place.import(FileFormat::UiMessage, &talk(&["a", "b"])).await;
    let grown = talk(&["a", "b and more", "c"]);
    assert_eq!(place.fates(FileFormat::UiMessage, &grown).await, [ContextFate::Grown]);
    let texts: Vec<String> = place.history().await.iter().map(|message| message.text()).collect();
    assert!(
        texts.contains(&"b and more".to_owned()) && !texts.contains(&"b".to_owned()),
        "{texts:?}"
    );
}

#[tokio::test]
async fn the_active_context_grows_with_its_file_until_something_is_said_in_it() {
    let place = Place::new();
    place.import(FileFormat::UiMessage, &talk(&["a", "b"])).await;
    let grown = talk(&["a", "b", "c", "d"]);
    assert_eq!(place.fates(FileFormat::UiMessage, &grown).await, [ContextFate::Grown]);
    let context = place.context().await;
    assert_eq!(context.last().unwrap(), "assistant: d");
    place.say("mine").await;
    let more = talk(&["a", "b", "c", "d", "e", "f"]);
    assert_eq!(place.fates(FileFormat::UiMessage, &more).await, [ContextFate::Apart]);
    assert_eq!(place.context().await.last().unwrap(), "assistant: Aye.");
    assert_eq!(place.archived().await, [("a".to_owned(), 6)]);
    assert_eq!(place.fates(FileFormat::UiMessage, &more).await, [ContextFate::Unchanged]);
}

#[tokio::test]
async fn a_context_that_was_continued_here_stays_as_it_is() {
    let place = Place::new();
    place.say("trip?").await;
    place.import(FileFormat::UiMessage, &talk(&["a", "b"])).await;
    let load = ContextOperation::Load { which: "a".to_owned() };
    place.agent.operate(&chat(), load, "terminal").await.unwrap();
    place.say("mine").await;
    let grown = talk(&["a", "b", "c"]);
    assert_eq!(place.fates(FileFormat::UiMessage, &grown).await, [ContextFate::Apart]);
    let context = place.context().await;
    assert_eq!(context.last().unwrap(), "assistant: Aye.");
}

#[tokio::test]
async fn a_file_whose_ids_the_chat_has_for_others_gets_ids_with_a_suffix() {
    let place = Place::new();
    place.import(FileFormat::UiMessage, &talk(&["a", "b"])).await;
    place.say("mine").await;
    let report = place.import(FileFormat::UiMessage, &talk(&["x", "y"])).await;
    assert!(report.renames_messages);
    assert_eq!(place.history().await.len(), 6);
    assert_eq!(
        place.fates(FileFormat::UiMessage, &talk(&["x", "y"])).await,
        [ContextFate::Unchanged]
    );
    let grown = place.import(FileFormat::UiMessage, &talk(&["x", "y", "z"])).await;
    assert_eq!(grown.contexts[0].fate, ContextFate::Grown);
    assert_eq!(place.history().await.len(), 7);
}
