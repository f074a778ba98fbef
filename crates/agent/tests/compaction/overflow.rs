//! Providers that take less than we think.

use ship_agent::{Outcome, Rules};
use ship_testkit::llm::Answer;

use crate::world::{SUMMARY, World, asks_for_summary, words};

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
            (true, _) => Answer::text(SUMMARY),
            (false, true) => Answer::text("I see."),
            (false, false) => Answer::call("look", "{}"),
        }
    }));
    assert_eq!(world.say("look").await, Some(Outcome::Done));
    assert_eq!(world.refused(), 1, "the request behind the tool was too large");
    assert_eq!(world.looks.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(world.asked().0, 1, "one compaction");
    let warned = world.logged("overflow");
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].starts_with("terminal:main req_8"), "{warned:?}");
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
