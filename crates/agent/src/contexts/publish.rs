//! Publishes the log of an operation, and makes the line that the person reads.

use ship_context::contexts::ArchiveNote;
use ship_message::json::Object;
use ship_store::carry::PublishedBy;
use ship_store::{
    ContextEvent, Explain, LogPiece, MessageId, RotateError, Rotation, Seq, StorageError, View,
};

use super::archive::ContextArchive;
use super::list::active_snapshot;
use super::operate::{OperationInProgress, OperationResult};
use super::target_log::{TargetLog, lacks_answer};
use super::target_origin::OperationPlan;
use crate::chat::{ENTERED, SWITCHED, has_content, messages_left_behind};
use crate::context_operation::{
    ContextChange, ContextName, ContextOperation, Destination, OperationOutcome, OperationRefusal,
    WayBack,
};
use crate::engine::{Engine, LockedChat};
use crate::error::RunError;

impl OperationPlan {
    /// Publishes a log, and archives the context that was left. The archive is written after the rotation: a crash
    /// between the two is noticed by the next `ContextArchive::open`, which rebuilds it.
    pub(crate) async fn carry_out(self, locked: &LockedChat) -> Result<OperationResult, RunError> {
        let Self { operation, view, moving, origin, index } = self;
        let LockedChat { engine, chat, lane } = locked;
        let (engine, chat, now) = (&**engine, &**chat, engine.clock.now());
        let (operation, view, moving) = (&operation, &view, &moving);
        let in_progress = OperationInProgress { locked, view, moving };
        let mut archive = ContextArchive { engine, chat, index };
        let target = in_progress.target(&origin);
        let source = target.source;
        // The rotation reports the damage of a log that it copies lines from. From this one it copies none.
        let copies_lines = target.pieces.iter().any(|piece| !matches!(piece, LogPiece::New(_)));
        let unread = origin.problems().filter(|_| !copies_lines).unwrap_or_default().to_vec();
        let reason = reason_of(operation);
        let left_behind = messages_left_behind(view, &moving.current);
        // A context in which nothing was said is not archived, and so is one that a retry leaves without an answer.
        let is_unanswered = *operation == ContextOperation::Retry && lacks_answer(view);
        let is_kept =
            has_content(view, &moving.current) && !target.drops_left_context && !is_unanswered;
        let why = reason.unwrap_or(operation.name());
        let note = ArchiveNote { at: now, reason: why, sealed: None };
        let mut snapshot = archive.snapshot_of(view, &left_behind, note);
        let left = ContextName::from(&snapshot);
        let by = PublishedBy {
            operation: Some(operation.name().to_owned()),
            generation: Some(view.head.generation.next()),
            at: Some(now),
            reason: reason.map(str::to_owned),
            drops_left: !is_kept,
            ..PublishedBy::default()
        };
        let rotated = match lane.rotate(in_progress.rotation(operation, target, by, &left)).await {
            // A retry would fail too, and the messages that wait behind the operation must be answered.
            Err(RotateError::Storage(error @ StorageError::CannotSeal { .. })) => {
                let refused = OperationRefusal::explained(error.explain(), "");
                return Ok(OperationOutcome::NotDone(refused).into());
            }
            rotated => rotated?,
        };
        let now_active = locked.read_view().await?;
        if let Some(sealed) = &rotated.sealed {
            snapshot = snapshot.with_sealed_log(sealed);
        }
        // The index comes last, because its position says that the snapshots are complete. After a crash before it,
        // the next `ContextArchive::open` makes both again from the logs.
        archive.remove_snapshot(&now_active.head.context, source).await?;
        if is_kept {
            archive.store_snapshot(&snapshot, (view.position, rotated.sealed_crc)).await?;
        }
        archive.write_index(now_active.position, now_active.crc).await?;
        let damage = [rotated.damage, unread].concat();
        let (left_out, restored) = (damage.len(), origin.messages_restored());
        engine.note_repairs(chat.key(), damage);
        let active = ContextName::from(&active_snapshot(engine, &now_active));
        let left = is_kept.then_some(left);
        let change = describe_change(engine, operation, (left, active), (restored, left_out));
        Ok(OperationResult { outcome: OperationOutcome::Done(change), view: Some(now_active) })
    }
}

/// Returns the reason that the person gave for a new context.
fn reason_of(operation: &ContextOperation) -> Option<&str> {
    match operation {
        ContextOperation::New { reason, .. } => {
            reason.as_deref().filter(|it| !it.trim().is_empty())
        }
        _ => None,
    }
}

/// Describes a change for the person: the contexts that were left and entered, how many messages came back from snapshots,
/// how many places cannot be read, and the way back.
fn describe_change(
    engine: &Engine,
    operation: &ContextOperation,
    (left, active): (Option<ContextName>, ContextName),
    (restored, left_out): (usize, usize),
) -> ContextChange {
    let mut line = text_for_user(operation, left.as_ref(), &active.title);
    // In front: the line ends with the command that leads back.
    if restored > 0 {
        line.insert_str(0, &format!("{} ", restored_sentence(restored)));
    }
    if left_out > 0 {
        line.insert_str(0, &format!("{} ", left_out_sentence(left_out)));
    }
    // Where a chat has one context, loading another is refused.
    let can_load = engine.rules.contexts.enabled;
    let way_back = left.as_ref().filter(|_| can_load).map(|left| WayBack {
        introduction: format!("{line}; to return: "),
        destination: Destination::Context(left.context.clone()),
    });
    let line = match &way_back {
        Some(way_back) => way_back.line_in_chat(),
        None if left.is_some() => format!("{line}; `undo` takes that back."),
        None => line,
    };
    ContextChange {
        operation: operation.name().to_owned(),
        left,
        active,
        chat: None,
        line,
        way_back,
    }
}

impl OperationInProgress<'_> {
    /// Makes the rotation: the lines of the target, the event of the operation, and the open request.
    fn rotation(
        &self,
        wanted: &ContextOperation,
        target: TargetLog,
        by: PublishedBy,
        left: &ContextName,
    ) -> Rotation {
        let TargetLog { mut head, mut pieces, messages, .. } = target;
        let taken = lines_of(self.view, &self.moving.current);
        let messages = Some(messages + taken.len() as u64);
        head.carry.set_published_by(&PublishedBy { messages, ..by });
        head.carry.set_settled_run(self.moving.settled.as_ref());
        let mut data = wanted.to_object();
        data.set("left", left.to_json());
        data.set(ENTERED, head.entered());
        pieces.push(LogPiece::New(self.new_event(SWITCHED, data, None).into()));
        pieces.extend(taken.into_iter().map(|seq| LogPiece::Keep(seq, seq)));
        let expected = Some(self.view.head.generation);
        Rotation { expected, head, pieces }
    }

    pub(super) fn new_event(
        &self,
        name: &str,
        data: Object,
        about: Option<MessageId>,
    ) -> ContextEvent {
        let event = self.locked.engine.new_event(name, data);
        ContextEvent { ref_msg_id: about, inbox: self.moving.inbox, ..event }
    }
}

/// Returns the sentence about places of a log that cannot be read.
pub(super) fn left_out_sentence(places: usize) -> String {
    match places {
        1 => "One place of the log cannot be read and is left out; `ship verify` names it."
            .to_owned(),
        places => format!(
            "{places} places of the log cannot be read and are left out; `ship verify` names them."
        ),
    }
}

/// Returns the sentence about messages that the log has lost and that are in the context again.
fn restored_sentence(messages: usize) -> String {
    match messages {
        1 => "The text of one lost message was restored from the archive.".to_owned(),
        messages => {
            format!("The texts of {messages} lost messages were restored from the archive.")
        }
    }
}

/// Returns the lines of these messages, in order.
fn lines_of(view: &View, ids: &[String]) -> Vec<Seq> {
    let is_one = |id: &str| ids.iter().any(|known| known == id);
    let found = view.lines.iter().filter(|line| line.message_id().is_some_and(is_one));
    found.map(|line| line.seq).collect()
}

/// Returns the line that a person reads, without the way back. A branch often has the title of its origin, so the line
/// says that it is one.
fn text_for_user(wanted: &ContextOperation, left: Option<&ContextName>, title: &str) -> String {
    let Some(left) = left else {
        return match wanted {
            ContextOperation::Retry => "Asking again.".to_owned(),
            _ => format!("Now in “{title}”."),
        };
    };
    match wanted {
        ContextOperation::Rewind { to } => {
            format!("Back at “{to}”. What followed is kept in “{}”", left.title)
        }
        ContextOperation::Retry => {
            format!("Asking again. The earlier answer is kept in “{}”", left.title)
        }
        ContextOperation::Fork { at: Some(at), .. } => {
            format!("Now in a copy of “{}” up to “{at}”", left.title)
        }
        ContextOperation::Fork { at: None, .. } => {
            format!("Now in a copy of “{}”", left.title)
        }
        // Its title would only be the day.
        ContextOperation::Clear | ContextOperation::New { title: None, .. } => {
            format!("Now in a clean context. Left “{}”", left.title)
        }
        _ => format!("Now in “{title}”. Left “{}”", left.title),
    }
}
