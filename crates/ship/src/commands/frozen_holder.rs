//! Detects a process that holds a chat and will not release it by itself.

use ship_agent::{Agent, RunError};
use ship_store::{Busy, Holder, LaneHolder, StorageError, Timestamp};

use crate::failure::{BUSY, Failure};
use crate::session::Session;

/// A holder of the lane or of the write right for which waiting is useless.
pub(crate) struct FrozenHolder {
    holder: Holder,
    is_stopped: bool,
    quiet_ms: u64,
}

impl FrozenHolder {
    /// Returns the holder of the chat's lane if it is frozen.
    pub(crate) async fn find(session: &Session, agent: &Agent) -> Result<Option<Self>, Failure> {
        let found = agent.frozen_holder(&session.chat).await?;
        Ok(found.map(|found| Self::new(&found, session.now())))
    }

    pub(crate) fn new(found: &LaneHolder, now: Timestamp) -> Self {
        let quiet = found.last_write.map_or(0, |wrote| now.millis() - wrote.millis());
        // A clock that went back makes the time negative.
        let quiet_ms = u64::try_from(quiet).unwrap_or(0);
        Self { holder: found.holder.clone(), is_stopped: found.is_stopped, quiet_ms }
    }

    /// Returns the stopped process that an error names.
    pub(crate) fn from_error(error: &RunError) -> Option<Self> {
        let busy = busy_in(error).filter(|busy| busy.is_stopped)?;
        Some(Self { holder: busy.holder.clone()?, is_stopped: true, quiet_ms: 0 })
    }

    /// Names the holder of the chat, and says why the command does not wait for it.
    pub(crate) fn sentence(&self) -> String {
        let holder = &self.holder;
        let state = match self.is_stopped {
            true => "is stopped".to_owned(),
            false => format!("has written nothing for {} seconds", self.quiet_ms / 1000),
        };
        format!(
            "{holder} has held this chat since {} for `{}` and {state}",
            holder.since, holder.purpose
        )
    }

    /// Makes the failure of a command that does not wait any longer. `kept` says what is kept of it.
    pub(crate) fn failure(&self, kept: &str) -> Failure {
        Failure::frozen(format!("{}; {kept}", self.sentence())).with_hint(format!(
            "{}: nothing is lost, and `ship chat` continues with what is kept",
            self.remedy()
        ))
    }

    fn remedy(&self) -> String {
        match self.is_stopped {
            true => self.holder.remedy_if_stopped(),
            false => self.holder.remedy_if_quiet(),
        }
    }
}

/// Makes the failure to accept a message. If the ledger was busy, the message was not written.
pub(crate) fn accept_failure(error: RunError) -> Failure {
    match FrozenHolder::from_error(&error) {
        Some(frozen) => {
            let message = format!("{}; your message is not kept", frozen.sentence());
            Failure::new(BUSY, message)
                .with_hint(format!("{}, then send it again", frozen.remedy()))
        }
        None => error.into(),
    }
}

/// Makes the failure to answer an accepted message.
pub(crate) fn answer_failure(error: RunError, now: Timestamp) -> Failure {
    let frozen = match &error {
        RunError::Frozen(holder) => Some(FrozenHolder::new(holder, now)),
        error => FrozenHolder::from_error(error),
    };
    match frozen {
        Some(frozen) => frozen.failure(KEPT),
        None => Failure::from(error).and_message_is_kept(),
    }
}

/// Makes the failure of a command.
pub(crate) fn command_failure(error: RunError) -> Failure {
    match FrozenHolder::from_error(&error) {
        Some(frozen) if matches!(error, RunError::Kept(_)) => {
            frozen.failure("what you asked for is kept, and not done yet")
        }
        Some(frozen) => frozen.failure("nothing was done"),
        None => error.into(),
    }
}

/// Says what happens to a message that a frozen process keeps from being answered.
const KEPT: &str = "your message is kept, but there is no answer yet";

fn busy_in(error: &RunError) -> Option<&Busy> {
    match error.storage()? {
        StorageError::Busy(busy) => Some(busy),
        _ => None,
    }
}

/// Waits for work that needs the lane. A frozen holder is named in the failure.
pub(crate) async fn unless_frozen<T>(
    session: &Session,
    agent: &Agent,
    running: impl Future<Output = Result<T, RunError>>,
) -> Result<T, Failure> {
    match running.await {
        Err(error) if error.is_elsewhere() => match FrozenHolder::find(session, agent).await? {
            Some(frozen) => Err(frozen.failure("nothing was done")),
            None => Err(error.into()),
        },
        Err(error) => Err(command_failure(error)),
        Ok(result) => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use ship_store::{AcceptError, AppendError, LaneError, Right};

    use super::*;

    fn stopped_writer() -> StorageError {
        let holder = Holder {
            host: None,
            process: "42".to_owned(),
            since: Timestamp::from_millis(0),
            purpose: "append".to_owned(),
        };
        StorageError::Busy(Box::new(Busy {
            chat: "terminal:main".parse().unwrap(),
            right: Right::Write,
            holder: Some(holder),
            is_stopped: true,
            waited_ms: 50,
        }))
    }

    #[test]
    fn a_stopped_writer_is_named_and_what_became_of_the_message_is_told() {
        let accept = accept_failure(AcceptError::Storage(stopped_writer()).into());
        assert!(accept.sentence().ends_with("is stopped; your message is not kept"), "{accept:?}");
        assert_eq!(accept.exit_code(), ExitCode::FAILURE);
        let append = answer_failure(
            AppendError::Storage(stopped_writer()).into(),
            Timestamp::from_millis(0),
        );
        let kept = "is stopped; your message is kept, but there is no answer yet";
        assert!(append.sentence().ends_with(kept), "{append:?}");
        assert_eq!(append.exit_code(), ExitCode::from(3));
        for failure in [accept, append] {
            assert!(failure.sentence().starts_with("process 42 has held this chat"), "{failure:?}");
            let remedy = failure.remedy().unwrap();
            assert!(remedy.contains("`kill -CONT 42`"), "{remedy}");
        }
    }

    #[test]
    fn a_run_does_not_follow_a_stopped_writer() {
        assert!(!RunError::from(LaneError::Storage(stopped_writer())).is_elsewhere());
    }
}
