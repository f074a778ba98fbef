//! Skills that the calls of an answer change.

use ship_message::UiMessage;
use ship_message::json::Object;
use ship_store::conversation::{
    Conversation, NewConversationMessage, NewViewMessage, SkillChange, WriteError,
};

use super::{Ticking, folder, load};

fn call(id: &str) -> String {
    format!(
        r#"{{"type":"tool-Skill","toolCallId":"{id}","state":"output-available","input":{{}},"output":"done"}}"#
    )
}

/// An assistant's message of one step, which has no id if it is empty.
fn step(id: &str, part: &str) -> UiMessage {
    let text =
        format!(r#"{{"id":"{id}","role":"assistant","parts":[{{"type":"step-start"}},{part}]}}"#);
    UiMessage::parse(&text).unwrap()
}

fn change(call_id: &str, prompt: Option<&str>) -> SkillChange {
    let prompt = prompt.map(str::to_owned);
    SkillChange { skill: "pptx".to_owned(), call_id: call_id.to_owned(), prompt }
}

/// An answer of two messages, of which the first loads a skill.
pub(super) fn loading_run() -> [NewViewMessage; 2] {
    let skill_changes = vec![change("s2", Some("Make slides."))];
    let message = step("x", &format!("{},{}", call("s1"), call("s2")));
    let first = NewViewMessage { message, skill_changes, other: Object::from([("mood", "calm")]) };
    [first, step("", r#"{"type":"text","text":"Ready.","state":"done"}"#).into()]
}

#[test]
fn an_answer_that_loads_a_skill_becomes_call_event_result_prompt_and_text() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    let ids = chat.append_with_skills(&loading_run()).unwrap();
    assert_eq!(ids, ["x", "m001", "e001", "m002", "m003", "m004"]);
    let ts = r#""ts":"2026-01-28T10:00:00.000Z""#;
    let call = |id: &str| {
        format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"Skill","arguments":"{{}}"}}}}"#
        )
    };
    let calls = format!("{},{}", call("s1"), call("s2"));
    let result = |id: &str, call: &str| {
        format!(
            r#"{{"id":"{id}",{ts},"type":"msg","role":"tool","tool_call_id":"{call}","tool_name":"Skill","content":"done"}}"#
        )
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            format!(
                r#"{{"id":"x",{ts},"type":"msg","role":"assistant","content":null,"tool_calls":[{calls}],"mood":"calm"}}"#
            ),
            result("m001", "s1"),
            format!(
                r#"{{"id":"e001",{ts},"type":"evt","event":"skill_activated","data":{{"skill":"pptx"}}}}"#
            ),
            result("m002", "s2"),
            format!(
                r#"{{"id":"m003",{ts},"type":"msg","role":"user","content":"Make slides.","is_meta":true}}"#
            ),
            format!(r#"{{"id":"m004",{ts},"type":"msg","role":"assistant","content":"Ready."}}"#),
        ]
    );
    drop(chat);
    let mut chat = load(&path);
    assert_eq!(chat.active_skills().collect::<Vec<_>>(), ["pptx"]);
    assert_eq!(chat.skill_of_prompt("m003"), Some("pptx"));
    assert_eq!(chat.view().len(), 3);
    let twice = chat.append_with_skills(&loading_run()).unwrap_err();
    assert!(matches!(twice, WriteError::IdTaken { .. }));
}

#[test]
fn a_call_that_unloads_a_skill_has_an_event_and_no_prompt() {
    let mut chat = Conversation::in_memory(Ticking::default());
    chat.append_with_skills(&loading_run()).unwrap();
    let message = step("y", &call("s3"));
    let unload = NewViewMessage { skill_changes: vec![change("s3", None)], ..message.into() };
    assert_eq!(chat.append_with_skills(&[unload]).unwrap(), ["y", "e002", "m005"]);
    assert_eq!(chat.active_skills().count(), 0);
}

#[test]
fn only_a_meta_message_right_after_the_activation_is_the_prompt() {
    let mut chat = Conversation::in_memory(Ticking::default());
    let activate = |chat: &mut Conversation| {
        chat.record_event("skill_activated", Object::from([("skill", "pptx")]), None).unwrap();
    };
    activate(&mut chat);
    chat.append(NewConversationMessage::tool("c1", "Skill", "loaded")).unwrap();
    let prompt = chat.append(NewConversationMessage::user("<skill-prompt>").meta()).unwrap();
    let other = chat.append(NewConversationMessage::user("<reminder>").meta()).unwrap();
    activate(&mut chat);
    chat.append(NewConversationMessage::user("Thanks.")).unwrap();
    let late = chat.append(NewConversationMessage::user("<reminder>").meta()).unwrap();
    let skills = [prompt, other, late].map(|id| chat.skill_of_prompt(&id).map(str::to_owned));
    assert_eq!(skills, [Some("pptx".to_owned()), None, None]);
}
