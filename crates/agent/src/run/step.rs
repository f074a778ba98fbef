//! The steps of a run: asking the model, and handling its answer.

use std::sync::Arc;

use ship_context::Journal;
use ship_message::json::Json;
use ship_message::{Chunk, UiMessage, UiPart};
use ship_provider::{AnswerEnd, ProviderError};

use super::answer_end::outcome_of_answer;
use super::failure_notice::{fit_failure, provider_failure, steps_notice};
use super::finish::finish;
use super::next_action::{NextAction, next_action};
use super::request_fit::DoesNotFit;
use super::run_progress::RunProgress;
use super::run_stream::{last_chunk, push_chunk};
use super::settle::settle;
use super::switch_context::{ends_run, make_switch, operate_during_run, until_ended_by_operation};
use super::switch_loop::switch_loop_text;
use super::{deadline, tool_calls};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::events::RunEvent;
use crate::inbox::{NextInput, is_stopped};
use crate::reply::Outcome;
use crate::request::{ModelCall, PreparedRequest};
use crate::run_log::{RunLogEntry, RunLogKind};
use crate::run_notice::notice;
use crate::stop::Stop;

/// Works on a run until it ends or parks, from the place that its journal shows.
pub(crate) async fn run(
    work: &Arc<ActiveRun>,
    journal: Journal,
    stop: &Stop,
) -> Result<Outcome, RunError> {
    let progress = RunProgress::new(work, journal).await;
    tokio::select! {
        biased;
        outcome = Box::pin(run_steps(work, progress, stop)) => outcome,
        never = work.locked.engine.work_clock.keep_watching() => match never {},
    }
}

async fn run_steps(
    work: &Arc<ActiveRun>,
    mut progress: RunProgress,
    stop: &Stop,
) -> Result<Outcome, RunError> {
    progress.announce(work);
    let outcome = loop {
        if let Some(outcome) = outcome_of_answer(work, &mut progress) {
            break outcome;
        }
        let steps = progress.steps();
        let next = next_action(&mut progress, work);
        if next == NextAction::Ask
            && let Some(sentence) = switch_loop_text(progress.assembler.message())
        {
            break Outcome::Failed(sentence.to_owned());
        }
        if next == NextAction::Ask
            // Before the first step, the holder of the lane has just performed them.
            && steps > 0
            && do_queued_operations(work, &mut progress).await? == BoundaryOutcome::Stops
        {
            break Outcome::Stopped;
        }
        if stop.is_leaving() && next != NextAction::Done {
            // Subscribers learn of it when the run is dropped; the journal has all that it has done.
            return Ok(Outcome::Left);
        }
        match next {
            NextAction::Done => break Outcome::Done,
            NextAction::Switch(call) => make_switch(work, &mut progress, &call).await?,
            NextAction::Parked => {
                progress.begin_waiting(work).await?;
                return Ok(park(work, progress));
            }
            NextAction::Calls => {
                if tool_calls::run(work, &mut progress, stop).await?
                    == tool_calls::CallsOutcome::Stopped
                {
                    break Outcome::Stopped;
                }
            }
            NextAction::Ask if steps >= work.locked.engine.rules.max_steps => {
                break Outcome::Failed(steps_notice(work, steps));
            }
            NextAction::Ask if progress.time.is_over() => {
                break provider_failure(work, &deadline::deadline_error(work));
            }
            NextAction::Ask => {
                if let Some(outcome) = ask_model(work, &mut progress, stop).await? {
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

/// Performs the operations that people have asked for during the last step, unless one of them has stopped the run.
async fn do_queued_operations(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
) -> Result<BoundaryOutcome, RunError> {
    loop {
        let moment = work.locked.chat.moment();
        let queue = NextInput::read_during(work).await?;
        *work.looked_at.lock() = moment;
        if is_stopped(work).await? {
            return Ok(BoundaryOutcome::Stops);
        }
        let Some((request_line, operation)) = queue.operation else {
            return Ok(BoundaryOutcome::On);
        };
        let view = work.locked.read_view().await?;
        if ends_run(work, &view, &operation).await? {
            return Ok(BoundaryOutcome::Stops);
        }
        let view = work.promote(view, &queue.lines).await?;
        operate_during_run(work, progress, view, &request_line, &operation).await?;
    }
}

/// Asks the model once. Returns an outcome if that ends the run.
async fn ask_model(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    stop: &Stop,
) -> Result<Option<Outcome>, RunError> {
    let so_far = begin_step(work, progress);
    let prepared = match progress.fit.prepare_request(work, &so_far).await? {
        Ok(prepared) => prepared,
        Err(DoesNotFit::Settle(count)) => {
            settle(work, progress, count).await?;
            return Ok(None);
        }
        Err(DoesNotFit::TooLarge(why)) => return Ok(Some(fit_failure(work, &why))),
        Err(DoesNotFit::Error(error)) => return Ok(Some(provider_failure(work, &error))),
    };
    if progress.fit.was_compacted() {
        // The number counted the messages before the compaction. Those that are left were logged then.
        progress.logged = work.messages().await.len();
    }
    let written = match prepared.compile_within_window(work, progress.fit.answer_max()).await {
        Ok(written) => written,
        Err(error) => return Ok(Some(provider_failure(work, &error))),
    };
    let is_counted = progress.fit.is_counted();
    let asking = ModelCall::new(work, &prepared, &written, &so_far, is_counted).await?;
    progress.logged = asking.log_call(work, progress.logged).await;
    let parts_before = progress.assembler.message().parts().len();
    let answered = {
        let assembler = &mut progress.assembler;
        let sink = Box::new(|chunk: Chunk| push_chunk(assembler, work, chunk));
        let answering = asking.answer(work, sink);
        tokio::select! {
            // A run that was stopped before it asks does not ask.
            biased;
            () = stop.until_stopped() => return Ok(Some(Outcome::Stopped)),
            answered = answering => answered,
            () = until_ended_by_operation(work) => return Ok(Some(Outcome::Stopped)),
            () = progress.time.wait_until_over() => Err(deadline::deadline_error(work)),
        }
    };
    match answered {
        Ok(answered) => {
            progress.cuts = 0;
            progress.fit.note_accepted(work).await;
            log_response(work, progress, answered, parts_before);
            progress.journal_answer(work, answered.finish_reason).await?;
            Ok(None)
        }
        Err(error) => {
            after_failure(work, progress, &prepared, written.request.max_tokens, error).await
        }
    }
}

/// Begins the next step of the message. Returns the message as the model is shown it, without that beginning.
fn begin_step(work: &ActiveRun, progress: &mut RunProgress) -> UiMessage {
    progress.end_waiting();
    let mut so_far = progress.assembler.message().clone();
    // After an answer that broke off, the next step has begun already; the request must not contain its start.
    match so_far.parts().last() {
        Some(UiPart::StepStart(_)) => drop(so_far.parts_mut().pop()),
        _ => {
            progress.end_step(work);
            progress.push(work, Chunk::StartStep);
        }
    }
    so_far
}

/// Decides whether the model is asked again after a call that failed, in which its answer could have had `max_tokens`.
/// Returns an outcome if it is not.
async fn after_failure(
    work: &ActiveRun,
    progress: &mut RunProgress,
    prepared: &PreparedRequest,
    max_tokens: u64,
    error: ProviderError,
) -> Result<Option<Outcome>, RunError> {
    let engine = &work.locked.engine;
    match error {
        ProviderError::Cut { .. } if progress.cuts < engine.rules.retries => {
            // The unfinished answer is kept, and the model continues it: a new answer from the start would tell the
            // person everything twice.
            progress.cuts += 1;
            progress
                .push(work, notice("cut", "The answer broke off; asking the model to continue."));
            progress.end_step(work);
            // A text may have ended before the call behind it was cut off. The new step shows that this was not the
            // end, to `next_action` and to the process that continues the run after a crash.
            progress.push(work, Chunk::StartStep);
            progress.journal_all(work).await?;
            Ok(None)
        }
        ProviderError::AnswerTooLong { limit, .. } if limit < max_tokens => {
            // The next request asks for no more than this. Each further limit must be lower, so this ends.
            engine.token_meter.learn_answer_limit(limit);
            Ok(None)
        }
        error => match progress.fit.may_be_too_large(work, prepared, &error).await {
            true => {
                progress.fit.note_overflow(work, error, max_tokens);
                Ok(None)
            }
            false => Ok(Some(provider_failure(work, &error))),
        },
    }
}

/// Parks a run: it stays in its journal, and the lane becomes free.
fn park(work: &ActiveRun, mut progress: RunProgress) -> Outcome {
    progress.end_step(work);
    work.notify(RunEvent::Chunk(last_chunk(&Outcome::Parked, None)));
    work.notify(RunEvent::Ended {
        run_id: progress.start.run_id,
        message_id: progress.start.message_id,
        outcome: Outcome::Parked,
    });
    Outcome::Parked
}

/// Writes the response to the run log: the parts that this step has added, and the usage.
fn log_response(
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
    work.log(RunLogEntry {
        kind: RunLogKind::LlmResponse,
        fields,
        texts: vec![("parts", new)],
        ..RunLogEntry::default()
    });
}
