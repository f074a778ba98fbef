//! Logs that are too long, whatever a model could still be sent of them.

use ship_agent::{Outcome, Rules};

use super::world::{World, words};
use crate::harness::chat;

async fn grown(world: &World, turns: usize, tokens: usize) {
    for nth in 0..turns {
        let said = format!("{nth:03} {}", words(tokens));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_too_many_lines_is_compacted_though_every_request_fits() {
    let rules = Rules { log_lines_max: 40, keep_last_messages: 10, ..Rules::default() };
    let world = World::new(1_000_000, 1.0, Some(1_000_000), rules);
    grown(&world, 100, 10).await;
    let compactions = world.log.of("compacted").len();
    // Each leaves a summary and ten messages, and two lines come with each turn.
    assert!((4..=8).contains(&compactions), "{compactions}");
    assert!(world.messages().await.len() <= 41);
    assert_eq!(world.ever_said().await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_too_many_bytes_keeps_fewer_messages_than_are_wanted_rather_than_be_full_again() {
    let rules = Rules { log_bytes_max: 20_000, ..Rules::default() };
    let world = World::new(1_000_000, 1.0, Some(1_000_000), rules);
    grown(&world, 60, 200).await;
    let compactions = world.log.of("compacted").len();
    // Sixty times about 1,300 bytes, and 10,000 of them are gone each time.
    assert!((4..=10).contains(&compactions), "{compactions}");
    assert!(world.messages().await.len() < 30);
    assert_eq!(world.ever_said().await.len(), 60);
    let state = world.agent.compaction_state(&chat()).await.unwrap().unwrap();
    let bytes = state.get("sizes").unwrap().get("bytes").unwrap().as_u64().unwrap();
    assert!(bytes <= 22_000, "{bytes}");
}
