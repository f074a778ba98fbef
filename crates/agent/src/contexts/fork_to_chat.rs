//! A fork to another chat: that chat begins with a copy, and this one stays as it is.
//!
//! Lines are copied, and blobs are shared. The ledger, the checkpoints in sealed logs and the data for an undo are
//! not copied, because they mean something in this chat only.

use ship_message::json::Json;
use ship_store::{
    About, Chat, ChatKey, ContextBody, ContextLine, Explain as _, Explanation, Lane, LaneError,
    LogPiece, Rotation, Seq, StorageError, View,
};

use super::list::active_snapshot;
use super::log_place::LogPlace;
use super::operate::OperationInProgress;
use super::target_log::spans;
use crate::chat::{gives_title, is_undoable};
use crate::context_operation::{ContextChange, ContextName, OperationOutcome, OperationRefusal};
use crate::error::RunError;

/// The field with the ledger entry that asked for a copy. After a crash, the same entry does not make another copy.
const ASKED: &str = "asked";

impl OperationInProgress<'_> {
    /// Copies this context to another chat that has none yet.
    pub(super) async fn fork_to(
        &self,
        at: Option<&str>,
        to: &ChatKey,
    ) -> Result<OperationOutcome, RunError> {
        let agent = &self.locked.engine;
        let place = match at {
            None => LogPlace::in_live_log(self.view.position.seq),
            Some(at) => match LogPlace::find(self.locked, self.view, at).await? {
                Ok(place) => place,
                Err(not_done) => return Ok(OperationOutcome::NotDone(not_done)),
            },
        };
        let other = match agent.store.create(to, About::default()).await {
            Ok(other) => other,
            // As an error of this chat it would come back with every run.
            Err(error) => {
                let refusal = OperationRefusal::explained(error.explain(), "");
                return Ok(OperationOutcome::NotDone(refusal));
            }
        };
        let lane = match other.lane_now("fork").await {
            Ok(lane) => lane,
            Err(LaneError::Storage(StorageError::Busy(_))) => {
                let line = format!("The chat `{to}` is busy. Nothing has changed.");
                return Ok(OperationOutcome::refused(line));
            }
            Err(error) => return Err(error.into()),
        };
        let copied = self.copy_into(&*other, &*lane, &place).await;
        lane.release().await;
        match copied? {
            Some(refusal) => Ok(OperationOutcome::NotDone(refusal)),
            None => self.outcome_in(&*other).await,
        }
    }

    /// Makes the copy in another chat whose lane is held, unless it is there already. Returns why it is refused.
    async fn copy_into(
        &self,
        other: &dyn Chat,
        lane: &dyn Lane,
        place: &LogPlace,
    ) -> Result<Option<OperationRefusal>, RunError> {
        match other.log().view().await? {
            None => {
                lane.rotate(self.copied_log(place).await?).await?;
                Ok(None)
            }
            Some(view) if self.already_copied(&view) => Ok(None),
            Some(_) => {
                let to = other.key();
                let why = Explanation::new(format!("The chat `{to}` already has a context"))
                    .with_remedy("fork to a new chat");
                Ok(Some(OperationRefusal::explained(why, ".")))
            }
        }
    }

    /// Makes the first log of the other chat.
    async fn copied_log(&self, place: &LogPlace) -> Result<Rotation, RunError> {
        let chat = &self.locked.chat;
        let view = place.view(self.locked, self.view).await?;
        let mut head = self.branch_head(&view, place, "fork");
        if let Some(from) = head.forked_from.as_mut().and_then(Json::as_object_mut) {
            from.set("chatKey", chat.key().as_str());
            from.set_or_remove(ASKED, self.moving.inbox.map(|seq| Json::from(seq.get())));
        }
        // The copied lines contain their own checkpoints; the others are in logs of this chat.
        head.checkpoints.clear();
        head.inbox = None;
        head.carry = head.carry.for_other_chat();
        // The ids of messages follow from ledger numbers. The other ledger begins with 1 again, so without a salt
        // its first messages would get the ids of copied ones.
        head.carry.set_salt(Some(head.context.as_str()));
        let stays = |line: &ContextLine| match &line.body {
            ContextBody::Event(event) => !is_undoable(event) && !gives_title(line),
            ContextBody::Message(_) => true,
        };
        let piece = |(first, last): (Seq, Seq)| LogPiece::Of {
            chat: chat.key().clone(),
            log: place.log.clone(),
            first,
            last,
        };
        let pieces = spans(&view.lines, stays).into_iter().map(piece).collect();
        Ok(Rotation { expected: None, head, pieces })
    }

    /// Whether the other chat already has the copy that this ledger entry asked for.
    fn already_copied(&self, other: &View) -> bool {
        let Some(from) = &other.head.forked_from else { return false };
        let request_seq = from.get(ASKED).and_then(Json::as_u64);
        from.get("chatKey").and_then(Json::as_str) == Some(self.locked.chat.key().as_str())
            && request_seq.is_some()
            && request_seq == self.moving.inbox.map(|seq| seq.get())
    }

    async fn outcome_in(&self, other: &dyn Chat) -> Result<OperationOutcome, RunError> {
        let to = other.key();
        let copied = other.log().view().await?;
        let copied = copied.ok_or_else(|| RunError::Vanished { chat: to.clone() })?;
        let active = ContextName::from(&active_snapshot(&self.locked.engine, &copied));
        let line =
            format!("Copied to the chat `{to}` as “{}”; this chat is unchanged.", active.title);
        Ok(OperationOutcome::Done(ContextChange {
            operation: "fork".to_owned(),
            left: None,
            active,
            chat: Some(to.clone()),
            line,
            way_back: None,
        }))
    }
}
