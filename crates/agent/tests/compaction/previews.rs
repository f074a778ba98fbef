//! A compaction that a person looks at before it is made.

use ship_agent::{Compaction, Rules};

use super::grown::{ruled, say_before};
use crate::harness::{TestAgent, chat};

/// A chat with `messages` messages of `tokens` tokens each, of which a compaction keeps two.
async fn said(messages: usize, tokens: usize) -> TestAgent {
    let test = ruled(Rules { keep_last_messages: 2, ..Rules::default() }).agent();
    say_before(&test, messages, tokens).await;
    test
}

#[tokio::test]
async fn a_compaction_does_what_its_preview_says_however_little_was_said() {
    let is_smaller = |made: &Compaction| made.tokens_after < made.tokens_before;
    for messages in [3, 4, 6, 8, 16] {
        for tokens in [1, 5, 10, 20, 40, 80] {
            let test = said(messages, tokens).await;
            let planned = test.agent.plan_compaction(&chat()).await.unwrap().unwrap();
            let made = test.agent.compact(&chat(), None).await.unwrap();
            let count = made.as_ref().map_or(0, |made| made.messages);
            assert_eq!(count, planned.messages, "{messages} messages of {tokens} tokens");
            assert!(made.iter().all(is_smaller), "{made:?}");
        }
    }
}
