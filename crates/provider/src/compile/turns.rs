//! Turns: the person first and last, and nobody twice in a row.
//!
//! Anthropic wants a person's message first, its newer models one at the end, and many templates of local
//! models want the two to take turns. So what a person says in a row is one message of several parts, and
//! where an assistant's message would stand first, last or beside another one, a word in brackets takes the
//! person's turn. It stays there in all later requests, but behind the last message it makes way for what the
//! person says next.

use ship_message::{ModelContent, ModelMessage, ModelParts, ModelRole};

use super::calls::Exchange;
use super::parts::text;

/// Before an assistant's message that nobody asked for: a summary, or what is left of an older chat.
const OPENING: &str = "(The conversation goes on from here.)";
/// Between two messages of the assistant, and after the last.
const GO_ON: &str = "(Go on.)";
/// For a chat in which nobody has said anything.
const NOTHING: &str = "(Nobody has said anything yet.)";

/// Puts exchanges in an order that every provider takes.
pub(super) fn turns(exchanges: Vec<Exchange<'_>>) -> Vec<ModelMessage<'_>> {
    let mut turns: Vec<ModelMessage<'_>> = Vec::with_capacity(exchanges.len() + 1);
    for exchange in exchanges {
        match exchange {
            Exchange::Person(parts) => person(&mut turns, parts),
            Exchange::Assistant { said, results } => {
                match turns.last().map(|last| last.role) {
                    None => person(&mut turns, one(OPENING)),
                    Some(ModelRole::Assistant) => person(&mut turns, one(GO_ON)),
                    Some(ModelRole::User | ModelRole::Tool | ModelRole::System) => {}
                }
                turns.push(message(ModelRole::Assistant, said));
                if !results.is_empty() {
                    turns.push(message(ModelRole::Tool, results));
                }
            }
        }
    }
    match turns.last().map(|last| last.role) {
        None => person(&mut turns, one(NOTHING)),
        Some(ModelRole::Assistant) => person(&mut turns, one(GO_ON)),
        Some(ModelRole::User | ModelRole::Tool | ModelRole::System) => {}
    }
    turns
}

fn person<'a>(turns: &mut Vec<ModelMessage<'a>>, parts: ModelParts<'a>) {
    if let Some(ModelMessage {
        role: ModelRole::User, content: ModelContent::Parts(said), ..
    }) = turns.last_mut()
    {
        said.extend(parts);
        return;
    }
    turns.push(message(ModelRole::User, parts));
}

fn message(role: ModelRole, parts: ModelParts<'_>) -> ModelMessage<'_> {
    ModelMessage::new(role, ModelContent::Parts(parts))
}

fn one<'a>(words: &str) -> ModelParts<'a> {
    std::iter::once(text(words)).collect()
}
