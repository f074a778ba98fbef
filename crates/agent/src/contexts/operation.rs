//! What an operation works on, and what it takes along.

use ship_store::{Chat, Lane, LedgerSeq};

use crate::run::Engine;

/// A chat whose lane is held.
#[derive(Clone, Copy)]
pub(crate) struct LockedChatRef<'a> {
    pub(crate) agent: &'a Engine,
    pub(crate) chat: &'a dyn Chat,
    pub(crate) lane: &'a dyn Lane,
}

/// What an operation takes along and remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequest {
    /// The ids of the messages that the person waits for an answer to.
    pub(crate) current: Vec<String>,
    /// The message in which the run has left what it had so far, and the call that switched.
    pub(crate) settled: Option<(String, Option<String>)>,
    /// The ledger entry that asked for the operation.
    pub(crate) inbox: Option<LedgerSeq>,
    /// What a branch is called, when it is called something.
    pub(crate) title: Option<String>,
    /// The id that a context which is made gets, when it was promised.
    pub(crate) promised: Option<ship_store::ContextId>,
}
