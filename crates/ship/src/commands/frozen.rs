//! A process that holds a chat and will not let go of it by itself.

use ship_agent::RunError;
use ship_store::{LaneError, LaneHolder, StorageError};

use crate::failure::Failure;
use crate::session::Session;

/// A holder of the lane for which it makes no sense to wait.
pub(crate) struct FrozenHolder {
    found: LaneHolder,
    quiet_ms: u64,
}

impl FrozenHolder {
    /// Looks at the holder of the chat's lane; `None` unless it is frozen.
    pub(crate) async fn of(session: &Session) -> Result<Option<Self>, Failure> {
        let Some(chat) = session.store()?.open(&session.chat).await? else { return Ok(None) };
        let Some(found) = chat.lane_holder().await? else { return Ok(None) };
        let deadline_ms = session.project.settings().context.run.tool_deadline_ms;
        let now = session.now();
        let quiet = found.last_write.map_or(0, |wrote| now.millis() - wrote.millis());
        let quiet_ms = u64::try_from(quiet).unwrap_or(0);
        Ok(found.is_frozen(now, deadline_ms).then_some(Self { found, quiet_ms }))
    }

    /// Says who holds the chat, and why that one is not waited for.
    pub(crate) fn sentence(&self) -> String {
        let holder = &self.found.holder;
        let state = match self.found.is_stopped {
            true => "is stopped".to_owned(),
            false => format!("has written nothing for {} seconds", self.quiet_ms / 1000),
        };
        format!(
            "process {} has held this chat since {} for `{}` and {state}",
            holder.pid, holder.since, holder.purpose
        )
    }

    /// The failure of a command that does not wait any longer. `kept` tells what is kept of it.
    pub(crate) fn failure(&self, kept: &str) -> Failure {
        let pid = self.found.holder.pid;
        // A process that is stopped heeds no other signal.
        let remedy = match self.found.is_stopped {
            true => {
                format!("let it go on with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`")
            }
            false => format!("end it with `kill {pid}`"),
        };
        Failure::frozen(format!("{}; {kept}", self.sentence())).hint(format!(
            "{remedy}: nothing is lost by that, and `ship chat` goes on with what is kept"
        ))
    }
}

/// Whether an error says only that another process runs the chat.
pub(crate) fn is_elsewhere(error: &RunError) -> bool {
    matches!(error, RunError::Lane(LaneError::Storage(StorageError::Busy(_))))
}

/// Waits for what needs the lane. A frozen holder that is in the way is named.
pub(crate) async fn or_frozen<T>(
    session: &Session,
    running: impl Future<Output = Result<T, RunError>>,
) -> Result<T, Failure> {
    match running.await {
        Err(error) if is_elsewhere(&error) => match FrozenHolder::of(session).await? {
            Some(frozen) => Err(frozen.failure("nothing was done")),
            None => Err(error.into()),
        },
        result => Ok(result?),
    }
}
