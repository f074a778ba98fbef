//! Steps: asking the model, and what becomes of its answer.

use std::sync::Arc;

use ship_context::{Journal, JournalLine};
use ship_message::json::{Json, Object};
use ship_message::{Assembler, Chunk, Role, ToolState, UiMessage, UiPart};
use ship_provider::ProviderError;
use ship_store::Synced;
use tokio::time::Instant;

use crate::events::{Outcome, RunEvent};
use crate::finish::finish;
use crate::request::{Prepared, note_response, record_request};
use crate::run::{RunError, Stop};
use crate::work::Work;
use crate::{RunNote, calls};

/// A run on its way: the message it writes, and how much of it the journal has.
pub(crate) struct Progress {
    pub(crate) assembler: Assembler,
    journaled: usize,
    /// How many of the messages before this run a request of it has shown.
    logged: usize,
    pub(crate) start: ship_context::RunStart,
    pub(crate) deadline: Instant,
}

/// What is to be done next in a run.
enum Next {
    Ask,
    Calls,
    Parked,
    Done,
}

/// Does a run to its end, from wherever its journal says it is.
pub(crate) async fn run(
    work: &Arc<Work>,
    journal: Journal,
    stop: &Stop,
) -> Result<Outcome, RunError> {
    let journaled = journal.message.parts().len();
    let mut progress = Progress {
        assembler: Assembler::new(journal.start.message_id.clone(), Some(journal.message)),
        journaled,
        logged: seen_before(work).await,
        start: journal.start,
        deadline: Instant::now() + work.agent.rules.run_deadline,
    };
    work.tell(&RunEvent::Chunk(Chunk::Start {
        message_id: Some(progress.start.message_id.clone()),
        message_metadata: None,
    }));
    // What recovery settled is not in the journal yet.
    progress.journal_all(work).await?;
    let mut steps = 0;
    let outcome = loop {
        match next(progress.assembler.message(), work) {
            Next::Done => break Outcome::Done,
            Next::Parked => return park(work, &progress),
            Next::Calls => {
                if calls::run(work, &mut progress, stop).await? == calls::Ran::Stopped {
                    break Outcome::Stopped;
                }
            }
            Next::Ask if steps >= work.agent.rules.max_steps => {
                break Outcome::Failed(format!(
                    "I stopped after {steps} steps without coming to an end (`context.run.maxSteps`). Tell me to go on if I should."
                ));
            }
            Next::Ask => {
                steps += 1;
                if let Some(outcome) = ask(work, &mut progress, stop).await? {
                    break outcome;
                }
            }
        }
    };
    finish(work, progress, outcome).await
}

/// The messages up to the last answer were in a request before.
async fn seen_before(work: &Work) -> usize {
    let (said, _) = work.context().await;
    said.iter().rposition(|message| message.role() == Role::Assistant).map_or(0, |at| at + 1)
}

/// Tells what is to be done from the message alone, so that a run goes on where it was.
fn next(message: &UiMessage, work: &Work) -> Next {
    let parts = message.parts();
    let step = parts.rsplit(|part| matches!(part, UiPart::StepStart(_))).next().unwrap_or_default();
    if step.is_empty() {
        return Next::Ask;
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
            _ => return Next::Calls,
        }
    }
    let has_calls = step.iter().any(|part| matches!(part, UiPart::Tool(_)));
    match (waits, has_calls) {
        (true, _) => Next::Parked,
        (false, true) => Next::Ask,
        (false, false) => Next::Done,
    }
}

impl Progress {
    /// Takes a chunk, and tells whoever listens.
    pub(crate) fn push(&mut self, work: &Work, chunk: Chunk) {
        take(&mut self.assembler, work, chunk);
    }

    /// Journals the parts that the journal does not have yet.
    async fn journal_all(&mut self, work: &Work) -> Result<(), RunError> {
        let parts = self.assembler.message().parts();
        let lines = (self.journaled..parts.len()).map(|at| line(parts, at)).collect::<Vec<_>>();
        self.journaled = parts.len();
        if !lines.is_empty() {
            work.lane.journal(lines, Synced::Later).await?;
        }
        Ok(())
    }

    /// Journals what part `at` is now.
    pub(crate) async fn journal_part(
        &mut self,
        work: &Work,
        at: usize,
        when: Synced,
    ) -> Result<(), RunError> {
        let line = line(self.assembler.message().parts(), at);
        Ok(work.lane.journal(vec![line], when).await?)
    }
}

fn line(parts: &[UiPart], at: usize) -> Object {
    JournalLine::Part { at, part: parts[at].clone().into_json() }.into_object()
}

/// A chunk that does not fit is the provider's mistake; the message stays as it was.
fn take(assembler: &mut Assembler, work: &Work, chunk: Chunk) {
    if assembler.push(chunk.clone()).is_ok() {
        work.tell(&RunEvent::Chunk(chunk));
    }
}

/// Asks the model once. Gives an outcome when that ends the run.
async fn ask(
    work: &Arc<Work>,
    progress: &mut Progress,
    stop: &Stop,
) -> Result<Option<Outcome>, RunError> {
    let (said, loaded) = work.context().await;
    let shown_ids: Vec<String> =
        said.iter().map(|message| message.id().unwrap_or_default().to_owned()).collect();
    let so_far = progress.assembler.message().clone();
    let request = Prepared::new(
        &work.agent,
        work.chat.key(),
        &about_channel(work).await?,
        &said,
        Some(&so_far),
        &loaded,
    );
    progress.push(work, Chunk::StartStep);
    let request = request.request(work.agent.rules.max_tokens);
    record_request(work, request.body(), &shown_ids, progress.logged).await?;
    progress.logged = shown_ids.len();
    let parts_before = progress.assembler.message().parts().len();
    let agent = Arc::clone(&work.agent);
    let answered = {
        let assembler = &mut progress.assembler;
        let sink = Box::new(|chunk: Chunk| take(assembler, work, chunk));
        let answering = agent.provider.answer(&request, sink);
        tokio::select! {
            answered = answering => Some(answered),
            () = stop.stopped() => None,
            () = tokio::time::sleep_until(progress.deadline) => Some(Err(ProviderError::Failed {
                provider: agent.provider.name().to_owned(),
                reason: "the run took longer than `context.run.deadlineMs` allows".to_owned(),
            })),
        }
    };
    match answered {
        None => Ok(Some(Outcome::Stopped)),
        Some(Err(error)) => {
            // What a provider says may quote what people said, so it counts as text.
            let texts = vec![("error", Json::from(error.to_string()))];
            work.note(RunNote { kind: "error", texts, ..RunNote::default() });
            Ok(Some(Outcome::Failed(format!(
                "I could not answer: {error}. What you wrote is kept; send it again or try later."
            ))))
        }
        Some(Ok(answered)) => {
            progress.push(work, Chunk::FinishStep);
            note_response(work, progress, answered, parts_before);
            progress.journal_all(work).await?;
            // A model that says nothing and calls nothing has ended.
            let message = progress.assembler.message();
            let silent = matches!(message.parts().last(), Some(UiPart::StepStart(_)) | None);
            Ok(silent.then_some(Outcome::Done))
        }
    }
}

async fn about_channel(work: &Work) -> Result<Option<String>, RunError> {
    Ok(work.chat.about().await?.channel)
}

/// A run that waits stays in its journal, and the lane is free.
fn park(work: &Work, progress: &Progress) -> Result<Outcome, RunError> {
    work.tell(&RunEvent::Ended {
        run_id: progress.start.run_id.clone(),
        message_id: progress.start.message_id.clone(),
        outcome: Outcome::Parked,
    });
    Ok(Outcome::Parked)
}
