//! Where a checkpoint or a message is: in the live log, or in a sealed one that a compaction or another
//! operation has left behind.

use ship_store::{MessageId, SealedName, Seq, View};

use super::operation::{Ground, NotDone};
use super::title::folded;
use crate::run::RunError;

/// A place in a log: everything up to a line, that line included.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// The sealed log; none for the live one.
    pub(super) log: Option<SealedName>,
    pub(super) last: Seq,
}

impl Spot {
    /// Finds what somebody calls a place: the name of a checkpoint, or the id of a message.
    pub(super) async fn find(
        ground: Ground<'_>,
        view: &View,
        called: &str,
    ) -> Result<Result<Self, NotDone>, RunError> {
        let checkpoints = folded(view).checkpoints;
        let named = checkpoints.iter().rev().find(|checkpoint| checkpoint.name == called);
        if let Some(checkpoint) = named {
            return Ok(Ok(Self { log: checkpoint.sealed.clone(), last: checkpoint.seq }));
        }
        if let Some(id) = MessageId::new(called)
            && let Some(place) = ground.chat.find(&id, None).await?
        {
            return Ok(Ok(Self { log: place.log, last: place.seq }));
        }
        let names: Vec<&str> =
            checkpoints.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
        let known = match names.is_empty() {
            true => "there are no checkpoints; `/checkpoint NAME` makes one".to_owned(),
            false => format!("the checkpoints are: {}", names.join(", ")),
        };
        Ok(Err(NotDone::because(format!(
            "There is no checkpoint and no message `{called}`; {known}. Nothing has changed."
        ))))
    }

    /// The log that it is in, as far as the place.
    pub(super) async fn view(&self, ground: Ground<'_>, live: &View) -> Result<View, RunError> {
        let mut view = match &self.log {
            None => live.clone(),
            Some(name) => ground.chat.sealed_view(name).await?,
        };
        view.lines.retain(|line| line.seq <= self.last);
        Ok(view)
    }
}
