//! Repairs a chat for a person, and marks as known what cannot be healed.
//!
//! The first run of an agent in a chat heals what it needs (`repair`). This repair heals all there is, also a damaged log,
//! and remembers which problems a person has seen.

use std::sync::Arc;

use ship_store::{
    Chat, ChatKey, LogPiece, RepairEffect, Rotation, Seq, StorageProblem, StorageProblemKind, View,
};

use crate::engine::{Agent, LockedChat};
use crate::error::RunError;

/// The problems of a chat before and after a repair, without those that were known before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepairReport {
    /// The problems that the repair heals or marks as known.
    pub found: Vec<StorageProblem>,
    /// The problems that only a person can solve.
    pub left: Vec<StorageProblem>,
}

impl RepairReport {
    /// Divides problems into those that a repair changes, and the others.
    fn new(problems: Vec<StorageProblem>) -> Self {
        let new = problems.into_iter().filter(|problem| !problem.is_reported);
        let (left, found) = new.partition(|problem| problem.repair == RepairEffect::Nothing);
        Self { found, left }
    }
}

/// Reports what a repair of the chat would find. It needs no lane and no model, and changes nothing.
///
/// # Errors
/// Fails if the chat cannot be read.
pub async fn plan_repair(chat: &dyn Chat) -> Result<RepairReport, RunError> {
    Ok(RepairReport::new(chat.verify().await?))
}

impl Agent {
    /// Heals what can be healed in a chat, and marks the rest as known. Messages that wait and whose senders do not are
    /// answered before this returns. A chat that does not exist has no problems.
    ///
    /// # Errors
    /// Fails if another process does not release the chat in time, and nothing is changed then. Fails as well if the
    /// chat cannot be read or written.
    pub async fn repair(&self, chat: &ChatKey) -> Result<RepairReport, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else {
            return Ok(RepairReport::default());
        };
        let lane = chat.lane("repair").await?;
        let locked = LockedChat { engine: Arc::clone(&self.engine), chat, lane };
        let work = async |_| locked.with_heartbeat(Box::pin(repair_locked(&locked))).await;
        self.work_and_release(&locked, work).await
    }
}

/// Repairs a locked chat.
async fn repair_locked(locked: &LockedChat) -> Result<RepairReport, RunError> {
    let chat = &*locked.chat;
    let RepairReport { found, .. } = plan_repair(chat).await?;
    locked.engine.note_repairs(chat.key(), chat.repair().await?);
    replace_damaged_log(locked, &found).await?;
    let cannot_be_healed = chat.verify().await?;
    chat.acknowledge(cannot_be_healed).await?;
    let new = |problem: &StorageProblem| !problem.is_reported;
    let left = chat.verify().await?.into_iter().filter(new).collect();
    Ok(RepairReport { found, left })
}

/// Continues with the readable lines in a whole log, if the live one was found damaged. The archive keeps the damaged log.
async fn replace_damaged_log(
    locked: &LockedChat,
    found: &[StorageProblem],
) -> Result<(), RunError> {
    let damage = || found.iter().filter(|found| found.kind == StorageProblemKind::Damage);
    let is_damaged =
        |view: &View| view.problems.iter().any(|left| damage().any(|it| it.place == left.place));
    let Some(view) = locked.chat.log().view().await?.filter(is_damaged) else { return Ok(()) };
    let mut head = view.head;
    // An undo takes back the last operation, and not this repair.
    let left = head.sealed.clone();
    head.note_left_log(left.as_ref());
    let expected = Some(view.position.generation);
    let pieces = vec![LogPiece::KeepFrom(Seq::new(0))];
    let rotated = locked.lane.rotate(Rotation { expected, head, pieces }).await?;
    locked.engine.note_repairs(locked.chat.key(), rotated.damage);
    Ok(())
}
