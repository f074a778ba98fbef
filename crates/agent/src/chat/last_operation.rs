//! Finds the last operation of a context, which an undo takes back, even after a compaction.
//!
//! An operation that stays in its context is a line of the log. A compaction does not keep such lines, so the head
//! that it writes carries the last operation.

use ship_context::compact::is_summary;
use ship_context::contexts::is_reference;
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::carry::{CompactionData, SWITCHED};
use ship_store::{
    Checkpoint, ContextBody, ContextEvent, ContextLine, Head, MessageId, Metadata, SealedName, Seq,
    View,
};

use super::compaction_state::{COMPACTED, is_undoable};
use super::head_after_events::{CHECKPOINT, OF, RENAMED, head_after_events};

/// The event of a reference that was removed.
pub(crate) const UNSHOWN: &str = "unshown";
/// The fields about a checkpoint: its present place, and the place that its name had before.
pub(crate) const AT: &str = "at";
pub(crate) const WAS: &str = "was";

/// The last operation on a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LastOperation {
    /// The operation that published the context, if there was one.
    Switch,
    /// A change of title, with the title before it.
    Renamed { before: Option<String> },
    /// A checkpoint that was made or removed.
    Checkpoint(CheckpointChange),
    /// An archived context that was shown for reference.
    Shown { id: String },
    /// A reference that was removed, and the message that it followed.
    Unshown { id: String, after: Option<String> },
    /// A copy for another chat.
    Copied { to: String },
}

impl LastOperation {
    fn is_copy(&self) -> bool {
        matches!(self, Self::Copied { .. })
    }
}

/// A checkpoint that was made or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointChange {
    pub(crate) name: String,
    /// The event that made it.
    pub(crate) of: String,
    pub(crate) is_removed: bool,
    pub(crate) message: Option<MessageId>,
    /// The places of the checkpoint, if the event that made it is no longer in the log.
    pub(crate) places: Option<Places>,
}

/// The present place of a checkpoint, and the place that its name had before. A place without a log is in the one
/// that the last compaction sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) at: Checkpoint,
    pub(crate) was: Option<Checkpoint>,
}

/// Finds the last operation, any number of compactions ago.
pub(crate) fn last_operation(view: &View) -> LastOperation {
    find_last_operation(view, operations_from_last(view))
}

/// Finds the last operation among those of the log and the one that the head carries.
fn find_last_operation(
    view: &View,
    operations: impl Iterator<Item = (usize, LastOperation)>,
) -> LastOperation {
    let carried = view.head.carry.compaction(CompactionData::Undo);
    // A reference that the compaction kept was shown before the operation that the head carries.
    let is_kept = |operation: &LastOperation| match operation {
        LastOperation::Shown { id } => carried.is_some_and(|carried| is_older(carried, id)),
        _ => false,
    };
    let found = operations.map(|(_, operation)| operation).find(|operation| !is_kept(operation));
    found.or_else(|| carried.and_then(from_json)).unwrap_or(LastOperation::Switch)
}

/// Iterates over the operations of a log from the last to the first, with the indexes of their lines.
///
/// A copy is left out after an undo was refused: the copy stays, and the next undo takes back the operation before it.
fn operations_from_last(view: &View) -> impl Iterator<Item = (usize, LastOperation)> {
    let mut is_refused = false;
    view.lines.iter().enumerate().rev().filter_map(move |(at, line)| {
        is_refused |= is_refused_undo(line);
        let operation = match is_switch(line) {
            true => LastOperation::Switch,
            false => operation_in_line(view, line)?,
        };
        (!is_refused || !operation.is_copy()).then_some((at, operation))
    })
}

/// Whether a line is the event of an undo that has changed nothing.
fn is_refused_undo(line: &ContextLine) -> bool {
    let ContextBody::Event(event) = &line.body else { return false };
    event.event == OPERATED
        && event.data.get("op").and_then(Json::as_str) == Some("undo")
        && event.data.get("done").and_then(Json::as_bool) == Some(false)
}

/// Returns the messages that came after the last operation. Those that a switch took along did not.
pub(crate) fn messages_since_operation(view: &View) -> impl Iterator<Item = &UiMessage> {
    let at = operations_from_last(view).next().map(|(at, _)| at);
    let switch = at.filter(|at| is_switch(&view.lines[*at]));
    let published = switch.and_then(|_| messages_of_switch(&view.head));
    let lines_before = &view.lines[..at.map_or(0, |at| at + 1)];
    let before = lines_before.iter().filter(|line| line.message().is_some()).count();
    view.messages().skip(published.unwrap_or(before))
}

/// Returns the number of messages with which a switch has published this log.
fn messages_of_switch(head: &Head) -> Option<usize> {
    let by = head.carry.published_by().filter(|by| by.generation == Some(head.generation))?;
    usize::try_from(by.messages?).ok()
}

/// Whether nothing was said or done since the context was compacted.
pub(crate) fn is_just_compacted(view: &View) -> bool {
    for line in view.lines.iter().rev() {
        match &line.body {
            ContextBody::Event(event) if event.event == COMPACTED => {
                // The event about left-out outputs stands at the end of the log, the one about a
                // summary at its beginning.
                return !is_undoable(event) || is_as_published(view);
            }
            ContextBody::Event(_) if is_switch(line) || operation_in_line(view, line).is_some() => {
                return false;
            }
            ContextBody::Event(_) => {}
            ContextBody::Message(_) if is_as_published(view) => {}
            ContextBody::Message(_) => return false,
        }
    }
    // The line of the event is damaged if there is a summary without one.
    is_as_published(view) && view.messages().any(is_summary)
}

/// Whether the log has only the messages that its compaction has published.
fn is_as_published(view: &View) -> bool {
    let published = view
        .head
        .carry
        .compaction(CompactionData::Undo)
        .and_then(|undo| undo.get("messages")?.as_u64());
    published == Some(view.messages().count() as u64)
}

/// Makes a head carry the last operation, because its lines are summarised. `messages` is the number of messages
/// with which the new log begins.
pub(crate) fn carry_last_operation(head: &mut Head, view: &View, messages: usize) {
    // A copy has changed nothing here, and the operation before it can still be taken back.
    let operations = operations_from_last(view).filter(|(_, operation)| !operation.is_copy());
    let last = match find_last_operation(view, operations) {
        LastOperation::Checkpoint(change) => LastOperation::Checkpoint(change.placed_in(view)),
        last => last,
    };
    let mut undo = to_object(&last);
    undo.set("messages", messages as u64);
    // References that stay in the log were shown before the last operation.
    let is_last = |id: &str| matches!(&last, LastOperation::Shown { id: last } if last == id);
    let shown = view.lines.iter().filter(|line| is_shown(line)).map(|line| line.id());
    let older: Vec<Json> = shown.filter(|id| !is_last(id)).map(Json::from).collect();
    undo.set_or_remove("older", (!older.is_empty()).then(|| Json::from(older)));
    head.carry.set_compaction(CompactionData::Undo, Some(undo.into()));
}

fn is_older(carried: &Json, id: &str) -> bool {
    let older = carried.get("older").and_then(Json::as_array).unwrap_or_default();
    older.iter().any(|known| known.as_str() == Some(id))
}

/// Whether a line is the event of the switch that published its context.
pub(crate) fn is_switch(line: &ContextLine) -> bool {
    matches!(&line.body, ContextBody::Event(event) if event.event == SWITCHED)
}

/// Whether a line is a reference that a person asked for, and not one by the model or of a group's talk.
fn is_shown(line: &ContextLine) -> bool {
    let Some(message) = line.message() else { return false };
    let run_id = Metadata::of(message).run_id();
    is_reference(message) && run_id.is_none() && line.inbox.is_some()
}

/// Returns the operation of a line, if it stays in the context.
fn operation_in_line(view: &View, line: &ContextLine) -> Option<LastOperation> {
    let event = match &line.body {
        ContextBody::Message(_) => {
            return is_shown(line).then(|| LastOperation::Shown { id: line.id().to_owned() });
        }
        ContextBody::Event(event) => event,
    };
    let text = |key: &str| event.data.get(key).and_then(Json::as_str).map(str::to_owned);
    match event.event.as_str() {
        RENAMED => Some(LastOperation::Renamed { before: head_before(view, line.seq).title }),
        CHECKPOINT => Some(LastOperation::Checkpoint(checkpoint_change(event)?)),
        UNSHOWN => Some(LastOperation::Unshown { id: text(OF)?, after: text("after") }),
        OPERATED if is_copy(event) => {
            Some(LastOperation::Copied { to: text("to").unwrap_or_default() })
        }
        _ => None,
    }
}

/// Returns the head as it was before a line.
fn head_before(view: &View, seq: Seq) -> Head {
    let mut before = view.clone();
    before.lines.retain(|line| line.seq < seq);
    head_after_events(&before)
}

fn checkpoint_change(event: &ContextEvent) -> Option<CheckpointChange> {
    let name = event.data.get("name").and_then(Json::as_str)?;
    let place = |key: &str| event.data.get(key).and_then(|json| place_from_json(name, json));
    Some(CheckpointChange {
        name: name.to_owned(),
        of: event.data.get(OF).and_then(Json::as_str).unwrap_or(&event.id).to_owned(),
        is_removed: event.data.get("removed").is_some(),
        message: event.ref_msg_id.clone(),
        places: place(AT).map(|at| Places { at, was: place(WAS) }),
    })
}

/// Whether an event is about a copy for another chat.
fn is_copy(event: &ContextEvent) -> bool {
    let field = |key: &str| event.data.get(key);
    field("op").and_then(Json::as_str) == Some("fork")
        && field("to").is_some()
        && field("done").and_then(Json::as_bool) == Some(true)
}

impl CheckpointChange {
    /// Returns the change with its places, if the log has the event that made the checkpoint.
    fn placed_in(&self, view: &View) -> Self {
        let made = view.lines.iter().find(|line| line.id() == self.of);
        let Some(made) = made.filter(|_| self.places.is_none()) else { return self.clone() };
        let (name, message) = (self.name.clone(), self.message.clone());
        let at = Checkpoint { name, sealed: None, seq: made.seq, message };
        let was =
            head_before(view, made.seq).checkpoints.into_iter().find(|it| it.name == self.name);
        Self { places: Some(Places { at, was }), ..self.clone() }
    }
}

pub(crate) fn place_to_json(place: &Checkpoint) -> Json {
    let sealed = place.sealed.as_ref().map_or(Json::Null, |log| log.as_str().into());
    let mut object = Object::from([("sealed", sealed), ("seq", place.seq.get().into())]);
    object.set_or_remove("messageId", place.message.as_ref().map(|id| id.as_str().into()));
    object.into()
}

pub(crate) fn place_from_json(name: &str, json: &Json) -> Option<Checkpoint> {
    let text = |key: &str| json.get(key).and_then(Json::as_str);
    Some(Checkpoint {
        name: name.to_owned(),
        sealed: text("sealed").and_then(SealedName::parse),
        seq: Seq::new(json.get("seq")?.as_u64()?),
        message: text("messageId").and_then(MessageId::new),
    })
}

fn to_object(last: &LastOperation) -> Object {
    let object = |op: &str, fields: &[(&'static str, Option<&str>)]| {
        let mut object = Object::from([("op", op)]);
        for (key, value) in fields {
            object.set_or_remove(*key, value.map(Json::from));
        }
        object
    };
    match last {
        LastOperation::Switch | LastOperation::Copied { .. } => object("switch", &[]),
        LastOperation::Renamed { before } => object("rename", &[("title", before.as_deref())]),
        LastOperation::Shown { id } => object("recall", &[(OF, Some(id))]),
        LastOperation::Unshown { id, after } => {
            object(UNSHOWN, &[(OF, Some(id)), ("after", after.as_deref())])
        }
        LastOperation::Checkpoint(change) => {
            let mut object =
                object("checkpoint", &[("name", Some(&change.name)), (OF, Some(&change.of))]);
            object.set_or_remove("removed", change.is_removed.then(|| Json::from(true)));
            if let Some(places) = &change.places {
                object.set(AT, place_to_json(&places.at));
                object.set_or_remove(WAS, places.was.as_ref().map(place_to_json));
            }
            object
        }
    }
}

fn from_json(json: &Json) -> Option<LastOperation> {
    let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
    Some(match text("op")?.as_str() {
        "rename" => LastOperation::Renamed { before: text("title") },
        "recall" => LastOperation::Shown { id: text(OF)? },
        UNSHOWN => LastOperation::Unshown { id: text(OF)?, after: text("after") },
        "checkpoint" => {
            let name = text("name")?;
            let place = |key: &str| json.get(key).and_then(|json| place_from_json(&name, json));
            LastOperation::Checkpoint(CheckpointChange {
                of: text(OF)?,
                is_removed: json.get("removed").is_some(),
                message: place(AT).and_then(|at| at.message),
                places: place(AT).map(|at| Places { at, was: place(WAS) }),
                name,
            })
        }
        _ => LastOperation::Switch,
    })
}

/// The event of an operation that has changed nothing in this context.
pub(crate) const OPERATED: &str = "operated";
