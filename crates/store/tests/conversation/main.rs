//! Conversations from the outside: what each method does, and what is left after a crash.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

mod crash;
mod file;
mod methods;
mod note;
mod skills;
mod synced;
mod system_line;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use ship_message::json::{Json, Object};
use ship_store::conversation::{Conversation, NewConversationMessage, SkillActivation};
use ship_store::{Clock, Timestamp};
use tempfile::TempDir;

/// A clock that is a second further each time it is asked, from 28 January 2026, ten o'clock.
#[derive(Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_769_594_400_000 + 1000 * self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// A folder that goes when the test ends, and a path in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.jsonl");
    (folder, path)
}

fn load(path: &Path) -> Conversation {
    Conversation::load(path, Ticking::default()).unwrap()
}

/// The files in a folder, sorted.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// What the model sees: a line for each message, its id, who says it, and what.
fn seen(chat: &Conversation) -> Vec<String> {
    let messages = chat.llm_messages();
    let lines = messages.iter().map(|message| {
        let calls = message.tool_calls.iter().flatten().filter_map(|call| call.get("id")?.as_str());
        let said: Vec<&str> = message.content.as_str().into_iter().chain(calls).collect();
        format!("{} {}: {}", message.id, message.role.name(), said.join(" "))
    });
    lines.collect()
}

fn call(id: &str) -> Json {
    let function = Object::from([("name", "Read"), ("arguments", "{}")]);
    let fields: [(&str, Json); 3] =
        [("id", id.into()), ("type", "function".into()), ("function", function.into())];
    Object::from(fields).into()
}

fn pptx(call_id: &str) -> SkillActivation {
    SkillActivation {
        skill: "pptx".into(),
        answer: Some(NewConversationMessage::tool(call_id, "Skill", "loaded")),
        prompt: "Make slides.".into(),
    }
}

/// System, question, call, result, answer: `m001` to `m005`.
fn talk(chat: &mut Conversation) {
    for message in [
        NewConversationMessage::system("Be brief."),
        NewConversationMessage::user("What is in a?"),
        NewConversationMessage::calls(vec![call("c1")]),
        NewConversationMessage::tool("c1", "Read", "A"),
        NewConversationMessage::assistant("It says A."),
    ] {
        chat.append(message).unwrap();
    }
}
