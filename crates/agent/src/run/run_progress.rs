//! A run on its way: the message that it writes, and how much of it the journal has.

use ship_context::{Journal, JournalLine};
use ship_message::json::Object;
use ship_message::{Assembler, Chunk, FinishReason, Role, ToolPart, UiPart};
use ship_store::Synced;
use tokio::time::Instant;

use super::answer_end::is_odd;
use super::deadline::WorkingTime;
use super::next_action::{NextAction, next};
use super::request_fit::RequestFit;
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::events::RunEvent;

/// A run on its way: the message it writes, and how much of it the journal has.
pub(crate) struct RunProgress {
    pub(crate) assembler: Assembler,
    pub(crate) journaled: usize,
    /// How many of the messages before this run a request of it has shown.
    pub(super) logged: usize,
    /// How often in a row an answer has broken off.
    pub(super) cuts: u64,
    /// How the next request is made to fit.
    pub(super) fit: RequestFit,
    pub(crate) start: ship_context::RunStart,
    pub(crate) deadline: Instant,
    pub(crate) time: WorkingTime,
    /// Why the answer that has just come ended.
    pub(crate) finish_reason: Option<FinishReason>,
    /// Why the answer is not what it should be, for its metadata.
    pub(crate) mark: Option<FinishReason>,
}

/// The messages up to the last answer were in a request before.
async fn seen_before(work: &ActiveRun) -> usize {
    let said = work.context().await;
    said.iter().rposition(|message| message.role() == Role::Assistant).map_or(0, |at| at + 1)
}

impl RunProgress {
    /// A run as its journal tells it.
    pub(crate) async fn new(work: &ActiveRun, journal: Journal) -> Self {
        let time = WorkingTime::go_on(&journal);
        Self {
            deadline: time.end_of(work.locked.engine.rules.run_deadline),
            time,
            journaled: journal.message.parts().len(),
            assembler: Assembler::new(journal.start.message_id.clone(), Some(journal.message)),
            logged: seen_before(work).await,
            cuts: 0,
            fit: RequestFit::new(work),
            start: journal.start,
            finish_reason: journal.finish_reason,
            mark: None,
        }
    }

    /// Goes on with another message, which a journal was begun for.
    pub(crate) fn take_over(&mut self, journal: Journal) {
        self.journaled = journal.message.parts().len();
        self.assembler = Assembler::new(journal.start.message_id.clone(), Some(journal.message));
        self.start = journal.start;
    }

    /// The call whose switch is the next thing to do.
    pub(crate) fn promised_switch(&mut self, work: &ActiveRun) -> Option<ToolPart> {
        match next(self, work) {
            NextAction::Switch(call) => Some(*call),
            NextAction::Ask | NextAction::Calls | NextAction::Parked | NextAction::Done => None,
        }
    }

    /// How many steps the run has made, also before it was cut off or parked, or settled.
    pub(super) fn steps(&mut self) -> usize {
        let parts = self.assembler.message().parts();
        let now = parts.iter().filter(|part| matches!(part, UiPart::StepStart(_))).count();
        now + usize::try_from(self.start.earlier.steps).unwrap_or(usize::MAX / 2)
    }

    /// Takes a chunk, and tells whoever listens.
    pub(crate) fn push(&mut self, work: &ActiveRun, chunk: Chunk) {
        take(&mut self.assembler, work, chunk);
    }

    /// Journals the parts that the journal does not have yet.
    pub(super) async fn journal_all(&mut self, work: &ActiveRun) -> Result<(), RunError> {
        let lines = self.new_lines();
        self.journal_lines(work, lines).await
    }

    /// Journals an answer that has come: its parts, and how it ended.
    pub(super) async fn journal_answer(
        &mut self,
        work: &ActiveRun,
        reason: FinishReason,
    ) -> Result<(), RunError> {
        let mut lines = self.new_lines();
        if is_odd(reason) {
            let at = self.journaled;
            lines.push(self.timed(JournalLine::Ended { at, reason }));
        }
        self.finish_reason = Some(reason);
        self.journal_lines(work, lines).await
    }

    fn new_lines(&mut self) -> Vec<Object> {
        let time = self.time;
        let parts = self.assembler.message().parts();
        let lines = (self.journaled..parts.len()).map(|at| line(parts, at, time)).collect();
        self.journaled = parts.len();
        lines
    }

    /// A line of the journal, with the time that the run has worked.
    pub(crate) fn timed(&self, line: JournalLine) -> Object {
        line.into_object_after(self.time.millis())
    }

    async fn journal_lines(&self, work: &ActiveRun, lines: Vec<Object>) -> Result<(), RunError> {
        if !lines.is_empty() {
            work.locked.lane.journal(lines, Synced::Later).await?;
        }
        Ok(())
    }

    /// Journals what part `at` is now.
    pub(crate) async fn journal_part(
        &mut self,
        work: &ActiveRun,
        at: usize,
        when: Synced,
    ) -> Result<(), RunError> {
        let time = self.time;
        let line = line(self.assembler.message().parts(), at, time);
        Ok(work.locked.lane.journal(vec![line], when).await?)
    }
}

fn line(parts: &[UiPart], at: usize, time: WorkingTime) -> Object {
    JournalLine::Part { at, part: parts[at].clone().into_json() }.into_object_after(time.millis())
}

/// A chunk that does not fit is the provider's mistake; the message stays as it was.
pub(super) fn take(assembler: &mut Assembler, work: &ActiveRun, chunk: Chunk) {
    if assembler.push(chunk.clone()).is_ok() {
        work.tell(&RunEvent::Chunk(chunk));
    }
}
