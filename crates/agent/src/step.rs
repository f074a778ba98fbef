//! Steps: asking the model, and what becomes of its answer.

use std::sync::Arc;

use ship_context::{Journal, JournalLine};
use ship_message::json::{Json, Object};
use ship_message::{Assembler, Chunk, FinishReason, Role, TextState, ToolPart, ToolState, UiPart};
use ship_provider::{AnswerEnd, ProviderError};
use ship_store::Synced;
use tokio::time::Instant;

use crate::calls;
use crate::chat::{last_step, switching_call};
use crate::contexts::{goes_round, operate_midway, stopped_by_somebody, stops, switch};
use crate::deadline::{self, WorkingTime};
use crate::ending::{ending, is_odd};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::events::{Outcome, RunEvent, notice};
use crate::finish::finish;
use crate::fit::{DoesNotFit, RequestFit};
use crate::inbox::NextInput;
use crate::request::ModelCall;
use crate::run_log::RunLogEntry;
use crate::settle::settle;
use crate::stop::Stop;

/// A run on its way: the message it writes, and how much of it the journal has.
pub(crate) struct RunProgress {
    pub(crate) assembler: Assembler,
    pub(crate) journaled: usize,
    /// How many of the messages before this run a request of it has shown.
    logged: usize,
    /// How often in a row an answer has broken off.
    cuts: u64,
    /// How the next request is made to fit.
    fit: RequestFit,
    pub(crate) start: ship_context::RunStart,
    pub(crate) deadline: Instant,
    pub(crate) time: WorkingTime,
    /// Why the answer that has just come ended.
    pub(crate) finish_reason: Option<FinishReason>,
    /// Why the answer is not what it should be, for its metadata.
    pub(crate) mark: Option<FinishReason>,
}

/// What is to be done next in a run.
#[derive(PartialEq)]
enum NextAction {
    Ask,
    Calls,
    /// A call has switched the context; the switch is to be made.
    Switch(Box<ToolPart>),
    Parked,
    Done,
}

/// Does a run to its end, from wherever its journal says it is.
pub(crate) async fn run(
    work: &Arc<ActiveRun>,
    journal: Journal,
    stop: &Stop,
) -> Result<Outcome, RunError> {
    let mut progress = RunProgress::new(work, journal).await;
    work.tell(&RunEvent::Chunk(Chunk::Start {
        message_id: Some(progress.start.message_id.clone()),
        message_metadata: None,
    }));
    // What recovery settled is not in the journal yet.
    progress.journal_all(work).await?;
    let outcome = loop {
        if let Some(outcome) = ending(work, &mut progress) {
            break outcome;
        }
        let steps = progress.steps();
        let next = next(&mut progress, work);
        if next == NextAction::Ask
            && let Some(sentence) = goes_round(progress.assembler.message())
        {
            break Outcome::Failed(sentence.to_owned());
        }
        if next == NextAction::Ask
            && steps > 0
            && boundary(work, &mut progress).await? == BoundaryOutcome::Stops
        {
            break Outcome::Stopped;
        }
        match next {
            NextAction::Done => break Outcome::Done,
            NextAction::Switch(call) => switch(work, &mut progress, &call).await?,
            NextAction::Parked => return Ok(park(work, &progress)),
            NextAction::Calls => {
                if calls::run(work, &mut progress, stop).await? == calls::CallsOutcome::Stopped {
                    break Outcome::Stopped;
                }
            }
            NextAction::Ask if steps >= work.locked.engine.rules.max_steps => {
                let count = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
                break Outcome::Failed(format!(
                    "I stopped after {count} without coming to an end (`context.run.maxSteps`). Tell me to go on if I should."
                ));
            }
            NextAction::Ask if deadline::is_over(&progress) => {
                break failed(work, &deadline::exceeded(work));
            }
            NextAction::Ask => {
                if let Some(outcome) = ask(work, &mut progress, stop).await? {
                    break outcome;
                }
            }
        }
    };
    finish(work, progress, outcome).await
}

/// The messages up to the last answer were in a request before.
async fn seen_before(work: &ActiveRun) -> usize {
    let said = work.context().await;
    said.iter().rposition(|message| message.role() == Role::Assistant).map_or(0, |at| at + 1)
}

/// Tells what is to be done from the message alone, so that a run goes on where it was.
fn next(progress: &mut RunProgress, work: &ActiveRun) -> NextAction {
    let start = progress.start.clone();
    let message = progress.assembler.message();
    let parts = message.parts();
    let step = last_step(message);
    // A text that never ended is an answer that broke off: the model is asked to go on with it.
    if step.is_empty() || step.last().is_some_and(is_unfinished) {
        return NextAction::Ask;
    }
    let tools = parts.iter().filter_map(|part| match part {
        UiPart::Tool(tool) => Some(tool),
        _ => None,
    });
    let mut waits = false;
    for tool in tools.filter(|tool| !tool.state().is_terminal()) {
        match tool.state() {
            ToolState::ApprovalRequested => waits = true,
            ToolState::InputAvailable if calls::runs_on_client(work, tool) => waits = true,
            _ => return NextAction::Calls,
        }
    }
    let switching =
        switching_call(message, &start).filter(|_| work.locked.engine.rules.contexts.enabled);
    if let Some(call) = switching.filter(|_| !waits) {
        return NextAction::Switch(Box::new(call));
    }
    let has_calls = step.iter().any(|part| matches!(part, UiPart::Tool(_)));
    match (waits, has_calls) {
        (true, _) => NextAction::Parked,
        (false, true) => NextAction::Ask,
        (false, false) => NextAction::Done,
    }
}

fn is_unfinished(part: &UiPart) -> bool {
    match part {
        UiPart::Text(text) => text.state() == Some(TextState::Streaming),
        UiPart::Reasoning(reasoning) => reasoning.state() == Some(TextState::Streaming),
        _ => false,
    }
}

/// Whether a run goes on.
#[derive(PartialEq)]
enum BoundaryOutcome {
    On,
    Stops,
}

/// Between two steps, what people have asked for meanwhile is done.
async fn boundary(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
) -> Result<BoundaryOutcome, RunError> {
    loop {
        let queue =
            NextInput::read(&work.locked.engine, &*work.locked.chat, work.inbox().await).await?;
        let Some((asked, operation)) = queue.operation else { return Ok(BoundaryOutcome::On) };
        if stops(work, &operation).await? {
            return Ok(BoundaryOutcome::Stops);
        }
        work.promote(&queue.lines).await?;
        operate_midway(work, progress, &asked, &operation).await?;
    }
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
    fn steps(&mut self) -> usize {
        let parts = self.assembler.message().parts();
        let now = parts.iter().filter(|part| matches!(part, UiPart::StepStart(_))).count();
        now + usize::try_from(self.start.earlier.steps).unwrap_or(usize::MAX / 2)
    }

    /// Takes a chunk, and tells whoever listens.
    pub(crate) fn push(&mut self, work: &ActiveRun, chunk: Chunk) {
        take(&mut self.assembler, work, chunk);
    }

    /// Journals the parts that the journal does not have yet.
    async fn journal_all(&mut self, work: &ActiveRun) -> Result<(), RunError> {
        let lines = self.new_lines();
        self.journal_lines(work, lines).await
    }

    /// Journals an answer that has come: its parts, and how it ended.
    async fn journal_answer(
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
fn take(assembler: &mut Assembler, work: &ActiveRun, chunk: Chunk) {
    if assembler.push(chunk.clone()).is_ok() {
        work.tell(&RunEvent::Chunk(chunk));
    }
}

/// Asks the model once. Gives an outcome when that ends the run.
async fn ask(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    stop: &Stop,
) -> Result<Option<Outcome>, RunError> {
    let mut so_far = progress.assembler.message().clone();
    // After an answer that broke off, the step has begun already.
    match so_far.parts().last() {
        Some(UiPart::StepStart(_)) => drop(so_far.parts_mut().pop()),
        _ => progress.push(work, Chunk::StartStep),
    }
    let agent = Arc::clone(&work.locked.engine);
    let prepared = match progress.fit.request(work, &so_far).await? {
        Ok(prepared) => prepared,
        Err(DoesNotFit::Settle(count)) => {
            settle(work, progress, count).await?;
            return Ok(None);
        }
        Err(DoesNotFit::Sentence(sentence)) => return Ok(Some(Outcome::Failed(sentence))),
        Err(DoesNotFit::Error(error)) => return Ok(Some(failed(work, &error))),
    };
    if progress.fit.was_compacted() {
        progress.logged = work.context().await.len();
    }
    let written = match prepared.within_window(&agent, progress.fit.answer_max()) {
        Ok(written) => written,
        Err(error) => return Ok(Some(failed(work, &error))),
    };
    let said = work.context().await;
    let shown_ids: Vec<String> =
        said.iter().map(|message| message.id().unwrap_or_default().to_owned()).collect();
    let is_counted = progress.fit.is_counted();
    let asking = ModelCall::new(work, &prepared, &written, &so_far, is_counted).await?;
    asking.note(work, &shown_ids, progress.logged).await;
    progress.logged = shown_ids.len();
    let parts_before = progress.assembler.message().parts().len();
    let answered = {
        let assembler = &mut progress.assembler;
        let sink = Box::new(|chunk: Chunk| take(assembler, work, chunk));
        let answering = asking.answer(work, sink);
        tokio::select! {
            answered = answering => answered,
            () = stop.stopped() => return Ok(Some(Outcome::Stopped)),
            () = stopped_by_somebody(work) => return Ok(Some(Outcome::Stopped)),
            () = tokio::time::sleep_until(progress.deadline) => Err(deadline::exceeded(work)),
        }
    };
    match answered {
        Err(ProviderError::Cut { .. }) if progress.cuts < agent.rules.retries => {
            // What came is kept, unfinished as it is, and the model goes on from there: asking for the
            // whole answer again would tell the person everything twice.
            progress.cuts += 1;
            progress.push(work, notice("cut", "The answer broke off; I ask the model to go on."));
            progress.push(work, Chunk::FinishStep);
            // A text may have ended before the call behind it was cut off. The step that begins here says
            // that this was not the end, to `next` and to whoever goes on after a crash.
            progress.push(work, Chunk::StartStep);
            progress.journal_all(work).await?;
            Ok(None)
        }
        Err(error @ ProviderError::Overflow { .. }) if progress.fit.may_try_again() => {
            progress.fit.overflowed(work, error);
            Ok(None)
        }
        Err(error) => Ok(Some(failed(work, &error))),
        Ok(answered) => {
            progress.cuts = 0;
            progress.push(work, Chunk::FinishStep);
            note_response(work, progress, answered, parts_before);
            progress.journal_answer(work, answered.finish_reason).await?;
            Ok(None)
        }
    }
}

/// The provider's failure as the person reads it; the log has it as well.
fn failed(work: &ActiveRun, error: &ProviderError) -> Outcome {
    let mask = |text: &str| work.locked.engine.surroundings.mask(text);
    let told = mask(&error.to_string());
    let remedy = error.remedy().map(|remedy| mask(&format!(" {remedy}"))).unwrap_or_default();
    let stop = if told.ends_with(['.', '!', '?']) { "" } else { "." };
    work.note(RunLogEntry {
        kind: "error",
        fields: vec![("code", error.code().into())],
        // What a provider says may quote what people said, so it counts as text.
        texts: vec![("error", Json::from(told.as_str()))],
        ..RunLogEntry::default()
    });
    Outcome::Failed(match error {
        ProviderError::Cut { .. } => format!(
            "I had to stop here: {told}{stop} What you wrote and what I said is kept; tell me to go on."
        ),
        _ => format!("I could not answer: {told}{stop}{remedy} What you wrote is kept."),
    })
}

/// A run that waits stays in its journal, and the lane is free.
fn park(work: &ActiveRun, progress: &RunProgress) -> Outcome {
    work.tell(&RunEvent::Ended {
        run_id: progress.start.run_id.clone(),
        message_id: progress.start.message_id.clone(),
        outcome: Outcome::Parked,
    });
    Outcome::Parked
}

/// Tells the log what came back: the parts that this step has added.
fn note_response(
    work: &ActiveRun,
    progress: &mut RunProgress,
    answered: AnswerEnd,
    parts_before: usize,
) {
    let parts = progress.assembler.message().parts();
    let new = parts.iter().skip(parts_before).map(|part| part.clone().into_json());
    let new: Json = new.collect::<Vec<_>>().into();
    let mut fields = vec![
        ("model", work.locked.engine.provider.model().into()),
        ("finishReason", answered.finish_reason.name().into()),
        ("bytes", Json::from(new.to_string().len() as u64)),
    ];
    if let Some(usage) = answered.usage {
        fields.push(("inputTokens", usage.input.into()));
        fields.push(("cachedTokens", usage.cached.into()));
        fields.push(("outputTokens", usage.output.into()));
    }
    work.note(RunLogEntry {
        kind: "llm_response",
        fields,
        texts: vec![("parts", new)],
        ..RunLogEntry::default()
    });
}
