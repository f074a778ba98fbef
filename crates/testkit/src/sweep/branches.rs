//! The steps of a sweep that copy lines from elsewhere, and that purge.

use ship_store::{About, Chat, FileStore, Lane, LogPiece, Rotation, SealedLog, Seq, Store, View};

use super::{FORK, Refused, Thing, as_said, confirm, said, was_said};
use crate::chat::{first_context, message};

/// Brings the newest sealed log back.
pub(super) async fn undo(chat: &dyn Chat, lane: &dyn Lane, id: &str) -> Result<(), Refused> {
    let view = live(chat).await?;
    if was_said(&view, id) {
        return confirm(lane, &view, id).await;
    }
    let log = chat.log().sealed_logs(None, 1).await?.pop().ok_or("nothing is sealed")?;
    let SealedLog { name: log, first, last, .. } = log;
    let new = LogPiece::New(message(id, &said(id, false)).into());
    let pieces = vec![LogPiece::Sealed { log, first, last }, LogPiece::KeepFrom(Seq::FIRST), new];
    let expected = Some(view.position.generation);
    lane.rotate(Rotation { expected, head: view.head, pieces }).await?;
    Ok(())
}

/// Purges the newest log that has lines, if they are live too.
pub(super) async fn purge(chat: &dyn Chat, lane: &dyn Lane, by: &str) -> Result<(), Refused> {
    let logs = chat.log().sealed().await?;
    // The first attempt may be there, and only its acknowledgement lost.
    let is_by = |log: &&SealedLog| log.purged.as_ref().is_some_and(|purged| purged.by == by);
    if let Some(log) = logs.iter().find(is_by) {
        lane.purge(&log.name, by).await?;
        return Ok(());
    }
    let newest = logs.iter().find(|log| log.purged.is_none()).ok_or("nothing is sealed")?;
    let (sealed, live) = (chat.log().sealed_view(&newest.name).await?, live(chat).await?);
    let mut ids = sealed.messages().filter_map(|message| message.id());
    if !ids.all(|id| was_said(&live, id)) {
        return Err("what is in it is nowhere else".into());
    }
    lane.purge(&newest.name, by).await?;
    Ok(())
}

/// Begins another chat with what is live in this one.
pub(super) async fn fork(store: &FileStore, chat: &dyn Chat, id: &str) -> Result<(), Refused> {
    let from = live(chat).await?;
    let fork = store.create(&FORK.parse()?, About::default()).await?;
    let lane = fork.lane("sweep").await?;
    if let Some(view) = fork.log().view().await? {
        return confirm(&*lane, &view, id).await;
    }
    let first = from.lines.first().ok_or("nothing is live")?.seq;
    let (chat, last) = (chat.key().clone(), from.position.seq);
    let new = LogPiece::New(message(id, &said(id, false)).into());
    let pieces = vec![LogPiece::Of { chat, log: None, first, last }, new];
    lane.rotate(Rotation { pieces, ..first_context() }).await?;
    Ok(())
}

async fn live(chat: &dyn Chat) -> Result<View, Refused> {
    Ok(chat.log().view().await?.ok_or("no context")?)
}

/// What was purged, as the sealed logs tell.
pub(super) async fn purged(chat: &dyn Chat) -> Result<Vec<Thing>, Refused> {
    let purged = chat.log().sealed().await?.into_iter().filter_map(|log| log.purged);
    Ok(purged.map(|purged| Thing::Purge(purged.by)).collect())
}

/// What was said in the fork, if it has begun: something of the other chat, and then its own.
pub(super) async fn forked(store: &FileStore) -> Result<Option<Thing>, String> {
    let tell = |error: &dyn std::error::Error| format!("cannot read the fork: {error}");
    let key = FORK.parse().map_err(|error| tell(&error))?;
    let Some(chat) = store.open(&key).await.map_err(|error| tell(&error))? else { return Ok(None) };
    let Some(view) = chat.log().view().await.map_err(|error| tell(&error))? else {
        return Ok(None);
    };
    let mut ids = view.messages().map(as_said).collect::<Result<Vec<String>, String>>()?;
    match ids.pop().filter(|_| !ids.is_empty()) {
        Some(own) => Ok(Some(Thing::Fork(own))),
        None => Err("a fork that has lost what it was forked from".to_owned()),
    }
}
