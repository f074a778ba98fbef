//! Reads what a list of chats shows of one chat, with as few calls as possible.

use std::collections::HashSet;

use ship_message::UiMessage;
use ship_message::json::{Json, Object};

use super::chat::Paths;
use super::ledger_reader::LedgerReader;
use super::message_count::{count_sealed, end_of_copies, is_said};
use super::min_reader::check_min_reader;
use super::store_env::Env;
use crate::chat_folder::folder_name;
use crate::line::{LineKind, decode, quick_outline};
use crate::{About, ChatContent, ChatKey, FORMAT_VERSION, Head, LedgerSeq};

/// Reads `chat.json`, the live log and the end of the ledger of a chat, each once. Returns `None` if anything is
/// unusual or damaged; then the caller opens the chat in the ordinary way.
pub(super) fn read_overview(env: &Env, folder: &str) -> Option<(ChatKey, ChatContent)> {
    let paths = Paths::new(folder);
    // Whatever is wrong with a file, the slow reading reports it.
    let (_, bytes) = env.read(&paths.about).ok()??;
    let Json::Object(about) = Json::parse_bytes(&bytes).ok()? else { return None };
    let key: ChatKey = about.str("chatKey")?.parse().ok()?;
    check_min_reader(&paths.about, &about).ok()?;
    let (_, live) = env.read(&paths.live).ok()??;
    let log = Log::read(&live, &key).filter(|_| folder_name(&key) == folder)?;
    let reading = LedgerReader { env, folder: &paths.conversations };
    let new_lines = reading.after(log.inbox.map(LedgerSeq::new), usize::MAX).ok()?;
    let content = ChatContent {
        about: read_about(&about),
        messages: log.messages,
        messages_said: log.new + count_sealed(env, &paths, log.head.sealed.as_ref()),
        head: Some(log.head),
        last_message: log.last_message,
        new_lines,
    };
    Some((key, content))
}

/// The summary of a context log.
struct Log {
    head: Head,
    inbox: Option<u64>,
    messages: usize,
    /// The number of messages that no older log has.
    new: u64,
    last_message: Option<UiMessage>,
}

impl Log {
    /// Reads a log of whole lines in order, each with another id. Only its head and its last message are parsed.
    fn read(bytes: &[u8], chat: &ChatKey) -> Option<Self> {
        let mut lines = bytes.strip_suffix(b"\n")?.split(|&byte| byte == b'\n');
        let first = decode(lines.next()?).filter(|line| line.event() == Some("head"))?;
        let data = first.body.get("data")?.as_object()?;
        let is_known = data.get("v")?.as_u64()? <= FORMAT_VERSION;
        let is_own = data.str("chatKey") == Some(chat.as_str());
        let head = Head::from_data(data).filter(|_| is_known && is_own)?;
        let mut inbox = head.inbox.map(LedgerSeq::get);
        let (mut seq, mut batch) = (first.seq, first.batch);
        let mut ids = HashSet::new();
        let (mut messages, mut new, mut last) = (0, 0, None);
        let copies = end_of_copies(&first, &head);
        for bytes in lines {
            let line = quick_outline(bytes).filter(|line| line.seq == seq + 1)?;
            // A second line of an id may be a revision, which this short reading does not know.
            if !ids.insert(line.id?) {
                return None;
            }
            (seq, batch, inbox) = (line.seq, line.batch, inbox.max(line.inbox));
            if line.kind == LineKind::Message {
                (messages, last) = (messages + 1, Some(bytes));
                new += u64::from(line.seq > copies && is_said(bytes));
            }
        }
        // A last batch that lacks lines does not count.
        batch.is_none_or(|(_, last)| last == seq).then_some(())?;
        let last_message = match last {
            Some(bytes) => {
                // With blobs, the line has only a preview of its text.
                let line = decode(bytes).filter(|line| line.blobs.is_none())?;
                Some(UiMessage::from_object(line.body))
            }
            None => None,
        };
        Some(Self { head, inbox, messages, new, last_message })
    }
}

/// Reads the description of a chat from its `chat.json`.
pub(super) fn read_about(object: &Object) -> About {
    let text = |key: &str| object.str(key).map(str::to_owned);
    About { channel: text("channel"), target: object.get("target").cloned(), model: text("model") }
}
