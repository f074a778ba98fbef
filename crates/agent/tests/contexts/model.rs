//! What a model does with contexts in the middle of a run.

use ship_agent::{ContextOperation, Outcome};
use ship_message::UiMessage;

use super::place::{Place, ScriptedStep, calls, line, says, words};

/// A model that makes one call for a message with a word in it, and answers all else.
fn once(
    word: &'static str,
    name: &'static str,
    input: &'static str,
) -> impl Fn(&[UiMessage]) -> ScriptedStep {
    move |seen| {
        let last = seen.last().unwrap();
        match line(last).contains(&format!("[{name} ")) {
            true => says(&format!("I went: {}", line(last))),
            false if words(last).contains(word) => calls(name, input),
            false => says(&format!("Aye: {}", words(last))),
        }
    }
}

#[tokio::test]
async fn a_new_context_in_the_middle_of_a_run_leaves_the_request_alone() {
    let place = Place::new();
    place.minds(once(
        "dinner",
        "chat_context_new",
        r#"{"title":"Dinner","reason":"another topic"}"#,
    ));
    place.say("plan the trip").await;
    place.say("which boat?").await;
    assert_eq!(place.say("now dinner").await, Some(Outcome::Done));
    assert_eq!(
        place.shown(0),
        ["user: now dinner", "assistant: [chat_context_new done]"],
        "the next step sees the request and the call"
    );
    assert_eq!(
        place.context().await,
        [
            "user: now dinner",
            "assistant: [chat_context_new done] I went: assistant: [chat_context_new done]"
        ]
    );
    let archived = place.archived().await;
    assert_eq!(archived.len(), 1, "{archived:?}");
    assert_eq!(archived[0].1, "plan the trip");
    assert_eq!(place.say("soup?").await, Some(Outcome::Done));
    assert_eq!(place.shown(0)[0], "user: now dinner");
}

#[tokio::test]
async fn a_load_in_the_middle_of_a_run_goes_on_in_the_loaded_messages() {
    let place = Place::new();
    place.minds(once("dinner", "chat_context_new", "{}"));
    place.say("plan the trip").await;
    place.say("now dinner").await;
    place.say("soup?").await;
    place.minds(once("back", "chat_context_load", r#"{"query":"trip"}"#));
    assert_eq!(place.say("back to the trip").await, Some(Outcome::Done));
    assert_eq!(
        place.shown(0),
        [
            "user: plan the trip",
            "assistant: Aye: plan the trip",
            "assistant: [chat_context_new done]",
            "user: back to the trip",
            "assistant: [chat_context_load done]",
        ]
    );
    let archived = place.archived().await;
    assert_eq!(archived.len(), 1, "the loaded one is not among them: {archived:?}");
    assert_eq!(archived[0].1, "now dinner");
}

#[tokio::test]
async fn a_fork_at_a_checkpoint_with_blanks_around_its_name_is_made() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.done(ContextOperation::Checkpoint { name: "early".to_owned() }).await;
    place.say("which boat?").await;
    place.minds(once("other", "chat_context_fork", r#"{"at":" early ","name":" By train "}"#));
    assert_eq!(place.say("the other way").await, Some(Outcome::Done));
    assert_eq!(
        place.shown(0),
        [
            "user: plan the trip",
            "assistant: Aye: plan the trip",
            "user: the other way",
            "assistant: [chat_context_fork done]",
        ]
    );
}
