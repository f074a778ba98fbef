//! Tells since when a context is active, and what made it active.
//!
//! The head of the log carries it, because it must survive compactions: the beginning of the context, and the
//! operation that has made it active since.

use ship_message::json::{Json, Object};
use ship_store::carry::{BEGAN, OPERATION};
use ship_store::{ContextId, Head, Timestamp};

use crate::inbound::millis;

/// The beginning of the active context, or its last activation.
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// The id of the context.
    pub context: ContextId,
    /// The title of the context.
    pub title: Option<String>,
    /// The time since which it is active.
    pub since: Option<Timestamp>,
    /// The cause: `first message`, or the operation, such as `load`.
    pub by: Option<String>,
}

impl Activation {
    /// Reads the beginning from the head of a log.
    pub(crate) fn of(head: &Head) -> Self {
        let began = head.carry.get(BEGAN);
        let since = began.and_then(|began| began.get("ts")).and_then(Json::as_number);
        let by = began.and_then(|began| began.get("by")).and_then(Json::as_str);
        Self {
            context: head.context.clone(),
            title: head.title.clone(),
            since: since.map(|millis| Timestamp::from_millis(millis as i64)),
            by: by.map(str::to_owned),
        }
    }

    /// Returns the last activation: by the last operation, or else the beginning.
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

    /// Writes the beginning into the head of a new log.
    pub(crate) fn carry(head: &mut Head, by: &str, now: Timestamp) {
        head.carry.set(BEGAN, Object::from([("by", Json::from(by)), ("ts", millis(now))]));
    }
}
