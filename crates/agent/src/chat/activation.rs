//! Tells since when a context is active, and what made it active.
//!
//! The head of the log carries it, because it must survive compactions: the beginning of the context, and the
//! operation that has made it active since.

use ship_store::carry::Beginning;
use ship_store::{ContextId, Head, Timestamp};

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
        let Beginning { by, at } = head.carry.beginning();
        Self { context: head.context.clone(), title: head.title.clone(), since: at, by }
    }

    /// Returns the last activation: by the last operation, or else the beginning.
    pub(crate) fn last_in(head: &Head) -> Self {
        let activation = Self::from_head(head);
        let Some(last) = head.carry.published_by() else { return activation };
        let (since, by) = (last.at.or(activation.since), last.operation.or(activation.by));
        Self { since, by, ..activation }
    }

    /// Writes the beginning into the head of a new log.
    pub(crate) fn write_to_head(head: &mut Head, by: &str, now: Timestamp) {
        head.carry.set_beginning(&Beginning { by: Some(by.to_owned()), at: Some(now) });
    }
}
