//! Prepares the messages of a chat for a model.

use ship_context::compact::PrunedOutputs;
use ship_context::{ShowRules, shown_to_model};
use ship_message::UiMessage;

/// Returns the messages as a model is shown them: those of the context, and the run's own so far.
pub(crate) fn show_messages(
    limits: ShowRules,
    messages: &[UiMessage],
    so_far: Option<&UiMessage>,
    pruned: &PrunedOutputs,
) -> Vec<UiMessage> {
    let so_far = so_far.filter(|message| !message.parts().is_empty());
    let mut shown = shown_to_model(messages, limits);
    shown.extend(shown_to_model(so_far.map_or(&[], std::slice::from_ref), limits));
    if !pruned.is_empty() {
        for message in &mut shown {
            pruned.apply(message);
        }
    }
    shown
}
