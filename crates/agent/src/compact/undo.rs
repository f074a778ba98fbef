//! Undoing a compaction: the originals come back before what was said since.

use std::collections::HashSet;
use std::sync::Arc;

use ship_store::{Body, ChatKey, Line, OnDamage, Piece, Rotation, View};

use super::{COMPACTED, Carried};
use crate::contexts::{folded, predecessor};
use crate::run::{Agent, RunError};
use crate::work::Work;

impl Agent {
    /// Undoes the last compaction of the active context: gives how many messages came back, none when there
    /// is nothing to undo. Until the next overflow the whole window may be used, or it would come again at once.
    ///
    /// # Errors
    /// When the chat is at work elsewhere, or cannot be read or written.
    pub async fn undo_compaction(&self, chat: &ChatKey) -> Result<Option<usize>, RunError> {
        let Some(work) = self.work_at_rest(chat).await? else { return Ok(None) };
        let Some(view) = work.chat.view().await? else { return Ok(None) };
        let Some(id) = compaction(&view) else { return Ok(None) };
        let Some(before) = before_it(&work, &view, &id).await? else { return Ok(None) };
        bring_back(&work, view, before).await.map(Some)
    }
}

/// The event of the last compaction that a summary came of.
fn compaction(view: &View) -> Option<String> {
    view.lines.iter().rev().find_map(|line| match &line.body {
        Body::Event(event) if event.event == COMPACTED && event.data.get("pruned").is_none() => {
            Some(event.id.clone())
        }
        Body::Event(_) | Body::Message(_) => None,
    })
}

/// The log that the compaction has sealed. A context that was left and loaded since is in a further log, which
/// knows of the compaction too.
async fn before_it(work: &Work, view: &View, id: &str) -> Result<Option<View>, RunError> {
    let mut after = view.clone();
    loop {
        let Some(name) = predecessor(&after) else { return Ok(None) };
        let log = work.chat.sealed_view(&name).await?;
        let knows = |line: &Arc<Line>| matches!(&line.body, Body::Event(event) if event.id == id);
        if !log.lines.iter().any(knows) {
            return Ok(Some(log));
        }
        after = log;
    }
}

async fn bring_back(work: &Work, view: View, before: View) -> Result<usize, RunError> {
    let known: HashSet<String> =
        before.messages().filter_map(|message| message.str("id").map(str::to_owned)).collect();
    let mut pieces: Vec<Piece> =
        before.messages().map(|message| Piece::New(message.clone().into())).collect();
    let count = pieces.len();
    for line in &view.lines {
        if let Body::Message(message) = &line.body {
            let id = message.str("id").unwrap_or_default();
            let kind = message.get("metadata").and_then(|metadata| metadata.get("kind")?.as_str());
            if !known.contains(id) && kind != Some("summary") {
                pieces.push(Piece::Keep(line.seq, line.seq));
            }
        }
    }
    let mut carried = Carried::of(&before);
    carried.tokens = work.agent.scales.to_object();
    carried.raised = true;
    let mut head = folded(&view);
    carried.write_to(&mut head, &work.loaded_skills().await);
    let expected = Some(view.position.generation);
    work.lane.rotate(Rotation { expected, head, pieces, damage: OnDamage::Refuse }).await?;
    Ok(count)
}
