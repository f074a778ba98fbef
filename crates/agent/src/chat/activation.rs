//! Tells since when a context is active, and what made it active.
//!
//! The head of the log carries it, because it must survive compactions: the beginning of the context, and the
//! operation that has made it active since.

use ship_message::json::{Json, Object};
use ship_store::carry::{BEGAN, OPERATION};
use ship_store::{ContextId, Head, Timestamp};

use crate::inbound::millis_json;

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
    pub(crate) fn from_head(head: &Head) -> Self {
        let activation = head.carry.get(BEGAN);
        let since =
            activation.and_then(|activation| activation.get("ts")).and_then(Json::as_number);
        let by = activation.and_then(|activation| activation.get("by")).and_then(Json::as_str);
        Self {
            context: head.context.clone(),
            title: head.title.clone(),
            since: since.map(|millis| Timestamp::from_millis(millis as i64)),
            by: by.map(str::to_owned),
        }
    }

    /// Returns the last activation: by the last operation, or else the beginning.
    pub(crate) fn last_in(head: &Head) -> Self {
        let activation = Self::from_head(head);
        let Some(operation) = head.carry.get(OPERATION) else { return activation };
        let since = operation.get("ts").and_then(Json::as_number);
        let by = operation.get("op").and_then(Json::as_str);
        Self {
            since: since.map(|millis| Timestamp::from_millis(millis as i64)).or(activation.since),
            by: by.map(str::to_owned).or(activation.by),
            ..activation
        }
    }

    /// Writes the beginning into the head of a new log.
    pub(crate) fn write_to_head(head: &mut Head, by: &str, now: Timestamp) {
        head.carry.set(BEGAN, Object::from([("by", Json::from(by)), ("ts", millis_json(now))]));
    }
}
