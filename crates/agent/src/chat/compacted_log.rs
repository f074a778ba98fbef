//! Finds what a compaction has left behind: its summary, and the log that it sealed.

use ship_context::compact::is_summary;
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_store::{
    Chat, ContextBody, ContextEvent, ContextLine, MessageSource, Metadata, ReadError, SealedLog,
    SealedName, View,
};

use super::compaction_state::{SEALED_GENERATION, is_undoable};
use super::head_after_events::predecessor;

/// The number of sealed logs that are read at once.
const PAGE: usize = 16;

/// Whether a line is the summary of a compaction.
pub(crate) fn is_summary_line(line: &ContextLine) -> bool {
    line.message().is_some_and(is_summary)
}

/// Finds the log that the last compaction of a view sealed; `None` if it is gone.
pub(crate) async fn sealed_by_last_compaction(
    chat: &dyn Chat,
    view: &View,
) -> Result<Option<SealedName>, ReadError> {
    let event = view.lines.iter().rev().find_map(|line| match &line.body {
        ContextBody::Event(event) if is_undoable(event) => Some(event),
        ContextBody::Event(_) | ContextBody::Message(_) => None,
    });
    match event {
        Some(event) => sealed_by(chat, view, event).await,
        None => sealed_before_summary(chat, view).await,
    }
}

/// Finds the log that a compaction sealed if the line of its event is damaged: the last one of the context that lacks
/// the summary. `None` if there is no such log, or no summary that was written with it.
async fn sealed_before_summary(
    chat: &dyn Chat,
    view: &View,
) -> Result<Option<SealedName>, ReadError> {
    // A restored summary has an id of its own, which tells nothing about the logs before.
    let is_restored =
        |message: &UiMessage| Metadata::of(message).source() == Some(MessageSource::Snapshot);
    let summary = view.messages().find(|message| is_summary(message));
    let Some(summary) = summary.filter(|summary| !is_restored(summary)) else {
        return Ok(None);
    };
    let mut next = predecessor(view);
    while let Some(name) = next {
        let log = match chat.log().sealed_view(&name).await {
            Err(ReadError::Purged { .. } | ReadError::NoSealedLog { .. }) => return Ok(Some(name)),
            log => log?,
        };
        if log.head.context != view.head.context {
            return Ok(None);
        }
        if !log.messages().any(|message| message.id() == summary.id()) {
            return Ok(Some(name));
        }
        next = predecessor(&log);
    }
    Ok(None)
}

/// Finds the log that a compaction sealed; `None` if it is gone.
pub(crate) async fn sealed_by(
    chat: &dyn Chat,
    view: &View,
    event: &ContextEvent,
) -> Result<Option<SealedName>, ReadError> {
    let Some(generation) = event.data.get(SEALED_GENERATION).and_then(Json::as_u64) else {
        return Ok(None);
    };
    // Mostly no log was sealed since, and then none has to be read.
    if view.head.generation.get() == generation + 1 {
        return Ok(view.head.sealed.clone());
    }
    let mut before = None;
    loop {
        let page = chat.log().sealed_logs(before, PAGE).await?;
        let found = page.iter().find(|log| log.head.generation.get() <= generation);
        if found.is_some() || page.len() < PAGE {
            // A repair may have sealed a later log under the same number.
            let is_it = |log: &&SealedLog| {
                log.head.generation.get() == generation
                    && generation < view.position.generation.get()
            };
            return Ok(found.filter(is_it).map(|log| log.name.clone()));
        }
        before = page.last().map(|log| log.name.clone());
    }
}
