//! A `ship chat` that is spoken to line by line.

use super::case_runner::CaseRunner;
use super::fault_case::BrokenPromise;
use super::ship_process::{ProcessOutput, ProcessState, ShipProcess};
use crate::shim::counted_calls;

/// A chat that goes on. Behind each line comes a command that there is not: the word about that ends the response.
pub(super) struct ChatSession {
    process: ShipProcess,
    lines: usize,
    heard: (usize, usize),
    ended: Option<bool>,
}

/// What a chat printed about one line.
pub(super) struct LineResponse {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl LineResponse {
    /// Whether it tells of a failure and nothing else.
    pub(super) fn is_failure(&self) -> bool {
        self.stdout.trim_start().starts_with("{\"error\"")
            || self.stdout.trim().is_empty() && self.stderr.contains("ship: ")
    }
}

impl ChatSession {
    pub(super) fn new(process: ShipProcess) -> Self {
        Self { process, lines: 0, heard: (0, 0), ended: None }
    }

    pub(super) fn process(&self) -> &ShipProcess {
        &self.process
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Says a line and waits for the response.
    pub(super) fn line(
        &mut self,
        runner: &mut CaseRunner<'_>,
        line: &str,
    ) -> Result<LineResponse, BrokenPromise> {
        self.lines += 1;
        // Letters only: anything else is a message.
        let mark = format!("/mark{}", "k".repeat(self.lines));
        self.process.say(&format!("{line}\n{mark}\n"));
        let mark = format!("There is no command {mark};");
        let state = runner.wait(&mut self.process, |process| {
            let ProcessOutput { stdout, stderr } = process.printed();
            stdout.contains(&mark) || stderr.contains(&mark)
        })?;
        if let ProcessState::Ended(status) = state {
            self.ended = Some(status.success());
        }
        let ProcessOutput { stdout, stderr } = self.process.printed();
        let (stdout, heard_out) = before_mark(&stdout, self.heard.0, &mark);
        let (stderr, heard_err) = before_mark(&stderr, self.heard.1, &mark);
        self.heard = (heard_out, heard_err);
        Ok(LineResponse { stdout, stderr })
    }

    /// Ends its input. It must end in order: with 1 if a command or an answer has failed, and otherwise with 0. Returns
    /// how many calls it made, if it counted them.
    pub(super) fn end(mut self, runner: &mut CaseRunner<'_>) -> Result<usize, BrokenPromise> {
        self.process.end_input();
        let state = runner.wait(&mut self.process, |_| false)?;
        let stderr = self.process.printed().stderr;
        match state {
            ProcessState::Ended(status) if matches!(status.code(), Some(0 | 1)) => {
                Ok(counted_calls(&stderr).unwrap_or_default())
            }
            _ => Err(BrokenPromise(format!("the chat ended with a failure: {stderr}"))),
        }
    }
}

/// Returns what was printed from a place on, up to the line with the mark, and where the next response begins. A program
/// that reads JSON finds the mark on standard output, any other on standard error.
fn before_mark(printed: &str, from: usize, mark: &str) -> (String, usize) {
    let new = &printed[from..];
    let Some(at) = new.find(mark) else { return (new.to_owned(), printed.len()) };
    let begin = new[..at].rfind('\n').map_or(0, |end| end + 1);
    let behind = new[at..].find('\n').map_or(new.len(), |end| at + end + 1);
    (new[..begin].to_owned(), from + behind)
}
