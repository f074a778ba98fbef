//! Finds a checkpoint or a message: in the live log, or in a sealed log of a compaction or another operation.

use ship_store::{Explanation, MessageId, ReadError, SealedName, Seq, View};

use crate::chat::{head_after_events, is_summary_line, predecessor};
use crate::context_operation::{NOTHING_CHANGED, OperationRefusal};
use crate::engine::LockedChat;
use crate::error::RunError;

/// A place in a log: everything up to and including a line.
#[derive(Clone, Debug)]
pub(super) struct LogPlace {
    /// The sealed log; `None` for the live one.
    pub(super) log: Option<SealedName>,
    pub(super) last: Seq,
    /// The name of the checkpoint, if it is one.
    pub(super) checkpoint: Option<String>,
}

impl LogPlace {
    /// Returns a place in the live log.
    pub(super) fn in_live_log(last: Seq) -> Self {
        Self { log: None, last, checkpoint: None }
    }

    /// Finds a place by the name of a checkpoint or the id of a message.
    pub(super) async fn find(
        locked: &LockedChat,
        view: &View,
        name: &str,
    ) -> Result<Result<Self, OperationRefusal>, RunError> {
        let checkpoints = head_after_events(view).checkpoints;
        let named = checkpoints.iter().rev().find(|checkpoint| checkpoint.name == name);
        if let Some(checkpoint) = named {
            let (log, last) = (checkpoint.sealed.clone(), checkpoint.seq);
            return Ok(Ok(Self { log, last, checkpoint: Some(name.to_owned()) }));
        }
        if let Some(id) = MessageId::new(name)
            && let Some(place) = locked.chat.log().find(&id, None).await?
        {
            let place = Self { log: place.log, last: place.seq, checkpoint: None };
            return Ok(Ok(place.in_original_log(locked, &id).await?));
        }
        if is_in_ledger_alone(locked, name).await? {
            let problem = format!(
                "`{name}` was said in the chat and is in no context, so there is nothing to go on from"
            );
            let why = Explanation::new(problem);
            let why = why.with_remedy("`/context recall --around ID` shows it here");
            return Ok(Err(OperationRefusal::explained(why, NOTHING_CHANGED)));
        }
        let names: Vec<&str> =
            checkpoints.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
        let why = match names.is_empty() {
            true => {
                let problem = format!("There is no message `{name}` here, and no checkpoint yet");
                Explanation::new(problem).with_remedy("`/checkpoint NAME` makes one")
            }
            false => {
                let problem = format!("There is no checkpoint and no message `{name}` here");
                let names = names.join(", ");
                Explanation::new(problem).with_remedy(format!("the checkpoints are: {names}"))
            }
        };
        Ok(Err(OperationRefusal::explained(why, NOTHING_CHANGED)))
    }

    /// Returns the place of the message in the log in which it was said. A later compaction may have copied the
    /// message behind a summary, and the fork should have the originals before it.
    async fn in_original_log(self, locked: &LockedChat, id: &MessageId) -> Result<Self, RunError> {
        let mut place = self;
        while let Some(log) = &place.log {
            let view = locked.chat.log().sealed_view(log).await?;
            let before = view.lines.iter().take_while(|line| line.seq < place.last);
            let is_summed_up = before.into_iter().any(|line| is_summary_line(line));
            let Some(older) = predecessor(&view).filter(|_| is_summed_up) else { break };
            match locked.chat.log().sealed_view(&older).await {
                Ok(view) => match view.line_of(id) {
                    Some(last) => place = Self { log: Some(older), last, checkpoint: None },
                    None => break,
                },
                // Purged originals cannot come back, so the copy behind the summary is used.
                Err(ReadError::Purged { .. } | ReadError::NoSealedLog { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(place)
    }

    /// Reads the log of this place, up to the place.
    pub(super) async fn view(&self, locked: &LockedChat, live: &View) -> Result<View, RunError> {
        let mut view = match &self.log {
            None => live.clone(),
            Some(name) => locked.chat.log().sealed_view(name).await?,
        };
        view.lines.retain(|line| line.seq <= self.last);
        Ok(view)
    }
}

/// Whether the chat has a message of this id, and no context has it: talk in a group, which a search finds, too.
async fn is_in_ledger_alone(locked: &LockedChat, id: &str) -> Result<bool, RunError> {
    let found = locked.engine.search.around_in(&*locked.chat, id, 0, 0).await?;
    let mut found = found.into_iter().flatten();
    Ok(found.any(|it| it.is_asked_for && it.context.is_none()))
}
