//! The progress of a run: the message that it writes, and how much of it is in the journal.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use ship_context::{Journal, JournalLine};
use ship_message::json::Object;
use ship_message::{Assembler, FinishReason, Role, ToolPart, UiPart};
use ship_store::{LedgerSeq, Synced};

use super::answer_end::must_be_journaled;
use super::deadline::WorkingTime;
use super::next_action::{NextAction, next_action};
use super::request_fit::RequestFit;
use crate::chat::switching_call;
use crate::contexts::{OperationPlan, RunSwitches};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::events::StreamGuard;

/// The progress of a run: the message that it writes, and how much of it is in the journal.
pub(crate) struct RunProgress {
    pub(crate) assembler: Assembler,
    /// Whether subscribers know that this message begins or continues.
    pub(super) is_announced: bool,
    /// Tells subscribers if the run is dropped before its end.
    _stream: StreamGuard,
    /// The indexes of the calls that were answered from outside while the run was parked.
    pub(super) answered_calls: BTreeSet<usize>,
    pub(crate) journaled: usize,
    /// The number of messages that the run log names by id only, because it has them with an earlier request.
    pub(super) logged: usize,
    /// The number of answers in a row that broke off.
    pub(super) cuts: u64,
    /// Makes the next request fit.
    pub(super) fit: RequestFit,
    pub(crate) start: ship_context::RunStart,
    pub(crate) time: WorkingTime,
    /// The reason for the end of the last answer, until it is handled.
    pub(crate) finish_reason: Option<FinishReason>,
    /// The reason why the answer is incomplete, for its metadata.
    pub(crate) mark: Option<FinishReason>,
    /// The last ledger entry before the calls of this step began to wait for a person or the client.
    waits_since: Option<LedgerSeq>,
    /// The switch that a call of this step has promised, with the id of the call.
    pub(super) promised: Option<(String, OperationPlan)>,
}

/// Returns the number of messages up to the last answer, all of which an earlier request has shown.
async fn messages_seen(work: &ActiveRun) -> usize {
    let messages = work.messages().await;
    messages.iter().rposition(|message| message.role() == Role::Assistant).map_or(0, |at| at + 1)
}

impl RunProgress {
    /// Restores a run from its journal.
    pub(crate) async fn new(work: &ActiveRun, journal: Journal) -> Self {
        Self {
            time: WorkingTime::resume(
                &journal,
                &work.locked.engine.work_clock,
                work.locked.engine.rules.run_deadline,
            ),
            journaled: journal.message.parts().len(),
            is_announced: false,
            _stream: work.locked.engine.hub.guard(work.locked.chat.key()),
            answered_calls: journal.answered_calls,
            assembler: Assembler::new(journal.start.message_id.clone(), Some(journal.message)),
            logged: messages_seen(work).await,
            cuts: 0,
            fit: RequestFit::new(work),
            start: journal.start,
            waits_since: journal.waits_since,
            finish_reason: journal.finish_reason,
            mark: None,
            promised: None,
        }
    }

    /// Continues with another message, after its journal was begun.
    pub(crate) fn continue_with(&mut self, work: &ActiveRun, journal: Journal) {
        self.end_step(work);
        self.journaled = journal.message.parts().len();
        self.assembler = Assembler::new(journal.start.message_id.clone(), Some(journal.message));
        self.start = journal.start;
        self.announce_next_message(work);
    }

    /// Returns the call whose switch is the next action of the run.
    pub(crate) fn promised_switch(&mut self, work: &ActiveRun) -> Option<ToolPart> {
        match next_action(self, work) {
            NextAction::Switch(call) => Some(*call),
            NextAction::Ask | NextAction::Calls | NextAction::Parked | NextAction::Done => None,
        }
    }

    /// Returns the switches of the run, for the next call.
    pub(super) fn switches(&mut self) -> RunSwitches {
        let is_promised = switching_call(self.assembler.message(), &self.start).is_some();
        RunSwitches { made: self.start.earlier.switches, is_promised, promised: Mutex::default() }
    }

    /// Returns the number of steps of the run, including those before a crash, a pause or settling.
    pub(super) fn steps(&mut self) -> usize {
        let parts = self.assembler.message().parts();
        let now = parts.iter().filter(|part| matches!(part, UiPart::StepStart(_))).count();
        // Half of the range, so that the sum does not overflow.
        now + usize::try_from(self.start.earlier.steps).unwrap_or(usize::MAX / 2)
    }

    /// Journals the parts that are not in the journal yet.
    pub(super) async fn journal_all(&mut self, work: &ActiveRun) -> Result<(), RunError> {
        let lines = self.new_lines();
        self.journal_lines(work, lines).await
    }

    /// Journals a complete answer: its parts, and an unusual reason for its end.
    pub(super) async fn journal_answer(
        &mut self,
        work: &ActiveRun,
        reason: FinishReason,
    ) -> Result<(), RunError> {
        let mut lines = self.new_lines();
        if must_be_journaled(reason) {
            let at = self.journaled;
            lines.push(self.timed_line(JournalLine::Ended { at, reason }));
        }
        self.finish_reason = Some(reason);
        self.journal_lines(work, lines).await
    }

    fn new_lines(&mut self) -> Vec<Object> {
        let worked_ms = self.time.millis();
        let parts = self.assembler.message().parts();
        let lines =
            (self.journaled..parts.len()).map(|at| part_line(parts, at, worked_ms)).collect();
        self.journaled = parts.len();
        lines
    }

    /// Makes a line of the journal, with the time that the run has worked.
    pub(crate) fn timed_line(&self, line: JournalLine) -> Object {
        line.into_object_with_time(self.time.millis())
    }

    async fn journal_lines(&self, work: &ActiveRun, lines: Vec<Object>) -> Result<(), RunError> {
        if !lines.is_empty() {
            work.locked.lane.journal(lines, Synced::Later).await?;
        }
        Ok(())
    }

    /// Forgets that calls have waited, because the model is asked again.
    pub(super) fn end_waiting(&mut self) {
        self.waits_since = None;
    }

    /// Journals how far the ledger goes before the person or the client learns that a call waits for them. A message
    /// after that was sent instead of the decision; one before it was not.
    pub(super) async fn begin_waiting(&mut self, work: &ActiveRun) -> Result<(), RunError> {
        if self.waits_since.is_some() {
            return Ok(());
        }
        let last = work.locked.chat.ledger().before(None, 1).await?.pop();
        let Some(seen) = last.map(|line| line.seq) else { return Ok(()) };
        self.waits_since = Some(seen);
        let line = self.timed_line(JournalLine::Waits { seen });
        Ok(work.locked.lane.journal(vec![line], Synced::Later).await?)
    }

    /// Journals the present state of part `at`.
    pub(crate) async fn journal_part(
        &mut self,
        work: &ActiveRun,
        at: usize,
        when: Synced,
    ) -> Result<(), RunError> {
        let worked_ms = self.time.millis();
        let line = part_line(self.assembler.message().parts(), at, worked_ms);
        Ok(work.locked.lane.journal(vec![line], when).await?)
    }
}

fn part_line(parts: &[UiPart], at: usize, worked_ms: u64) -> Object {
    JournalLine::Part { at, part: parts[at].clone().into_json() }.into_object_with_time(worked_ms)
}
