//! Lists the contexts of a chat, and shows one of them.

use ship_context::contexts::{Index, Snapshot, listing_json};
use ship_message::json::Json;
use ship_store::{ChatKey, View};

use super::archive::{ContextArchive, FoundContext, context_facts};
use crate::chat::{Activation, head_after_events};
use crate::context_operation::{ContextName, OperationRefusal};
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
    pub activation: Activation,
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
pub(crate) fn active_context(engine: &Engine, view: &View) -> Activation {
    let head = head_after_events(view);
    let active = active_snapshot(engine, view);
    Activation { title: Some(active.title().to_owned()), ..Activation::last_in(&head) }
}

/// Makes the snapshot of the active context, within the limits for showing it.
pub(super) fn active_snapshot(engine: &Engine, view: &View) -> Snapshot {
    let head = head_after_events(view);
    let messages: Vec<_> = view.messages().collect();
    Snapshot::of_active(&messages, context_facts(&head), engine.rules.contexts.active)
}

impl ContextArchive<'_> {
    /// Returns the list of contexts, with the active one from this view.
    pub(super) fn into_list(self, view: &View) -> ContextList {
        let checkpoints =
            head_after_events(view).checkpoints.into_iter().map(|known| known.name).collect();
        let began = active_context(self.engine, view);
        ContextList {
            active: active_snapshot(self.engine, view),
            index: self.index,
            activation: began,
            checkpoints,
        }
    }
}

impl Agent {
    /// Lists the contexts of a chat; `None` before its first message.
    ///
    /// # Errors
    /// Fails if the chat cannot be read, or if an outdated index cannot be written again.
    pub async fn contexts(&self, chat: &ChatKey) -> Result<Option<ContextList>, RunError> {
        let engine = &*self.engine;
        let Some(chat) = engine.store.open(chat).await? else { return Ok(None) };
        let Some(view) = chat.log().view().await? else { return Ok(None) };
        let archive = ContextArchive::open(engine, &*chat, &view).await?;
        Ok(Some(archive.into_list(&view)))
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
        let engine = &*self.engine;
        let none = || OperationRefusal::no_context(which, Vec::new());
        let Some(chat) = engine.store.open(chat).await? else { return Ok(Err(none())) };
        let Some(view) = chat.log().view().await? else { return Ok(Err(none())) };
        let archive = ContextArchive::open(engine, &*chat, &view).await?;
        let active = active_snapshot(engine, &view);
        Ok(match archive.find_any(which, &ContextName::from(&active)).await? {
            Ok(FoundContext::Active) => Ok(active),
            Ok(FoundContext::Archived(snapshot)) => Ok(*snapshot),
            Err(refused) => Err(refused),
        })
    }
}
