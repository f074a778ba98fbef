//! What a search has found.

use std::ops::Range;

use ship_message::json::{Array, Json, Object};
use ship_message::{Role, names};
use ship_store::{ChatKey, ContextId, Timestamp};

/// The messages that a search has found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The hits, the best first.
    pub hits: Vec<MessageHit>,
    /// Whether the whole question was asked of all that there is: it was not cut, and all logs could be read.
    pub is_complete: bool,
    /// Whether the question was too long, so that only its beginning was asked.
    pub is_cut: bool,
    /// How the messages were found.
    pub from: SearchedBy,
}

/// How messages were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedBy {
    /// With the index of the chat.
    Index,
    /// By reading the logs, because there is no index yet.
    Scan,
}

names!(SearchedBy { Index = "index", Scan = "scan" });

/// A message that a search has found.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageHit {
    /// The id of the message.
    pub message_id: String,
    /// The chat in which the message is shown.
    pub chat: ChatKey,
    /// The chat in which it was said, which a copy names.
    pub origin: ChatKey,
    /// The context in which it stands first; `None` if it is in the ledger alone.
    pub context: Option<ContextId>,
    /// Where it stands first.
    pub place: HitPlace,
    /// The role of its author.
    pub role: Role,
    /// The time of the message.
    pub ts: Option<Timestamp>,
    /// How well it answers the question.
    pub score: f64,
    /// The part of its text that shows best why it was found.
    pub snippet: String,
    /// The places of what was asked for in the snippet, in characters.
    pub marks: Vec<Range<usize>>,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitPlace {
    /// In the ledger, and in no context.
    Ledger,
    /// In the live log.
    Live,
    /// In a sealed log of the active context.
    Sealed,
    /// In an archived context.
    Context,
}

names!(HitPlace { Ledger = "ledger", Live = "live", Sealed = "sealed", Context = "context" });

impl SearchResult {
    /// Returns the result as JSON, for programs and models.
    pub fn to_json(&self) -> Json {
        let hits: Array = self.hits.iter().map(MessageHit::to_json).collect();
        let mut result = Object::from([("hits", Json::from(hits))]);
        result.set("complete", self.is_complete);
        result.set("from", self.from.name());
        result.into()
    }
}

impl MessageHit {
    /// Returns the hit as JSON.
    pub fn to_json(&self) -> Json {
        let mut hit = Object::from([("messageId", self.message_id.as_str())]);
        let context = self.context.as_ref().map(|context| context.as_str().into());
        hit.set("contextId", context.unwrap_or(Json::Null));
        hit.set("chatKey", self.chat.as_str());
        hit.set("where", self.place.name());
        hit.set("role", self.role.name().map_or(Json::Null, Json::from));
        hit.set("ts", self.ts.map_or(Json::Null, Timestamp::to_json));
        hit.set("score", (self.score * 1e4).round() / 1e4);
        hit.set("snippet", self.snippet.as_str());
        let mark = |mark: &Range<usize>| {
            Json::from([mark.start, mark.end].map(|at| Json::from(at as u64)).to_vec())
        };
        hit.set("marks", self.marks.iter().map(mark).collect::<Array>());
        hit.into()
    }
}
