//! What each method appends, and what the model sees then.

use ship_message::json::Object;
use ship_message::{ConvertOptions, UiMessage, convert_to_model_messages};
use ship_store::conversation::{
    CompactError, ContextEntry, Conversation, EntryRole, NewConversationMessage, WriteError,
};

use super::{Ticking, call, folder, load, pptx, seen, talk};

fn in_memory() -> Conversation {
    Conversation::in_memory(Ticking::default())
}

/// The lines behind the first `count`, without the tabs that tie a batch together.
fn lines_after(path: &std::path::Path, count: usize) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(count).map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn append_writes_the_notes_lines() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    chat.append(NewConversationMessage::user("hi")).unwrap();
    chat.append(NewConversationMessage::tool("c1", "Read", "no such file").error()).unwrap();
    chat.append(NewConversationMessage::new(EntryRole::Developer, "Be brief.")).unwrap();
    assert_eq!(
        lines_after(&path, 0),
        [
            r#"{"id":"m001","ts":"2026-01-28T10:00:00.000Z","type":"msg","role":"user","content":"hi"}"#,
            r#"{"id":"m002","ts":"2026-01-28T10:00:01.000Z","type":"msg","role":"tool","tool_call_id":"c1","tool_name":"Read","content":"no such file","is_error":true}"#,
            r#"{"id":"m003","ts":"2026-01-28T10:00:02.000Z","type":"msg","role":"developer","content":"Be brief."}"#,
        ]
    );
}

#[test]
fn activate_skill_appends_event_result_and_prompt_in_this_order_and_survives_a_load() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    chat.append(NewConversationMessage::calls(vec![call("tc001")])).unwrap();
    chat.activate_skill(pptx("tc001")).unwrap();
    assert_eq!(
        lines_after(&path, 1),
        [
            r#"{"id":"e001","ts":"2026-01-28T10:00:01.000Z","type":"evt","event":"skill_activated","data":{"skill":"pptx"}}"#,
            r#"{"id":"m002","ts":"2026-01-28T10:00:01.000Z","type":"msg","role":"tool","tool_call_id":"tc001","tool_name":"Skill","content":"loaded"}"#,
            r#"{"id":"m003","ts":"2026-01-28T10:00:01.000Z","type":"msg","role":"user","content":"Make slides.","is_meta":true}"#,
        ]
    );
    drop(chat);
    assert_eq!(load(&path).active_skills().collect::<Vec<_>>(), ["pptx"]);
}

#[test]
fn a_deactivated_skill_is_not_active_after_a_load_until_it_is_activated_again() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    let activated = || Object::from([("skill", "pptx")]);
    chat.record_event("skill_activated", activated(), None).unwrap();
    chat.deactivate_skill("pptx").unwrap();
    chat.deactivate_skill("unknown").unwrap();
    assert_eq!(
        lines_after(&path, 1)[0],
        r#"{"id":"e002","ts":"2026-01-28T10:00:01.000Z","type":"evt","event":"skill_deactivated","data":{"skill":"pptx"}}"#,
    );
    drop(chat);
    let mut chat = load(&path);
    assert_eq!(chat.active_skills().count(), 0);
    chat.record_event("skill_activated", activated(), None).unwrap();
    assert_eq!(chat.active_skills().collect::<Vec<_>>(), ["pptx"]);
}

#[test]
fn the_next_ids_are_those_that_messages_get() {
    let mut chat = in_memory();
    talk(&mut chat);
    let next: Vec<String> = chat.next_ids().take(2).collect();
    assert_eq!(next, ["m006", "m007"]);
    assert_eq!(chat.append(NewConversationMessage::user("one")).unwrap(), next[0]);
    assert_eq!(chat.append(NewConversationMessage::user("two")).unwrap(), next[1]);
}

#[test]
fn a_result_that_comes_after_a_skills_prompt_still_stands_with_its_call() {
    let mut chat = in_memory();
    chat.append(NewConversationMessage::calls(vec![call("c1"), call("c2"), call("c3")])).unwrap();
    chat.activate_skill(pptx("c1")).unwrap();
    chat.append(NewConversationMessage::tool("c2", "Read", "B")).unwrap();
    chat.activate_skill(pptx("c3")).unwrap();
    let roles: Vec<_> = chat.llm_messages().iter().map(|message| message.role.name()).collect();
    assert_eq!(roles, ["assistant", "tool", "tool", "tool", "user", "user"]);
    assert_eq!(chat.view().len(), 3);
}

#[test]
fn mark_compacted_only_appends_and_the_summary_takes_the_place_of_what_it_covers() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    talk(&mut chat);
    let before = std::fs::read_to_string(&path).unwrap();
    assert_eq!(chat.mark_compacted("m001", "m004", "a says A.").unwrap(), "m006");

    assert!(std::fs::read_to_string(&path).unwrap().starts_with(&before));
    assert_eq!(
        lines_after(&path, 5),
        [
            r#"{"id":"e001","ts":"2026-01-28T10:00:05.000Z","type":"evt","event":"compaction","data":{"from":"m001","to":"m004","summary":"m006"}}"#,
            r#"{"id":"m006","ts":"2026-01-28T10:00:05.000Z","type":"msg","role":"user","content":"[Summary] a says A."}"#,
            r#"{"id":"m001","ts":"2026-01-28T10:00:00.000Z","type":"msg","role":"system","content":"Be brief.","compacted":true}"#,
            r#"{"id":"m002","ts":"2026-01-28T10:00:01.000Z","type":"msg","role":"user","content":"What is in a?","compacted":true}"#,
            r#"{"id":"m003","ts":"2026-01-28T10:00:02.000Z","type":"msg","role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"}}],"compacted":true}"#,
            r#"{"id":"m004","ts":"2026-01-28T10:00:03.000Z","type":"msg","role":"tool","tool_call_id":"c1","tool_name":"Read","content":"A","compacted":true}"#,
        ]
    );
    let now =
        ["m001 system: Be brief.", "m006 user: [Summary] a says A.", "m005 assistant: It says A."];
    assert_eq!(seen(&chat), now);
    drop(chat);
    assert_eq!(seen(&load(&path)), now);
}

#[test]
fn a_second_compaction_covers_the_first_summary() {
    let mut chat = in_memory();
    talk(&mut chat);
    chat.mark_compacted("m002", "m004", "one").unwrap();
    chat.append(NewConversationMessage::user("And b?")).unwrap();
    chat.mark_compacted("m002", "m005", "one and two").unwrap();
    assert_eq!(
        seen(&chat),
        ["m001 system: Be brief.", "m008 user: [Summary] one and two", "m007 user: And b?"]
    );
    assert_eq!(chat.entries().unwrap().len(), 10);
}

#[test]
fn a_compaction_that_would_part_a_call_from_its_result_is_refused_and_writes_nothing() {
    let mut chat = in_memory();
    talk(&mut chat);
    let entries = chat.entries().unwrap();
    for (from, to) in [("m001", "m003"), ("m004", "m005"), ("m003", "m003"), ("m004", "m004")] {
        let error = chat.mark_compacted(from, to, "x").unwrap_err();
        assert!(matches!(error, CompactError::PartsToolCall { .. }), "{from} {to}: {error}");
        assert_eq!(
            error.to_string(),
            "the range separates the call `c1` in `m003` from its result `m004`; include both, or neither"
        );
    }
    assert_eq!(chat.entries().unwrap(), entries);
}

#[test]
fn a_compaction_waits_for_an_open_call_but_not_for_one_that_was_given_up() {
    let mut chat = in_memory();
    chat.append(NewConversationMessage::user("hi")).unwrap();
    chat.append(NewConversationMessage::calls(vec![call("c1")])).unwrap();
    let open = chat.mark_compacted("m001", "m002", "x").unwrap_err();
    assert!(matches!(open, CompactError::OpenToolCall { .. }), "{open}");

    chat.append(NewConversationMessage::user("never mind")).unwrap();
    chat.mark_compacted("m001", "m002", "x").unwrap();
    assert_eq!(seen(&chat), ["m004 user: [Summary] x", "m003 user: never mind"]);
}

#[test]
fn a_compaction_of_nothing_is_refused() {
    let mut chat = in_memory();
    talk(&mut chat);
    let refused = |chat: &mut Conversation, from, to| {
        chat.mark_compacted(from, to, "x").unwrap_err().to_string()
    };
    assert!(refused(&mut chat, "m009", "m002").contains("no message `m009`"));
    assert!(refused(&mut chat, "m005", "m002").contains("give the earlier one first"));
    assert!(refused(&mut chat, "m001", "m001").contains("nothing to compact"));
    chat.mark_compacted("m002", "m005", "x").unwrap();
    assert!(refused(&mut chat, "m002", "m005").contains("nothing to compact"));
}

#[test]
fn ids_go_on_beyond_999_and_are_not_given_twice() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    let view: Vec<UiMessage> = (1..=999)
        .map(|at| UiMessage::new(format!("m{at:03}"), ship_message::Role::User, vec![]))
        .collect();
    chat.append_view(&view).unwrap();
    assert_eq!(chat.append(NewConversationMessage::user("hi")).unwrap(), "m1000");
    assert_eq!(chat.mark_compacted("m001", "m1000", "x").unwrap(), "m1001");
    drop(chat);
    assert_eq!(load(&path).append(NewConversationMessage::user("hi")).unwrap(), "m1002");
}

#[test]
fn messages_of_a_view_come_back_as_they_were() {
    let mut chat = in_memory();
    let view = [
        r#"{"id":"u1","role":"user","metadata":{"userId":7},"parts":[{"type":"text","text":"hi"}]}"#,
        r#"{"id":"a1","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"tool-Read","toolCallId":"c1","state":"output-available","input":{},"output":"A"}]}"#,
        r#"{"id":"a2","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"A.","state":"done"}]}"#,
    ]
    .map(|message| UiMessage::parse(message).unwrap());
    for message in &view {
        chat.append_view(std::slice::from_ref(message)).unwrap();
    }
    let back: Vec<_> =
        chat.view().iter().map(ship_store::conversation::view::without_record).collect();
    assert_eq!(back, view);
    let twice = chat.append_view(&view[..1]).unwrap_err();
    assert!(matches!(twice, WriteError::IdTaken { id } if id == "u1"));
}

#[test]
fn the_view_converts_to_messages_for_a_model_with_every_call_answered() {
    let mut chat = in_memory();
    talk(&mut chat);
    chat.activate_skill(pptx("unknown")).unwrap();
    let view = chat.view();
    let converted = convert_to_model_messages(&view, &ConvertOptions::default()).unwrap();
    let roles: Vec<_> = converted.iter().map(|message| message.role.name()).collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "assistant", "assistant", "tool", "user"]
    );
}

#[test]
fn a_conversation_in_memory_does_all_that_one_in_a_file_does() {
    let (_folder, path) = folder();
    let mut chat = in_memory();
    talk(&mut chat);
    chat.checkpoint("here").unwrap();
    chat.mark_compacted("m002", "m005", "x").unwrap();
    assert_eq!(chat.path(), None);

    chat.save(&path).unwrap();
    chat.append(NewConversationMessage::user("more")).unwrap();
    chat.save(&path).unwrap();
    assert!(chat.save(path.with_extension("other")).is_err());
    let (seen_before, entries) = (seen(&chat), chat.entries().unwrap());
    drop(chat);
    let chat = load(&path);
    assert_eq!((seen(&chat), chat.entries().unwrap()), (seen_before, entries));
    assert_eq!(chat.checkpoints().collect::<Vec<_>>(), ["here"]);
}

#[test]
fn an_event_may_be_about_a_message() {
    let mut chat = in_memory();
    talk(&mut chat);
    chat.record_event("liked", Object::from([("by", "Ann")]), Some("m005")).unwrap();
    let entries = chat.entries().unwrap();
    let Some(ContextEntry::Event(liked)) = entries.last() else { panic!("{entries:?}") };
    assert_eq!((liked.id.as_str(), liked.ref_msg_id.as_deref()), ("e001", Some("m005")));
    assert_eq!(chat.llm_messages().len(), 5);
}
