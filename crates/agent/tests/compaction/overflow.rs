//! Providers that take less than we think.

use ship_agent::{Outcome, Rules};
use ship_context::Tokenizer;
use ship_message::json::{Json, Object};
use ship_testkit::llm::overflow::{Place, WORDINGS};
use ship_testkit::llm::{Answer, Status};

use super::world::{World, asks_for_summary, words};
use crate::harness::chat;

#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_makes_room_once_and_no_tool_runs_again() {
    // We believe that it takes 100,000 tokens.
    let world =
        World::new(9_000, 1.0, Some(100_000), Rules { max_tokens: 1_000, ..Rules::default() });
    for nth in 0..8 {
        let said = format!("{nth:03} {}", words(800));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
    assert_eq!(world.refused(), 0);
    world.server.otherwise(Answer::judge(|exchange| {
        match (asks_for_summary(exchange), exchange.last_text().contains("waves")) {
            (true, _) => Answer::summary(),
            (false, true) => Answer::text("I see."),
            (false, false) => Answer::call("look", "{}"),
        }
    }));
    assert_eq!(world.say("look").await, Some(Outcome::Done));
    assert_eq!(world.refused(), 1, "the request behind the tool was too large");
    assert_eq!(world.looks.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(world.asked().0, 1, "one compaction");
    assert_eq!(world.log.requests_of("overflow"), ["terminal:main req_8"]);
    assert_eq!(world.ever_said().await.len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_larger_than_the_window_is_told_so_before_anything_is_paid() {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    let Some(Outcome::Failed(sentence)) = world.say(&words(20_000)).await else {
        panic!("it cannot be answered");
    };
    assert!(sentence.contains("your message alone takes about"), "{sentence}");
    assert!(sentence.contains("Send it in pieces"), "{sentence}");
    assert_eq!(world.server.requests().len(), 0);
    assert_eq!(world.say("hello").await, Some(Outcome::Done), "and the chat goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_words_a_provider_has_for_it_an_overflow_is_told_and_is_no_loop() {
    let is_said = |place| matches!(place, Place::Body(_) | Place::Amazon(..) | Place::Event);
    for wording in WORDINGS.iter().filter(|wording| is_said(wording.place)) {
        let world = World::new(100_000, 1.0, None, Rules::default());
        world.server.otherwise(wording.answer());
        let Some(Outcome::Failed(sentence)) = world.say(wording.name).await else {
            panic!("{} is no answer", wording.name);
        };
        // What a provider claims to have counted is believed, so message, system or tools may be called too long.
        let is_told = sentence.contains("the request is too long for the model")
            || sentence.contains("; the limit is ");
        assert!(is_told && sentence.ends_with("What you wrote is kept."), "{sentence}");
        let asked = world.server.requests().len();
        assert!((1..=3).contains(&asked), "{}: asked {asked} times", wording.name);
        world.server.otherwise(Answer::text("Aye."));
        assert_eq!(world.say("and now?").await, Some(Outcome::Done), "{}", wording.name);
    }
}

/// A provider that sums up whatever it is sent, but answers no request of more than `takes` tokens, and says
/// what it takes only if it `names` it.
fn takes(world: &World, takes: u64, names: bool) {
    let tokenizer = Tokenizer::for_model("test-model");
    world.server.otherwise(Answer::judge(move |exchange| {
        let tokens = tokenizer.count(&exchange.body.to_string());
        match (asks_for_summary(exchange), tokens <= takes) {
            (true, _) => Answer::summary(),
            (false, true) => Answer::text("Aye."),
            (false, false) if names => refused(&format!(
                "This model's maximum context length is {takes} tokens. However, your messages \
                 resulted in {tokens} tokens. Please reduce the length of the messages."
            )),
            (false, false) => refused("Please reduce the length of the messages or completion."),
        }
    }));
}

fn refused(message: &str) -> Answer {
    let error = Object::from([
        ("message", message),
        ("type", "invalid_request_error"),
        ("param", "messages"),
        ("code", "context_length_exceeded"),
    ]);
    let body = Object::from([("error", error)]);
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer::Status(Status { status: 400, headers, body: Json::from(body).to_string().into_bytes() })
}

/// Talks until the next turn of 600 tokens is compacted.
async fn nearly_full(world: &World) {
    for nth in 0.. {
        let said = format!("{nth:03} {}", words(500));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
        let planned = world.agent.plan_compaction(&chat()).await.unwrap().unwrap();
        if planned.tokens_now + 550 > planned.trigger.tokens.unwrap() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_what_is_compacted_is_refused_it_is_compacted_once_more_to_the_size_that_was_named() {
    let rules = Rules { max_tokens: 1_000, ..Rules::default() };
    let world = World::new(100_000, 1.0, Some(16_000), rules);
    nearly_full(&world).await;
    assert_eq!(world.log.of("compacted").len(), 0);
    let answers = world.asked().1;
    takes(&world, 4_500, true);
    assert_eq!(world.say(&format!("and now? {}", words(600))).await, Some(Outcome::Done));
    assert_eq!(world.log.of("compacted").len(), 2, "once by our count, once by the provider's");
    assert_eq!(world.log.of("overflow").len(), 1, "the second result was not refused");
    assert_eq!(world.asked().1 - answers, 2);
    assert_eq!(world.say("and then?").await, Some(Outcome::Done));
    assert_eq!(world.log.of("compacted").len(), 2, "and there is room");
    assert_eq!(world.log.of("overflow").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_no_size_is_named_the_next_request_is_a_good_deal_smaller_than_the_refused_one() {
    for window in [None, Some(100_000)] {
        let rules =
            Rules { input_tokens_max: Some(50_000), keep_last_messages: 100, ..Rules::default() };
        let world = World::new(100_000, 1.0, window, rules);
        for nth in 0..24 {
            let said = format!("{nth:03} {}", words(500));
            assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
        }
        takes(&world, 11_000, false);
        assert_eq!(world.say("and now?").await, Some(Outcome::Done));
        assert_eq!(world.log.of("overflow").len(), 1, "{window:?}");
        assert_eq!(world.log.of("compacted").len(), 1, "{window:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_refuses_everything_is_asked_three_times_and_room_is_made_twice_at_most() {
    for names in [false, true] {
        let world = World::new(100_000, 1.0, Some(16_000), Rules::default());
        nearly_full(&world).await;
        let answers = world.asked().1;
        takes(&world, 0, names);
        let outcome = world.say(&format!("and now? {}", words(600))).await;
        assert!(matches!(outcome, Some(Outcome::Failed(_))), "{outcome:?}");
        let asked = world.asked().1 - answers;
        assert!((1..=3).contains(&asked), "{asked} requests");
        let compactions = world.log.of("compacted").len();
        assert!((1..=2).contains(&compactions), "{compactions} compactions");
        assert_eq!(world.ever_said().await.len(), answers + 1, "nothing is lost");
        takes(&world, 100_000, true);
        assert_eq!(world.say("and now?").await, Some(Outcome::Done), "and the chat goes on");
    }
}
