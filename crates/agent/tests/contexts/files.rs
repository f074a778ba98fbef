//! What is written down of contexts, for people and for lists, and what the settings do to it.

use ship_agent::{ContextOperation, Rules};
use ship_context::contexts::UtteranceLimits;

use super::place::{Place, calls, line, says};
use crate::harness::{ProjectFolder, chat};

async fn left_at_dinner(place: &Place) -> String {
    place.minds(|seen| match line(seen.last().unwrap()).contains("[effect") {
        true => says("The boat leaves at nine."),
        false => calls("effect", r#"{"secret":"raw"}"#),
    });
    place.say("plan the trip").await;
    let reason = Some("dinner time".to_owned());
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason }).await;
    place.archived().await.remove(0).0
}

#[tokio::test]
async fn an_archived_context_is_a_file() {
    let place = Place::new();
    let id = left_at_dinner(&place).await;
    let text = place.file(&format!("archive/{id}.json"));
    assert!(!text.contains("secret"), "no raw tool output: {text}");
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn the_list_is_a_file() {
    let place = Place::new();
    left_at_dinner(&place).await;
    let text = place.file("contexts/index.json");
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn the_newest_turns_are_kept() {
    let mut rules = Rules::default();
    rules.contexts.snapshot.utterances = UtteranceLimits { utterances_max: 4, chars_max: 48_000 };
    let place = Place::ruled(rules);
    for nth in 0..5 {
        place.say(&format!("thing {nth}")).await;
    }
    place.done(ContextOperation::New { title: None, reason: None }).await;
    let (id, _) = place.archived().await.remove(0);
    let left = place.agent.look_at_context(&chat(), &id).await.unwrap().unwrap();
    let turns: Vec<String> = left.utterances().into_iter().map(|turn| turn.text).collect();
    assert_eq!(turns, ["thing 3", "Aye: thing 3", "thing 4", "Aye: thing 4"]);
    assert_eq!(left.message_count(), 10);
    place.done(ContextOperation::Load { which: "-".to_owned() }).await;
    assert_eq!(place.context().await.len(), 10, "nothing of the log is cut");
}

#[tokio::test]
async fn what_fits_nothing_offers_the_newest_five() {
    let place = Place::new();
    for nth in 0..7 {
        place.say(&format!("thing {nth}")).await;
        place.done(ContextOperation::New { title: None, reason: None }).await;
    }
    let before = place.archived().await;
    let operated = place.operate(ContextOperation::Load { which: "moonlight".to_owned() }).await;
    let ship_agent::OperationOutcome::NotDone(not) = operated else { panic!("nothing fits") };
    let offered: Vec<&str> = not.offered.iter().map(|named| named.title.as_str()).collect();
    assert_eq!(offered, ["thing 6", "thing 5", "thing 4", "thing 3", "thing 2"]);
    assert_eq!(place.archived().await, before, "nothing has changed");
    place.done(ContextOperation::Load { which: "last".to_owned() }).await;
    assert_eq!(place.context().await[0], "user: thing 6");
}

#[tokio::test]
async fn switched_off_a_chat_has_one_context_and_can_still_go_back_in_it() {
    for enabled in [true, false] {
        let settings = format!(r#"{{"context":{{"contexts":{{"enabled":{enabled}}}}}}}"#);
        let folder = ProjectFolder::new(&[("ship.json", &settings)]);
        let test = folder.agent();
        assert!(test.accept("hello").await);
        let next = test.agent.inspect(&chat()).await.unwrap();
        let tools: Vec<&str> = next.tools.iter().map(|tool| tool.name.as_str()).collect();
        let blocks: String = next.blocks.iter().map(|block| format!("{block:?}")).collect();
        assert_eq!(blocks.contains("chat_context_new"), enabled, "{blocks}");
        for name in ["chat_context_new", "chat_checkpoint"] {
            assert_eq!(tools.contains(&name), enabled, "{name} in {tools:?}");
        }
        assert!(tools.contains(&"chat_load_history"), "{tools:?}");
        test.run().await;
        for (operation, leaves) in [
            (ContextOperation::Checkpoint { name: "here".to_owned() }, false),
            (ContextOperation::Rewind { to: "here".to_owned() }, false),
            (ContextOperation::New { title: None, reason: None }, true),
            (ContextOperation::Load { which: "last".to_owned() }, true),
            (ContextOperation::Fork { at: None, to: None }, true),
            (ContextOperation::Clear, true),
        ] {
            let name = operation.name();
            let operated = test.agent.operate(&chat(), operation, "terminal").await.unwrap();
            let line = operated.line();
            let is_refused = line.contains("`context.contexts.enabled` is false");
            assert_eq!(is_refused, leaves && !enabled, "{name}, {enabled}: {line}");
            assert!(enabled || !line.contains("context load"), "that is refused: {line}");
        }
    }
}
