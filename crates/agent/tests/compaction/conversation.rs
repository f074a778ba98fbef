//! A conversation in a file of its own is compacted by marks: nothing in the file is replaced.

use ship_agent::{Outcome, Rules};
use ship_message::UiMessage;

use super::world::{SUMMARY, World, words};

const TURNS: usize = 40;

fn texts(messages: &[UiMessage]) -> Vec<String> {
    messages.iter().map(UiMessage::text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_outgrows_its_window_goes_on_and_its_file_only_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    world.agent.new_conversation(&path).await.unwrap();
    let mut before = String::new();
    for nth in 0..TURNS {
        let reply =
            world.agent.conversation().send(&format!("{nth:03} {}", words(300))).await.unwrap();
        assert_eq!(reply.outcome, Outcome::Done, "{nth}");
        let now = std::fs::read_to_string(&path).unwrap();
        assert!(now.starts_with(&before), "{nth}: the file is only added to");
        before = now;
    }
    assert_eq!(world.refused(), 0, "no request was too large");
    let compactions = before.matches(r#""event":"compaction""#).count();
    assert!(compactions >= 3, "{compactions}");
    assert_eq!(world.asked().0, compactions, "one call for each");
    let last = world.server.requests();
    let asked = last.iter().rev().map(|it| String::from_utf8_lossy(&it.body).into_owned());
    let asked = asked.into_iter().find(|body| body.contains("You keep the memory")).unwrap();
    assert!(asked.contains("[Summary] ## Facts"), "it is brought up to date");
    let shown = world.agent.conversation().messages().await.unwrap();
    assert!(shown[0].text().starts_with(&format!("[Summary] {SUMMARY}")), "{}", shown[0].text());
    assert!(shown.len() < 2 * TURNS);
    for nth in 0..TURNS {
        assert!(before.contains(&format!("{nth:03} the ship")), "{nth} can be found in the file");
    }
    world.agent.load_conversation(&path).await.unwrap();
    assert_eq!(
        texts(&world.agent.conversation().messages().await.unwrap()),
        texts(&shown),
        "loaded again it is the same"
    );
}
