//! Compactions that a person asks for, looks at, and takes back.

use ship_agent::{CompactionUndo, Outcome, Rules};
use ship_message::UiMessage;

use super::world::{World, words};
use crate::harness::chat;

fn ids(messages: &[UiMessage]) -> Vec<String> {
    messages.iter().map(|message| message.id().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_compacted_comes_back_before_what_was_said_since() {
    let rules = Rules { keep_last_messages: 4, ..Rules::default() };
    let world = World::new(100_000, 1.0, Some(8_000), rules);
    for nth in 0..6 {
        assert_eq!(world.say(&format!("{nth} {}", words(100))).await, Some(Outcome::Done));
    }
    let before = world.messages().await;
    let planned = world.agent.plan_compaction(&chat()).await.unwrap().unwrap();
    assert_eq!((planned.messages, planned.kept), (8, 4));
    assert_eq!(world.messages().await, before, "a plan changes nothing");

    let wishes = Some("keep the colour of the ship".to_owned());
    let compacted = world.agent.compact(&chat(), wishes).await.unwrap().unwrap();
    assert_eq!((compacted.messages, compacted.method.name()), (8, "summary"));
    assert!(compacted.tokens_after < compacted.tokens_before, "{compacted:?}");
    let asked = world.server.requests().pop().unwrap();
    assert!(String::from_utf8_lossy(&asked.body).contains("keep the colour of the ship"));
    let after = world.messages().await;
    assert_eq!(ids(&after)[1..], ids(&before)[8..], "the newest stay as they are");
    assert_eq!(after.len(), 5);

    assert_eq!(world.say("since").await, Some(Outcome::Done));
    let since = ids(&world.messages().await)[5..].to_vec();
    assert_eq!(world.agent.undo_compaction(&chat()).await.unwrap(), CompactionUndo::Messages(8));
    let back = world.messages().await;
    assert_eq!(back[..12], before[..], "the originals are back as they were");
    assert_eq!(ids(&back)[12..], since[..]);
    assert_eq!(world.agent.undo_compaction(&chat()).await.unwrap(), CompactionUndo::Nothing);
    assert_eq!(world.say("and on").await, Some(Outcome::Done));
    assert_eq!(world.asked().0, 1, "it is not compacted again at once");
}
