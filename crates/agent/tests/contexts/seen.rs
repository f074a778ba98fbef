//! What the model sees after each operation: the whole of what matters about them, one after the other.

use ship_agent::ContextOperation;
use ship_context::contexts::RecallMode;
use ship_message::UiMessage;

use super::place::{Place, ScriptedStep, calls, line, says, words};

/// A model that makes the call that stands in the message, and answers.
fn obeys(seen: &[UiMessage]) -> ScriptedStep {
    let last = seen.last().unwrap();
    if line(last).starts_with("assistant: [") {
        return says("There.");
    }
    match words(last).as_str() {
        "new" => calls("chat_context_new", r#"{"title":"Anew"}"#),
        "load" => calls("chat_context_load", r#"{"query":"trip"}"#),
        "load reference" => calls("chat_context_load", r#"{"query":"trip","mode":"reference"}"#),
        "clear" => calls("chat_context_clear_active", "{}"),
        "fork" => calls("chat_context_fork", r#"{"name":"Another way"}"#),
        "summary" => calls("chat_context_recall", r#"{"contextId":"last","mode":"summary"}"#),
        "recent" => calls("chat_context_recall", r#"{"contextId":"last","mode":"recent"}"#),
        "full" => calls("chat_context_recall", r#"{"contextId":"last","mode":"full"}"#),
        "history" => calls("chat_load_history", r#"{"limit":2}"#),
        text => says(&format!("Aye: {text}")),
    }
}

/// What the second request of a run holds, in which the model makes a call.
#[tokio::test]
async fn the_second_request_of_a_run_after_each_call() {
    let mut seen = String::new();
    for call in
        ["new", "load", "clear", "fork", "load reference", "summary", "recent", "full", "history"]
    {
        let place = Place::at_dinner(obeys).await;
        place.say(call).await;
        seen.push_str(&format!("== after {call}\n{}\n\n", place.shown(0).join("\n")));
    }
    insta::assert_snapshot!(seen);
}

/// What the next run sees after a person's operation.
#[tokio::test]
async fn the_next_run_after_each_operation() {
    let mut seen = String::new();
    let trip = Place::at_dinner(obeys).await.id_of("plan the trip").await;
    for operation in [
        ContextOperation::New { title: None, reason: None },
        ContextOperation::Load { which: "trip".to_owned() },
        ContextOperation::Clear,
        ContextOperation::Fork { at: Some("soup".to_owned()), to: None },
        ContextOperation::Rewind { to: "soup".to_owned() },
        ContextOperation::Undo,
        ContextOperation::Recall { which: "last".to_owned(), mode: RecallMode::Recent },
        ContextOperation::RecallMessage { id: trip },
    ] {
        let place = Place::at_dinner(obeys).await;
        place.done(ContextOperation::Checkpoint { name: "soup".to_owned() }).await;
        place.say("bread?").await;
        let line = place.done(operation.clone()).await;
        place.say("and now?").await;
        let shown = place.shown(0).join("\n");
        seen.push_str(&format!("== {}: {line}\n{shown}\n\n", operation.name()));
    }
    insta::assert_snapshot!(seen);
}
