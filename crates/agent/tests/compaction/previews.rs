//! A compaction that a person looks at before it is made.

use ship_agent::{Compaction, Rules};
use ship_store::{About, NewLine, Store};
use ship_testkit::chat::first_context;
use ship_testkit::clock::ManualClock;
use ship_testkit::sim::SimDisk;

use super::local::{Local, Setup, model};
use super::world::{chat, message, words};

/// A chat with so many messages of so many tokens each, of which a compaction keeps two.
async fn said(messages: usize, tokens: usize) -> Local {
    let rules = Rules { keep_last_messages: 2, ..Rules::default() };
    let (disk, model, clock) = (SimDisk::new(), model(), ManualClock::default());
    let local = Setup { disk, model, rules, clock }.local();
    let made = local.store.create(&chat(), About::default()).await.unwrap();
    let lane = made.lane("test").await.unwrap();
    let position = lane.rotate(first_context()).await.unwrap().position;
    let said = |nth: usize| {
        let role = if nth.is_multiple_of(2) { "user" } else { "assistant" };
        NewLine::from(message(&format!("m{nth}"), role, &format!("{nth} {}", words(tokens))))
    };
    lane.append((0..messages).map(said).collect(), position).await.unwrap();
    local
}

#[tokio::test]
async fn a_compaction_does_what_its_preview_says_however_little_was_said() {
    let is_smaller = |made: &Compaction| made.tokens_after < made.tokens_before;
    for messages in [3, 4, 6, 8, 16] {
        for tokens in [1, 5, 10, 20, 40, 80] {
            let local = said(messages, tokens).await;
            let planned = local.agent.plan_compaction(&chat()).await.unwrap().unwrap();
            let made = local.agent.compact(&chat(), None).await.unwrap();
            let count = made.as_ref().map_or(0, |made| made.messages);
            assert_eq!(count, planned.messages, "{messages} messages of {tokens} tokens");
            assert!(made.iter().all(is_smaller), "{made:?}");
        }
    }
}
