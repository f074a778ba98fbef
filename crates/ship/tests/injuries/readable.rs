//! What can be read in a chat's folder, by a reader of its own that shares no code with the store.

use std::collections::BTreeSet;

use ship_message::json::{Json, Object};

use crate::injury::lines;
use crate::project::Project;

/// The folder of the chat that is injured, below `.ship`.
pub(crate) const CHAT: &str = "chat/terminal%3Amain/";

/// The messages that stand whole in the ledgers (`true`) and in the context logs (`false`).
pub(crate) type Messages = BTreeSet<(bool, String)>;

/// Reads every message of the chat.
pub(crate) fn messages(project: &Project) -> Messages {
    let files = project.files();
    let logs = files.iter().filter_map(|(name, bytes)| Some((is_ledger(name)?, bytes)));
    let whole = logs.flat_map(|(ledger, bytes)| {
        whole_lines(bytes).into_iter().filter_map(move |line| Some((ledger, line.message()?)))
    });
    whole.collect()
}

/// Whether a file is a ledger or a context log, if it is either.
pub(crate) fn is_ledger(name: &str) -> Option<bool> {
    let name = name.strip_prefix(CHAT)?.strip_suffix(".jsonl")?;
    match name.split_once('/')? {
        ("conversations", _) => Some(true),
        ("messages", "run" | "requests") => None,
        ("messages", rest) => (!rest.starts_with("archive/requests-")).then_some(false),
        _ => None,
    }
}

/// A line whose checksum is right.
pub(crate) struct WholeLine(pub(crate) Object);

impl WholeLine {
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(Json::as_u64)
    }

    fn batch(&self) -> Option<(u64, u64)> {
        let batch = self.0.get("batch")?.as_array()?;
        Some((batch.first()?.as_u64()?, batch.last()?.as_u64()?))
    }

    /// What the message says, without what the store says about it.
    fn message(&self) -> Option<String> {
        if self.0.str("type") != Some("msg") {
            return None;
        }
        let mut body = Object::new();
        for (key, value) in self.0.iter() {
            if !["seq", "type", "rev", "in", "batch", "blobs", "crc"].contains(&key) {
                body.set(key.to_owned(), value.clone());
            }
        }
        Some(Json::Object(body).to_string())
    }
}

/// Reads the whole lines of a log, but not those of a torn last batch: one that lacks lines at its end or holds NULs.
pub(crate) fn whole_lines(bytes: &[u8]) -> Vec<WholeLine> {
    let mut pieces = lines(bytes);
    let is_torn = |piece: &[u8]| !piece.ends_with(b"\n") || piece.contains(&0);
    while pieces.pop_if(|piece| is_torn(piece)).is_some() {}
    let last = pieces.last().and_then(|piece| whole_line(piece));
    if let Some((first, end)) = last.as_ref().and_then(WholeLine::batch) {
        let before = (end - first + 1).min(pieces.len() as u64) as usize;
        let is_unfinished = last.is_some_and(|last| last.number("seq") < Some(end));
        let begins = |piece: &&[u8]| {
            whole_line(piece).is_some_and(|line| line.batch() == Some((first, end)))
        };
        let holds_nul = pieces[pieces.len() - before..].iter().any(|piece| piece.contains(&0));
        if is_unfinished || holds_nul {
            pieces.truncate(pieces.iter().position(begins).unwrap_or(pieces.len()));
        }
    }
    pieces.into_iter().filter_map(whole_line).collect()
}

pub(crate) fn whole_line(line: &[u8]) -> Option<WholeLine> {
    let line = line.strip_suffix(b"\n")?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (content, end) = line.split_at_checked(line.len().checked_sub(18)?)?;
    let digits = std::str::from_utf8(end).ok()?.strip_prefix(",\"crc\":\"")?.strip_suffix("\"}")?;
    let right = u32::from_str_radix(digits, 16).ok()? == crc32c::crc32c(content);
    let Json::Object(object) = Json::parse_bytes(line).ok()? else { return None };
    right.then_some(WholeLine(object))
}
