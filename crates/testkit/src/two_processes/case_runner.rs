//! Runs one case: a process whose calls fail, a healthy one, and what both were told.

use std::path::Path;

use super::chat_record::ChatRecord;
use super::chat_session::ChatSession;
use super::fault_case::{BrokenPromise, FailingCommand, FaultCase};
use super::judge::{SendOutcome, SentMessage, judge};
use super::ship_process::{ProcessState, ShipProcess};
use super::sweep::SweepCounts;
use super::test_project::TestProject;
use crate::shim::{Fault, counted_calls};

/// Makes messages long enough to be worth a summary.
pub(super) const FILLER: &str =
    "with many words of which a summary keeps a few only, because nobody needs them all again";

/// Runs two processes in one project, and remembers what they promised.
pub(super) struct CaseRunner<'a> {
    pub(super) project: TestProject,
    shim: &'a Path,
    sent: Vec<SentMessage>,
    said: usize,
    /// The healthy process that was started while the other one was stopped, and its message.
    beside: Option<(ShipProcess, String)>,
    pub(super) counts: SweepCounts,
}

impl<'a> CaseRunner<'a> {
    pub(super) fn new(project: TestProject, shim: &'a Path) -> Self {
        let (sent, counts) = (Vec::new(), SweepCounts::default());
        Self { project, shim, sent, said: 0, beside: None, counts }
    }

    /// Makes a runner that goes on from what was said in this one, in a folder of its own.
    pub(super) fn copied(&self) -> Self {
        let mut copy = Self::new(self.project.copied(), self.shim);
        (copy.sent, copy.said) = (self.sent.clone(), self.said);
        copy
    }

    /// Runs a case to its end and judges it. Returns how many calls the failing process made.
    pub(super) fn run(&mut self, case: &FaultCase) -> Result<usize, BrokenPromise> {
        let FaultCase { what, at, window, then_stop, .. } = *case;
        let fault = Fault { what, at, window, then_stop, only: "" };
        let calls = match case.command {
            FailingCommand::Chat => self.run_chat(&["chat"], &fault)?,
            FailingCommand::ChatForPrograms => self.run_chat(&["chat", "--json"], &fault)?,
            _ => self.run_command(case.command, &fault)?,
        };
        self.finish()?;
        Ok(calls)
    }

    /// A command fails, the healthy process writes, the command is given again, and the healthy process writes again.
    fn run_command(
        &mut self,
        command: FailingCommand,
        fault: &Fault<'_>,
    ) -> Result<usize, BrokenPromise> {
        let calls = match command.operation() {
            Some(operation) => {
                let mut process = self.start_failing(operation, fault);
                self.wait_for_end(&mut process)?;
                let calls = self.hear_faults(&process);
                self.healthy_send()?;
                self.operate(operation)?;
                calls
            }
            None => {
                let calls = self.failing_send(fault)?;
                self.healthy_send()?;
                self.healthy_send()?;
                calls
            }
        };
        self.healthy_send()?;
        Ok(calls)
    }

    fn failing_send(&mut self, fault: &Fault<'_>) -> Result<usize, BrokenPromise> {
        let text = self.new_text("failing");
        let process = self.start_failing(&["send", &text], fault);
        self.hear_send(process, text)
    }

    /// Sends a message from a process that may be refused.
    pub(super) fn send(&mut self) -> Result<(), BrokenPromise> {
        let text = self.new_text("refusable");
        let process = self.project.start(&["send", &text], None);
        self.hear_send(process, text).map(|_| ())
    }

    /// Waits for what a `ship send` says. Returns how many calls it made, if it counted them.
    fn hear_send(
        &mut self,
        mut process: ShipProcess,
        text: String,
    ) -> Result<usize, BrokenPromise> {
        let status = self.wait_for_end(&mut process)?;
        let printed = process.printed();
        let outcome = match status {
            true => SendOutcome::Answer(printed.stdout),
            false if is_kept(&printed.stderr) => SendOutcome::Kept,
            false => SendOutcome::Refused,
        };
        self.note_sent(text, outcome);
        Ok(self.hear_faults(&process))
    }

    /// Lines of a chat fail; the healthy process writes behind each of them.
    fn run_chat(&mut self, arguments: &[&str], fault: &Fault<'_>) -> Result<usize, BrokenPromise> {
        const MESSAGE: &str = "";
        const LINES: [&str; 7] =
            [MESSAGE, "/compact", MESSAGE, "/context new", MESSAGE, "/undo", MESSAGE];
        let mut session = ChatSession::new(self.start_failing(arguments, fault));
        let mut calls = 0;
        // Whatever is left of the window fails one line each.
        let more = std::iter::repeat_n(MESSAGE, fault.window + 1);
        for (number, line) in LINES.into_iter().chain(more).enumerate() {
            let is_answered = match line {
                MESSAGE => self.chat_message(&mut session)?,
                operation => session.line(self, operation).map(|_| false)?,
            };
            if session.has_ended() {
                calls += self.hear_faults(session.process());
                session = ChatSession::new(self.project.start(arguments, None));
            }
            // Once it seals the log below the other one.
            if number == 3 {
                self.operate_beside(&["compact"], Some(session.process()))?;
            }
            self.healthy_send_beside(Some(session.process()))?;
            if number + 1 >= LINES.len() && is_answered {
                calls += self.hear_faults(session.process());
                return session.end(self).map(|last| last.max(calls));
            }
        }
        Err(BrokenPromise("the chat answers nothing any more".to_owned()))
    }

    /// Says something in the chat. Returns whether it was answered.
    pub(super) fn chat_message(
        &mut self,
        session: &mut ChatSession,
    ) -> Result<bool, BrokenPromise> {
        let text = self.new_text("chat");
        let response = session.line(self, &text)?;
        let outcome = match response {
            _ if is_kept(&response.stdout) || is_kept(&response.stderr) => SendOutcome::Kept,
            _ if session.has_ended() || response.is_failure() => SendOutcome::Refused,
            _ => SendOutcome::Answer(response.stdout),
        };
        let is_answered = matches!(outcome, SendOutcome::Answer(_));
        self.note_sent(text, outcome);
        Ok(is_answered)
    }

    /// Sends a message from a healthy process, which must be answered.
    pub(super) fn healthy_send(&mut self) -> Result<(), BrokenPromise> {
        self.healthy_send_beside(None)
    }

    fn healthy_send_beside(&mut self, other: Option<&ShipProcess>) -> Result<(), BrokenPromise> {
        let text = self.new_text("healthy");
        let process = self.project.start(&["send", &text], None);
        self.hear_healthy(process, text, other)
    }

    fn hear_healthy(
        &mut self,
        mut process: ShipProcess,
        text: String,
        other: Option<&ShipProcess>,
    ) -> Result<(), BrokenPromise> {
        let is_content = self.wait_beside(&mut process, other)?;
        let printed = process.printed();
        if !is_content {
            let words = process.words();
            return Err(BrokenPromise(format!("the healthy {words} failed: {}", printed.stderr)));
        }
        self.note_sent(text, SendOutcome::Answer(printed.stdout));
        Ok(())
    }

    /// Waits for the end of a healthy process. The other one may stop only now, for it writes on its own between
    /// two lines; then it goes on. Returns whether the healthy one was content.
    fn wait_beside(
        &self,
        process: &mut ShipProcess,
        other: Option<&ShipProcess>,
    ) -> Result<bool, BrokenPromise> {
        process.end_input();
        loop {
            match process.wait(|_| other.is_some_and(ShipProcess::is_stopped))? {
                ProcessState::Ended(status) => return Ok(status.success()),
                _ => other.into_iter().for_each(ShipProcess::go_on),
            }
        }
    }

    /// Does an operation on contexts in a healthy process. There may be nothing to do.
    pub(super) fn operate(&mut self, operation: &[&str]) -> Result<(), BrokenPromise> {
        self.operate_beside(operation, None)
    }

    fn operate_beside(
        &self,
        operation: &[&str],
        other: Option<&ShipProcess>,
    ) -> Result<(), BrokenPromise> {
        let mut process = self.project.start(operation, None);
        if self.wait_beside(&mut process, other)? {
            return Ok(());
        }
        let said = process.printed().stderr;
        match said.contains("nothing to") || said.contains("clean already") {
            true => Ok(()),
            false => Err(BrokenPromise(format!("the healthy {} failed: {said}", process.words()))),
        }
    }

    fn start_failing(&self, arguments: &[&str], fault: &Fault<'_>) -> ShipProcess {
        self.project.start(arguments, Some((fault, self.shim)))
    }

    /// Waits for the end of a process. Returns whether it was content.
    fn wait_for_end(&mut self, process: &mut ShipProcess) -> Result<bool, BrokenPromise> {
        process.end_input();
        match self.wait(process, |_| false)? {
            ProcessState::Ended(status) => Ok(status.success()),
            state => unreachable!("{state:?} is waited over"),
        }
    }

    /// Waits as [`ShipProcess::wait`] does. While the process is stopped, the healthy one writes.
    pub(super) fn wait(
        &mut self,
        process: &mut ShipProcess,
        is_there: impl Fn(&ShipProcess) -> bool,
    ) -> Result<ProcessState, BrokenPromise> {
        loop {
            match process.wait(&is_there)? {
                ProcessState::Stopped => self.write_in_between(process)?,
                state => {
                    if let Some((healthy, text)) = self.beside.take() {
                        self.hear_healthy(healthy, text, Some(process))?;
                    }
                    return Ok(state);
                }
            }
        }
    }

    /// Lets the healthy process write as much as it can, and the stopped one go on.
    fn write_in_between(&mut self, stopped: &ShipProcess) -> Result<(), BrokenPromise> {
        self.counts.stops += 1;
        let (waits_for_lock, waits_for_lane) =
            (self.project.is_held("lock"), self.project.is_held("lane"));
        let text = self.new_text("between");
        let mut healthy = self.project.start(&["send", &text], None);
        healthy.end_input();
        if !waits_for_lock {
            // Behind the lane of the stopped process it can be accepted, not answered.
            let project = &self.project;
            healthy.wait(|_| waits_for_lane && project.is_accepted(&text))?;
            self.counts.stops_outside += 1;
        }
        stopped.go_on();
        self.beside = Some((healthy, text));
        Ok(())
    }

    fn new_text(&mut self, who: &str) -> String {
        self.said += 1;
        format!("{who} {}, {FILLER}", self.said)
    }

    fn note_sent(&mut self, text: String, outcome: SendOutcome) {
        match outcome {
            SendOutcome::Answer(_) => self.counts.answered += 1,
            SendOutcome::Kept => self.counts.kept += 1,
            SendOutcome::Refused => self.counts.refused += 1,
        }
        self.sent.push(SentMessage { text, outcome });
    }

    /// Notes which calls have failed in a process that has ended. Returns how many it made.
    fn hear_faults(&mut self, process: &ShipProcess) -> usize {
        let stderr = process.printed().stderr;
        self.counts.faults += stderr.lines().filter(|line| line.starts_with("FAULT ")).count();
        counted_calls(&stderr).unwrap_or_default()
    }

    /// Has the files judged, by `ship verify` and by what was promised.
    pub(super) fn finish(&mut self) -> Result<(), BrokenPromise> {
        if let Some(problems) = self.problems()? {
            return Err(BrokenPromise(format!("verify: {problems}")));
        }
        judge(&ChatRecord::read(&self.project.chat_folder())?, &self.sent)
    }

    /// Has the files judged after writes that were never synced may have been lost. Derived files are such writes:
    /// they may be unreadable, and nothing else.
    pub(super) fn finish_after_lost_writes(&mut self) -> Result<(), BrokenPromise> {
        if let Some(problems) = self.problems()? {
            let damaged = |line: &&str| line.starts_with("damage ");
            if !problems.lines().filter(damaged).all(|line| line.contains(REBUILT)) {
                return Err(BrokenPromise(format!("verify: {problems}")));
            }
            let mut repair = self.project.start(&["repair"], None);
            self.wait_for_end(&mut repair)?;
        }
        self.finish()
    }

    /// Returns what `ship verify` prints, unless it is content.
    fn problems(&mut self) -> Result<Option<String>, BrokenPromise> {
        let mut verify = self.project.start(&["verify"], None);
        let is_content = self.wait_for_end(&mut verify)?;
        let printed = verify.printed();
        Ok((!is_content).then(|| format!("{}{}", printed.stdout, printed.stderr)))
    }
}

/// What `ship verify` says of a derived file.
const REBUILT: &str = "it is rebuilt from the logs when needed";

/// Whether a failure says that the message is not lost.
fn is_kept(words: &str) -> bool {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    words.contains("message is kept") || words.contains("what was said are kept")
}
