//! Interprets the end of an answer: whether the run continues, and what the person must be told.
//!
//! A provider says why its answer ended. If the answer is not complete, the person learns what happened, in the
//! answer and in its metadata.

use ship_message::{FinishReason, UiMessage, UiPart};
use ship_store::NoticeKind;

use super::failure_notice::cut_notice;
use super::finish::append_notice;
use super::run_progress::RunProgress;
use crate::chat::last_step;
use crate::engine::ActiveRun;
use crate::reply::Outcome;

/// Returns the outcome of the run if the last answer ends it.
pub(crate) fn outcome_of_answer(work: &ActiveRun, progress: &mut RunProgress) -> Option<Outcome> {
    let reason = progress.finish_reason.take()?;
    let message = progress.assembler.message();
    let outcome = match reason {
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other => {
            return outcome_of_silence(message, progress.start.earlier.messages > 0);
        }
        // Calls that came before the end are whole, and the model continues with their results.
        FinishReason::Length if has_calls(last_step(message)) => return None,
        FinishReason::Length => {
            append_notice(progress, work, NoticeKind::Cut, &cut_notice(work));
            Outcome::Done
        }
        FinishReason::ContentFilter => Outcome::Failed(
            "The provider's content filter cut my answer off. Rephrase it, or ask for something else.".to_owned(),
        ),
        FinishReason::Error => Outcome::Failed(
            "The model failed in the middle of its answer. What you wrote is kept; tell me to go on.".to_owned(),
        ),
    };
    progress.mark = Some(reason);
    Some(outcome)
}

/// Whether the journal must record the reason: after a crash, the parts of the message do not show it.
pub(crate) fn must_be_journaled(reason: FinishReason) -> bool {
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other => false,
        FinishReason::Length | FinishReason::ContentFilter | FinishReason::Error => true,
    }
}

/// Ends a run whose model says nothing and calls nothing. If the person was told nothing in the whole run, the run
/// fails with a sentence that says so.
fn outcome_of_silence(message: &UiMessage, was_settled: bool) -> Option<Outcome> {
    let step = last_step(message);
    if has_calls(step) || has_text(step) {
        return None;
    }
    // Otherwise the model would be asked the same again, as often as it says nothing.
    if was_settled || has_calls(message.parts()) || has_text(message.parts()) {
        return Some(Outcome::Done);
    }
    Some(Outcome::Failed("The model gave an empty answer. Ask again, or rephrase it.".to_owned()))
}

fn has_text(parts: &[UiPart]) -> bool {
    parts.iter().any(|part| matches!(part, UiPart::Text(text) if !text.text().trim().is_empty()))
}

fn has_calls(parts: &[UiPart]) -> bool {
    parts.iter().any(|part| matches!(part, UiPart::Tool(_)))
}
