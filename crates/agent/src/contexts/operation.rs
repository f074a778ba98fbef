//! What an operation works on, and what it takes along.

use ship_store::{Chat, Lane};

use crate::run::Engine;

/// A chat whose lane is held.
#[derive(Clone, Copy)]
pub(crate) struct LockedChatRef<'a> {
    pub(crate) agent: &'a Engine,
    pub(crate) chat: &'a dyn Chat,
    pub(crate) lane: &'a dyn Lane,
}
