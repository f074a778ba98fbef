//! The shelf: what is known of the archived contexts of a chat, in files that anybody may read.
//!
//! All of it is derived. It is written after an operation is published, and made again from the sealed logs
//! when an operation was published and the files do not know of it.

use std::collections::HashSet;

use ship_context::contexts::{
    ArchiveNote, Candidate, ContextFacts, ContextMatch, Index, IndexItem, Snapshot, SnapshotLimits,
    find,
};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{
    Chat, ContextId, Derived, DerivedState, Gen, Head, Position, SealedLog, SealedName, Timestamp,
    View,
};

use crate::chat::{Activation, OPERATION, folded, left_messages, title_in};
use crate::context_operation::ContextName;
use crate::engine::Engine;
use crate::error::RunError;

/// How many sealed logs are looked at in one go.
const PAGE: usize = 64;

/// What is known of the archived contexts of a chat.
pub(crate) struct ContextArchive<'a> {
    pub(super) agent: &'a Engine,
    chat: &'a dyn Chat,
    pub(crate) index: Index,
}

/// How a context was left, as the head of the log after it tells.
pub(super) struct Departure {
    pub(super) at: Timestamp,
    pub(super) reason: String,
    pub(super) is_dropped: bool,
    generation: Gen,
}

impl Departure {
    /// None when the log was not published by an operation.
    fn of(head: &Head) -> Option<Self> {
        let operation = head.carry.get(OPERATION)?;
        let text = |key: &str| operation.get(key).and_then(Json::as_str);
        Some(Self {
            at: Timestamp::from_millis(operation.get("ts")?.as_number()? as i64),
            reason: text("reason").or(text("op"))?.to_owned(),
            is_dropped: operation.get("drops").and_then(Json::as_bool).unwrap_or_default(),
            generation: Gen::new(operation.get("gen")?.as_u64()?),
        })
    }
}

impl<'a> ContextArchive<'a> {
    /// Opens it, and makes it up to date if it is not.
    pub(crate) async fn open(
        agent: &'a Engine,
        chat: &'a dyn Chat,
        view: &View,
    ) -> Result<Self, RunError> {
        let known = chat.derived(Derived::ContextIndex).await?;
        let newest = Departure::of(&view.head).map(|left| left.generation);
        let index = known
            .filter(|state| newest.is_none_or(|newest| state.position.generation >= newest))
            .and_then(|state| Index::read(&state.value));
        match (index, newest) {
            (Some(index), _) => Ok(Self { agent, chat, index }),
            // No operation was ever published, so nothing was archived.
            (None, None) => Ok(Self { agent, chat, index: Index::default() }),
            (None, Some(_)) => Self::rebuild(agent, chat, view).await,
        }
    }

    /// Makes it again from the sealed logs: the newest log of each context is what it was left as.
    async fn rebuild(agent: &'a Engine, chat: &'a dyn Chat, view: &View) -> Result<Self, RunError> {
        let mut shelf = Self { agent, chat, index: Index::default() };
        let mut seen = HashSet::from([view.head.context.clone()]);
        let mut after = view.head.clone();
        let mut before = None;
        loop {
            let page = chat.sealed_logs(before.clone(), PAGE).await?;
            for log in &page {
                let left = Departure::of(&after).filter(|left| left.generation == after.generation);
                if seen.insert(log.head.context.clone())
                    && let Some(left) = left.filter(|left| !left.is_dropped)
                {
                    shelf.put_back(log, &left).await?;
                }
                after = log.head.clone();
            }
            if page.len() < PAGE {
                break;
            }
            before = page.last().map(|log| log.name.clone());
        }
        shelf.tidy().await?;
        shelf.write(view.position, view.crc).await?;
        Ok(shelf)
    }

    /// Takes away what is written of contexts that are not archived: somebody was killed before he could.
    async fn tidy(&self) -> Result<(), RunError> {
        for context in self.chat.archived_contexts().await? {
            if !self.has(&context) {
                self.chat.remove_derived(Derived::Context(context)).await?;
            }
        }
        Ok(())
    }

    fn has(&self, context: &ContextId) -> bool {
        self.index.items().iter().any(|item| item.context == *context)
    }

    /// Lists the context of a sealed log behind those that were left later, and writes it down again if that is
    /// missing.
    async fn put_back(&mut self, log: &SealedLog, left: &Departure) -> Result<(), RunError> {
        let known = self.chat.derived(Derived::Context(log.head.context.clone())).await?;
        let known = known.and_then(|state| Snapshot::read(state.value));
        if let Some(known) = known.filter(|known| known.sealed().as_ref() == Some(&log.name)) {
            self.list_older(&known);
            return Ok(());
        }
        if log.purged.is_some() {
            return Ok(());
        }
        let view = self.chat.sealed_view(&log.name).await?;
        let messages = left_messages(&view, &[]);
        if messages.is_empty() {
            return Ok(());
        }
        let snapshot = self.made(&view, &messages, left, Some(&log.name));
        self.write_down(&snapshot, &view).await?;
        self.list_older(&snapshot);
        Ok(())
    }

    fn made(
        &self,
        view: &View,
        messages: &[UiMessage],
        left: &Departure,
        sealed: Option<&SealedName>,
    ) -> Snapshot {
        let head = folded(view);
        let known = known(&head);
        let archived = ArchiveNote { at: left.at, reason: &left.reason, sealed };
        Snapshot::archived(messages, known, archived, self.limits())
    }

    /// What a context that is about to be left will be known as; none when nothing was said in it.
    pub(super) fn leave(
        &self,
        view: &View,
        messages: &[UiMessage],
        at: Timestamp,
        reason: &str,
    ) -> Snapshot {
        let left = Departure {
            at,
            reason: reason.to_owned(),
            is_dropped: false,
            generation: view.head.generation.next(),
        };
        self.made(view, messages, &left, None)
    }

    fn limits(&self) -> SnapshotLimits {
        self.agent.rules.contexts.snapshot
    }

    /// Keeps the snapshot of the context that was just left, and lists it first.
    pub(super) async fn keep(&mut self, snapshot: &Snapshot, of: &View) -> Result<(), RunError> {
        self.write_down(snapshot, of).await?;
        if let Some(item) = IndexItem::of(snapshot) {
            self.index.add(item);
        }
        Ok(())
    }

    async fn write_down(&self, snapshot: &Snapshot, of: &View) -> Result<(), RunError> {
        let value = snapshot.to_object().clone();
        let state = DerivedState { value, position: of.position, crc: of.crc };
        let context = snapshot.context().clone();
        Ok(self.chat.put_derived(Derived::Context(context), state).await?)
    }

    fn list_older(&mut self, snapshot: &Snapshot) {
        if let Some(item) = IndexItem::of(snapshot) {
            self.index.add_older(item);
        }
    }

    /// A context that is active is not on the shelf.
    pub(super) async fn take(&mut self, context: &ContextId) -> Result<(), RunError> {
        self.index.remove(context);
        Ok(self.chat.remove_derived(Derived::Context(context.clone())).await?)
    }

    /// Writes the list, which knows of everything up to this place.
    pub(super) async fn write(&self, position: Position, crc: u32) -> Result<(), RunError> {
        let state = DerivedState { value: self.index.to_object(), position, crc };
        Ok(self.chat.put_derived(Derived::ContextIndex, state).await?)
    }

    /// The snapshot of a context; made again if somebody took it away.
    pub(crate) async fn read(&self, context: &ContextId) -> Result<Option<Snapshot>, RunError> {
        let state = self.chat.derived(Derived::Context(context.clone())).await?;
        if let Some(snapshot) = state.and_then(|state| Snapshot::read(state.value)) {
            return Ok(Some(snapshot));
        }
        let view = self.chat.view().await?;
        let Some(view) = view.filter(|_| self.has(context)) else { return Ok(None) };
        Box::pin(Self::rebuild(self.agent, self.chat, &view)).await?;
        let state = self.chat.derived(Derived::Context(context.clone())).await?;
        Ok(state.and_then(|state| Snapshot::read(state.value)))
    }

    /// Finds the context that somebody means, or those that they may mean.
    pub(crate) async fn find(
        &self,
        which: &str,
    ) -> Result<Result<Snapshot, Vec<ContextName>>, RunError> {
        // Who names one exactly need not wait until all of them are read.
        let items = self.index.items();
        let exactly = match which.trim() {
            "last" | "-" => items.first(),
            id => items.iter().find(|item| item.context.as_str() == id),
        };
        if let Some(item) = exactly
            && let Some(snapshot) = self.read(&item.context).await?
        {
            return Ok(Ok(snapshot));
        }
        let mut snapshots = Vec::new();
        for item in items {
            snapshots.extend(self.read(&item.context).await?);
        }
        let candidates: Vec<Candidate<'_>> = snapshots.iter().filter_map(Candidate::of).collect();
        let of = |id: &ContextId| snapshots.iter().find(|snapshot| snapshot.context() == id);
        Ok(match find(which, &candidates) {
            ContextMatch::One(id) => of(&id).cloned().ok_or_else(Vec::new),
            ContextMatch::Several(ids) | ContextMatch::None(ids) => {
                let named = |snapshot: &Snapshot| ContextName {
                    context: snapshot.context().clone(),
                    title: snapshot.title().to_owned(),
                };
                Err(ids.iter().filter_map(of).map(named).collect())
            }
        })
    }

    /// The active context, as far as somebody wants to look at it.
    pub(super) fn active(&self, view: &View) -> Snapshot {
        super::list::snapshot(self.agent, view)
    }
}

pub(super) fn known(head: &Head) -> ContextFacts<'_> {
    let since = Activation::of(head).since.unwrap_or(Timestamp::from_millis(0));
    ContextFacts { context: &head.context, created_at: since, title: title_in(head) }
}

/// What a head says of the operation that publishes it.
pub(super) fn operation(
    name: &str,
    reason: Option<&str>,
    now: Timestamp,
    generation: Gen,
) -> Object {
    let mut object = Object::from([("op", Json::from(name)), ("gen", generation.get().into())]);
    object.set("ts", crate::inbound::millis(now));
    object.set_or_remove("reason", reason.map(Json::from));
    object
}
