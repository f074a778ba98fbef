//! The sample lines of the note that conversations come from, with its ellipses filled in.

use ship_store::conversation::view::{to_entries, to_view};
use ship_store::conversation::{ContextEntry, Conversation, NewConversationMessage};

use super::{Ticking, folder, load, seen};

const NOTE: &str = include_str!("../fixtures/conversation/note.jsonl");

#[test]
fn the_notes_nine_lines_are_read_and_written_to_the_byte() {
    let lines: Vec<String> =
        NOTE.lines().map(|line| ContextEntry::parse(line).unwrap().to_string()).collect();
    assert_eq!(lines, NOTE.lines().collect::<Vec<_>>());
}

#[test]
fn the_notes_nine_lines_load_with_the_last_line_of_an_id_and_the_system_leading() {
    let (_folder, path) = folder();
    std::fs::write(&path, NOTE).unwrap();
    let chat = load(&path);
    assert_eq!(
        seen(&chat),
        [
            "m001 system: You are a helpful assistant for slides.",
            "m002 user: 帮我创建PPT",
            "m003 assistant: tc001",
            "m004 tool: loaded",
            "m005 user: <skill-prompt>Make slides.</skill-prompt>",
            "m011 user: [Summary] The user wants slides.",
        ]
    );
    assert!(chat.llm_messages()[0].compacted);
    assert_eq!(chat.active_skills().collect::<Vec<_>>(), ["pptx"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), NOTE);
}

#[test]
fn the_notes_compaction_with_all_its_marks_leaves_the_system_and_the_summary() {
    let (_folder, path) = folder();
    let marks = NOTE.lines().filter_map(|line| match ContextEntry::parse(line).unwrap() {
        ContextEntry::Message(mut message)
            if ["m002", "m003", "m004", "m005"].contains(&&*message.id) =>
        {
            message.compacted = true;
            Some(ContextEntry::from(message).to_string() + "\n")
        }
        _ => None,
    });
    std::fs::write(&path, NOTE.to_owned() + &marks.collect::<String>()).unwrap();
    let mut chat = load(&path);
    assert_eq!(
        seen(&chat),
        [
            "m001 system: You are a helpful assistant for slides.",
            "m011 user: [Summary] The user wants slides.",
        ]
    );
    assert_eq!(chat.append(NewConversationMessage::user("Go on.")).unwrap(), "m012");
    assert_eq!(chat.record_event("noted", Default::default(), None).unwrap(), "e003");
    assert_eq!(chat.entries().unwrap().len(), 10);
}

#[test]
fn the_notes_entries_survive_a_view() {
    let (_folder, path) = folder();
    std::fs::write(&path, NOTE).unwrap();
    let entries = Conversation::read(&path, Ticking::default()).unwrap().entries().unwrap();
    let view = to_view(&entries);
    assert_eq!(view.len(), 5, "the call with its result, and the skill's event, are one message");
    assert_eq!(to_entries(&view, ship_store::Timestamp::from_millis(0)), entries);
}
