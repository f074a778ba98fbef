//! What goes into the ledger and what comes out of it.
//!
//! The ledger records what crossed the boundary to the platform. It is audit, inbox and outbox, and
//! never model input. An entry is accepted under an idempotency key: the same key again is the same
//! entry, for at least seven days.

use std::collections::HashMap;

use ship_message::json::{Json, Object};

use crate::{LedgerSeq, Timestamp};

/// For how long a key is remembered, at least.
pub const KEYS_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What the keys of entries begin with that tell the answer of a run.
pub const ANSWER_KEY: &str = "answer:";

/// In the `meta` of such an entry: the last entry that the run had read when it ended. It answers all messages
/// up to there, also those that came in while it worked.
pub const ANSWERS_TO: &str = "answersTo";

/// An entry to accept.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// What makes the same message the same: channel, account, platform chat, message id, edit date.
    pub key: String,
    /// `v, ts, role, text, chatKey, channel, chatId, userId?, …, meta?`.
    pub entry: Object,
}

/// An entry that is in the ledger, durably.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// Where it is.
    pub seq: LedgerSeq,
    /// False when the key was there before.
    pub new: bool,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerLine {
    /// Where it is.
    pub seq: LedgerSeq,
    /// What it says.
    pub body: LedgerBody,
}

/// What a line of the ledger says.
#[derive(Debug, Clone, PartialEq)]
pub enum LedgerBody {
    /// Something came in or went out.
    Entry(LedgerEntry),
    /// What became of something that went out.
    Delivery(Delivery),
}

/// Tells from the ledger alone which messages were answered. Lines are taken in their order.
///
/// Where an answer does not say how far it answers, as those of older programs, it names the request of the last
/// message that it answers.
#[derive(Debug, Default)]
pub struct AnsweredEntries {
    asked: HashMap<String, LedgerSeq>,
    last: Option<LedgerSeq>,
}

impl AnsweredEntries {
    /// Learns of a message that stands before the lines that are taken in.
    pub fn know(&mut self, request: &str, seq: LedgerSeq) {
        self.asked.insert(request.to_owned(), seq);
    }

    /// Takes a line in. Gives the last entry that it answers, if it is an answer.
    pub fn take(&mut self, line: &LedgerLine) -> Option<LedgerSeq> {
        let LedgerBody::Entry(LedgerEntry { key, entry }) = &line.body else { return None };
        let request = entry.str("requestId");
        if !key.starts_with(ANSWER_KEY) {
            let asked = request.filter(|_| entry.str("role") == Some("user"));
            asked.and_then(|request| self.asked.insert(request.to_owned(), line.seq));
            return None;
        }
        let told = entry.get("meta").and_then(|meta| meta.get(ANSWERS_TO)?.as_u64());
        let named = || request.and_then(|request| self.asked.get(request).copied());
        let answered = told.map(LedgerSeq::new).or_else(named)?;
        self.last = self.last.max(Some(answered));
        Some(answered)
    }

    /// Returns the last entry that was answered.
    pub fn last(&self) -> Option<LedgerSeq> {
        self.last
    }
}

/// A state in the life of one platform message.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The entry that it delivers.
    pub entry: LedgerSeq,
    /// What names the platform message, derived from run, call and part.
    pub id: String,
    /// When this became so.
    pub ts: Timestamp,
    /// What became so.
    pub state: DeliveryState,
    /// Attempt, platform id, reason: what the state needs.
    pub data: Object,
}

/// What became of a platform message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It shall be sent.
    Planned,
    /// It is being sent. Found at a start, it is uncertain.
    Sending,
    /// The platform has it.
    Sent,
    /// The platform will not have it.
    Refused,
    /// Nobody knows whether the platform has it.
    Uncertain,
    /// A person gave it up.
    Dropped,
}

impl DeliveryState {
    const ALL: [Self; 6] =
        [Self::Planned, Self::Sending, Self::Sent, Self::Refused, Self::Uncertain, Self::Dropped];

    /// Returns the word that stands in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Refused => "refused",
            Self::Uncertain => "uncertain",
            Self::Dropped => "dropped",
        }
    }

    /// Whether something is left to do.
    pub fn is_open(self) -> bool {
        match self {
            Self::Planned | Self::Sending | Self::Uncertain => true,
            Self::Sent | Self::Refused | Self::Dropped => false,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

impl Delivery {
    /// Returns the body of the event line.
    pub fn to_body(&self) -> Object {
        let mut data = Object::new();
        data.set("entry", self.entry.get());
        data.set("state", self.state.as_str());
        data.set("detail", self.data.clone());
        let mut body = Object::new();
        body.set("id", self.id.as_str());
        body.set("ts", self.ts.to_string());
        body.set("event", "delivery");
        body.set("data", data);
        body
    }

    /// Reads the body of an event line.
    pub fn from_body(body: &Object) -> Option<Self> {
        let data = body.get("data")?.as_object()?;
        Some(Self {
            entry: LedgerSeq::new(data.get("entry")?.as_u64()?),
            id: body.str("id")?.to_owned(),
            ts: Timestamp::parse(body.str("ts")?)?,
            state: DeliveryState::parse(data.str("state")?)?,
            data: data.get("detail").and_then(Json::as_object).cloned().unwrap_or_default(),
        })
    }
}
