//! What a head says once the events behind it are taken in: what a rotation must not lose.

use ship_message::json::Json;
use ship_store::{Body, Checkpoint, Head, SealedName, View};

use super::{CONTINUES, OPERATION};

pub(super) const RENAMED: &str = "renamed";
pub(super) const CHECKPOINT: &str = "checkpoint";

/// The head of a log that goes on with this context: its title and its checkpoints as they are now.
pub(crate) fn folded(view: &View) -> Head {
    let mut head = view.head.clone();
    for line in &view.lines {
        let Body::Event(event) = &line.body else { continue };
        match event.event.as_str() {
            RENAMED => {
                head.title = event.data.get("title").and_then(Json::as_str).map(str::to_owned)
            }
            CHECKPOINT => {
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
    // From now on the log that is sealed next holds what this one went on with.
    head.carry.remove(CONTINUES);
    let sealed = view.head.sealed.as_ref().map(|name| Json::from(name.as_str()));
    if let Some(operation) = head.carry.get_mut(OPERATION).and_then(Json::as_object_mut)
        && !operation.has("sealed")
    {
        // What the operation has left is what an undo brings back, however many logs later.
        operation.set_or_remove("sealed", sealed);
    }
    head
}

/// The same of a sealed log: the checkpoints in it are there.
pub(super) fn folded_in(view: &View, log: &SealedName) -> Head {
    let mut head = folded(view);
    for checkpoint in &mut head.checkpoints {
        checkpoint.sealed.get_or_insert_with(|| log.clone());
    }
    head
}

/// The log that this one goes on with: the one that it was loaded from, or else the one that it has replaced.
pub(super) fn predecessor(view: &View) -> Option<SealedName> {
    let loaded = view.head.carry.str(CONTINUES).and_then(SealedName::parse);
    loaded.or_else(|| view.head.sealed.clone())
}
