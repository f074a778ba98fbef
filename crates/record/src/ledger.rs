//! The lines of the ledger.
//!
//! The ledger records everything that crossed the boundary to the platform. It is audit, inbox and outbox, and
//! never model input. An entry is accepted under an idempotency key: for at least seven days, the same key names
//! the same entry.

use std::collections::HashMap;

use ship_message::json::{Json, Object};
use ship_message::names;

use crate::{LedgerSeq, Timestamp};

/// The minimum time for which the store remembers a key, in milliseconds.
pub const KEYS_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// The prefix of the keys of entries that hold the answer of a run.
pub const ANSWER_KEY: &str = "answer:";

/// The field in the `meta` of such an entry with the last entry that the run had read when it ended. The answer
/// answers all messages up to that entry, including those that arrived during the run.
pub const ANSWERS_TO: &str = "answersTo";

/// The value of `via` in the `meta` of an entry that tells the person about an answer and is no part of it.
pub const VIA_NOTICE: &str = "notice";

/// An entry to accept.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// The idempotency key, made of channel, account, platform chat, message id and edit date.
    pub key: String,
    /// The fields `v, ts, role, text, chatKey, channel, chatId, userId?, …, meta?`.
    pub entry: Object,
}

impl LedgerEntry {
    /// Returns what wrote an outgoing entry, if it is not the answer of a run: a tool, a switch, a notice.
    pub fn via(&self) -> Option<&str> {
        self.entry.get("meta")?.get("via")?.as_str()
    }
}

/// An entry that is durable in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct Accepted {
    /// The number of the entry's line.
    pub seq: LedgerSeq,
    /// False if the ledger had the key before.
    pub new: bool,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerLine {
    /// The number of the line.
    pub seq: LedgerSeq,
    /// The content of the line.
    pub body: LedgerBody,
}

/// The content of a line of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub enum LedgerBody {
    /// A message or an operation that came in, or a text that went out.
    Entry(LedgerEntry),
    /// The state of an outgoing platform message.
    Delivery(Delivery),
}

/// Finds the answered messages from the ledger alone. The caller passes the lines in order.
///
/// The answers of older programs have no [`ANSWERS_TO`], but name the request of the last answered message.
#[derive(Debug, Default)]
pub struct AnsweredEntries {
    question_seqs: HashMap<String, LedgerSeq>,
    last: Option<LedgerSeq>,
}

impl AnsweredEntries {
    /// Adds a message that stands before the first line that is taken.
    pub fn know(&mut self, request: &str, seq: LedgerSeq) {
        self.question_seqs.insert(request.to_owned(), seq);
    }

    /// Takes the next line. Returns the last entry that it answers, if it is an answer.
    pub fn take(&mut self, line: &LedgerLine) -> Option<LedgerSeq> {
        let LedgerBody::Entry(LedgerEntry { key, entry }) = &line.body else { return None };
        let request = entry.str("requestId");
        if !key.starts_with(ANSWER_KEY) {
            let question = request.filter(|_| entry.str("role") == Some("user"));
            question.and_then(|request| self.question_seqs.insert(request.to_owned(), line.seq));
            return None;
        }
        let answered_seq = entry.get("meta").and_then(|meta| meta.get(ANSWERS_TO)?.as_u64());
        let named = || request.and_then(|request| self.question_seqs.get(request).copied());
        let answered = answered_seq.map(LedgerSeq::new).or_else(named)?;
        self.last = self.last.max(Some(answered));
        Some(answered)
    }

    /// Returns the last answered entry.
    pub fn last(&self) -> Option<LedgerSeq> {
        self.last
    }
}

/// A state in the life of one platform message.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The entry that the platform message delivers.
    pub entry: LedgerSeq,
    /// The id of the platform message, derived from run, call and part.
    pub id: String,
    /// The time of the change to this state.
    pub ts: Timestamp,
    /// The new state.
    pub state: DeliveryState,
    /// The data of the state: attempt, platform id or reason.
    pub data: Object,
}

/// The state of a platform message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// The message is about to be sent.
    Planned,
    /// The message is being sent. If a process finds this state at its start, the delivery is uncertain.
    Sending,
    /// The platform has accepted the message.
    Sent,
    /// The platform has refused the message.
    Refused,
    /// It is unknown whether the platform has the message.
    Uncertain,
    /// A person has given the message up.
    Dropped,
}

names!(DeliveryState {
    Planned = "planned",
    Sending = "sending",
    Sent = "sent",
    Refused = "refused",
    Uncertain = "uncertain",
    Dropped = "dropped",
});

impl DeliveryState {
    /// Whether the delivery still needs an action.
    pub fn is_open(self) -> bool {
        match self {
            Self::Planned | Self::Sending | Self::Uncertain => true,
            Self::Sent | Self::Refused | Self::Dropped => false,
        }
    }
}

impl Delivery {
    /// Returns the body of the event line.
    pub fn to_body(&self) -> Object {
        let mut data = Object::new();
        data.set("entry", self.entry.get());
        data.set("state", self.state.name());
        data.set("detail", self.data.clone());
        let mut body = Object::new();
        body.set("id", self.id.as_str());
        body.set("ts", self.ts.to_string());
        body.set("event", "delivery");
        body.set("data", data);
        body
    }

    /// Reads the body of an event line. Returns `None` if it is no delivery.
    pub fn from_body(body: &Object) -> Option<Self> {
        let data = body.get("data")?.as_object()?;
        Some(Self {
            entry: LedgerSeq::new(data.get("entry")?.as_u64()?),
            id: body.str("id")?.to_owned(),
            ts: Timestamp::parse(body.str("ts")?)?,
            state: DeliveryState::named(data.str("state")?)?,
            data: data.get("detail").and_then(Json::as_object).cloned().unwrap_or_default(),
        })
    }
}
