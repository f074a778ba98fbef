//! Skills in a conversation: the lines in its file, and what the model is shown of them.

use std::collections::BTreeSet;

use ship_agent::{CallAnswer, Outcome, Rules, Stop};
use ship_message::json::Json;
use ship_store::SystemClock;
use ship_store::conversation::Conversation;

use super::{lines, read};
use crate::harness::ConversationAgent;

const LOAD: &str = r#"/tool skills_load {"name":"pptx"}"#;
const UNLOAD: &str = r#"/tool skills_unload {"name":"pptx"}"#;

/// The text of the skill.
const TEXT: &str = "Make slides with care.";

/// The messages of a request behind the system blocks, one on each line.
fn shown(request: &str) -> Vec<String> {
    let request = Json::parse(request).unwrap();
    let messages = request.get("messages").and_then(Json::as_array).unwrap();
    let role = |message: &Json| message.get("role").and_then(Json::as_str).map(str::to_owned);
    let others = messages.iter().filter(|message| role(message).as_deref() != Some("system"));
    others.map(Json::to_string).collect()
}

/// Whether each request begins with all messages of the one before, and has the skill's text once.
fn assert_only_grows(requests: &[String]) {
    for (before, after) in requests.iter().zip(&requests[1..]) {
        let system = |request: &str| request.split_once(r#"{"role":"user""#).unwrap().0.to_owned();
        assert_eq!(system(before), system(after));
        assert!(shown(after).starts_with(&shown(before)), "{before}\n{after}");
        assert_eq!(after.matches(TEXT).count(), 1, "{after}");
    }
}

#[tokio::test]
async fn a_loaded_skill_is_the_notes_lines_and_every_later_request_begins_with_the_same_bytes() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    let reply = test.say(LOAD).await;
    assert_eq!((reply.messages.len(), reply.outcome), (2, Outcome::Done));
    insta::assert_snapshot!("skill_lines", lines(&path)[1..].join("\n"));

    test.say("go on").await;
    let mut requests = test.model.requests();
    let test = test.loaded(&path).await;
    assert_eq!(test.active_skills().await, ["pptx"]);
    test.say("and on").await;
    requests.extend(test.model.requests());
    assert_eq!(requests.len(), 4);
    assert_only_grows(&requests);
    insta::assert_snapshot!("skill_shown", shown(&requests[3]).join("\n"));
}

#[tokio::test]
async fn a_skill_is_unloaded_by_an_event_and_its_text_stays_where_it_was() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    test.say(LOAD).await;
    let test = test.loaded(&path).await;
    test.say(UNLOAD).await;
    let last = lines(&path);
    let kinds = |at: usize| Json::parse(&last[at]).unwrap();
    assert_eq!(kinds(8).get("tool_calls").map(|calls| calls.as_array().unwrap().len()), Some(1));
    assert!(last[9].contains(r#""event":"skill_deactivated","data":{"skill":"pptx"}"#));
    assert!(last[10].contains("unloaded; its text above does not count any more"), "{}", last[10]);
    assert!(test.active_skills().await.is_empty());

    let test = test.loaded(&path).await;
    assert!(test.active_skills().await.is_empty());
    test.say("go on").await;
    assert_eq!(test.last_request().matches(TEXT).count(), 1);
}

#[tokio::test]
async fn the_skill_of_another_program_is_read_from_its_lines_once() {
    let test = ConversationAgent::new();
    for (skill, prompt) in [("pptx", TEXT), ("unknown", TEXT)] {
        let path = test.path(skill);
        let theirs = [
            r#"{"id":"m001","ts":"2026-01-28T10:00:00Z","type":"msg","role":"user","content":"帮我创建PPT"}"#.to_owned(),
            r#"{"id":"m002","ts":"2026-01-28T10:00:02Z","type":"msg","role":"assistant","content":null,"tool_calls":[{"id":"tc001","type":"function","function":{"name":"Skill","arguments":"{}"}}]}"#.to_owned(),
            format!(r#"{{"id":"e001","ts":"2026-01-28T10:00:02Z","type":"evt","event":"skill_activated","data":{{"skill":"{skill}"}}}}"#),
            r#"{"id":"m003","ts":"2026-01-28T10:00:03Z","type":"msg","role":"tool","tool_call_id":"tc001","tool_name":"Skill","content":"loaded"}"#.to_owned(),
            format!(r#"{{"id":"m004","ts":"2026-01-28T10:00:03Z","type":"msg","role":"user","content":"<skill-prompt>{prompt}","is_meta":true}}"#),
            r#"{"id":"m005","ts":"2026-01-28T10:00:04Z","type":"msg","role":"assistant","content":"Ready."}"#.to_owned(),
        ];
        std::fs::write(&path, theirs.join("\n") + "\n").unwrap();
        test.agent.load_conversation(&path).await.unwrap();
        assert_eq!(test.active_skills().await, [skill]);
        test.say("hello").await;
        test.say("again").await;
        let requests = test.model.requests();
        assert_only_grows(&requests[requests.len() - 2..]);
        assert!(requests[requests.len() - 2].contains(&format!("<skill-prompt>{TEXT}")));
    }
}

/// A summary covers the prompt, and then the text comes with the system blocks.
#[tokio::test]
async fn a_skill_stays_loaded_when_its_prompt_is_compacted() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    test.say(LOAD).await;
    drop(test.agent.new_conversation(test.path("b.jsonl")).await);
    let mut conversation = Conversation::load(&path, SystemClock).unwrap();
    let last = conversation.llm_messages().last().unwrap().id.clone();
    conversation.mark_compacted("m002", &last, "Slides were asked for.").unwrap();
    drop(conversation);

    test.agent.load_conversation(&path).await.unwrap();
    assert_eq!(test.active_skills().await, ["pptx"]);
    test.say("go on").await;
    let request = test.last_request();
    assert_eq!(request.matches(TEXT).count(), 1, "{request}");
    assert!(request.contains("# Skill `pptx` (loaded)"), "{request}");
    assert!(!request.contains("<skill-prompt>"), "{request}");
}

#[tokio::test]
async fn a_fork_from_before_the_skill_does_not_have_it_and_one_from_behind_does() {
    let test = ConversationAgent::new();
    test.begin("a.jsonl").await;
    test.say("hello").await;
    let conversation = test.agent.conversation();
    conversation.checkpoint("before").await.unwrap();
    test.say(LOAD).await;
    conversation.checkpoint("behind").await.unwrap();
    test.say("go on").await;
    for (checkpoint, times) in [("behind", 1), ("before", 0)] {
        test.agent.fork_conversation_from(checkpoint, test.path(checkpoint)).await.unwrap();
        assert_eq!(test.active_skills().await.len(), times);
        test.say("in the fork").await;
        assert_eq!(test.last_request().matches(TEXT).count(), times);
        assert_eq!(read(&test.path(checkpoint)).matches(TEXT).count(), times);
    }
}

#[tokio::test]
async fn a_skill_of_a_run_that_waits_is_written_with_its_answer() {
    let rules = Rules { approval: BTreeSet::from(["look".to_owned()]), ..Rules::default() };
    let test = ConversationAgent::ruled(rules);
    let path = test.begin("a.jsonl").await;
    let reply = test.say(&format!("{LOAD}\n/tool look {{}}")).await;
    assert_eq!(reply.outcome, Outcome::Parked);
    assert!(!read(&path).contains("skill_activated"), "as little as the call");

    let approval_id = "approve_offline_4_1".to_owned();
    let answer = CallAnswer::Approval { approval_id, approved: true, reason: None };
    let reply = test.agent.conversation().answer(answer, &Stop::default()).await.unwrap();
    assert_eq!(reply.outcome, Outcome::Done);
    test.say("go on").await;
    assert_only_grows(&test.model.requests());
    assert!(lines(&path)[3].contains(r#""event":"skill_activated""#));
    assert_eq!(test.active_skills().await, ["pptx"]);
}
