//! The steps of a run: asking the model, and handling its answer.

use std::sync::Arc;

use ship_context::Journal;
use ship_message::json::Json;
use ship_message::{Chunk, UiPart};
use ship_provider::{AnswerEnd, ProviderError};

use super::answer_end::ending;
use super::finish::finish;
use super::next_action::{NextAction, next};
use super::request_fit::DoesNotFit;
use super::run_progress::{RunProgress, take};
use super::settle::settle;
use super::switch_context::{operate_midway, stopped_by_somebody, stops, switch};
use super::switch_loop::goes_round;
use super::{deadline, tool_calls};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::events::{RunEvent, notice};
use crate::inbox::NextInput;
use crate::reply::Outcome;
use crate::request::ModelCall;
use crate::run_log::{RunLogEntry, RunLogKind};
use crate::stop::Stop;

/// Works on a run until it ends or parks, from the place that its journal shows.
pub(crate) async fn run(
    work: &Arc<ActiveRun>,
    journal: Journal,
    stop: &Stop,
) -> Result<Outcome, RunError> {
    let progress = RunProgress::new(work, journal).await;
    let time = progress.time.clone();
    tokio::select! {
        biased;
        outcome = Box::pin(run_steps(work, progress, stop)) => outcome,
        never = time.keep() => match never {},
    }
}

async fn run_steps(
    work: &Arc<ActiveRun>,
    mut progress: RunProgress,
    stop: &Stop,
) -> Result<Outcome, RunError> {
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
                if tool_calls::run(work, &mut progress, stop).await?
                    == tool_calls::CallsOutcome::Stopped
                {
                    break Outcome::Stopped;
                }
            }
            NextAction::Ask if steps >= work.locked.engine.rules.max_steps => {
                let count = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
                break Outcome::Failed(format!(
                    "I stopped after {count} without coming to an end (`context.run.maxSteps`). Tell me to go on if I should."
                ));
            }
            NextAction::Ask if progress.time.is_over() => {
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

/// Whether a run continues after a boundary.
#[derive(PartialEq)]
enum BoundaryOutcome {
    On,
    Stops,
}

/// Performs the operations that people have asked for during the last step.
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

/// Asks the model once. Returns an outcome if that ends the run.
async fn ask(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    stop: &Stop,
) -> Result<Option<Outcome>, RunError> {
    let mut so_far = progress.assembler.message().clone();
    // After an answer that broke off, the next step has begun already; the request must not contain its start.
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
            () = progress.time.end() => Err(deadline::exceeded(work)),
        }
    };
    match answered {
        Err(ProviderError::Cut { .. }) if progress.cuts < agent.rules.retries => {
            // The unfinished answer is kept, and the model continues it: a new answer from the start would tell the
            // person everything twice.
            progress.cuts += 1;
            progress.push(work, notice("cut", "The answer broke off; I ask the model to go on."));
            progress.push(work, Chunk::FinishStep);
            // A text may have ended before the call behind it was cut off. The new step shows that this was not the
            // end, to `next` and to the process that continues the run after a crash.
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

/// Logs a provider's failure, and turns it into the sentence for the person.
fn failed(work: &ActiveRun, error: &ProviderError) -> Outcome {
    let mask = |text: &str| work.locked.engine.surroundings.mask(text);
    let told = mask(&error.to_string());
    let remedy = error.remedy().map(|remedy| mask(&format!(" {remedy}"))).unwrap_or_default();
    let stop = if told.ends_with(['.', '!', '?']) { "" } else { "." };
    work.note(RunLogEntry {
        kind: RunLogKind::Error,
        fields: vec![("code", error.code().into())],
        // A provider's error may quote messages, so it counts as text and is subject to `llm.logMessages`.
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

/// Parks a run: it stays in its journal, and the lane becomes free.
fn park(work: &ActiveRun, progress: &RunProgress) -> Outcome {
    work.tell(&RunEvent::Ended {
        run_id: progress.start.run_id.clone(),
        message_id: progress.start.message_id.clone(),
        outcome: Outcome::Parked,
    });
    Outcome::Parked
}

/// Writes the response to the run log: the parts that this step has added, and the usage.
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
        kind: RunLogKind::LlmResponse,
        fields,
        texts: vec![("parts", new)],
        ..RunLogEntry::default()
    });
}
