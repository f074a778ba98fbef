//! The system line of a conversation, which says what the agent told the model.

use super::{lines, read};
use crate::harness::ConversationAgent;

/// A sentence of the system blocks.
const SENTENCE: &str = "You are a helpful agent.";

#[tokio::test]
async fn a_conversation_begins_with_the_system_line_and_the_model_reads_its_text_once() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    test.say("one").await;
    let first = test.last_request();
    assert!(lines(&path)[0].starts_with(r#"{"id":"m001","#));
    assert!(lines(&path)[0].contains(r#""role":"system","content":"Project root: /project\n"#));
    assert!(lines(&path)[0].contains(SENTENCE));

    let test = test.loaded(&path).await;
    test.say("two").await;
    assert_eq!(read(&path).matches(r#""role":"system""#).count(), 1, "it has not changed");
    for request in [first, test.last_request()] {
        assert_eq!(request.matches(SENTENCE).count(), 1, "{request}");
    }
}

#[tokio::test]
async fn a_system_line_that_changed_is_written_again_under_its_id() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    test.say("one").await;
    let test = test.loaded_with_role(&path, "You are a pirate.").await;
    test.say("two").await;
    test.say("three").await;
    let lines = lines(&path);
    let systems: Vec<usize> =
        (0..lines.len()).filter(|at| lines[*at].contains(r#""role":"system""#)).collect();
    assert_eq!(systems, [0, 3]);
    assert!(lines[3].starts_with(r#"{"id":"m001","#) && lines[3].contains("You are a pirate."));
    let request = test.last_request();
    assert_eq!(request.matches("You are a pirate.").count(), 1, "{request}");
    assert!(!request.contains(SENTENCE), "{request}");
}
