//! Undoes a compaction: restores the originals before the messages that came since.
//!
//! The last compaction is undone first, then the one before it. If it only left outputs out, they are shown again.

use std::collections::{HashMap, HashSet};

use ship_context::compact::PrunedOutputs;
use ship_store::carry::CompactionData;
use ship_store::{
    ChatKey, ContextBody, ContextEvent, ContextLine, Head, LogPiece, NewLine, NewMessage,
    ReadError, Rotation, Seq, View,
};

use super::agent_compact::{repair_head, work_at_rest};
use super::meta_file;
use crate::chat::{
    COMPACTED, CompactionState, PRUNED, head_after_events, is_summary_line, pruned_by_head,
    sealed_by_last_compaction,
};
use crate::engine::{ActiveRun, Agent, LockedChat};
use crate::error::RunError;

/// The result of undoing a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionUndo {
    /// There is no compaction to undo.
    Nothing,
    /// So many messages are back in the place of their summary.
    Messages(usize),
    /// So many tool outputs are shown again.
    Outputs(usize),
    /// The sealed log with the originals was purged or is missing, so nothing was changed.
    Purged,
}

impl Agent {
    /// Undoes the last compaction of the active context. Until the next overflow the whole window may be used, or
    /// the same compaction would happen again at once.
    ///
    /// # Errors
    /// Fails if another process runs the chat, or if it cannot be read or written.
    pub async fn undo_compaction(&self, chat: &ChatKey) -> Result<CompactionUndo, RunError> {
        let Some(locked) = self.lock_for_compaction(chat).await? else {
            return Ok(CompactionUndo::Nothing);
        };
        self.work_and_release(&locked, async |_| undo_locked(&locked).await).await
    }
}

/// Undoes the last compaction of a locked chat.
async fn undo_locked(locked: &LockedChat) -> Result<CompactionUndo, RunError> {
    repair_head(locked).await?;
    let Some((work, _)) = work_at_rest(locked.clone()).await? else {
        return Ok(CompactionUndo::Nothing);
    };
    let Some(view) = work.locked.chat.log().view().await? else {
        return Ok(CompactionUndo::Nothing);
    };
    let event = last_compaction(&view);
    if let Some((seq, left_out)) =
        event.and_then(|(seq, event)| Some((seq, event.data.get(PRUNED)?)))
    {
        let outputs = PrunedOutputs::from_json(left_out).len();
        restore_outputs(&work, &view, seq).await?;
        return Ok(CompactionUndo::Outputs(outputs));
    }
    // Without the event, because its line is damaged, the summary tells what was sealed.
    let sealed = sealed_by_last_compaction(&*work.locked.chat, &view).await?;
    let Some(sealed) = sealed else {
        return Ok(match event {
            Some(_) => CompactionUndo::Purged,
            None => CompactionUndo::Nothing,
        });
    };
    let before = match work.locked.chat.log().sealed_view(&sealed).await {
        Err(ReadError::Purged { .. } | ReadError::NoSealedLog { .. }) => {
            return Ok(CompactionUndo::Purged);
        }
        before => before?,
    };
    restore_originals(&work, &view, event.map(|(seq, _)| seq), &before)
        .await
        .map(CompactionUndo::Messages)
}

fn last_compaction(view: &View) -> Option<(Seq, &ContextEvent)> {
    view.lines.iter().rev().find_map(|line| match &line.body {
        ContextBody::Event(event) if event.event == COMPACTED => Some((line.seq, event)),
        ContextBody::Event(_) | ContextBody::Message(_) => None,
    })
}

/// Rewrites the log without the event that leaves outputs out.
async fn restore_outputs(work: &ActiveRun, view: &View, event: Seq) -> Result<(), RunError> {
    let others = view.lines.iter().filter(|line| line.seq != event);
    let pieces = others.map(|line| LogPiece::Keep(line.seq, line.seq)).collect();
    let mut carried = CompactionState::read(view);
    carried.pruned = pruned_by_head(&view.head);
    publish(work, view, &view.head, carried, pieces).await
}

/// Rewrites the log with the lines of the sealed one. Later messages stand after them, and a message that has
/// changed since keeps its present form.
async fn restore_originals(
    work: &ActiveRun,
    view: &View,
    event: Option<Seq>,
    before: &View,
) -> Result<usize, RunError> {
    let now: HashMap<&str, Seq> = view.lines.iter().map(|line| (line.id(), line.seq)).collect();
    let known: HashSet<&str> = before.lines.iter().map(|line| line.id()).collect();
    let originals = before.lines.iter().map(|line| match now.get(line.id()) {
        Some(seq) => LogPiece::Keep(*seq, *seq),
        None => LogPiece::New(copy_line(line)),
    });
    let since = view
        .lines
        .iter()
        .filter(|line| {
            !known.contains(line.id()) && Some(line.seq) != event && !is_summary_line(line)
        })
        .map(|line| LogPiece::Keep(line.seq, line.seq));
    let pieces = originals.chain(since).collect();
    let mut carried = CompactionState::read(view);
    carried.pruned = pruned_by_head(&before.head);
    publish(work, view, &before.head, carried, pieces).await?;
    let back = before.lines.iter().filter(|line| !now.contains_key(line.id()));
    Ok(back.filter(|line| line.message().is_some()).count())
}

/// Publishes the log. `before` is the head of the lines with which it begins.
async fn publish(
    work: &ActiveRun,
    view: &View,
    before: &Head,
    mut carried: CompactionState,
    pieces: Vec<LogPiece>,
) -> Result<(), RunError> {
    work.locked.engine.token_meter.merge_calibration(&carried.tokens);
    carried.tokens = work.locked.engine.token_meter.to_object();
    carried.is_raised = true;
    let mut head = head_after_events(view);
    // The lines with titles and checkpoints are back too, so the head has the values from before them.
    head.title.clone_from(&before.title);
    head.checkpoints.clone_from(&before.checkpoints);
    let undo = before.carry.compaction(CompactionData::Undo).cloned();
    head.carry.set_compaction(CompactionData::Undo, undo);
    carried.write_to(&mut head, &work.loaded_skills().await);
    let expected = Some(view.position.generation);
    let rotated = work.locked.lane.rotate(Rotation { expected, head, pieces }).await?;
    work.locked.engine.note_repairs(work.locked.chat.key(), rotated.damage);
    if let Some(view) = work.locked.chat.log().view().await? {
        meta_file::write(work, &view, None).await;
    }
    Ok(())
}

fn copy_line(line: &ContextLine) -> NewLine {
    match &line.body {
        ContextBody::Message(message) => {
            let message = message.clone().into_object();
            NewMessage { message, rev: line.rev, inbox: line.inbox }.into()
        }
        ContextBody::Event(event) => event.clone().into(),
    }
}
