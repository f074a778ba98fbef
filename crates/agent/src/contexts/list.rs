//! The list of contexts, and a look at one of them.

use ship_context::contexts::{Index, Snapshot, listing, view_messages};
use ship_message::json::Json;
use ship_store::{ChatKey, View};

use super::archive::{ContextArchive, known};
use crate::chat::{Activation, folded};
use crate::context_operation::OperationRefusal;
use crate::engine::{Agent, Engine};
use crate::error::RunError;

/// The contexts of a chat.
#[derive(Clone, Debug)]
pub struct ContextList {
    /// The active one.
    pub active: Snapshot,
    /// The archived ones.
    pub index: Index,
    /// Since when the active one is, and by what.
    pub began: Activation,
    /// What its checkpoints are called, the newest last.
    pub checkpoints: Vec<String>,
}

impl ContextList {
    /// As `chat_context_list` and `ship context list --json` give them.
    pub fn to_json(&self, limit: Option<u64>) -> Json {
        listing(&self.active, &self.index, limit)
    }
}

/// Since when the active context is, by what, and what it is called.
pub(crate) fn began(agent: &Engine, view: &View) -> Activation {
    let head = folded(view);
    let active = snapshot(agent, view);
    Activation { title: Some(active.title().to_owned()), ..Activation::active(&head) }
}

/// The active context, as far as somebody wants to look at it.
pub(super) fn snapshot(agent: &Engine, view: &View) -> Snapshot {
    let head = folded(view);
    Snapshot::active(&view_messages(view), known(&head), agent.rules.contexts.active)
}

impl ContextArchive<'_> {
    /// The contexts of the chat whose active one this is.
    pub(super) fn contexts(self, view: &View) -> ContextList {
        let checkpoints = folded(view).checkpoints.into_iter().map(|known| known.name).collect();
        let began = began(self.agent, view);
        ContextList { active: self.active(view), index: self.index, began, checkpoints }
    }
}

impl Agent {
    /// Lists the contexts of a chat; nothing before its first message.
    ///
    /// # Errors
    /// When the chat cannot be read, or the list cannot be written anew.
    pub async fn contexts(&self, chat: &ChatKey) -> Result<Option<ContextList>, RunError> {
        let agent = &*self.inner;
        let Some(chat) = agent.store.open(chat).await? else { return Ok(None) };
        let Some(view) = chat.view().await? else { return Ok(None) };
        let shelf = ContextArchive::open(agent, &*chat, &view).await?;
        Ok(Some(shelf.contexts(&view)))
    }

    /// Shows an archived context, and changes nothing.
    ///
    /// # Errors
    /// When the chat cannot be read.
    pub async fn look_at_context(
        &self,
        chat: &ChatKey,
        which: &str,
    ) -> Result<Result<Snapshot, OperationRefusal>, RunError> {
        let agent = &*self.inner;
        let none = || OperationRefusal::no_context(which, Vec::new());
        let Some(chat) = agent.store.open(chat).await? else { return Ok(Err(none())) };
        let Some(view) = chat.view().await? else { return Ok(Err(none())) };
        let shelf = ContextArchive::open(agent, &*chat, &view).await?;
        let active = shelf.active(&view);
        if active.context().as_str() == which {
            return Ok(Ok(active));
        }
        Ok(shelf.find(which).await?.map_err(|offered| OperationRefusal::no_context(which, offered)))
    }
}
