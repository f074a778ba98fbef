//! A run that goes round in circles: it calls for switches that were refused, and does nothing else.

use ship_context::contexts::switch_of;
use ship_message::{UiMessage, UiPart};

/// So many steps in a row may do nothing but be refused for the same reason.
const REFUSALS_MAX: usize = 2;

/// What the person reads when that happens.
const SENTENCE: &str = "I kept trying to change the context instead of answering you, so I stopped. Say it again, or tell me to answer here.";

/// Tells the person if a run does nothing but call for switches that are refused. It would go on until its last
/// step, and every step costs.
pub(crate) fn goes_round(message: &UiMessage) -> Option<&'static str> {
    let parts = message.parts();
    let steps = parts.rsplit(|part| matches!(part, UiPart::StepStart(_)));
    // A step that has just begun says nothing yet.
    let mut refusals = steps.filter(|step| !step.is_empty()).map(refusal);
    let last = refusals.next()??;
    let again = refusals.take(REFUSALS_MAX - 1).filter(|refusal| *refusal == Some(last)).count();
    (again == REFUSALS_MAX - 1).then_some(SENTENCE)
}

/// Why the switch was refused that a step called for, if it did nothing else. What was not found is told in other
/// words each time that something else is looked for.
fn refusal(step: &[UiPart]) -> Option<&str> {
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
