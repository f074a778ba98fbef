//! The archive of a chat's contexts: an index and a snapshot of each, in files that other programs may read.
//!
//! All of it is derived from the sealed logs. It is written after an operation is published, and made again if a
//! crash has kept an operation out of it.

use std::collections::HashSet;

use ship_context::contexts::{
    ArchiveNote, Candidate, ContextFacts, ContextMatch, Index, IndexItem, Snapshot, find_context,
};
use ship_message::UiMessage;
use ship_store::{
    Chat, ContextId, Derived, DerivedState, Gen, Head, Position, SealedLog, Timestamp, View,
};

use crate::chat::{Activation, context_title, head_after_events, messages_left_behind};
use crate::context_operation::{ContextName, OperationRefusal};
use crate::engine::Engine;
use crate::error::RunError;

/// The number of sealed logs that are read at once.
const PAGE: usize = 64;

/// The number of archived contexts that are offered beside the active one.
const OFFERED: usize = 4;

/// The reason for which an imported context is in the archive.
const IMPORT: &str = "import";

/// The index of a chat's archived contexts, with access to their snapshots.
pub(crate) struct ContextArchive<'a> {
    pub(super) engine: &'a Engine,
    pub(super) chat: &'a dyn Chat,
    pub(super) index: Index,
}

/// The departure from a context, read from the head of the log after it.
pub(super) struct ContextDeparture {
    pub(super) at: Timestamp,
    pub(super) reason: String,
    pub(super) is_dropped: bool,
    generation: Gen,
}

impl ContextDeparture {
    /// Reads a departure; `None` if the log was not published by an operation.
    fn read(head: &Head) -> Option<Self> {
        let by = head.carry.published_by()?;
        Some(Self {
            at: by.at?,
            reason: by.reason.or(by.operation)?,
            is_dropped: by.drops_left,
            generation: by.generation?,
        })
    }

    /// Tells since when an imported context is archived; `None` if an operation has published the log.
    fn of_import(head: &Head) -> Option<Self> {
        let from = head.import()?;
        let (at, generation) = (from.at, from.generation);
        Some(Self { at, reason: IMPORT.to_owned(), is_dropped: false, generation })
    }
}

/// The context that a query means.
pub(super) enum FoundContext {
    Active,
    Archived(Box<Snapshot>),
}

impl<'a> ContextArchive<'a> {
    /// Opens the archive, and rebuilds it if it is out of date.
    pub(crate) async fn open(
        engine: &'a Engine,
        chat: &'a dyn Chat,
        view: &View,
    ) -> Result<Self, RunError> {
        let known = chat.derived().read(Derived::ContextIndex).await?;
        // A process that was killed after the rotation has left an index without the last departure.
        let left = ContextDeparture::read(&view.head).map(|departure| departure.generation);
        let newest = left.max(view.head.carry.last_import());
        let index = known
            .filter(|state| newest.is_none_or(|newest| state.position.generation >= newest))
            .and_then(|state| Index::read(&state.value));
        match index {
            Some(index) => Ok(Self { engine, chat, index }),
            // In the first log of a chat, no context was left.
            None if view.head.sealed.is_none() => {
                Ok(Self { engine, chat, index: Index::default() })
            }
            None => Self::rebuild(engine, chat, view).await,
        }
    }

    /// Makes the archive again from the sealed logs. The newest log of each context shows how it was left.
    async fn rebuild(
        engine: &'a Engine,
        chat: &'a dyn Chat,
        view: &View,
    ) -> Result<Self, RunError> {
        let mut archive = Self { engine, chat, index: Index::default() };
        let mut seen = HashSet::from([view.head.context.clone()]);
        let mut after = view.head.clone();
        let mut before = None;
        loop {
            let page = chat.log().sealed_logs(before.clone(), PAGE).await?;
            for log in &page {
                // Compactions carry the departure on, so it belongs to a log only if the generation is its own.
                let departure = ContextDeparture::read(&after)
                    .filter(|departure| departure.generation == after.generation)
                    .or_else(|| ContextDeparture::of_import(&log.head));
                if seen.insert(log.head.context.clone())
                    && let Some(departure) = departure.filter(|departure| !departure.is_dropped)
                {
                    archive.restore_snapshot(log, &departure).await?;
                }
                after = log.head.clone();
            }
            if page.len() < PAGE {
                break;
            }
            before = page.last().map(|log| log.name.clone());
        }
        archive.remove_stale_files(&view.head.context).await?;
        archive.write_index(view.position, view.crc).await?;
        Ok(archive)
    }

    /// Removes the snapshot of the active context, which a process that was killed may have left. The snapshot of a
    /// context that no log has is set aside.
    async fn remove_stale_files(&self, active: &ContextId) -> Result<(), RunError> {
        let derived = self.chat.derived();
        for context in derived.archived_contexts().await? {
            match self.contains(&context) {
                true => {}
                false if context == *active => derived.remove(Derived::Context(context)).await?,
                false => derived.set_aside(Derived::Context(context)).await?,
            }
        }
        Ok(())
    }

    fn contains(&self, context: &ContextId) -> bool {
        self.index.items().iter().any(|item| item.context == *context)
    }

    /// Lists the context of a sealed log behind those that were left later. Writes its snapshot again if it is
    /// missing or belongs to another log.
    async fn restore_snapshot(
        &mut self,
        log: &SealedLog,
        departure: &ContextDeparture,
    ) -> Result<(), RunError> {
        let known = self.chat.derived().read(Derived::Context(log.head.context.clone())).await?;
        let known = known.and_then(|state| Snapshot::read(state.value));
        if let Some(known) = known.filter(|known| known.sealed_log().as_ref() == Some(&log.name)) {
            self.list_older(&known);
            return Ok(());
        }
        if log.purged.is_some() {
            return Ok(());
        }
        let view = self.chat.log().sealed_view(&log.name).await?;
        let messages = messages_left_behind(&view, &[]);
        if messages.is_empty() {
            return Ok(());
        }
        let (at, reason) = (departure.at, departure.reason.as_str());
        let note = ArchiveNote { at, reason, sealed: Some(&log.name) };
        let snapshot = self.snapshot_of(&view, &messages, note);
        self.write_down(&snapshot, (view.position, view.crc)).await?;
        self.list_older(&snapshot);
        Ok(())
    }

    /// Makes the snapshot of a context with these messages, which is left as the note says.
    pub(super) fn snapshot_of(
        &self,
        view: &View,
        messages: &[UiMessage],
        note: ArchiveNote<'_>,
    ) -> Snapshot {
        let head = head_after_events(view);
        let limits = self.engine.rules.contexts.snapshot;
        Snapshot::of_archived(messages, context_facts(&head), note, limits)
    }

    /// Writes the snapshot of the context that was just left, and lists it first. `end` is the end of its log.
    pub(super) async fn store_snapshot(
        &mut self,
        snapshot: &Snapshot,
        end: (Position, u32),
    ) -> Result<(), RunError> {
        self.write_down(snapshot, end).await?;
        if let Some(item) = IndexItem::from_snapshot(snapshot) {
            self.index.add(item);
        }
        Ok(())
    }

    async fn write_down(
        &self,
        snapshot: &Snapshot,
        (position, crc): (Position, u32),
    ) -> Result<(), RunError> {
        let state = DerivedState { value: snapshot.to_object().clone(), position, crc };
        let context = snapshot.context().clone();
        Ok(self.chat.derived().put(Derived::Context(context), state).await?)
    }

    fn list_older(&mut self, snapshot: &Snapshot) {
        if let Some(item) = IndexItem::from_snapshot(snapshot) {
            self.index.add_older(item);
        }
    }

    /// Removes a context from the archive, because it is active now. `source` is the end of the log that its lines and
    /// restored messages come from. A snapshot of another log may tell more, and is set aside.
    pub(super) async fn remove_snapshot(
        &mut self,
        context: &ContextId,
        source: Option<(Position, u32)>,
    ) -> Result<(), RunError> {
        self.index.remove(context);
        let (derived, which) = (self.chat.derived(), Derived::Context(context.clone()));
        let snapshot = derived.read(which.clone()).await?;
        let has_more = snapshot.is_some_and(|state| Some((state.position, state.crc)) != source);
        match has_more {
            true => derived.set_aside(which).await?,
            false => derived.remove(which).await?,
        }
        Ok(())
    }

    /// Writes the index, which is complete up to this position.
    pub(super) async fn write_index(&self, position: Position, crc: u32) -> Result<(), RunError> {
        let state = DerivedState { value: self.index.to_object(), position, crc };
        Ok(self.chat.derived().put(Derived::ContextIndex, state).await?)
    }

    /// Reads the snapshot of a context, and makes it again if its file is gone.
    pub(crate) async fn read(&self, context: &ContextId) -> Result<Option<Snapshot>, RunError> {
        Ok(self.read_with_end(context).await?.map(|(snapshot, _)| snapshot))
    }

    /// Reads the snapshot of a context as [`read`](Self::read) does, with the end of its log.
    async fn read_with_end(
        &self,
        context: &ContextId,
    ) -> Result<Option<(Snapshot, Position)>, RunError> {
        let with_end = |state: DerivedState| Some((Snapshot::read(state.value)?, state.position));
        let state = self.chat.derived().read(Derived::Context(context.clone())).await?;
        if let Some(known) = state.and_then(with_end) {
            return Ok(Some(known));
        }
        let view = self.chat.log().view().await?;
        let Some(view) = view.filter(|_| self.contains(context)) else { return Ok(None) };
        Box::pin(Self::rebuild(self.engine, self.chat, &view)).await?;
        let state = self.chat.derived().read(Derived::Context(context.clone())).await?;
        Ok(state.and_then(with_end))
    }

    /// Returns the snapshot of the active context, if it is archived with lines that the live log does not have.
    pub(super) async fn later_snapshot(&self, view: &View) -> Result<Option<Snapshot>, RunError> {
        let context = &view.head.context;
        if !self.contains(context) {
            return Ok(None);
        }
        let known = self.read_with_end(context).await?;
        let is_later = |(snapshot, end): &(Snapshot, Position)| {
            snapshot.sealed_log().is_some() && end.seq >= view.position.seq
        };
        Ok(known.filter(is_later).map(|(snapshot, _)| snapshot))
    }

    /// Finds a context among the active one and the archived ones. A title that both have means the archived one,
    /// because the person is in the other already.
    pub(super) async fn find_any(
        &self,
        which: &str,
        active: &ContextName,
    ) -> Result<Result<FoundContext, OperationRefusal>, RunError> {
        let wanted = which.trim().to_lowercase();
        if wanted.starts_with("c_") && active.context.as_str().starts_with(&wanted) {
            let is_whole = active.context.as_str() == wanted;
            let others = if is_whole { Vec::new() } else { self.beginning_with(&wanted) };
            if others.is_empty() {
                return Ok(Ok(FoundContext::Active));
            }
            let all = std::iter::once(active.clone()).chain(others).collect();
            return Ok(Err(OperationRefusal::several_contexts(which, all)));
        }
        let title = active.title.to_lowercase();
        let has_title = |item: &IndexItem| item.title.to_lowercase() == title;
        if title == wanted && !self.index.items().iter().any(has_title) {
            return Ok(Ok(FoundContext::Active));
        }
        Ok(match self.find(which).await? {
            Ok(snapshot) => Ok(FoundContext::Archived(Box::new(snapshot))),
            // The query fits no other context, so the active one may be meant.
            Err(_) if !wanted.is_empty() && title.contains(&wanted) => Ok(FoundContext::Active),
            Err(refused) => Err(refused),
        })
    }

    /// Returns the newest archived contexts with an id that begins so.
    fn beginning_with(&self, id: &str) -> Vec<ContextName> {
        let items = self.index.items().iter();
        let named = |item: &IndexItem| ContextName {
            context: item.context.clone(),
            title: item.title.clone(),
        };
        items
            .filter(|item| item.context.as_str().starts_with(id))
            .take(OFFERED)
            .map(named)
            .collect()
    }

    /// Finds the context with this id or these words. The refusal offers the possible ones if no single one matches.
    pub(crate) async fn find(
        &self,
        which: &str,
    ) -> Result<Result<Snapshot, OperationRefusal>, RunError> {
        // For an exact id, only one snapshot is read instead of all of them.
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
        let candidates: Vec<Candidate<'_>> =
            snapshots.iter().filter_map(Candidate::from_snapshot).collect();
        let of = |id: &ContextId| snapshots.iter().find(|snapshot| snapshot.context() == id);
        let named =
            |ids: Vec<ContextId>| ids.iter().filter_map(of).map(ContextName::from).collect();
        Ok(match find_context(which, &candidates) {
            ContextMatch::One(id) => {
                of(&id).cloned().ok_or_else(|| OperationRefusal::no_context(which, Vec::new()))
            }
            ContextMatch::Several(ids) => {
                Err(OperationRefusal::several_contexts(which, named(ids)))
            }
            ContextMatch::None(ids) => Err(OperationRefusal::no_context(which, named(ids))),
        })
    }
}

/// Writes the archive again, if it does not know the newest contexts.
pub(crate) async fn refresh_archive(
    agent: &Engine,
    chat: &dyn Chat,
    view: &View,
) -> Result<(), RunError> {
    ContextArchive::open(agent, chat, view).await.map(drop)
}

pub(super) fn context_facts(head: &Head) -> ContextFacts<'_> {
    let since = Activation::from_head(head).since.unwrap_or(Timestamp::from_millis(0));
    ContextFacts { context: &head.context, created_at: since, title: context_title(head) }
}
