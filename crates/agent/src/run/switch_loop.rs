//! Recognises a run in a loop: it only calls for switches that are refused.

use ship_context::contexts::switch_of;
use ship_message::{UiMessage, UiPart};

/// The number of steps in a row, with nothing but the same refusal, after which a run ends.
const REFUSALS_MAX: usize = 2;

/// The answer of a run that only switched.
const SENTENCE: &str = "I kept trying to change the context instead of answering you, so I stopped. Say it again, or tell me to answer here.";

/// Returns the sentence for the person if a run only calls for switches that are refused. Without this, the run would
/// use all its steps, and every step costs.
pub(crate) fn switch_loop_text(message: &UiMessage) -> Option<&'static str> {
    let parts = message.parts();
    let steps = parts.rsplit(|part| matches!(part, UiPart::StepStart(_)));
    // A step that has just begun has no parts yet.
    let mut refusals = steps.filter(|step| !step.is_empty()).map(refused_switch);
    let last = refusals.next()??;
    let again = refusals.take(REFUSALS_MAX - 1).filter(|refusal| *refusal == Some(last)).count();
    (again == REFUSALS_MAX - 1).then_some(SENTENCE)
}

/// Returns the refusal of the switch that a step called for, if the step did nothing else. The refusal of a search
/// names its words, so a search with other words counts as another refusal.
fn refused_switch(step: &[UiPart]) -> Option<&str> {
    let mut why = None;
    for part in step {
        match part {
            UiPart::Tool(tool) => {
                switch_of(tool.name().unwrap_or_default(), tool.input())?;
                why = Some(tool.error_text()?);
            }
            UiPart::Text(text) if !text.text().trim().is_empty() => return None,
            _ => {}
        }
    }
    why
}
