//! Looking at contexts without leaving the one that is active.

use ship_context::contexts::{
    Index, RecallMode, ReferenceBudget, ReferenceOrigin, ReferenceTooLarge, Snapshot, is_reference,
    is_referenced, listing, recalled, view_messages,
};
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_store::{ChatKey, NewMessage, View};

use super::shelf::{ContextArchive, known};
use crate::chat::{Activation, OpenRequest, folded};
use crate::context_operation::{ContextChange, ContextName, OperationOutcome, OperationRefusal};
use crate::engine::{Agent, Engine, LockedChat};
use crate::error::RunError;

/// A reference takes at most this part of what a request may take.
pub(super) const SHARE: u64 = 4;

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

/// The text of a reference to a context, within what a request has room for.
pub(super) fn reference(
    agent: &Engine,
    snapshot: &Snapshot,
    mode: RecallMode,
) -> Result<ship_context::contexts::Reference, ReferenceTooLarge> {
    let rules = &agent.rules;
    let count = |text: &str| agent.scales.count(text);
    recalled(
        snapshot,
        mode,
        rules.contexts.active,
        ReferenceBudget { tokens: agent.budget_tokens() / SHARE, count: &count },
    )
}

/// Puts a reference to an archived context into the active one, for the message that is being answered or for
/// the next.
pub(super) async fn recall(
    locked: &LockedChat,
    view: &View,
    which: &str,
    mode: RecallMode,
    moving: &OpenRequest,
) -> Result<OperationOutcome, RunError> {
    let shelf = ContextArchive::open(&locked.engine, &*locked.chat, view).await?;
    let snapshot = match shelf.find(which).await? {
        Ok(snapshot) => snapshot,
        Err(offered) => {
            return Ok(OperationOutcome::NotDone(OperationRefusal::no_context(which, offered)));
        }
    };
    let active = shelf.active(view);
    let shown = ReferenceSite { view, run_id: None, current: &moving.current };
    match put(locked, &shown, &snapshot, mode, moving).await? {
        Err(not_done) => Ok(OperationOutcome::NotDone(not_done)),
        Ok(()) => Ok(OperationOutcome::Done(ContextChange {
            operation: "recall".to_owned(),
            left: None,
            active: ContextName {
                context: active.context().clone(),
                title: active.title().to_owned(),
            },
            chat: None,
            line: format!("“{}” is shown here, for reference.", snapshot.title()),
        })),
    }
}

/// Where a reference is shown.
pub(super) struct ReferenceSite<'a> {
    pub(super) view: &'a View,
    pub(super) run_id: Option<&'a str>,
    pub(super) current: &'a [String],
}

/// Appends a reference.
pub(super) async fn put(
    locked: &LockedChat,
    shown: &ReferenceSite<'_>,
    snapshot: &Snapshot,
    mode: RecallMode,
    moving: &OpenRequest,
) -> Result<Result<(), OperationRefusal>, RunError> {
    let messages = view_messages(shown.view);
    let is_there = match shown.run_id {
        Some(run_id) => is_referenced(&messages, run_id, snapshot.context(), mode),
        None => messages.last().is_some_and(|last| shows(last, snapshot, mode)),
    };
    if is_there {
        return Ok(Err(OperationRefusal::because("It is shown above already.")));
    }
    let Ok(reference) = reference(&locked.engine, snapshot, mode) else {
        return Ok(Err(OperationRefusal::because("There is no room to show it.")));
    };
    let id = format!("r_{:016x}", locked.engine.ids.next());
    let fetched = ReferenceOrigin {
        id: &id,
        for_message: shown.current.last().map_or("", String::as_str),
        run_id: shown.run_id,
        at: locked.engine.clock.now(),
    };
    let message = reference.into_message(fetched);
    let message = message.to_json().as_object().cloned().unwrap_or_default();
    let entry = NewMessage { message, rev: 0, inbox: moving.inbox };
    locked.lane.append(vec![entry.into()], shown.view.position).await?;
    Ok(Ok(()))
}

/// Whether a message shows this much of a context, to whoever comes next.
fn shows(message: &UiMessage, snapshot: &Snapshot, mode: RecallMode) -> bool {
    let field = |key: &str| message.metadata()?.get(key)?.as_str();
    is_reference(message)
        && field("contextId") == Some(snapshot.context().as_str())
        && field("mode") == Some(mode.name())
}
