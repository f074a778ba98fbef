//! A `ship` process: it ends within a bound, may stop on the way, and never panics.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::fault_case::BrokenPromise;

/// No command takes this long, however busy the machine is.
const BOUND: Duration = Duration::from_secs(60);

/// A process that was started. Dropped, it is killed.
pub(super) struct ShipProcess {
    words: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: PathBuf,
    stderr: PathBuf,
    /// Whether it may stop itself; it does so once.
    may_stop: bool,
}

/// What became of a process while it was waited for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It has ended.
    Ended(ExitStatus),
    /// It has stopped itself.
    Stopped,
    /// What was waited for is there.
    There,
}

/// What a process printed.
pub(super) struct ProcessOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl ShipProcess {
    pub(super) fn new(
        words: String,
        mut child: Child,
        stdout: PathBuf,
        stderr: PathBuf,
        may_stop: bool,
    ) -> Self {
        let stdin = child.stdin.take();
        Self { words, child, stdin, stdout, stderr, may_stop }
    }

    /// The command, in quotes.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// Writes to its standard input. A process that has ended is found out by [`ShipProcess::wait`].
    pub(super) fn say(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    pub(super) fn end_input(&mut self) {
        self.stdin = None;
    }

    pub(super) fn printed(&self) -> ProcessOutput {
        let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        ProcessOutput { stdout: read(&self.stdout), stderr: read(&self.stderr) }
    }

    /// Waits until it has ended or stopped, or until `is_there`.
    #[expect(clippy::disallowed_methods, reason = "no event tells all three, and also the bound")]
    pub(super) fn wait(
        &mut self,
        is_there: impl Fn(&Self) -> bool,
    ) -> Result<ProcessState, BrokenPromise> {
        let deadline = Instant::now() + BOUND;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.judge_end(status)?;
                return Ok(ProcessState::Ended(status));
            }
            if is_there(self) {
                return Ok(ProcessState::There);
            }
            if self.may_stop && self.is_stopped() {
                self.may_stop = false;
                return Ok(ProcessState::Stopped);
            }
            if Instant::now() > deadline {
                let ProcessOutput { stdout, stderr } = self.printed();
                return Err(BrokenPromise(format!(
                    "{} does not end: {stdout}{stderr}",
                    self.words
                )));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn judge_end(&self, status: ExitStatus) -> Result<(), BrokenPromise> {
        let stderr = self.printed().stderr;
        if stderr.contains("panicked") || status.code().is_none() {
            return Err(BrokenPromise(format!("{} ended with {status}: {stderr}", self.words)));
        }
        Ok(())
    }

    pub(super) fn is_stopped(&self) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        state.is_ok_and(|state| state.contains(") T "))
    }

    /// Lets it go on after it has stopped.
    pub(super) fn go_on(&self) {
        let pid = Pid::from_child(&self.child);
        // One that was killed meanwhile is found out by whoever waits for it.
        let _ = kill_process(pid, Signal::CONT);
    }
}

impl Drop for ShipProcess {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
