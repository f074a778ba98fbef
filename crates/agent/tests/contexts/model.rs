//! What a model does with contexts in the middle of a run.

use ship_agent::{ContextOperation, Outcome, Rules, Tool};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_store::FileStore;
use ship_testkit::chat::options;
use ship_testkit::scripted_model::ScriptedModel;

use super::place::{Place, ScriptedStep, calls, line, says, words};
use crate::harness::{Setup, TestAgent};

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
async fn a_load_with_an_empty_mode_is_made() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.say("now dinner").await;
    place.minds(once("back", "chat_context_load", r#"{"query":"trip","mode":""}"#));
    assert_eq!(place.say("back to the trip").await, Some(Outcome::Done));
    assert_eq!(place.context().await[0], "user: plan the trip");
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

#[tokio::test]
async fn what_was_left_out_to_save_room_can_be_loaded_again() {
    let mind = |seen: &[UiMessage]| {
        let last = seen.last().unwrap();
        let asked = words(last);
        match last.role() == Role::User {
            true if asked.starts_with("load") => calls("chat_load_history", r#"{"limit":20}"#),
            true if asked.starts_with("look") => calls("look", "{}"),
            _ => says("Aye."),
        }
    };
    let rules = Rules { input_tokens_max: Some(4_000), keep_last_messages: 40, ..Rules::default() };
    let model = Some(ScriptedModel::new(mind));
    let setup = Setup { model, many_runs: true, ..Setup::ruled(rules) };
    let store = FileStore::on_disk(Box::new(setup.disk.clone()), options());
    let schema = Json::Object(Object::from([("type", "object")]));
    let look = Tool::with_schema("look", "Looks.", schema, |_, _| {
        Box::pin(std::future::ready(Ok(Json::from("The sea is wide. ".repeat(150)))))
    });
    let test = TestAgent::with_tools(store, &setup, |agent| agent.tool(look));
    for nth in 0..6 {
        test.say(&format!("word {nth} {}", "and so on ".repeat(20))).await;
    }
    let new = ContextOperation::New { title: None, reason: None };
    test.agent.operate(&test.chat, new, "terminal").await.unwrap();
    test.say("load it").await;
    let is_shown = || test.model().requests().last().unwrap().body.contains("word 3 and so on");
    assert!(is_shown());
    for nth in 0..30 {
        test.say(&format!("look {nth}")).await;
        if !is_shown() {
            break;
        }
    }
    assert!(test.log.of("compacted").concat().contains("prune"));
    test.say("load it again").await;
    assert!(is_shown());
}
