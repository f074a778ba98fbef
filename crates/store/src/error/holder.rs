//! The holder of a right, and the error of a right that is held too long.

use std::fmt;

use crate::{ChatKey, Explain, Explanation, Timestamp};

/// One of the two rights that a process can hold on a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// The right to change files, held for one operation.
    Write,
    /// The right to run the agent, held for one run.
    Lane,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "write right",
            Self::Lane => "lane",
        })
    }
}

/// The process that holds a right, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The host of the process; `None` for this machine.
    pub host: Option<String>,
    /// The process, as its host names it. On files this is its id.
    pub process: String,
    /// The time at which it took the right.
    pub since: Timestamp,
    /// The purpose that it gave, such as `run`.
    pub purpose: String,
}

impl Holder {
    /// Returns the id of a process of this machine, which a signal reaches.
    pub fn pid(&self) -> Option<u32> {
        self.process.parse().ok().filter(|_| self.host.is_none())
    }

    /// Returns how a person gets the right back from a stopped process. A process of this machine reacts to no
    /// other signals than these two.
    pub fn remedy_if_stopped(&self) -> String {
        match self.pid() {
            Some(pid) => {
                format!("resume it with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`")
            }
            None => format!("resume or end {self}"),
        }
    }

    /// Returns how a person gets the right back from a process that is not stopped, but writes nothing.
    pub fn remedy_if_quiet(&self) -> String {
        match self.pid() {
            Some(pid) => format!("end it with `kill {pid}`"),
            None => format!("end {self}"),
        }
    }

    /// Names the process, the time since which it holds the right, and its purpose.
    pub(crate) fn describe(&self) -> String {
        format!("{self} since {} for `{}`", self.since, self.purpose)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)?;
        self.host.as_ref().map_or(Ok(()), |host| write!(f, " on {host}"))
    }
}

/// The process that holds a lane, and whether it is still at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneHolder {
    /// The holder as it describes itself.
    pub holder: Holder,
    /// Whether the process is known to be stopped, as by Ctrl-Z.
    pub is_stopped: bool,
    /// The time of its last write to the context log, the journal, the records of requests, or the lock file. The
    /// ledger does not count, because it grows with each message that another process accepts.
    pub last_write: Option<Timestamp>,
}

impl LaneHolder {
    /// Whether waiting is useless: the process is stopped, or has written nothing for longer than `deadline_ms`,
    /// the time in which each tool and each step should have ended.
    pub fn is_frozen(&self, now: Timestamp, deadline_ms: u64) -> bool {
        let quiet_ms = self.last_write.map(|wrote| now.millis().saturating_sub(wrote.millis()));
        let deadline_ms = i64::try_from(deadline_ms).unwrap_or(i64::MAX);
        self.is_stopped || quiet_ms.is_some_and(|quiet_ms| quiet_ms > deadline_ms)
    }
}

/// Another process held a right for as long as we waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// The chat that the right belongs to.
    pub chat: ChatKey,
    /// The right that was wanted.
    pub right: Right,
    /// The process that holds it; `None` if it is not known.
    pub holder: Option<Holder>,
    /// Whether the holder is known to be stopped, as by Ctrl-Z; then it does not release the right by itself.
    pub is_stopped: bool,
    /// The time that we waited before giving up.
    pub waited_ms: u64,
}

impl Explain for Busy {
    fn explain(&self) -> Explanation {
        let Self { chat, right, holder, is_stopped, waited_ms } = self;
        let who = holder.as_ref().map_or_else(|| "another process".to_owned(), Holder::describe);
        let held = format!("the {right} of chat `{chat}` is held by {who}");
        match holder.as_ref().filter(|_| *is_stopped) {
            Some(holder) => {
                Explanation::new(format!("{held}, which is stopped (waited {waited_ms} ms)"))
                    .with_remedy(format!("{}, then try again", holder.remedy_if_stopped()))
            }
            None => Explanation::new(format!("{held} (waited {waited_ms} ms)"))
                .with_remedy("let it finish, or end it, then try again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(host: Option<&str>, process: &str) -> Holder {
        Holder {
            host: host.map(str::to_owned),
            process: process.to_owned(),
            since: Timestamp::from_millis(0),
            purpose: "run".to_owned(),
        }
    }

    #[test]
    fn a_signal_is_the_remedy_only_for_a_process_of_this_machine() {
        for (host, process, stopped, quiet) in [
            (
                None,
                "42",
                "resume it with `kill -CONT 42`, or end it with `kill -KILL 42`",
                "end it with `kill 42`",
            ),
            (
                Some("harbour"),
                "42",
                "resume or end process 42 on harbour",
                "end process 42 on harbour",
            ),
            (None, "worker-3", "resume or end process worker-3", "end process worker-3"),
        ] {
            let holder = holder(host, process);
            let remedies = (holder.remedy_if_stopped(), holder.remedy_if_quiet());
            assert_eq!(remedies, (stopped.to_owned(), quiet.to_owned()));
        }
    }

    #[test]
    fn a_holder_is_frozen_when_it_is_stopped_or_was_quiet_for_too_long() {
        let wrote = |millis| Some(Timestamp::from_millis(millis));
        let now = Timestamp::from_millis(10_000);
        for (is_stopped, last_write, frozen) in [
            (false, wrote(9_000), false),
            (false, wrote(8_999), true),
            (true, wrote(9_999), true),
            // A clock that was set back, and a disk that keeps no times, tell nothing.
            (false, wrote(99_000), false),
            (false, None, false),
        ] {
            let holder = LaneHolder { holder: holder(None, "1"), is_stopped, last_write };
            assert_eq!(holder.is_frozen(now, 1_000), frozen, "{holder:?}");
        }
    }
}
