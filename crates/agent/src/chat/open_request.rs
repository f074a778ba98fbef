//! Finds the open request of a context, and its other messages.

use std::collections::HashSet;

use ship_context::contexts::{has_other_messages, is_reference, own_messages};
use ship_context::open_request;
use ship_message::{Role, UiMessage};
use ship_store::carry::SettledRun;
use ship_store::{LedgerSeq, Metadata, View};

/// Returns the ids of the messages that a run answers, or that wait for a run.
pub(crate) fn open_request_ids(view: &View, run_id: &str) -> Vec<String> {
    let messages: Vec<_> = view.messages().collect();
    let open = open_request(&messages, run_id, view.head.carry.answered());
    let questions = open.into_iter().map(|at| messages[at]).filter(|it| it.role() == Role::User);
    questions.filter_map(|message| message.id().map(str::to_owned)).collect()
}

/// Returns the messages that belong to a context that was left, without those that were taken along. A question at
/// its end was taken along, or it would have been answered. If something of the log is lost, so may be its answer.
pub(crate) fn messages_left_behind(view: &View, taken: &[String]) -> Vec<UiMessage> {
    let mut gone: HashSet<String> = taken.iter().cloned().collect();
    if view.problems.is_empty() {
        gone.extend(open_request_ids(view, ""));
    }
    let is_gone = |message: &UiMessage| {
        let id = match is_reference(message) {
            true => Metadata::of(message).for_message(),
            false => message.id(),
        };
        id.is_some_and(|id| gone.contains(id))
    };
    let messages: Vec<_> = view.messages().collect();
    own_messages(&messages).into_iter().filter(|message| !is_gone(message)).cloned().collect()
}

/// Whether a context has other messages than those being answered.
pub(crate) fn has_content(view: &View, current: &[String]) -> bool {
    let current: Vec<&str> = current.iter().map(String::as_str).collect();
    has_other_messages(&messages_left_behind(view, &[]), &current)
}

/// The part of a run that an operation takes along and remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequest {
    /// The ids of the messages that the person wants answered.
    pub(crate) current: Vec<String>,
    /// The message with the run's work so far, and the call that switched.
    pub(crate) settled: Option<SettledRun>,
    /// The ledger entry that asked for the operation.
    pub(crate) inbox: Option<LedgerSeq>,
    /// The title of a branch, if it has one.
    pub(crate) title: Option<String>,
    /// The id that was promised for a new context, if any.
    pub(crate) promised: Option<ship_store::ContextId>,
}
