//! The notices about answers that were cut off and runs that failed.
//!
//! The operator of an agent sits at its terminal, or calls it from a program, and reads settings and addresses there.
//! The people on all other channels get a plain sentence; the log has the rest.

use ship_message::json::Json;
use ship_provider::ProviderError;
use ship_store::Explanation;

use crate::engine::ActiveRun;
use crate::reply::Outcome;
use crate::run_log::{RunLogEntry, RunLogKind};

/// Returns the notice behind an answer that reached the limit of its length.
pub(super) fn cut_notice(work: &ActiveRun) -> String {
    let limit = match is_for_operator(work) {
        true => format!(
            "it is limited to {} tokens (`llm.maxTokens`), and to the model's window",
            work.locked.engine.rules.max_tokens
        ),
        false => "it reached the length limit".to_owned(),
    };
    format!("(My answer was cut off here: {limit}. Tell me to go on if you want the rest.)")
}

/// Returns the notice of a run that has made as many steps as it may.
pub(super) fn steps_notice(work: &ActiveRun, steps: usize) -> String {
    let count = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    let setting = if is_for_operator(work) { " (`context.run.maxSteps`)" } else { "" };
    format!("I stopped after {count} without finishing{setting}. Tell me to go on if I should.")
}

/// Logs why a request cannot be made to fit, and returns the outcome with its notice.
pub(super) fn fit_failure(work: &ActiveRun, why: &Explanation) -> Outcome {
    let told = match is_for_operator(work) {
        true => sentences(why),
        false => "it needs more text than my model can read at once.".to_owned(),
    };
    log_failure(work, "does_not_fit", &why.problem, why.remedy.as_deref());
    Outcome::Failed(format!("I could not answer: {told} What you wrote is kept."))
}

/// Logs a provider's failure, and returns the outcome with its notice.
pub(super) fn provider_failure(work: &ActiveRun, error: &ProviderError) -> Outcome {
    let mask = |text: &str| work.locked.engine.project.mask(text);
    let problem = mask(&error.to_string());
    let remedy = error.remedy().map(|remedy| mask(&remedy));
    log_failure(work, error.code(), &problem, remedy.as_deref());
    let told = match (is_for_operator(work), &remedy) {
        (false, _) => plain_sentence(error).to_owned(),
        (true, Some(remedy)) if !broke_off(error) => format!("{} {remedy}", ended(&problem)),
        (true, _) => ended(&problem),
    };
    Outcome::Failed(match broke_off(error) {
        true => format!("I had to stop here: {told} Everything so far is kept; tell me to go on."),
        false => format!("I could not answer: {told} What you wrote is kept."),
    })
}

/// Whether the notice is read by the operator: at the terminal, or in a program that names no channel.
fn is_for_operator(work: &ActiveRun) -> bool {
    matches!(work.place.channel.as_deref(), None | Some("" | "terminal"))
}

fn broke_off(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Cut { .. })
}

/// Describes a failure to a person that can only wait, or write something else.
fn plain_sentence(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Overflow { .. } => "this chat has become longer than my model can take.",
        ProviderError::Quota { .. }
        | ProviderError::NoKey { .. }
        | ProviderError::Key { .. }
        | ProviderError::BaseUrl { .. } => {
            "I am not set up correctly. Please tell the person who runs me."
        }
        ProviderError::Model { .. } | ProviderError::Protocol { .. } => {
            "my model cannot be used at the moment. Please tell the person who runs me."
        }
        ProviderError::Refused { .. } => "my model refused the request.",
        ProviderError::Policy { .. } => "my model refused the content. Please rephrase it.",
        ProviderError::Country { .. } => {
            "my model is not available in this country. Please tell the person who runs me."
        }
        ProviderError::Cut { .. } => "the connection to my model was lost.",
        _ => "my model is not available at the moment. Please try again later.",
    }
}

/// Returns an explanation as one sentence, or as two if it has a remedy.
fn sentences(why: &Explanation) -> String {
    let problem = ended(&why.problem);
    let Some(remedy) = &why.remedy else { return problem };
    let (first, rest) = remedy.split_at(remedy.chars().next().map_or(0, char::len_utf8));
    format!("{problem} {}{}", first.to_uppercase(), ended(rest))
}

/// Returns a sentence with a mark at its end.
fn ended(sentence: &str) -> String {
    let stop = if sentence.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{sentence}{stop}")
}

fn log_failure(work: &ActiveRun, code: &str, problem: &str, remedy: Option<&str>) {
    let mut texts = vec![("error", Json::from(problem))];
    texts.extend(remedy.map(|remedy| ("remedy", Json::from(remedy))));
    work.log(RunLogEntry {
        kind: RunLogKind::Error,
        fields: vec![("code", code.into())],
        // A provider's error may quote messages, so it counts as text and is subject to `llm.logMessages`.
        texts,
        ..RunLogEntry::default()
    });
}
