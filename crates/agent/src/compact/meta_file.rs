//! `messages/meta.json`: the last compaction of a chat, the size of its log, and the tokens of its messages.
//!
//! All of it is derived from the context log at a given position; if it is missing or the log has moved on, it is
//! made again. Only a draft (see `engine/summary_drafts`) comes from elsewhere, and it names its source.

use std::sync::Arc;

use ship_context::compact::is_summary;
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{
    Chat, ChatKey, ContextBody, ContextEvent, Derived, DerivedState, Metadata, ReadError,
    SealedName, View,
};

use crate::blocking_work::blocking;
use crate::chat::{COMPACTED, LogSize, SEALED_GENERATION, sealed_by, view_messages};
use crate::engine::{ActiveRun, Agent, Engine, SummaryDraft};
use crate::error::RunError;
use crate::run_log::{RunLogEntry, RunLogKind};

/// The version that this program writes.
const VERSION: u64 = 1;
/// The key of a draft.
pub(super) const DRAFT: &str = "draft";

impl Agent {
    /// Returns the last compaction of a chat, the size of its log, and the tokens of its messages; `None`
    /// before the first message.
    ///
    /// # Errors
    /// Fails if the chat cannot be opened or read.
    pub async fn compaction_state(&self, key: &ChatKey) -> Result<Option<Object>, RunError> {
        let Some(chat) = self.engine.store.open(key).await? else { return Ok(None) };
        let Some(view) = chat.log().view().await? else { return Ok(None) };
        let known = chat.derived().read(Derived::Meta).await?;
        if let Some(known) = known.filter(|known| describes(known, &view)) {
            return Ok(Some(known.value));
        }
        let value = derive(&self.engine, &*chat, &view).await?;
        chat.derived().put(Derived::Meta, derived_state(&view, value.clone())).await?;
        Ok(Some(value))
    }
}

/// Writes the state again. Nothing depends on it, so a failure is only logged.
pub(super) async fn write(work: &ActiveRun, view: &View, draft: Option<&SummaryDraft>) {
    let written = async {
        let mut value = derive(&work.locked.engine, &*work.locked.chat, view).await?;
        value.set_or_remove(DRAFT, draft.map(|draft| draft.to_object().into()));
        Ok::<(), RunError>(
            work.locked.chat.derived().put(Derived::Meta, derived_state(view, value)).await?,
        )
    };
    if let Err(error) = written.await {
        let reason =
            work.locked.engine.project.mask(&format!("meta.json was not written: {error}"));
        let texts = vec![("reason", Json::from(reason))];
        work.log(RunLogEntry { kind: RunLogKind::Warning, texts, ..RunLogEntry::default() });
    }
}

/// Whether it was derived from exactly this view.
fn describes(known: &DerivedState, view: &View) -> bool {
    let version = known.value.get("v").and_then(Json::as_u64);
    known.position == view.position && known.crc == view.crc && version == Some(VERSION)
}

fn derived_state(view: &View, value: Object) -> DerivedState {
    DerivedState { value, position: view.position, crc: view.crc }
}

async fn derive(engine: &Engine, chat: &dyn Chat, view: &View) -> Result<Object, ReadError> {
    let messages = view_messages(view);
    let (meter, counted) = (Arc::clone(&engine.token_meter), messages.clone());
    let count = move || counted.iter().map(|message| meter.message_tokens(message)).sum();
    let tokens: u64 = blocking(count).await;
    let size = LogSize::of(view);
    let sizes = Object::from([
        ("lines", Json::from(size.lines)),
        ("bytes", size.bytes.into()),
        ("messages", (messages.len() as u64).into()),
    ]);
    let mut value = Object::from([
        ("v", Json::from(VERSION)),
        ("ts", engine.clock.now().to_json()),
        ("contextId", view.head.context.as_str().into()),
        ("sizes", sizes.into()),
        ("tokens", Object::from([("messages", tokens)]).into()),
    ]);
    if let Some(event) = last_rotation(view) {
        let sealed = sealed_by(chat, view, event).await?;
        let summary = messages.iter().find(|message| is_summary(message));
        let cursor = cursor(event, sealed, summary);
        value.set("compaction", cursor);
    }
    Ok(value)
}

/// Describes how far the context was compacted, and by which compaction.
fn cursor(event: &ContextEvent, sealed: Option<SealedName>, summary: Option<&UiMessage>) -> Object {
    let of_event = |key: &str| event.data.get(key).cloned();
    let mut cursor = Object::from([("ts", event.ts.to_json())]);
    cursor.set("sealed", sealed.map_or(Json::Null, |name| name.as_str().into()));
    if let Some(range) = summary.and_then(|summary| Metadata::of(summary).source_range()) {
        cursor.set_or_remove("fromId", range.from_id.map(Json::from));
        cursor.set_or_remove("toId", range.to_id.map(Json::from));
        cursor.set("count", range.count);
    }
    for key in ["rung", "tokensBefore", "tokensAfter", "messages", "cost"] {
        cursor.set_or_remove(key, of_event(key));
    }
    cursor
}

/// Returns the event of the last compaction that sealed a log.
fn last_rotation(view: &View) -> Option<&ContextEvent> {
    view.lines.iter().rev().find_map(|line| match &line.body {
        ContextBody::Event(event)
            if event.event == COMPACTED && event.data.get(SEALED_GENERATION).is_some() =>
        {
            Some(event)
        }
        ContextBody::Event(_) | ContextBody::Message(_) => None,
    })
}
