//! A chat that has been through everything, and what each of its files was on the way.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};
use ship_message::json::Json;

use crate::injury::lines;
use crate::project::Project;
use crate::readable::{CHAT, whole_lines};

/// A chat to injure.
pub(crate) struct Base {
    pub(crate) name: &'static str,
    pub(crate) project: Project,
    /// The earlier versions of each file, the oldest first.
    pub(crate) older: BTreeMap<String, Vec<Vec<u8>>>,
}

const SETTINGS: &str = r#"{"context":{"history":{"keepLastMessages":2}}}"#;
const PURGING: &str = r#"{"context":{"history":{"keepLastMessages":2,"archiveOnCompact":false}}}"#;
const SKILL: &str = "---\nname: knots\ndescription: How to tie knots\n---\nOver, under, through.\n";

impl Base {
    /// Makes a chat with contexts, compactions, a tombstone, sealed ledgers and records, blobs and a skill.
    pub(crate) fn at_rest() -> Self {
        let mut base = Self { name: "at rest", project: Project::new(), older: BTreeMap::new() };
        base.project.write("ship.json", SETTINGS);
        base.project.write(".ship/skills/knots/SKILL.md", SKILL);
        base.first_context();
        base.second_context();
        base.seal_ledger();
        base.seal_requests();
        base.third_context();
        base.project.write(&format!(".ship/{CHAT}memory/Primary.md"), "They sail.\nThey knit.\n");
        assert_eq!(base.project.done(&["verify"]), "1 chat, nothing wrong.\n");
        base
    }

    /// Makes the same chat as a kill leaves it in the middle of an answer: its question is in the context, a tool was
    /// called, and neither the context nor the ledger has the answer.
    pub(crate) fn in_a_run(&self) -> Self {
        let project = self.project.copy();
        let base = Self { name: "in a run", project, older: self.older.clone() };
        base.project.done(&["send", "/tool skills_list {}\n/tool chat_context_list {}"]);
        // What a run writes last: the end of the journal with the last text, the answer in the log, then in the ledger.
        base.take_lines("messages/run.jsonl", 3);
        base.take_lines("messages/history.jsonl", 1);
        base.take_lines("conversations/history.jsonl", 1);
        base
    }

    fn first_context(&mut self) {
        for text in ["the ship is blue", "sail to the port", "and rest"] {
            self.step(&["send", &at_length(text)]);
        }
        self.step(&["send", r#"/tool skills_load {"name":"knots"}"#]);
        self.step(&["compact"]);
        self.step(&["send", &"A very long story. ".repeat(2000)]);
        self.step(&["context", "rename", "Long stories"]);
        self.step(&["checkpoint", "before"]);
    }

    fn second_context(&mut self) {
        self.step(&["context", "new", "--title", "Second"]);
        for text in ["one", "two", "three"] {
            self.step(&["send", &at_length(text)]);
        }
        self.project.write("ship.json", PURGING);
        self.step(&["compact"]);
        self.project.write("ship.json", SETTINGS);
        self.step(&["send", "/tool chat_context_list {}"]);
    }

    fn third_context(&mut self) {
        self.step(&["send", "after the sealing"]);
        self.step(&["fork"]);
        self.step(&["send", "in the fork"]);
        self.step(&["context", "load", "Long stories"]);
        self.step(&["undo"]);
        self.step(&["context", "new", "--title", "Third"]);
        self.step(&["send", r#"/tool chat_send {"text":"Hello, once."}"#]);
        self.step(&["context", "recall", "-"]);
        self.step(&["send", "the last one"]);
    }

    /// Runs a command, and keeps what it replaced or removed.
    fn step(&mut self, arguments: &[&str]) {
        let before = self.project.files();
        self.project.done(arguments);
        let after: BTreeMap<_, _> = self.project.files().into_iter().collect();
        for (name, bytes) in before {
            if after.get(&name).is_some_and(|now| *now != bytes) {
                self.older.entry(name).or_default().push(bytes);
            }
        }
    }

    /// Seals the ledger as one of 4 MiB is sealed.
    fn seal_ledger(&mut self) {
        let ledger = self.chat_file("conversations/history.jsonl");
        let last = last_number(&ledger);
        let number = last + 1;
        let head = format!(
            r#"{{"seq":{number},"type":"evt","id":"l{number}","ts":"2026-01-01T00:00:00.000Z","event":"head","data":{{"v":1,"chatKey":"terminal:main","archives":1,"archivedTo":{last},"open":[]}}"#
        );
        self.set("conversations/archive-1.keys", &keys(&ledger));
        self.set("conversations/archive-1.jsonl", &ledger);
        self.set("conversations/history.jsonl", checked(&head).as_bytes());
    }

    /// Seals the records of requests as those of 4 MiB are sealed.
    fn seal_requests(&mut self) {
        let records = self.chat_file("messages/requests.jsonl");
        let last = last_number(&records);
        let head = format!(
            r#"{{"seq":{},"type":"evt","ts":"2026-01-01T00:00:00.000Z","event":"head","data":{{"v":1,"about":{{}}}}"#,
            last + 1
        );
        self.set(&format!("messages/archive/requests-1-{last}.jsonl"), &records);
        self.set("messages/requests.jsonl", checked(&head).as_bytes());
    }

    fn chat_file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.project.path(&format!("{CHAT}{name}"))).unwrap()
    }

    fn set(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.project.path(&format!("{CHAT}{name}")), bytes).unwrap();
    }

    /// Takes the last lines of a file away.
    fn take_lines(&self, name: &str, count: usize) {
        let bytes = self.chat_file(name);
        let lines = lines(&bytes);
        self.set(name, &lines[..lines.len() - count].concat());
    }
}

/// Makes a message long enough for a compaction to be worth it.
fn at_length(text: &str) -> String {
    format!("{text}. {}", "The sails are white. ".repeat(20))
}

fn last_number(log: &[u8]) -> u64 {
    whole_lines(log).last().and_then(|line| line.number("seq")).unwrap()
}

/// Ends a line with its checksum.
fn checked(line: &str) -> String {
    format!("{line},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(line.as_bytes()))
}

/// Makes the file with the keys of a sealed ledger.
fn keys(ledger: &[u8]) -> Vec<u8> {
    let mut pairs = Vec::new();
    let mut offset = 0_u64;
    for (bytes, line) in lines(ledger).into_iter().zip(whole_lines(ledger)) {
        if let Some(key) = line.0.get("key").and_then(Json::as_str) {
            let digest = Sha256::digest(key);
            pairs.push((u64::from_be_bytes(digest[..8].try_into().unwrap()), offset));
        }
        offset += bytes.len() as u64;
    }
    pairs.sort_unstable();
    let mut bytes = b"SHIPKEY1".to_vec();
    bytes.extend(1_767_225_600_000_i64.to_le_bytes());
    for (digest, offset) in pairs {
        bytes.extend(digest.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
    }
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}
