//! Finds what an operation continues with: once, before anything is written.

use std::sync::Arc;

use ship_context::contexts::{Index, Snapshot};
use ship_context::ends_with_question;
use ship_message::{Role, UiMessage};
use ship_store::carry::PublishedBy;
use ship_store::{ContextId, ContextLine, MessageKind, Metadata, SealedName, StorageProblem, View};

use super::archive::{ContextArchive, FoundContext};
use super::list::active_snapshot;
use super::log_place::LogPlace;
use super::lost_messages::LostMessages;
use super::operate::OperationInProgress;
use crate::chat::{OpenRequest, has_content};
use crate::context_operation::{ContextName, ContextOperation, ONE_CONTEXT, OperationRefusal};
use crate::engine::LockedChat;
use crate::error::RunError;

/// The origin of the log that an operation publishes.
pub(super) enum TargetOrigin {
    /// A clean context.
    Clean { by: &'static str, title: Option<String> },
    /// An archived context, with the snapshot under which it is listed.
    Archived { log: SealedName, view: View, snapshot: Box<Snapshot>, lost: LostMessages },
    /// The beginning of a log up to a place, or all of the live log. The view is that of a sealed log.
    Branch { by: &'static str, place: Option<LogPlace>, view: Option<View> },
    /// The context that the last operation has left.
    Left { log: SealedName, view: View, lost: LostMessages },
}

impl TargetOrigin {
    /// Returns the problems of the log that is continued; `None` if there is no such log, or it is the live one.
    pub(super) fn problems(&self) -> Option<&[StorageProblem]> {
        match self {
            Self::Clean { .. } => None,
            Self::Archived { view, .. } | Self::Left { view, .. } => Some(&view.problems),
            Self::Branch { view, .. } => view.as_ref().map(|view| &*view.problems),
        }
    }

    /// Returns the number of messages that the log has lost and that come back.
    pub(super) fn messages_restored(&self) -> usize {
        match self {
            Self::Archived { lost, .. } | Self::Left { lost, .. } => lost.messages.len(),
            Self::Clean { .. } | Self::Branch { .. } => 0,
        }
    }
}

/// An operation that leaves a context, with everything that was found for it. It is planned once, when it is asked
/// for, and carried out as it was planned.
pub(crate) struct OperationPlan {
    pub(super) operation: ContextOperation,
    /// The log that is left. The message of a run is added before the operation is carried out, without its checksum.
    pub(crate) view: View,
    pub(crate) moving: OpenRequest,
    pub(super) origin: TargetOrigin,
    /// The index of the archive.
    pub(super) index: Index,
}

type OrRefusal<T> = Result<Result<T, OperationRefusal>, RunError>;

impl OperationPlan {
    /// Finds what an operation on the live log continues with, or the reason to refuse it. Only an operation that
    /// leaves this context continues with anything.
    pub(super) async fn find(
        locked: &LockedChat,
        view: View,
        operation: ContextOperation,
        mut moving: OpenRequest,
    ) -> OrRefusal<Self> {
        let operating = OperationInProgress { locked, view: &view, moving: &moving };
        let archive = ContextArchive::open(&locked.engine, &*locked.chat, &view).await?;
        let origin = match &operation {
            ContextOperation::New { title, .. } => operating.clean_origin("new", title.as_deref()),
            ContextOperation::Clear => operating.clean_origin("clear", None),
            ContextOperation::Load { which } => operating.archived_origin(&archive, which).await?,
            ContextOperation::Fork { at: None, .. } => {
                Ok(TargetOrigin::Branch { by: "fork", place: None, view: None })
            }
            ContextOperation::Fork { at: Some(at), .. } => {
                operating.branch_origin("fork", at).await?
            }
            ContextOperation::Rewind { to } => operating.branch_origin("rewind", to).await?,
            ContextOperation::Retry => operating.question_origin(),
            ContextOperation::Undo => operating.left_origin().await?,
            ContextOperation::Recall { .. }
            | ContextOperation::RecallMessage { .. }
            | ContextOperation::Rename { .. }
            | ContextOperation::Checkpoint { .. } => {
                let line = format!("“{}” publishes nothing.", operation.name());
                Err(OperationRefusal::new(line))
            }
        };
        let index = archive.index;
        if let Ok(TargetOrigin::Branch { by: by @ "fork", place, view: origin }) = &origin {
            let checkpoint = place.as_ref().and_then(|place| place.checkpoint.as_deref());
            let is_taken = |title: &str| index.items().iter().any(|item| item.title == title);
            let origin = origin.as_ref().unwrap_or(&view);
            let title = operating.title_of_branch(origin, by, checkpoint, is_taken);
            moving.title = Some(title);
        }
        Ok(origin.map(|origin| Self { operation, view, moving, origin, index }))
    }

    /// Promises the context that the operation leads to. From now on it has this id, whatever was asked for.
    pub(super) fn promise(&mut self, locked: &LockedChat, left: &ContextName) -> ContextName {
        let operating = OperationInProgress { locked, view: &self.view, moving: &self.moving };
        let title = match &self.origin {
            TargetOrigin::Archived { snapshot, .. } => {
                let which = snapshot.context().to_string();
                self.operation = ContextOperation::Load { which };
                return ContextName::from(&**snapshot);
            }
            TargetOrigin::Clean { title, .. } => title.as_deref().unwrap_or("(new)").to_owned(),
            TargetOrigin::Branch { by, place, view } => {
                let checkpoint = place.as_ref().and_then(|place| place.checkpoint.as_deref());
                operating.title_of_branch(
                    view.as_ref().unwrap_or(&self.view),
                    by,
                    checkpoint,
                    |_| false,
                )
            }
            TargetOrigin::Left { .. } => left.title.clone(),
        };
        let new_id = || ContextId::new(locked.engine.clock.now(), locked.engine.ids.next());
        let context = self.moving.promised.get_or_insert_with(new_id).clone();
        ContextName { context, title }
    }
}

impl OperationInProgress<'_> {
    fn clean_origin(
        &self,
        by: &'static str,
        title: Option<&str>,
    ) -> Result<TargetOrigin, OperationRefusal> {
        if has_content(self.view, &self.moving.current) {
            return Ok(TargetOrigin::Clean { by, title: title.map(str::to_owned) });
        }
        let clean = "This context is clean already: nothing was said in it yet.";
        Err(OperationRefusal::new(clean))
    }

    async fn archived_origin(
        &self,
        archive: &ContextArchive<'_>,
        which: &str,
    ) -> OrRefusal<TargetOrigin> {
        let active = ContextName::from(&active_snapshot(&self.locked.engine, self.view));
        let there = || OperationRefusal::new(format!("You are already in “{}”.", active.title));
        let snapshot = match archive.find_any(which, &active).await? {
            Ok(FoundContext::Active) => return Ok(Err(there())),
            Ok(FoundContext::Archived(snapshot)) => snapshot,
            Err(refused) => return Ok(Err(refused)),
        };
        let Some(log) = snapshot.sealed_log() else {
            return Ok(Err(OperationRefusal::no_context(which, Vec::new())));
        };
        let view = self.locked.chat.log().sealed_view(&log).await?;
        let lost = self.lost_messages(&log, &view).await?;
        Ok(Ok(TargetOrigin::Archived { log, view, snapshot, lost }))
    }

    async fn branch_origin(&self, by: &'static str, at: &str) -> OrRefusal<TargetOrigin> {
        let place = match LogPlace::find(self.locked, self.view, at).await? {
            Ok(place) => place,
            Err(not_done) => return Ok(Err(not_done)),
        };
        let view = match &place.log {
            Some(log) => Some(self.locked.chat.log().sealed_view(log).await?),
            None => None,
        };
        Ok(Ok(TargetOrigin::Branch { by, place: Some(place), view }))
    }

    /// Finds the last question, which a retry asks again.
    fn question_origin(&self) -> Result<TargetOrigin, OperationRefusal> {
        if ends_with_question(Some(self.view)) {
            return Err(OperationRefusal::new("The last message is not answered yet."));
        }
        let is_asked = |line: &&Arc<ContextLine>| line.message().is_some_and(is_question);
        let question = self.view.lines.iter().rfind(is_asked);
        let question =
            question.ok_or_else(|| OperationRefusal::new("There is nothing to ask again yet."));
        let place = Some(LogPlace::in_live_log(question?.seq));
        Ok(TargetOrigin::Branch { by: "retry", place, view: None })
    }

    async fn left_origin(&self) -> OrRefusal<TargetOrigin> {
        let nothing = || OperationRefusal::new("There is nothing to undo.");
        let head = &self.view.head;
        // The rotations since the operation have noted the log that it left; directly after it, the head names it.
        let by = head.carry.published_by();
        let left_for_another =
            |by: &PublishedBy| !matches!(by.operation.as_deref(), Some("rewind" | "retry"));
        if !self.locked.engine.rules.contexts.enabled && by.as_ref().is_some_and(left_for_another) {
            return Ok(Err(OperationRefusal::new(ONE_CONTEXT)));
        }
        let left = by.map(|by| by.left.or_else(|| head.sealed.clone()));
        let Some(log) = left.flatten() else { return Ok(Err(nothing())) };
        let view = self.locked.chat.log().sealed_view(&log).await?;
        let lost = self.lost_messages(&log, &view).await?;
        Ok(Ok(TargetOrigin::Left { log, view, lost }))
    }
}

/// Whether a message is what a person asked, and no summary or meta text in the same role.
pub(super) fn is_question(message: &UiMessage) -> bool {
    let kind = Metadata::of(message).kind();
    message.role() == Role::User && kind.is_none_or(|kind| kind == MessageKind::Normal)
}
