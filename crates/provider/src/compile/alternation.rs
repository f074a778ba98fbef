//! Orders the turns: the person speaks first and last, and no side speaks twice in a row.
//!
//! Anthropic wants a user message first, its newer models also last, and many templates of local models want strict
//! alternation. So consecutive user messages become one message with several parts. Where an assistant's message
//! would stand first, last or beside another one, a word in brackets takes the person's turn. It stays there in all
//! later requests; only after the last message does it make way for the person's next words.

use ship_message::{ModelContent, ModelMessage, ModelParts, ModelRole};

use super::exchanges::Exchange;
use super::parts::text;
use crate::{HostForm, HostForms};

/// The text before an assistant's message without a question: a summary, or the rest of an older chat.
const OPENING: &str = "(The conversation goes on from here.)";
/// The text between two messages of the assistant, and after the last.
const GO_ON: &str = "(Go on.)";
/// The text for a chat without any messages.
const NOTHING: &str = "(Nobody has said anything yet.)";

/// The text between the results of tools and a person's words, for hosts that want one.
const AFTER_RESULTS: &str = "[The results are noted.]";

/// Puts exchanges into an order that every provider takes.
pub(super) fn alternate(exchanges: Vec<Exchange<'_>>, forms: HostForms) -> Vec<ModelMessage<'_>> {
    let mut turns: Vec<ModelMessage<'_>> = Vec::with_capacity(exchanges.len() + 1);
    for exchange in exchanges {
        match exchange {
            Exchange::Person(parts) => {
                let is_after_tool = turns.last().is_some_and(|last| last.role == ModelRole::Tool);
                if is_after_tool && forms.has(HostForm::AssistantAfterTool) {
                    turns.push(model_message(ModelRole::Assistant, single_text(AFTER_RESULTS)));
                }
                push_person(&mut turns, parts);
            }
            Exchange::Assistant { parts, results } => {
                match turns.last().map(|last| last.role) {
                    None => push_person(&mut turns, single_text(OPENING)),
                    Some(ModelRole::Assistant) => push_person(&mut turns, single_text(GO_ON)),
                    Some(ModelRole::User | ModelRole::Tool | ModelRole::System) => {}
                }
                turns.push(model_message(ModelRole::Assistant, parts));
                if !results.is_empty() {
                    turns.push(model_message(ModelRole::Tool, results));
                }
            }
        }
    }
    match turns.last().map(|last| last.role) {
        None => push_person(&mut turns, single_text(NOTHING)),
        Some(ModelRole::Assistant) => push_person(&mut turns, single_text(GO_ON)),
        Some(ModelRole::User | ModelRole::Tool | ModelRole::System) => {}
    }
    turns
}

fn push_person<'a>(turns: &mut Vec<ModelMessage<'a>>, parts: ModelParts<'a>) {
    if let Some(ModelMessage {
        role: ModelRole::User,
        content: ModelContent::Parts(last_parts),
        ..
    }) = turns.last_mut()
    {
        last_parts.extend(parts);
        return;
    }
    turns.push(model_message(ModelRole::User, parts));
}

fn model_message(role: ModelRole, parts: ModelParts<'_>) -> ModelMessage<'_> {
    ModelMessage::new(role, ModelContent::Parts(parts))
}

fn single_text<'a>(words: &str) -> ModelParts<'a> {
    std::iter::once(text(words)).collect()
}
