//! Compacts a context for a person, and reports the result.

use std::sync::Arc;

use ship_context::compact::CompactionMethod;
use ship_context::{Journal, Recovery, RunStart, recover};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::ChatKey;

use super::make_room::{CompactionOutcome, CompactionReason, make_room, prepare_current};
use super::plan::{CompactionStep, PlanResult, plan};
use crate::engine::{ActiveRun, Agent, CompactionTrigger, LockedChat};
use crate::error::RunError;
use crate::request::count_request;

/// A compaction that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// The method that was used.
    pub method: CompactionMethod,
    /// The tokens of the request before.
    pub tokens_before: u64,
    /// The tokens of the request now.
    pub tokens_after: u64,
    /// The number of messages that became a summary.
    pub messages: usize,
    /// The number of tool outputs that were left out.
    pub outputs: usize,
    /// Whether the originals were purged, so that it cannot be undone.
    pub purged: bool,
}

impl Compaction {
    /// Returns the compaction in the form of its event.
    pub fn to_object(&self) -> Object {
        let mut object = Object::from([
            ("rung", Json::from(self.method.name())),
            ("tokensBefore", self.tokens_before.into()),
            ("tokensAfter", self.tokens_after.into()),
            ("messages", (self.messages as u64).into()),
            ("outputs", (self.outputs as u64).into()),
        ]);
        object.set_or_remove("purged", self.purged.then(|| Json::from(true)));
        object
    }
}

/// The effect that a compaction would have now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionPreview {
    /// The tokens of a request now.
    pub tokens_now: u64,
    /// The part of it that cannot shrink: system, tools, and the open request if there is one.
    pub floor: u64,
    /// The condition for an automatic compaction.
    pub trigger: CompactionTrigger,
    /// The most tokens that a request would take after it.
    pub target: u64,
    /// The number of messages that would become a summary.
    pub messages: usize,
    /// The number of messages that would stay.
    pub kept: usize,
    /// The number of tool outputs that would be left out.
    pub outputs: usize,
}

impl CompactionPreview {
    /// Returns the preview as JSON.
    pub fn to_object(&self) -> Object {
        Object::from([
            ("tokensNow", Json::from(self.tokens_now)),
            ("floor", self.floor.into()),
            ("trigger", self.trigger.tokens.map_or(Json::Null, Json::from)),
            ("target", self.target.into()),
            ("messages", (self.messages as u64).into()),
            ("kept", (self.kept as u64).into()),
            ("outputs", (self.outputs as u64).into()),
            ("warning", self.trigger.warning.as_deref().map_or(Json::Null, Json::from)),
        ])
    }
}

impl Agent {
    /// Compacts the active context now, regardless of its size. Returns `None` if there is nothing to leave out.
    ///
    /// # Errors
    /// Fails if another process runs the chat, if the chat cannot be read or written, or if even the smallest request
    /// does not fit.
    pub async fn compact(
        &self,
        chat: &ChatKey,
        wishes: Option<String>,
    ) -> Result<Option<Compaction>, RunError> {
        let Some(locked) = self.lock_for_compaction(chat).await? else { return Ok(None) };
        self.work_and_release(&locked, async |_| compact_locked(&locked, wishes).await).await
    }

    /// Describes what a compaction would do, without doing it.
    ///
    /// # Errors
    /// Fails if another process runs the chat, if it cannot be read, or if even the smallest request does not fit.
    pub async fn plan_compaction(
        &self,
        chat: &ChatKey,
    ) -> Result<Option<CompactionPreview>, RunError> {
        let Some(locked) = self.lock_for_compaction(chat).await? else { return Ok(None) };
        self.work_and_release(&locked, async |_| preview(&locked).await).await
    }

    /// Locks a chat in which nothing runs; `None` if there is none.
    pub(super) async fn lock_for_compaction(
        &self,
        key: &ChatKey,
    ) -> Result<Option<LockedChat>, RunError> {
        let Some(chat) = self.engine.store.open(key).await? else { return Ok(None) };
        let lane = chat.lane("compact").await?;
        Ok(Some(LockedChat { engine: Arc::clone(&self.engine), chat, lane }))
    }
}

/// Compacts a locked chat.
async fn compact_locked(
    locked: &LockedChat,
    wishes: Option<String>,
) -> Result<Option<Compaction>, RunError> {
    repair_head(locked).await?;
    let Some((work, so_far)) = work_at_rest(locked.clone()).await? else { return Ok(None) };
    let request = prepare_current(&work, so_far.as_ref()).await;
    let why = CompactionReason::Person { wishes };
    let making_room = Box::pin(make_room(&work, so_far.as_ref(), request, &why));
    match locked.with_heartbeat(making_room).await?.0 {
        CompactionOutcome::Made(compacted) => Ok(Some(compacted)),
        CompactionOutcome::Enough(_) | CompactionOutcome::Settle(_) => Ok(None),
        CompactionOutcome::None(why) => Err(RunError::NoRoom(why)),
    }
}

/// Plans a compaction of a locked chat. A preview changes nothing, so it repairs nothing either.
async fn preview(locked: &LockedChat) -> Result<Option<CompactionPreview>, RunError> {
    let Some((work, so_far)) = work_at_rest(locked.clone()).await? else { return Ok(None) };
    let request = prepare_current(&work, so_far.as_ref()).await;
    let why = CompactionReason::Person { wishes: None };
    count_request(&work, &request).await;
    let plan = match plan(&work, &request, &why).await? {
        PlanResult::Plan(plan) => plan,
        PlanResult::Settle(_) => return Ok(None),
        PlanResult::No(why) => return Err(RunError::NoRoom(why)),
    };
    let is_full = work.log_is_full().await;
    let (messages, outputs) = match plan.method(&work.locked.engine.rules, is_full, &why) {
        CompactionStep::Nothing => (0, 0),
        CompactionStep::Prune => (0, plan.pruned.len()),
        CompactionStep::Summarise(cut) => (cut.older.len(), 0),
    };
    Ok(Some(CompactionPreview {
        tokens_now: plan.load.total(),
        floor: plan.goal.floor,
        // A person that has undone a compaction has postponed the next one.
        trigger: work.locked.engine.compaction_trigger(plan.state.is_raised, request.pieces()),
        target: plan.goal.target,
        messages,
        kept: plan.messages.len() - messages,
        outputs,
    }))
}

/// Repairs a locked chat, because a log without a head cannot be replaced.
pub(super) async fn repair_head(locked: &LockedChat) -> Result<(), RunError> {
    locked.engine.note_repairs(locked.chat.key(), locked.chat.repair().await?);
    Ok(())
}

/// Returns a run at rest in a locked chat, and the message of an unfinished run.
pub(super) async fn work_at_rest(
    locked: LockedChat,
) -> Result<Option<(Arc<ActiveRun>, Option<UiMessage>)>, RunError> {
    let LockedChat { engine, chat, .. } = &locked;
    let Some(view) = chat.log().view().await? else { return Ok(None) };
    engine.recall_host(chat.key()).await;
    let about = chat.about().await?;
    let written = Journal::read(&chat.runs().journal().await?);
    // The ledger matters only when a run begins.
    let (journal, so_far) = match recover(Some(&view), &[], written, |_| false, &**engine) {
        Recovery::Parked(journal) | Recovery::Continue(journal) | Recovery::Settled(journal) => {
            let so_far = journal.message.clone();
            (journal, Some(so_far))
        }
        Recovery::Idle | Recovery::Deliver(_) | Recovery::RunPending => {
            (Journal::begin(RunStart::default()), None)
        }
    };
    let looked_at = locked.chat.moment();
    let work = ActiveRun::begin(locked, about, &view, &journal, looked_at).await;
    Ok(Some((Arc::new(work), so_far)))
}
