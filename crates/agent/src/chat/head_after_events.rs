//! Applies the events of a log to its head, so that a rotation does not lose them.

use std::collections::HashSet;

use ship_message::json::Json;
use ship_store::{Checkpoint, ContextBody, ContextLine, Head, SealedName, Timestamp, View};

use super::activation::Activation;
use super::last_operation::{AT, WAS, place_from_json};

pub(crate) const RENAMED: &str = "renamed";
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// The field in an event that removes a checkpoint, or restores it: the event that made it.
pub(crate) const OF: &str = "of";

/// Whether a line gives its context a title. A branch has a title of its own, so it does not take over such lines.
pub(crate) fn gives_title(line: &ContextLine) -> bool {
    matches!(&line.body, ContextBody::Event(event) if event.event == RENAMED)
}

/// Returns the head for a log that continues this context: its present title and checkpoints.
pub(crate) fn head_after_events(view: &View) -> Head {
    let mut head = view.head.clone();
    let gone = removed_checkpoints(view);
    for line in &view.lines {
        let ContextBody::Event(event) = &line.body else { continue };
        match event.event.as_str() {
            RENAMED => {
                head.title = event.data.get("title").and_then(Json::as_str).map(str::to_owned)
            }
            // After a compaction the event that made the checkpoint is gone, so this one gives the places.
            CHECKPOINT if event.data.get(AT).is_some() => {
                let Some(name) = event.data.get("name").and_then(Json::as_str) else { continue };
                let is_removed = event.data.get("removed").is_some();
                let place = event.data.get(if is_removed { WAS } else { AT });
                head.checkpoints.retain(|known| known.name != name);
                head.checkpoints.extend(place.and_then(|place| place_from_json(name, place)));
            }
            CHECKPOINT if event.data.get(OF).is_none() && !gone.contains(event.id.as_str()) => {
                let Some(name) = event.data.get("name").and_then(Json::as_str) else { continue };
                head.checkpoints.retain(|known| known.name != name);
                head.checkpoints.push(Checkpoint {
                    name: name.to_owned(),
                    sealed: None,
                    seq: line.seq,
                    message: event.ref_msg_id.clone(),
                });
            }
            _ => {}
        }
    }
    if head.title.is_none() && head.carry.made_title().is_none() {
        // A title made from the first messages stays, although these may be summarised later.
        head.carry.set_made_title(title_of_view(view).as_deref());
    }
    // From now on the log that is sealed next holds the lines that this one continued.
    head.carry.set_continues(None);
    head.note_left_log(view.head.sealed.as_ref());
    head
}

/// Returns the ids of the events whose checkpoints were removed; the last event on each counts.
fn removed_checkpoints(view: &View) -> HashSet<&str> {
    let mut gone = HashSet::new();
    for line in &view.lines {
        let ContextBody::Event(event) = &line.body else { continue };
        let Some(of) = event.data.get(OF).and_then(Json::as_str) else { continue };
        match event.data.get("removed").is_some() {
            true => gone.insert(of),
            false => gone.remove(of),
        };
    }
    gone
}

/// Returns the title of a context: the given one, or else the one made from its first words.
pub(crate) fn context_title(head: &Head) -> Option<&str> {
    head.title.as_deref().or_else(|| head.carry.made_title())
}

/// Makes a title from messages; `None` if there are none.
fn title_of_view(view: &View) -> Option<String> {
    let began = Activation::from_head(&view.head).since.unwrap_or(Timestamp::from_millis(0));
    let messages: Vec<_> = view.messages().collect();
    ship_context::contexts::title_of_messages(&messages, began)
}

/// Does the same for a sealed log, whose checkpoints are in it.
pub(crate) fn sealed_head_after_events(view: &View, log: &SealedName) -> Head {
    let mut head = head_after_events(view);
    for checkpoint in &mut head.checkpoints {
        checkpoint.sealed.get_or_insert_with(|| log.clone());
    }
    head
}

/// Returns the log that this one continues: the one it was loaded from, or else the one it replaced.
pub(crate) fn predecessor(view: &View) -> Option<SealedName> {
    view.head.carry.continues().or_else(|| view.head.sealed.clone())
}
