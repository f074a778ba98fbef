//! The rungs of the ladder: each is reached when those before it fail or fall short.

use ship_agent::{Outcome, Rules};
use ship_message::Role;
use ship_testkit::llm::{Answer, faults};

use super::world::{World, asks_for_summary, words};
use crate::harness::chat;

async fn grown(world: &World, turns: usize, tokens: usize) {
    for nth in 0..turns {
        let said = format!("{nth:03} {}", words(tokens));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_leaves_exactly_as_many_messages_as_the_settings_say() {
    let rules = Rules { keep_last_messages: 6, ..Rules::default() };
    let world = World::new(100_000, 1.0, Some(100_000), rules);
    grown(&world, 10, 30).await;
    let compacted = world.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert_eq!(compacted.method.name(), "summary");
    assert_eq!(world.messages().await.len(), 1 + 6);
    assert_eq!(world.last_rung().await.as_deref(), Some("summary"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_messages_that_stay_begin_with_a_question() {
    let rules = Rules { keep_last_messages: 5, ..Rules::default() };
    let world = World::new(100_000, 1.0, Some(100_000), rules);
    grown(&world, 10, 30).await;
    world.agent.compact(&chat(), None).await.unwrap().unwrap();
    let messages = world.messages().await;
    assert_eq!((messages.len(), messages[1].role()), (1 + 6, Role::User));
    assert_eq!(world.say("and now?").await, Some(Outcome::Done));
    assert!(!world.answer_bodies().pop().unwrap().contains("(Go on.)"), "no question is invented");
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_newest_do_not_fit_fewer_of_them_stay() {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    grown(&world, 14, 350).await;
    assert_eq!(world.last_rung().await.as_deref(), Some("smaller-tail"));
    assert!(world.messages().await.len() < 30);
    assert_eq!(world.refused(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_for_one_summary_is_summed_up_piece_by_piece() {
    // A chat that grew with a model of a large window goes on with a small one.
    let world = World::new(100_000, 1.0, Some(100_000), Rules::default());
    grown(&world, 40, 500).await;
    assert_eq!(world.asked().0, 0);
    let small = world.with_window(8_000);
    assert_eq!(small.say("and now?").await, Some(Outcome::Done));
    assert_eq!(small.last_rung().await.as_deref(), Some("chunks"));
    let (summaries, _) = small.asked();
    assert!((2..=8).contains(&summaries), "{summaries} calls");
    assert_eq!(small.refused(), 0);
    assert_eq!(small.ever_said().await.len(), 41);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_no_summary_comes_an_extract_is_made_and_the_next_summary_brings_it_up_to_date() {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    world.server.otherwise(Answer::judge(|exchange| match asks_for_summary(exchange) {
        true => faults::content_policy(),
        false => Answer::text("Aye."),
    }));
    grown(&world, 14, 350).await;
    assert_eq!(world.last_rung().await.as_deref(), Some("extract"));
    let extract = world.messages().await[0].text();
    assert!(extract.starts_with("## Facts\n- The person said: 0"), "{extract}");
    world.setup.clock.advance(61_000);
    world.server.otherwise(Answer::judge(|exchange| match asks_for_summary(exchange) {
        true => Answer::summary(),
        false => Answer::text("Aye."),
    }));
    grown(&world, 14, 350).await;
    assert_eq!(world.last_rung().await.as_deref(), Some("smaller-tail"));
    let requests = world.server.requests();
    let asked = requests.iter().rev().map(|request| String::from_utf8_lossy(&request.body));
    let asked = asked.into_iter().find(|body| body.contains("You keep the memory")).unwrap();
    assert!(asked.contains("The person said: 0"), "the extract is brought up to date");
}
