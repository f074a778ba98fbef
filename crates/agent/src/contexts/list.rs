//! Lists the contexts of a chat, and shows one of them.

use ship_context::contexts::{Index, Snapshot, listing_json, view_messages};
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
    /// The snapshot of the active context.
    pub active: Snapshot,
    /// The index of the archived contexts.
    pub index: Index,
    /// The time and the reason of the last activation.
    pub began: Activation,
    /// The names of the active context's checkpoints, the newest last.
    pub checkpoints: Vec<String>,
}

impl ContextList {
    /// Returns the list in the form of `chat_context_list` and `ship context list --json`.
    pub fn to_json(&self, limit: Option<u64>) -> Json {
        listing_json(&self.active, &self.index, limit)
    }
}

/// Returns the activation of the active context, with its title.
pub(crate) fn began(agent: &Engine, view: &View) -> Activation {
    let head = folded(view);
    let active = snapshot(agent, view);
    Activation { title: Some(active.title().to_owned()), ..Activation::active(&head) }
}

/// Makes the snapshot of the active context, within the limits for showing it.
pub(super) fn snapshot(agent: &Engine, view: &View) -> Snapshot {
    let head = folded(view);
    Snapshot::of_active(&view_messages(view), known(&head), agent.rules.contexts.active)
}

impl ContextArchive<'_> {
    /// Returns the list of contexts, with the active one from this view.
    pub(super) fn contexts(self, view: &View) -> ContextList {
        let checkpoints = folded(view).checkpoints.into_iter().map(|known| known.name).collect();
        let began = began(self.agent, view);
        ContextList { active: self.active(view), index: self.index, began, checkpoints }
    }
}

impl Agent {
    /// Lists the contexts of a chat; `None` before its first message.
    ///
    /// # Errors
    /// Fails if the chat cannot be read, or if an outdated index cannot be written again.
    pub async fn contexts(&self, chat: &ChatKey) -> Result<Option<ContextList>, RunError> {
        let agent = &*self.inner;
        let Some(chat) = agent.store.open(chat).await? else { return Ok(None) };
        let Some(view) = chat.log().view().await? else { return Ok(None) };
        let shelf = ContextArchive::open(agent, &*chat, &view).await?;
        Ok(Some(shelf.contexts(&view)))
    }

    /// Returns the snapshot of a context, without changing the chat.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn look_at_context(
        &self,
        chat: &ChatKey,
        which: &str,
    ) -> Result<Result<Snapshot, OperationRefusal>, RunError> {
        let agent = &*self.inner;
        let none = || OperationRefusal::no_context(which, Vec::new());
        let Some(chat) = agent.store.open(chat).await? else { return Ok(Err(none())) };
        let Some(view) = chat.log().view().await? else { return Ok(Err(none())) };
        let shelf = ContextArchive::open(agent, &*chat, &view).await?;
        let active = shelf.active(&view);
        if active.context().as_str() == which {
            return Ok(Ok(active));
        }
        Ok(shelf.find(which).await?.map_err(|offered| OperationRefusal::no_context(which, offered)))
    }
}
