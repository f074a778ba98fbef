//! Small things to say in a chat, and a store to say them in.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::{Array, Json, Object};
use ship_store::{
    About, Chat, ContextId, Head, Lane, LedgerBody, LedgerEntry, LogPiece, NewLine, Position,
    Rotation, Seq, Store, StoreOptions, Timestamp,
};

use crate::clock::ManualClock;

/// Returns options with a clock that stands still and little patience for locks.
pub fn options() -> StoreOptions {
    StoreOptions {
        lock_wait_ms: 300,
        clock: Arc::new(ManualClock::default()),
        ..StoreOptions::default()
    }
}

/// Returns a user message.
pub fn message(id: &str, text: &str) -> Object {
    let part = Object::from([("type", Json::from("text")), ("text", text.into())]);
    Object::from([
        ("id", Json::from(id)),
        ("role", "user".into()),
        ("parts", Array::from(vec![part.into()]).into()),
    ])
}

/// Returns the text of a message made by [`message`].
pub fn text(message: &UiMessage) -> String {
    message.text()
}

/// Returns a ledger entry.
pub fn entry(key: &str, text: &str) -> LedgerEntry {
    let entry =
        Object::from([("v", Json::from(1u64)), ("role", "user".into()), ("text", text.into())]);
    LedgerEntry { key: key.to_owned(), entry }
}

/// Returns the rotation that begins a chat's first context.
pub fn first_context() -> Rotation {
    let head = Head::new(ContextId::new(Timestamp::from_millis(1_770_286_500_000), 1));
    Rotation { expected: None, head, pieces: Vec::new() }
}

/// Returns the rotation that keeps all lines from `from` on behind something new.
pub fn compaction(view: &ship_store::View, new: Vec<NewLine>, from: Seq) -> Rotation {
    let mut pieces: Vec<LogPiece> = new.into_iter().map(LogPiece::New).collect();
    pieces.push(LogPiece::KeepFrom(from));
    let (expected, head) = (Some(view.position.generation), view.head.clone());
    Rotation { expected, head, pieces }
}

/// A chat whose first context has begun, its lane held.
pub struct Begun {
    /// The chat that was begun.
    pub chat: Arc<dyn Chat>,
    /// The lane of that chat.
    pub lane: Arc<dyn Lane>,
    /// Where its context ends.
    pub position: Position,
}

impl Begun {
    /// Makes the chat `key` and begins its first context.
    pub async fn new(store: &dyn Store, key: &str) -> Self {
        let chat = store.create(&key.parse().unwrap(), About::default()).await.unwrap();
        let lane = chat.lane("test").await.unwrap();
        let position = lane.rotate(first_context()).await.unwrap().position;
        Self { chat, lane, position }
    }

    /// Says something; the id is also the text.
    pub async fn say(&mut self, id: &str) {
        let batch = vec![message(id, id).into()];
        self.position = self.lane.append(batch, self.position).await.unwrap();
    }

    /// Compacts everything before `from`, leaving a summary.
    pub async fn compact(&mut self, summary: &str, from: Seq) {
        let view = self.chat.log().view().await.unwrap().unwrap();
        let new = vec![message(summary, summary).into()];
        self.position = self.lane.rotate(compaction(&view, new, from)).await.unwrap().position;
    }
}

/// Returns the ids in the active context, in order.
pub async fn ids(chat: &dyn Chat) -> Vec<String> {
    let view = chat.log().view().await.unwrap();
    view.iter().flat_map(|view| view.messages()).map(id).collect()
}

/// Returns every message of the chat once, sealed ones first, in the order in which it was first said.
pub async fn everything(chat: &dyn Chat) -> Result<Vec<UiMessage>, ship_store::ReadError> {
    // The live log first: if it is sealed meanwhile, it is among the sealed ones.
    let live = chat.log().view().await?;
    let mut logs = Vec::new();
    let sealed = chat.log().sealed().await?.into_iter().rev();
    for sealed in sealed.filter(|sealed| sealed.purged.is_none()) {
        logs.push(chat.log().sealed_view(&sealed.name).await?);
    }
    logs.extend(live);
    let mut seen = std::collections::HashSet::new();
    let messages = logs.iter().flat_map(|view| view.messages());
    Ok(messages.filter(|message| seen.insert(id(message))).cloned().collect())
}

/// Returns the keys in the ledger, in order.
pub async fn ledger_keys(chat: &dyn Chat) -> Vec<String> {
    let lines = chat.ledger().before(None, usize::MAX).await.unwrap();
    let key = |line: ship_store::LedgerLine| match line.body {
        LedgerBody::Entry(entry) => Some(entry.key),
        LedgerBody::Delivery(_) => None,
    };
    lines.into_iter().filter_map(key).collect()
}

/// Returns the id of a message.
pub fn id(message: &UiMessage) -> String {
    message.id().unwrap_or_default().to_owned()
}
