//! Summaries that are asked for as a continuation of the chat.

use std::sync::atomic::Ordering::SeqCst;

use ship_agent::{Outcome, RequestMessages, Rules};
use ship_message::json::Json;
use ship_testkit::llm::Answer;
use ship_testkit::summary::REQUEST;

use super::world::{World, asks_for_summary, words};
use crate::harness::chat;

fn rules() -> Rules {
    Rules { keep_last_messages: 2, max_tokens: 1_000, ..Rules::default() }
}

/// A chat that a person can compact: all but the last turn.
async fn grown(takes: u64, window: Option<u64>, tokens: usize) -> World {
    let world = World::new(takes, 1.0, window, rules());
    for nth in 0..6 {
        let said = format!("{nth:03} {}", words(tokens));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
    world
}

/// The bodies of the requests for a summary, in order.
fn summary_bodies(world: &World) -> Vec<Json> {
    let requests = world.server.requests();
    let bodies = requests.iter().map(|it| Json::parse_bytes(&it.body).unwrap());
    bodies.filter(|body| body.to_string().contains(REQUEST)).collect()
}

/// Whether a request has a transcript of the chat instead of the chat.
fn is_transcript(body: &Json) -> bool {
    body.to_string().contains("<chat>")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_is_asked_for_with_the_request_of_the_chat_and_an_instruction() {
    let world = grown(100_000, Some(100_000), 60).await;
    let compacted = world.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert_eq!((compacted.method.name(), compacted.messages), ("summary", 10));
    let answers = world.answer_bodies();
    let before = Json::parse(answers.last().unwrap()).unwrap();
    let [asked] = &summary_bodies(&world)[..] else { panic!("one call") };
    let list = |body: &Json| body.get("messages").unwrap().as_array().unwrap().to_vec();
    let (known, messages) = (list(&before), list(asked));
    assert_eq!(messages[..known.len()], known[..], "the cache has all of it");
    assert_eq!(messages.len(), known.len() + 2, "and there is the last answer");
    let instruction = messages.last().unwrap().to_string();
    assert!(instruction.contains(r"<end>\nAssistant: Aye.\n</end>"), "{instruction}");
    for (key, value) in before.as_object().unwrap().iter() {
        let is_other = ["messages", "max_tokens", "max_completion_tokens"].contains(&key);
        assert!(is_other || asked.get(key) == Some(value), "{key} is that of the chat");
    }

    let call = world.agent.requests(&chat(), 1).await.unwrap().remove(0);
    assert!(matches!(call.record.shown, RequestMessages::Continuation { .. }), "{call:?}");
    assert_eq!(call.record.shared_prefix.difference, None, "it only adds to the one before");
    assert!(call.record.shared_prefix.tokens * 2 > call.record.tokens.total());
    let past = world.agent.past_request(&chat(), &call.record.id).await.unwrap().unwrap();
    assert!(past.is_equal, "{:?}", past.missing);
    assert_eq!(past.body.unwrap(), asked.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_instead_of_a_summary_is_not_run_and_a_transcript_is_summed_up() {
    let world = grown(100_000, Some(100_000), 60).await;
    world.server.otherwise(Answer::judge(|exchange| {
        match (asks_for_summary(exchange), exchange.body.to_string().contains("<chat>")) {
            (true, false) => Answer::call("look", "{}"),
            (true, true) => Answer::summary(),
            (false, _) => Answer::text("Aye."),
        }
    }));
    let compacted = world.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert_eq!(compacted.method.name(), "summary");
    assert_eq!(summary_bodies(&world).iter().map(is_transcript).collect::<Vec<_>>(), [false, true]);
    assert_eq!(world.looks.load(SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_may_not_fit_with_its_instruction_is_summed_up_as_a_transcript() {
    for (window, is_continued) in [(Some(100_000), true), (None, false), (Some(4_000), false)] {
        let world = grown(100_000, Some(100_000), 500).await;
        let world = world.restarted(window, rules());
        world.agent.compact(&chat(), None).await.unwrap().unwrap();
        let bodies = summary_bodies(&world);
        assert_eq!(bodies.iter().map(is_transcript).next(), Some(!is_continued), "{window:?}");
        assert_eq!(world.refused(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_overflow_a_transcript_is_summed_up() {
    let world = grown(5_500, Some(100_000), 500).await;
    assert_eq!(world.say(&words(1_500)).await, Some(Outcome::Done));
    assert_eq!(world.refused(), 1);
    assert!(summary_bodies(&world).iter().all(is_transcript) && world.asked().0 > 0);
}
