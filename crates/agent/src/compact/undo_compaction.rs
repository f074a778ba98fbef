//! Undoing a compaction: the originals come back before what was said since.
//!
//! The last compaction is undone first, then the one before it. One that only left outputs out is undone by
//! showing them again.

use std::collections::{HashMap, HashSet};

use ship_context::compact::{PrunedOutputs, is_summary_line};
use ship_store::{
    ChatKey, ContextBody, ContextEvent, ContextLine, Head, LogPiece, NewLine, NewMessage,
    ReadError, Rotation, Seq, View,
};

use super::meta_file;
use crate::chat::{COMPACTED, CompactionState, PRUNED, UNDO, folded, pruned_by_head, sealed_by};
use crate::engine::{ActiveRun, Agent};
use crate::error::RunError;

/// What came of undoing a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionUndo {
    /// There is none to undo.
    Nothing,
    /// So many messages are back in the place of their summary.
    Messages(usize),
    /// So many tool outputs are shown again.
    Outputs(usize),
    /// The sealed log that held the originals was purged or is not there any more, so nothing was changed.
    Purged,
}

impl Agent {
    /// Undoes the last compaction of the active context. Until the next overflow the whole window may be used,
    /// or the same compaction would come again at once.
    ///
    /// # Errors
    /// When the chat is at work elsewhere, or cannot be read or written.
    pub async fn undo_compaction(&self, chat: &ChatKey) -> Result<CompactionUndo, RunError> {
        let Some((work, _)) = self.work_at_rest(chat).await? else {
            return Ok(CompactionUndo::Nothing);
        };
        let Some(view) = work.locked.chat.view().await? else { return Ok(CompactionUndo::Nothing) };
        let Some((seq, event)) = last_compaction(&view) else { return Ok(CompactionUndo::Nothing) };
        if let Some(left_out) = event.data.get(PRUNED) {
            let outputs = PrunedOutputs::from_json(left_out).len();
            show_again(&work, &view, seq).await?;
            return Ok(CompactionUndo::Outputs(outputs));
        }
        let Some(sealed) = sealed_by(&*work.locked.chat, &view, event).await? else {
            return Ok(CompactionUndo::Purged);
        };
        let before = match work.locked.chat.sealed_view(&sealed).await {
            Err(ReadError::Purged { .. } | ReadError::NoSealedLog { .. }) => {
                return Ok(CompactionUndo::Purged);
            }
            before => before?,
        };
        bring_back(&work, &view, seq, &before).await.map(CompactionUndo::Messages)
    }
}

fn last_compaction(view: &View) -> Option<(Seq, &ContextEvent)> {
    view.lines.iter().rev().find_map(|line| match &line.body {
        ContextBody::Event(event) if event.event == COMPACTED => Some((line.seq, event)),
        ContextBody::Event(_) | ContextBody::Message(_) => None,
    })
}

/// Writes the log anew without the event that leaves outputs out.
async fn show_again(work: &ActiveRun, view: &View, event: Seq) -> Result<(), RunError> {
    let others = view.lines.iter().filter(|line| line.seq != event);
    let pieces = others.map(|line| LogPiece::Keep(line.seq, line.seq)).collect();
    let mut carried = CompactionState::of(view);
    carried.pruned = pruned_by_head(&view.head);
    publish(work, view, &view.head, carried, pieces).await
}

/// Writes the log anew with the lines of the sealed one. What was said since stands behind them, and a message
/// that has changed since stays as it is now.
async fn bring_back(
    work: &ActiveRun,
    view: &View,
    event: Seq,
    before: &View,
) -> Result<usize, RunError> {
    let now: HashMap<&str, Seq> = view.lines.iter().map(|line| (id(line), line.seq)).collect();
    let known: HashSet<&str> = before.lines.iter().map(|line| id(line)).collect();
    let originals = before.lines.iter().map(|line| match now.get(id(line)) {
        Some(seq) => LogPiece::Keep(*seq, *seq),
        None => LogPiece::New(entry(line)),
    });
    let since = view
        .lines
        .iter()
        .filter(|line| !known.contains(id(line)) && line.seq != event && !is_summary(line))
        .map(|line| LogPiece::Keep(line.seq, line.seq));
    let pieces = originals.chain(since).collect();
    let mut carried = CompactionState::of(view);
    carried.pruned = pruned_by_head(&before.head);
    publish(work, view, &before.head, carried, pieces).await?;
    let back = before.lines.iter().filter(|line| !now.contains_key(id(line)));
    Ok(back.filter(|line| matches!(line.body, ContextBody::Message(_))).count())
}

/// Publishes the log. `before` is the head of the lines that it begins with.
async fn publish(
    work: &ActiveRun,
    view: &View,
    before: &Head,
    mut carried: CompactionState,
    pieces: Vec<LogPiece>,
) -> Result<(), RunError> {
    work.locked.engine.scales.carry_over(&carried.tokens);
    carried.tokens = work.locked.engine.scales.to_object();
    carried.raised = true;
    let mut head = folded(view);
    // The lines that gave titles and made checkpoints are back too, so the head has those from before them.
    head.title.clone_from(&before.title);
    head.checkpoints.clone_from(&before.checkpoints);
    head.carry.set_or_remove(UNDO, before.carry.get(UNDO).cloned());
    carried.write_to(&mut head, &work.loaded_skills().await);
    let expected = Some(view.position.generation);
    let rotated = work.locked.lane.rotate(Rotation { expected, head, pieces }).await?;
    work.locked.engine.note_repairs(work.locked.chat.key(), rotated.damage);
    if let Some(view) = work.locked.chat.view().await? {
        meta_file::write(work, &view, None).await;
    }
    Ok(())
}

fn id(line: &ContextLine) -> &str {
    match &line.body {
        ContextBody::Message(message) => message.str("id").unwrap_or_default(),
        ContextBody::Event(event) => &event.id,
    }
}

fn entry(line: &ContextLine) -> NewLine {
    match &line.body {
        ContextBody::Message(message) => {
            NewMessage { message: message.clone(), rev: line.rev, inbox: line.inbox }.into()
        }
        ContextBody::Event(event) => event.clone().into(),
    }
}

fn is_summary(line: &ContextLine) -> bool {
    matches!(&line.body, ContextBody::Message(message) if is_summary_line(message))
}
