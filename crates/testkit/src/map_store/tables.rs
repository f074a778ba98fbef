//! The tables of the database: chats, blobs, memories, records and leases.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use ship_store::rules::{
    PreparedRotation, READER_VERSION, SourceName, TextBlob, missing_reader, source_logs,
};
use ship_store::{
    BlobError, ChatCursor, ChatKey, ChatLook, ChatPage, Holder, RecordName, RotateError, Rotated,
    Rotation, StorageError, StoredRecord, Timestamp,
};

use super::MESSAGE_BYTES_MAX;
use super::log_rows::ChatRows;

/// Everything that the database holds.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) chats: BTreeMap<ChatKey, ChatRows>,
    pub(super) blobs: Blobs,
    pub(super) indexes: BTreeMap<(ChatKey, RecordName), Vec<u8>>,
    pub(super) memories: HashMap<ChatKey, String>,
    pub(super) records: BTreeMap<RecordName, StoredRecord>,
    pub(super) leases: HashMap<RecordName, (u64, Holder)>,
    last_number: u64,
}

/// Bytes by their digest.
pub(super) type Blobs = HashMap<String, Vec<u8>>;

/// Stores texts before the lines that refer to them.
pub(super) fn put_texts(blobs: &mut Blobs, texts: Vec<TextBlob>) {
    blobs.extend(texts.into_iter().map(|text| (text.blob.sha256, text.text.into_bytes())));
}

pub(super) fn read_blob(blobs: &Blobs, sha256: &str) -> Result<Vec<u8>, BlobError> {
    blobs.get(sha256).cloned().ok_or_else(|| BlobError::Missing(sha256.to_owned()))
}

impl Tables {
    /// Returns a number that was never given before: the token of a lane, the version of a record, the id of a lease.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Whether there is a chat with this key. Refuses one that this program must not read.
    pub(super) fn check(&self, key: &ChatKey) -> Result<bool, StorageError> {
        let Some(rows) = self.chats.get(key) else { return Ok(false) };
        match missing_reader(rows.min_reader) {
            Some(needed) => {
                let (place, own) = (key.to_string(), READER_VERSION);
                Err(StorageError::ReaderTooOld { place, needed, own })
            }
            None => Ok(true),
        }
    }

    /// Returns a chat and the blobs. A chat that was opened is there, because none is ever removed.
    pub(super) fn chat(&mut self, key: &ChatKey) -> (&mut ChatRows, &mut Blobs) {
        (self.chats.get_mut(key).expect("an opened chat"), &mut self.blobs)
    }

    /// Lists chats, the newest activity first. A cursor counts the chats before it.
    pub(super) fn page(&self, after: Option<ChatCursor>, limit: usize) -> ChatPage {
        let look = |(key, rows): (&ChatKey, &ChatRows)| ChatLook {
            key: Ok(key.clone()),
            sizes: rows.sizes(),
            activity: rows.activity,
            may_have_work: rows.idle != Some(rows.sizes()),
        };
        let mut chats: Vec<ChatLook> = self.chats.iter().map(look).collect();
        chats.sort_by_key(|look| Reverse(look.activity));
        let first = after.and_then(|after| after.as_str().parse().ok()).unwrap_or(0);
        let end = limit.saturating_add(first);
        let next = (chats.len() > end).then(|| ChatCursor::new(end.to_string()));
        ChatPage { chats: chats.into_iter().skip(first).take(limit).collect(), next }
    }

    /// Rotates the context log of a chat, which may copy lines from other chats.
    pub(super) fn rotate(
        &mut self,
        key: &ChatKey,
        rotation: Rotation,
        now: Timestamp,
    ) -> Result<Rotated, RotateError> {
        let sources = source_logs(&rotation, key);
        let source = |name: SourceName| -> Result<_, RotateError> {
            let rows = self.chats.get(&name.chat);
            let rows = rows.ok_or_else(|| RotateError::NoChat(name.chat.clone()))?;
            Ok((name.clone(), rows.source(name.log.as_ref())?))
        };
        let sources = sources.into_iter().map(source).collect::<Result<HashMap<_, _>, _>>()?;
        let (prepared, texts) =
            PreparedRotation::prepare(rotation, key, &sources, MESSAGE_BYTES_MAX)?;
        put_texts(&mut self.blobs, texts);
        self.chat(key).0.rotate(prepared, now)
    }
}
