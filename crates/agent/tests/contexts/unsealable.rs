//! A disk that takes neither hard links nor copies of a log: no context can be left, and the chat goes on.

use std::path::Path;

use ship_agent::{ContextOperation, OperationOutcome, Outcome};
use ship_message::Role;

use super::place::{Place, calls, says};

const EPERM: i32 = 1;
const ENOSPC: i32 = 28;

/// A chat in which something was said before its disk refused to keep a log under another name.
async fn place() -> Place {
    let place = Place::new();
    place.say("plan the trip").await;
    place.setup.disk.refuse_links(EPERM);
    let archive = Path::new(".ship/chat/terminal%3Amain/messages/archive");
    place.setup.disk.close_folder(archive, EPERM);
    place
}

#[tokio::test]
async fn an_operation_that_cannot_seal_the_log_is_answered_and_blocks_no_later_message() {
    let operations = [
        ContextOperation::New { title: None, reason: None },
        ContextOperation::Clear,
        ContextOperation::Fork { at: None, to: None },
    ];
    for operation in operations {
        let place = place().await;
        let OperationOutcome::NotDone(not) = place.operate(operation.clone()).await else {
            panic!("{operation:?} needs a sealed log")
        };
        assert!(not.line.contains("nothing was changed"), "{}", not.line);
        assert_eq!(place.say("and the hotel?").await, Some(Outcome::Done), "{operation:?}");
        let context = place.context().await;
        assert_eq!(context.last().unwrap(), "assistant: Aye: and the hotel?", "{context:?}");
        assert!(context[0].contains("plan the trip"), "{context:?}");
    }
}

#[tokio::test]
async fn a_fork_to_a_chat_that_cannot_be_made_is_refused_and_blocks_no_later_message() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.setup.disk.close_folder(Path::new(".ship/chat/terminal%3Aother"), EPERM);
    let to = Some("terminal:other".parse().unwrap());
    let refused = place.operate(ContextOperation::Fork { at: None, to }).await;
    assert!(matches!(refused, OperationOutcome::NotDone(_)), "{refused:?}");
    assert_eq!(place.say("and the hotel?").await, Some(Outcome::Done));
}

#[tokio::test]
async fn an_operation_that_failed_for_want_of_space_is_not_done_later_and_not_twice() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    place.say("soup?").await;
    // A new file has no room, and the ledger has.
    place.setup.disk.close_folder(Path::new(".ship/chat/terminal%3Amain/messages"), ENOSPC);
    let key = "terminal:main".parse().unwrap();
    let failed = place.agent.operate(&key, ContextOperation::Undo, "terminal").await;
    assert!(failed.unwrap_err().storage().is_some());
    place.setup.disk.close_folder(Path::new("elsewhere"), ENOSPC);

    assert!(place.done(ContextOperation::Undo).await.contains("plan the trip"));
    let context = place.context().await;
    assert!(context[0].contains("plan the trip"), "it was taken back once: {context:?}");
}

#[tokio::test]
async fn a_model_that_wants_a_new_context_and_cannot_have_one_answers_where_it_is() {
    let place = place().await;
    place.minds(|seen| match seen.last().map(|message| message.role()) {
        Some(Role::User) => calls("chat_context_new", r#"{"title":"Dinner"}"#),
        _ => says("Soup."),
    });
    assert_eq!(place.say("what is for dinner?").await, Some(Outcome::Done));
    place.minds(|_| says("Still here."));
    assert_eq!(place.say("hello?").await, Some(Outcome::Done));
    let context = place.context().await;
    assert!(context.last().unwrap().ends_with("Still here."), "{context:?}");
    assert!(context[0].contains("plan the trip"), "{context:?}");
}
