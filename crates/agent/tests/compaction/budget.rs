//! The budget of a request is the same, whoever asks for it.

use ship_agent::{CompactionTrigger, CompactionUndo, Outcome, Rules};

use super::world::{World, words};
use crate::harness::chat;

/// What a look at the next request and a plan of a compaction say: both say the same.
async fn told(world: &World) -> CompactionTrigger {
    let next = world.agent.inspect(&chat()).await.unwrap();
    let planned = world.agent.plan_compaction(&chat()).await.unwrap().unwrap();
    assert_eq!(next.trigger, planned.trigger);
    planned.trigger
}

async fn grown(world: &World) {
    for nth in 0..6 {
        assert_eq!(world.say(&format!("{nth} {}", words(50))).await, Some(Outcome::Done));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_undo_a_model_of_unknown_window_has_no_budget_that_is_a_number() {
    let rules = Rules { keep_last_messages: 4, ..Rules::default() };
    let world = World::new(100_000, 1.0, None, rules);
    grown(&world).await;
    assert_eq!(told(&world).await, CompactionTrigger { tokens: Some(12_000), warning: None });
    world.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert_eq!(told(&world).await.tokens, Some(12_000));
    let undone = world.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, CompactionUndo::Messages(_)), "{undone:?}");
    assert_eq!(told(&world).await, CompactionTrigger::default(), "until the model takes no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_undo_the_budget_is_the_window_that_is_known() {
    let rules = Rules { keep_last_messages: 4, max_tokens: 1_000, ..Rules::default() };
    let world = World::new(100_000, 1.0, Some(8_000), rules);
    grown(&world).await;
    assert_eq!(told(&world).await.tokens, Some(6_300));
    world.agent.compact(&chat(), None).await.unwrap().unwrap();
    world.agent.undo_compaction(&chat()).await.unwrap();
    assert_eq!(told(&world).await.tokens, Some(7_000), "with room for an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_below_the_system_is_told_in_the_same_words_everywhere() {
    let rules = Rules { input_tokens_max: Some(50), ..Rules::default() };
    let world = World::new(100_000, 1.0, Some(100_000), rules);
    assert_eq!(world.say("hello").await, Some(Outcome::Done));
    let next = world.agent.inspect(&chat()).await.unwrap();
    let floor: u64 = next.tokens.system.iter().chain(&next.tokens.tools).sum();
    let trigger = told(&world).await;
    assert_eq!(trigger.tokens, Some(floor + 50), "the budget holds for the messages alone");
    let warning = trigger.warning.unwrap();
    for words in [
        "the system (",
        "fill the 50 tokens that `context.history.maxInputTokensApprox` allows",
        &format!("more than {} tokens", floor + 50),
    ] {
        assert!(warning.contains(words), "{words}: {warning}");
    }
    world.say("and again").await;
    let logged = world.log.of("warning");
    let logged: Vec<&String> = logged.iter().filter(|line| line.contains("fill the")).collect();
    assert_eq!(logged.len(), 1, "the log is told once, before anything is compacted: {logged:?}");
}
