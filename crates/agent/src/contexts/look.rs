//! Looking at contexts without leaving the one that is active.

use ship_context::contexts::{
    Index, RecallMode, ReferenceBudget, ReferenceOrigin, ReferenceTooLarge, Snapshot, is_reference,
    is_referenced, listing, recalled, view_messages,
};
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_store::{ChatKey, NewMessage, View};

use super::named::Named;
use super::operation::{Changed, Ground, Moving, NotDone, Operated};
use super::shelf::{Shelf, known};
use super::title::folded;
use crate::began::Began;
use crate::run::{Agent, Inner, RunError};

/// A reference takes at most this part of what a request may take.
pub(super) const SHARE: u64 = 4;

/// The contexts of a chat.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// The active one.
    pub active: Snapshot,
    /// The archived ones.
    pub index: Index,
    /// Since when the active one is, and by what.
    pub began: Began,
    /// What its checkpoints are called, the newest last.
    pub checkpoints: Vec<String>,
}

impl Contexts {
    /// As `chat_context_list` and `ship context list --json` give them.
    pub fn to_json(&self, limit: Option<u64>) -> Json {
        listing(&self.active, &self.index, limit)
    }
}

/// Since when the active context is, by what, and what it is called.
pub(crate) fn began(agent: &Inner, view: &View) -> Began {
    let head = folded(view);
    let active = snapshot(agent, view);
    Began { title: Some(active.title().to_owned()), ..Began::active(&head) }
}

/// The active context, as far as somebody wants to look at it.
pub(super) fn snapshot(agent: &Inner, view: &View) -> Snapshot {
    let head = folded(view);
    Snapshot::active(&view_messages(view), known(&head), agent.rules.contexts.active)
}

impl Shelf<'_> {
    /// The contexts of the chat whose active one this is.
    pub(super) fn contexts(self, view: &View) -> Contexts {
        let checkpoints = folded(view).checkpoints.into_iter().map(|known| known.name).collect();
        let began = began(self.agent, view);
        Contexts { active: self.active(view), index: self.index, began, checkpoints }
    }
}

impl Agent {
    /// Lists the contexts of a chat; nothing before its first message.
    ///
    /// # Errors
    /// When the chat cannot be read, or the list cannot be written anew.
    pub async fn contexts(&self, chat: &ChatKey) -> Result<Option<Contexts>, RunError> {
        let agent = &*self.inner;
        let Some(chat) = agent.store.open(chat).await? else { return Ok(None) };
        let Some(view) = chat.view().await? else { return Ok(None) };
        let shelf = Shelf::open(agent, &*chat, &view).await?;
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
    ) -> Result<Result<Snapshot, NotDone>, RunError> {
        let agent = &*self.inner;
        let none = || NotDone::no_context(which, Vec::new());
        let Some(chat) = agent.store.open(chat).await? else { return Ok(Err(none())) };
        let Some(view) = chat.view().await? else { return Ok(Err(none())) };
        let shelf = Shelf::open(agent, &*chat, &view).await?;
        let active = shelf.active(&view);
        if active.context().as_str() == which {
            return Ok(Ok(active));
        }
        Ok(shelf.find(which).await?.map_err(|offered| NotDone::no_context(which, offered)))
    }
}

/// The text of a reference to a context, within what a request has room for.
pub(super) fn reference(
    agent: &Inner,
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
    ground: Ground<'_>,
    view: &View,
    which: &str,
    mode: RecallMode,
    moving: &Moving,
) -> Result<Operated, RunError> {
    let shelf = Shelf::open(ground.agent, ground.chat, view).await?;
    let snapshot = match shelf.find(which).await? {
        Ok(snapshot) => snapshot,
        Err(offered) => return Ok(Operated::NotDone(NotDone::no_context(which, offered))),
    };
    let active = shelf.active(view);
    let shown = Shown { view, run_id: None, current: &moving.current };
    match put(ground, &shown, &snapshot, mode, moving).await? {
        Err(not_done) => Ok(Operated::NotDone(not_done)),
        Ok(()) => Ok(Operated::Done(Changed {
            operation: "recall".to_owned(),
            left: None,
            active: Named { context: active.context().clone(), title: active.title().to_owned() },
            chat: None,
            line: format!("“{}” is shown here, for reference.", snapshot.title()),
        })),
    }
}

/// Where a reference is shown.
pub(super) struct Shown<'a> {
    pub(super) view: &'a View,
    pub(super) run_id: Option<&'a str>,
    pub(super) current: &'a [String],
}

/// Appends a reference.
pub(super) async fn put(
    ground: Ground<'_>,
    shown: &Shown<'_>,
    snapshot: &Snapshot,
    mode: RecallMode,
    moving: &Moving,
) -> Result<Result<(), NotDone>, RunError> {
    let messages = view_messages(shown.view);
    let is_there = match shown.run_id {
        Some(run_id) => is_referenced(&messages, run_id, snapshot.context(), mode),
        None => messages.last().is_some_and(|last| shows(last, snapshot, mode)),
    };
    if is_there {
        return Ok(Err(NotDone::because("It is shown above already.")));
    }
    let Ok(reference) = reference(ground.agent, snapshot, mode) else {
        return Ok(Err(NotDone::because("There is no room to show it.")));
    };
    let id = format!("r_{:016x}", ground.agent.ids.next());
    let fetched = ReferenceOrigin {
        id: &id,
        for_message: shown.current.last().map_or("", String::as_str),
        run_id: shown.run_id,
        at: ground.agent.clock.now(),
    };
    let message = reference.into_message(fetched);
    let message = message.to_json().as_object().cloned().unwrap_or_default();
    let entry = NewMessage { message, rev: 0, inbox: moving.inbox };
    ground.lane.append(vec![entry.into()], shown.view.position).await?;
    Ok(Ok(()))
}

/// Whether a message shows this much of a context, to whoever comes next.
fn shows(message: &UiMessage, snapshot: &Snapshot, mode: RecallMode) -> bool {
    let field = |key: &str| message.metadata()?.get(key)?.as_str();
    is_reference(message)
        && field("contextId") == Some(snapshot.context().as_str())
        && field("mode") == Some(mode.name())
}
