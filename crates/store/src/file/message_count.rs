//! Counts the messages of a chat: those of the live log and of all sealed ones, each once.
//!
//! A rotation copies lines into the log that it publishes, and the head says where the copies end. So the messages
//! behind that line are the ones that no older log has. Sealed logs never change: the number of their messages is
//! kept in `messages/count.json`, and a list of chats reads only the logs that were sealed since. The file is derived.
//! If it is missing or cannot be read, all is counted once more.

use std::collections::HashSet;

use ship_message::json::{Json, Object};

use super::chat::Paths;
use super::rotate::sealed_path;
use super::store_env::Env;
use crate::line::{LineKind, RawLine, decode, quick_outline};
use crate::rules::{published_end, read_head};
use crate::{Head, SealedName};

/// The mark of a message that was shown for reference. In a text, its quotation marks are escaped.
const REFERENCE: &[u8] = br#""kind":"reference""#;

/// Whether the line of a message is one that was said, and no reference.
pub(super) fn is_said(line: &[u8]) -> bool {
    memchr::memmem::find(line, REFERENCE).is_none()
}

/// Returns the last line that a log was published with, if those lines are copies from other logs of the chat.
pub(super) fn end_of_copies(first: &RawLine, head: &Head) -> u64 {
    published_end(first).filter(|_| head.sealed.is_some()).unwrap_or_default()
}

/// Counts the messages of a log that are in no older one. Lines that cannot be read do not count.
pub(super) fn count_new(bytes: &[u8]) -> Option<(Head, u64)> {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let first = decode(lines.next()?)?;
    let head = read_head(&first)?;
    let copies = end_of_copies(&first, &head);
    let mut ids = HashSet::new();
    for bytes in lines {
        if let Some(line) = quick_outline(bytes)
            && line.kind == LineKind::Message
            && line.seq > copies
            && is_said(bytes)
        {
            ids.insert(line.id?);
        }
    }
    Some((head, ids.len() as u64))
}

/// Counts the messages in the sealed logs of a chat, up to the one that the live log has replaced.
pub(super) fn count_sealed(env: &Env, paths: &Paths, newest: Option<&SealedName>) -> u64 {
    let Some(newest) = newest else { return 0 };
    let known = KnownCount::read(env, paths);
    let (mut count, mut next) = (0, Some(newest.clone()));
    while let Some(name) = next {
        if let Some(known) = known.as_ref().filter(|known| known.last == name) {
            count += known.messages;
            break;
        }
        // A log that is gone or damaged adds nothing, and hides those before it.
        let read = env.read(&sealed_path(&paths.archive, &name)).ok().flatten();
        let Some((head, new)) = read.and_then(|(_, bytes)| count_new(&bytes)) else { break };
        (count, next) = (count + new, head.sealed);
    }
    if known.is_none_or(|known| known.last != *newest) {
        let known = KnownCount { last: newest.clone(), messages: count };
        // Without the file, the next list counts again.
        let _ = env.replace_unsynced(&KnownCount::path(paths), known.to_text().as_bytes());
    }
    count
}

/// The number of messages in the sealed logs of a chat.
struct KnownCount {
    /// The last log that was counted.
    last: SealedName,
    messages: u64,
}

impl KnownCount {
    fn path(paths: &Paths) -> std::path::PathBuf {
        paths.messages.join("count.json")
    }

    fn read(env: &Env, paths: &Paths) -> Option<Self> {
        let (_, bytes) = env.read(&Self::path(paths)).ok()??;
        let json = Json::parse_bytes(&bytes).ok()?;
        let is_known = json.get("v")?.as_u64()? == 1;
        let last = json.get("last")?.as_str().and_then(SealedName::parse).filter(|_| is_known)?;
        Some(Self { last, messages: json.get("messages")?.as_u64()? })
    }

    fn to_text(&self) -> String {
        let mut object = Object::from([("v", Json::from(1u64))]);
        object.set("last", self.last.as_str());
        object.set("messages", self.messages);
        format!("{}\n", Json::from(object))
    }
}
