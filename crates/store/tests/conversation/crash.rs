//! What a crash may leave, and what is made of it.

use std::path::Path;

use ship_message::UiMessage;
use ship_store::conversation::{Conversation, LoadConversationError, NewConversationMessage};

use super::skills::loading_run;
use super::{Ticking, call, folder, load, names, pptx, seen, talk};

/// Something that is appended in one batch.
type Write = fn(&mut Conversation);

const WRITES: [Write; 5] = [
    |chat| assert!(chat.append(NewConversationMessage::user("Thanks, 你好.")).is_ok()),
    |chat| assert!(chat.activate_skill(pptx("c2")).is_ok()),
    |chat| assert!(chat.mark_compacted("m002", "m005", "a says A.").is_ok()),
    |chat| assert!(chat.append_view(&[run()]).is_ok()),
    |chat| assert!(chat.append_with_skills(&loading_run()).is_ok()),
];

/// A run of two steps, which is three lines.
fn run() -> UiMessage {
    let text = r#"{"id":"x","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-Read","toolCallId":"c7","state":"output-available","input":{},"output":"A"},{"type":"step-start"},{"type":"text","text":"A.","state":"done"}]}"#;
    UiMessage::parse(text).unwrap()
}

/// The bytes before and after a write, and what the model sees before it.
fn written(write: Write) -> (Vec<u8>, Vec<u8>, Vec<String>) {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    talk(&mut chat);
    chat.append(NewConversationMessage::calls(vec![call("c2")])).unwrap();
    let (before, shown) = (std::fs::read(&path).unwrap(), seen(&chat));
    write(&mut chat);
    (before, std::fs::read(&path).unwrap(), shown)
}

/// Loads bytes that end with a torn batch: everything before it is there, the rest is set aside, and the
/// conversation goes on.
fn check_tail_is_set_aside(whole: &[u8], torn: &[u8], shown: &[String]) {
    let (folder, path) = folder();
    std::fs::write(&path, torn).unwrap();
    let reader = Conversation::read(&path, Ticking::default()).unwrap();
    assert_eq!(seen(&reader), shown);
    assert_eq!((names(&folder).len(), std::fs::read(&path).unwrap()), (1, torn.to_vec()));

    let mut chat = load(&path);
    assert_eq!(seen(&chat), shown);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    let repair = chat.repair().unwrap();
    assert_eq!(repair.cut_bytes, (torn.len() - whole.len()) as u64);
    let aside = std::fs::read(&repair.quarantine).unwrap();
    assert_eq!(aside, [&torn[whole.len()..], b"\n"].concat());
    assert_eq!(repair.quarantine, Path::new(&format!("{}.quarantine", path.display())));
    assert_eq!(chat.append(NewConversationMessage::tool("c2", "Read", "B")).unwrap(), "m007");
}

#[test]
fn a_batch_torn_at_any_byte_is_set_aside_whole() {
    for write in WRITES {
        let (before, after, shown) = written(write);
        for cut in before.len() + 1..after.len() {
            check_tail_is_set_aside(&before, &after[..cut], &shown);
        }
    }
}

#[test]
fn a_batch_of_which_any_block_never_reached_the_disk_is_set_aside_whole() {
    for write in WRITES {
        let (before, after, shown) = written(write);
        let batch = before.len()..after.len();
        // Alone, only the bytes that begin and end lines and objects can make a difference.
        let single = batch.clone().filter(|at| b"\t\n{}".contains(&after[*at])).map(|at| (at, 1));
        let blocks =
            [16, 64, 512].map(|size| batch.clone().step_by(size).map(move |at| (at, size)));
        for (start, size) in single.chain(blocks.into_iter().flatten()) {
            let mut torn = after.clone();
            let end = after.len().min(start + size);
            torn[start..end].fill(0);
            check_tail_is_set_aside(&before, &torn, &shown);
        }
    }
}

#[test]
fn a_whole_file_needs_no_repair() {
    for write in WRITES {
        let (_, after, _) = written(write);
        let (folder, path) = folder();
        std::fs::write(&path, &after).unwrap();
        assert_eq!(load(&path).repair(), None);
        assert_eq!((names(&folder).len(), std::fs::read(&path).unwrap()), (1, after));
    }
}

#[test]
fn damage_in_the_middle_is_an_error_with_the_line_and_changes_nothing() {
    let (before, ..) = written(WRITES[0]);
    let second_line = before.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for garbage in [&b"\0\0\0\0"[..], b"####", b"[1]}"] {
        let (folder, path) = folder();
        let mut damaged = before.clone();
        damaged[second_line..second_line + 4].copy_from_slice(garbage);
        std::fs::write(&path, &damaged).unwrap();
        let error = Conversation::load(&path, Ticking::default()).unwrap_err();
        assert!(matches!(error, LoadConversationError::Damaged { line: 2, .. }), "{error}");
        assert!(error.to_string().contains("correct or remove that line in a copy"));
        assert_eq!((names(&folder).len(), std::fs::read(&path).unwrap()), (1, damaged));
    }
}

#[test]
fn two_torn_tails_are_both_kept() {
    let (_folder, path) = folder();
    for tail in ["half", "another half"] {
        drop(std::fs::OpenOptions::new().append(true).create(true).open(&path).unwrap());
        std::fs::write(&path, tail).unwrap();
        assert!(load(&path).repair().is_some());
    }
    let aside = std::fs::read_to_string(format!("{}.quarantine", path.display())).unwrap();
    assert_eq!(aside, "half\nanother half\n");
}

#[test]
fn conversations_of_version_1_still_open() {
    let v1 = include_str!("../fixtures/conversation/v1.jsonl");
    let (_folder, path) = folder();
    std::fs::write(&path, v1).unwrap();
    let mut chat = load(&path);
    assert_eq!(chat.repair(), None);
    assert_eq!(chat.active_skills().collect::<Vec<_>>(), ["pptx"]);
    assert_eq!(chat.checkpoints().collect::<Vec<_>>(), ["middle"]);
    assert_eq!(
        seen(&chat),
        [
            "m001 system: Be brief.",
            "m008 user: [Summary] Slides.",
            "x assistant: c7",
            "m006 tool: A",
            "m007 assistant: A.",
        ]
    );
    assert_eq!(chat.entries().unwrap().len(), v1.lines().count() - 4, "four lines are marks");
    assert_eq!(chat.append(NewConversationMessage::user("x")).unwrap(), "m009");
}

/// Writes what the fixture above holds, to compare the bytes of today with those of version 1.
#[test]
fn today_the_lines_of_version_1_are_written() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    chat.append(NewConversationMessage::system("Be brief.")).unwrap();
    chat.append(NewConversationMessage::user("Slides, please.")).unwrap();
    chat.append(NewConversationMessage::calls(vec![call("c1")])).unwrap();
    chat.activate_skill(pptx("c1")).unwrap();
    chat.checkpoint("middle").unwrap();
    chat.append_view(&[run()]).unwrap();
    chat.mark_compacted("m002", "m005", "Slides.").unwrap();
    let v1 = include_str!("../fixtures/conversation/v1.jsonl");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), v1);
}
