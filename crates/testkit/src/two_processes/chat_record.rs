//! What the files of a chat say, read line by line and without the engine's code.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fault_case::BrokenPromise;

/// A message in a context log.
#[derive(Clone, Debug)]
pub(super) struct RecordedMessage {
    pub(super) id: String,
    pub(super) is_user: bool,
    pub(super) text: String,
    /// Whether it is what a run said before it went on elsewhere, or what was fetched for an answer.
    pub(super) is_aside: bool,
}

/// An entry of the ledger.
#[derive(Clone, Debug)]
pub(super) struct RecordedEntry {
    pub(super) is_user: bool,
    pub(super) text: String,
    pub(super) key: String,
}

/// All that is kept of a chat.
pub(super) struct ChatRecord {
    /// The oldest first, through all sealed ledgers.
    pub(super) ledger: Vec<RecordedEntry>,
    /// The messages of each context log, the live one last.
    pub(super) logs: Vec<Vec<RecordedMessage>>,
}

impl ChatRecord {
    pub(super) fn read(chat: &Path) -> Result<Self, BrokenPromise> {
        let mut ledger = Vec::new();
        for path in files(&chat.join("conversations"), "archive-") {
            ledger.extend(lines(&path)?.iter().filter_map(entry));
        }
        let mut logs = Vec::new();
        let mut paths = files(&chat.join("messages/archive"), "20");
        paths.push(chat.join("messages/history.jsonl"));
        for path in paths {
            logs.push(messages(&path)?);
        }
        ledger.extend(lines(&chat.join("conversations/history.jsonl"))?.iter().filter_map(entry));
        Ok(Self { ledger, logs })
    }
}

/// The sealed logs of a folder, by the number of their first line or their own number.
fn files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    found.retain(|path| name(path).starts_with(prefix) && name(path).ends_with(".jsonl"));
    found.sort_by_key(|path| {
        let name = name(path);
        name.trim_end_matches(".jsonl").split('-').nth(1).and_then(|n| n.parse::<u64>().ok())
    });
    found
}

fn lines(path: &Path) -> Result<Vec<Value>, BrokenPromise> {
    let text = fs::read_to_string(path)
        .map_err(|error| BrokenPromise(format!("{} cannot be read: {error}", path.display())))?;
    if !text.ends_with('\n') {
        return Err(BrokenPromise(format!("{} ends with half a line", path.display())));
    }
    let line = |line| {
        serde_json::from_str(line)
            .map_err(|error| BrokenPromise(format!("{}: {error} in {line}", path.display())))
    };
    text.lines().map(line).collect()
}

fn string(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn entry(line: &Value) -> Option<RecordedEntry> {
    (line["type"] == "msg").then(|| RecordedEntry {
        is_user: line["role"] == "user",
        text: string(line, "text"),
        key: string(line, "key"),
    })
}

/// The messages of a log, each in its last revision, at the place of its first line.
fn messages(path: &Path) -> Result<Vec<RecordedMessage>, BrokenPromise> {
    let mut found: Vec<RecordedMessage> = Vec::new();
    let mut last: HashMap<String, (u64, usize)> = HashMap::new();
    for line in lines(path)?.iter().filter(|line| line["type"] == "msg") {
        let (id, rev) = (string(line, "id"), line["rev"].as_u64().unwrap_or_default());
        let message = message(id.clone(), line);
        match last.get(&id).copied() {
            Some((before, _)) if before >= rev => {
                return Err(BrokenPromise(format!("{} has {id} twice", path.display())));
            }
            Some((_, place)) => {
                last.insert(id, (rev, place));
                found[place] = message;
            }
            None => {
                last.insert(id, (rev, found.len()));
                found.push(message);
            }
        }
    }
    Ok(found)
}

fn message(id: String, line: &Value) -> RecordedMessage {
    let parts = line["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (role, metadata) = (&line["role"], &line["metadata"]);
    RecordedMessage {
        id,
        is_user: role == "user",
        text: parts.iter().map(|part| string(part, "text")).collect(),
        is_aside: metadata["kind"] != "normal" || metadata.get("moved").is_some(),
    }
}
