//! Since when a context is the active one, and by what it came to be.
//!
//! The head of the log carries it, because it must outlive compactions.

use ship_message::json::{Json, Object};
use ship_store::{ContextId, Head, Timestamp};

use crate::inbound::millis;

const CARRY: &str = "began";

/// How the active context began.
#[derive(Clone, Debug, PartialEq)]
pub struct Began {
    /// The context.
    pub context: ContextId,
    /// Its title.
    pub title: Option<String>,
    /// When it began.
    pub since: Option<Timestamp>,
    /// What began it: `first message`.
    pub by: Option<String>,
}

impl Began {
    /// Reads it from the head of a log.
    pub(crate) fn of(head: &Head) -> Self {
        let began = head.carry.get(CARRY);
        let since = began.and_then(|began| began.get("ts")).and_then(Json::as_number);
        let by = began.and_then(|began| began.get("by")).and_then(Json::as_str);
        Self {
            context: head.context.clone(),
            title: head.title.clone(),
            since: since.map(|millis| Timestamp::from_millis(millis as i64)),
            by: by.map(str::to_owned),
        }
    }

    /// Writes it into the head of a new log.
    pub(crate) fn carry(head: &mut Head, by: &str, now: Timestamp) {
        head.carry.set(CARRY, Object::from([("by", Json::from(by)), ("ts", millis(now))]));
    }
}
