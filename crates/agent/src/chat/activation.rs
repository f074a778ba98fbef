//! Since when a context is the active one, and by what it came to be.
//!
//! The head of the log carries it, because it must outlive compactions: what began the context at all, and the
//! operation that has made it the active one since.

use ship_message::json::{Json, Object};
use ship_store::{ContextId, Head, Timestamp};

use super::head_carry::OPERATION;
use crate::inbound::millis;

const CARRY: &str = "began";

/// How the active context began, or came to be active again.
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// The context.
    pub context: ContextId,
    /// Its title.
    pub title: Option<String>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// By what: `first message`, or the operation, such as `load`.
    pub by: Option<String>,
}

impl Activation {
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

    /// Since when it is active, and by what: the last operation, or else what began it.
    pub(crate) fn active(head: &Head) -> Self {
        let began = Self::of(head);
        let Some(operation) = head.carry.get(OPERATION) else { return began };
        let since = operation.get("ts").and_then(Json::as_number);
        let by = operation.get("op").and_then(Json::as_str);
        Self {
            since: since.map(|millis| Timestamp::from_millis(millis as i64)).or(began.since),
            by: by.map(str::to_owned).or(began.by),
            ..began
        }
    }

    /// Writes it into the head of a new log.
    pub(crate) fn carry(head: &mut Head, by: &str, now: Timestamp) {
        head.carry.set(CARRY, Object::from([("by", Json::from(by)), ("ts", millis(now))]));
    }
}
