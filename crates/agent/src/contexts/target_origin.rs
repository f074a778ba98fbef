//! Finds what an operation continues with: once, before anything is written.

use ship_store::{SealedName, StorageProblem, View};

use super::archive::ContextArchive;
use super::log_place::LogPlace;
use super::lost_messages::LostMessages;
use super::operate::OperationInProgress;
use crate::chat::has_content;
use crate::context_operation::{ContextOperation, OperationRefusal};
use crate::error::RunError;

/// The origin of the log that an operation publishes.
pub(super) enum TargetOrigin {
    /// A clean context.
    Clean { by: &'static str, title: Option<String> },
    /// An archived context, with the title under which it is listed.
    Archived { log: SealedName, view: View, title: String, lost: LostMessages },
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

/// An operation for which everything was found.
pub(crate) struct OperationPlan<'a> {
    pub(super) origin: TargetOrigin,
    /// The archive, if it was opened to find the origin.
    pub(super) archive: Option<ContextArchive<'a>>,
}

type Found<T> = Result<Result<T, OperationRefusal>, RunError>;

impl<'a> OperationInProgress<'a> {
    /// Finds what an operation continues with, or the reason to refuse it. Only an operation that leaves this context
    /// continues with anything.
    pub(super) async fn plan(&self, wanted: &ContextOperation) -> Found<OperationPlan<'a>> {
        let mut archive = None;
        let origin = match wanted {
            ContextOperation::New { title, .. } => self.clean_origin("new", title.as_deref()),
            ContextOperation::Clear => self.clean_origin("clear", None),
            ContextOperation::Load { which } => {
                let (agent, chat) = (&*self.locked.engine, &*self.locked.chat);
                let opened = archive.insert(ContextArchive::open(agent, chat, self.view).await?);
                self.archived_origin(opened, which).await?
            }
            ContextOperation::Fork { at: None, .. } => {
                Ok(TargetOrigin::Branch { by: "fork", place: None, view: None })
            }
            ContextOperation::Fork { at: Some(at), .. } => self.branch_origin("fork", at).await?,
            ContextOperation::Rewind { to } => self.branch_origin("rewind", to).await?,
            ContextOperation::Undo => self.left_origin().await?,
            ContextOperation::Recall { .. }
            | ContextOperation::Rename { .. }
            | ContextOperation::Checkpoint { .. } => {
                let line = format!("“{}” publishes nothing.", wanted.name());
                Err(OperationRefusal::new(line))
            }
        };
        Ok(origin.map(|origin| OperationPlan { origin, archive }))
    }

    fn clean_origin(
        &self,
        by: &'static str,
        title: Option<&str>,
    ) -> Result<TargetOrigin, OperationRefusal> {
        if has_content(self.view, &self.moving.current) {
            return Ok(TargetOrigin::Clean { by, title: title.map(str::to_owned) });
        }
        Err(OperationRefusal::new(match title {
            Some(_) => "This context is clean already; `/context rename` gives it a title.",
            None => "This context is clean already: nothing was said in it yet.",
        }))
    }

    async fn archived_origin(
        &self,
        archive: &ContextArchive<'_>,
        which: &str,
    ) -> Found<TargetOrigin> {
        let snapshot = match archive.find(which).await? {
            Ok(snapshot) => snapshot,
            Err(offered) => return Ok(Err(OperationRefusal::no_context(which, offered))),
        };
        let Some(log) = snapshot.sealed_log() else {
            return Ok(Err(OperationRefusal::no_context(which, Vec::new())));
        };
        let view = self.locked.chat.log().sealed_view(&log).await?;
        let lost = self.lost_messages(&log, &view).await?;
        Ok(Ok(TargetOrigin::Archived { log, view, title: snapshot.title().to_owned(), lost }))
    }

    async fn branch_origin(&self, by: &'static str, at: &str) -> Found<TargetOrigin> {
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

    async fn left_origin(&self) -> Found<TargetOrigin> {
        let nothing = || OperationRefusal::new("There is nothing to undo.");
        let head = &self.view.head;
        let left = head.carry.published_by().map(|by| by.left.or_else(|| head.sealed.clone()));
        let Some(log) = left.flatten() else { return Ok(Err(nothing())) };
        let view = self.locked.chat.log().sealed_view(&log).await?;
        let lost = self.lost_messages(&log, &view).await?;
        Ok(Ok(TargetOrigin::Left { log, view, lost }))
    }
}
