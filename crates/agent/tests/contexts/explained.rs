//! Requests that showed a reference are written again from their records, byte for byte.

use ship_agent::{ContextOperation, Inbound, RENDERING};
use ship_context::contexts::RecallMode;
use ship_message::UiMessage;

use super::place::{Place, ScriptedStep, calls, line, says, words};
use crate::harness::chat;

/// A model that makes the call that the message asks for, once, and answers.
fn obeys(seen: &[UiMessage]) -> ScriptedStep {
    let last = seen.last().unwrap();
    if line(last).starts_with("assistant: [") {
        return says("There.");
    }
    match words(last).as_str() {
        "recall" => calls("chat_context_recall", r#"{"contextId":"last","mode":"recent"}"#),
        "load" => calls("chat_context_load", r#"{"query":"trip","mode":"full"}"#),
        "history" => calls("chat_load_history", r#"{"limit":2}"#),
        "meanwhile" => calls("meanwhile", "{}"),
        text => says(&format!("Aye: {text}")),
    }
}

fn recall(mode: RecallMode) -> ContextOperation {
    ContextOperation::Recall { which: "last".to_owned(), mode }
}

/// Every request on record is written again as it went out, and one of them showed a reference.
async fn all_are_explained(place: &Place, kind: &str) {
    let calls = place.agent.requests(&chat(), 1_000).await.unwrap();
    assert_eq!(calls.len(), place.model().asked(), "{kind}: one record for each");
    let mut references = 0;
    for call in calls {
        let id = call.record.id;
        let past = place.agent.past_request(&chat(), &id).await.unwrap().unwrap();
        assert_eq!(past.missing, Vec::<String>::new(), "{kind}: {id}");
        assert_eq!(past.call.record.rendering, RENDERING);
        let ids: Vec<Option<&str>> = past.messages.iter().map(UiMessage::id).collect();
        assert!(past.is_equal, "{kind}: the digest of {id} differs; it shows {ids:?}");
        references += usize::from(past.body.unwrap().contains("仅供参考，可能与当前问题不一致"));
    }
    assert!(references > 0, "{kind}: no request showed a reference");
}

#[tokio::test]
async fn after_a_call_that_fetches_a_reference_every_request_is_explained() {
    for call in ["recall", "load", "history"] {
        let place = Place::at_dinner(obeys).await;
        place.say(call).await;
        place.say("and now?").await;
        all_are_explained(&place, call).await;
    }
}

#[tokio::test]
async fn after_a_recall_by_a_person_at_rest_or_in_a_run_every_request_is_explained() {
    let place = Place::at_dinner(obeys).await;
    place.done(recall(RecallMode::Summary)).await;
    place.say("and now?").await;
    place.say("and then?").await;
    all_are_explained(&place, "at rest").await;
    let place = Place::at_dinner(obeys).await;
    place.meanwhile.operation(recall(RecallMode::Full));
    place.say("meanwhile").await;
    place.meanwhile.settled().await;
    place.say("and then?").await;
    all_are_explained(&place, "in a run").await;
    let place = Place::at_dinner(obeys).await;
    let id = place.id_of("plan the trip").await;
    place.done(ContextOperation::RecallMessage { id }).await;
    place.say("and now?").await;
    place.say("and then?").await;
    all_are_explained(&place, "a message").await;
}

#[tokio::test]
async fn talk_of_a_group_before_the_first_question_is_explained() {
    let place = Place::new();
    place.minds(obeys);
    let talk = Inbound { observed: true, ..place.inbound("the mast is cracked") };
    place.agent.accept(&chat(), talk).await.unwrap();
    place.say("history").await;
    place.say("and now?").await;
    all_are_explained(&place, "group talk").await;
}

#[tokio::test]
async fn references_are_explained_when_their_log_was_sealed_and_when_they_were_taken_back() {
    let place = Place::at_dinner(obeys).await;
    place.say("recall").await;
    place.say("history").await;
    place.done(recall(RecallMode::Full)).await;
    place.say("and now?").await;
    place.done(ContextOperation::Undo).await;
    place.say("and without it?").await;
    place.done(ContextOperation::Clear).await;
    place.say("anew").await;
    all_are_explained(&place, "sealed").await;
}
