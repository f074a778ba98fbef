//! Gives a restored log a context of its own.
//!
//! When the live log is replaced by an older copy, its context may have been left since then, with more in it. As one
//! context, the older lines would take the place of the newer ones in the archive at the next switch.

use ship_message::json::{Json, Object};
use ship_store::{
    Chat, ContextId, Lane, LogPiece, Rotation, StorageProblem, StorageProblemKind, View,
};

use super::archive::ContextArchive;
use crate::chat::head_after_events;
use crate::engine::Engine;
use crate::error::RunError;

/// Publishes the live log under a new id, if its context is archived with later lines. Returns whether it did. The
/// caller holds the lane.
pub(crate) async fn separate_restored_log(
    engine: &Engine,
    chat: &dyn Chat,
    lane: &dyn Lane,
    view: &View,
) -> Result<bool, RunError> {
    let archive = ContextArchive::open(engine, chat, view).await?;
    let newer = archive.later_snapshot(view).await?;
    let Some(newer) = newer else { return Ok(false) };
    let mut head = head_after_events(view);
    head.context = ContextId::new(engine.clock.now(), engine.ids.next());
    let from = Object::from([
        ("contextId", Json::from(view.head.context.as_str())),
        ("sealed", Json::Null),
        ("seq", view.position.seq.get().into()),
    ]);
    head.forked_from = Some(from.into());
    let first = view.lines.first().map_or(view.position.seq, |line| line.seq);
    let pieces = vec![LogPiece::KeepFrom(first)];
    lane.rotate(Rotation { expected: Some(view.head.generation), head, pieces }).await?;
    let message = format!(
        "it is an older version of “{}”, and continues as a separate context",
        newer.title()
    );
    let remedy = "nothing to do: `ship context list` shows both";
    let file = format!("{}: messages/history.jsonl", chat.key());
    let problem = StorageProblem::new(file, StorageProblemKind::Damage, message, remedy);
    engine.note_repairs(chat.key(), vec![problem]);
    Ok(true)
}
