//! Compactions that would gain too little.

use ship_agent::{Outcome, Rules};
use ship_message::json::Json;
use ship_store::ContextBody;

use super::world::{World, words};
use crate::harness::chat;

/// The tokens of the requests whose compaction the active log defers.
async fn deferred(world: &World) -> Vec<u64> {
    let view = world.view().await;
    let generation = view.position.generation.get();
    let tokens = |body: &ContextBody| {
        let ContextBody::Event(event) = body else { return None };
        let number = |key| event.data.get(key).and_then(Json::as_u64);
        let is_it = event.event == "compaction_deferred" && number("gen") == Some(generation);
        number("tokens").filter(|_| is_it)
    };
    view.lines.iter().filter_map(|line| tokens(&line.body)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_that_would_gain_little_is_not_made_and_waits_in_every_process() {
    let rules = Rules { input_tokens_max: Some(200), keep_last_messages: 2, ..Rules::default() };
    let mut world = World::new(100_000, 1.0, Some(100_000), rules);
    // Beside so much that cannot shrink, the other messages are little.
    let role = || words(3_000);
    world = world.with_role(Some(100_000), role());
    let mut is_deferred = false;
    for nth in 0..16 {
        assert_eq!(world.say(&format!("{nth} {}", words(20))).await, Some(Outcome::Done), "{nth}");
        let tokens = deferred(&world).await;
        is_deferred |= !tokens.is_empty();
        let grew = tokens.windows(2).all(|pair| pair[0] * 11 <= pair[1] * 10);
        assert!(grew, "a tenth is added before each attempt: {tokens:?}");
        world = world.with_role(Some(100_000), role());
    }
    assert!(is_deferred);
    let compactions = world.log.of("compacted");
    assert!((1..4).contains(&compactions.len()), "{compactions:?}");
    let number = |line: &str, key: &str| -> u64 {
        let mut fields = line.split_whitespace();
        fields.find_map(|field| field.strip_prefix(key)).unwrap().parse().unwrap()
    };
    for line in &compactions {
        let (before, after) = (number(line, "tokensBefore="), number(line, "tokensAfter="));
        assert!(after * 10 <= before * 9, "{line}");
    }
    let planned = world.agent.plan_compaction(&chat()).await.unwrap().unwrap();
    assert!(planned.messages > 0, "a person would get one");
}
