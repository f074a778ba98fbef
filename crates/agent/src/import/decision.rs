//! Decides what becomes of each conversation of a file.

use ship_exchange::{ConversationFile, PlannedContext};
use ship_store::carry::ImportedFrom;
use ship_store::{ContextId, Gen, Timestamp};

use super::known_imports::{KnownImport, KnownImports};
use super::report::ContextFate;
use super::survey::MessageCounts;

/// A conversation with the decision about it.
#[derive(Clone, Debug)]
pub(super) struct ContextToImport {
    /// The place of the conversation in the file.
    pub(super) nth: usize,
    pub(super) context: ContextId,
    pub(super) title: Option<String>,
    pub(super) began: Timestamp,
    pub(super) from: ImportedFrom,
    pub(super) fate: ContextFate,
    pub(super) counts: MessageCounts,
    /// The number of messages that the chat has of it. The last of them may have grown.
    pub(super) known_messages: u64,
}

/// Compares a conversation with what the chat has of it.
pub(super) fn decide(
    file: &ConversationFile,
    nth: usize,
    planned: &PlannedContext,
    counts: MessageCounts,
    known: &KnownImports,
    now: Timestamp,
) -> ContextToImport {
    let began = planned.began.unwrap_or(now);
    let mut from = ImportedFrom {
        generation: Gen::new(0),
        at: now,
        format: file.format().name().to_owned(),
        key: planned.key.clone(),
        digest: file.digest(planned),
        messages: planned.len() as u64,
        growths: 0,
        suffix: None,
        live_end: None,
    };
    let earlier = known.of(&planned.key);
    let fate = match earlier {
        None => ContextFate::New,
        Some(earlier) if earlier.from.digest == from.digest => ContextFate::Unchanged,
        Some(earlier) if earlier.is_continued => ContextFate::Apart,
        Some(_) => ContextFate::Grown,
    };
    let growths = earlier.map_or(0, |earlier| earlier.from.growths);
    let mut known_messages = 0;
    match (fate, earlier) {
        (ContextFate::Unchanged | ContextFate::New, _) | (_, None) => {}
        (ContextFate::Grown, Some(earlier)) => {
            from.growths = growths + 1;
            from.suffix = earlier.from.suffix.clone();
            known_messages = earlier.from.messages;
        }
        (ContextFate::Apart, Some(_)) => {
            from.growths = growths + 1;
            from.suffix =
                Some(format!("{}{}", super::adapted_message::suffix_of(&from), from.growths));
        }
    }
    let context = match (fate, earlier) {
        (ContextFate::Unchanged | ContextFate::Grown, Some(KnownImport { context, .. })) => {
            context.clone()
        }
        _ => context_id(&from, began),
    };
    let title = planned.title.clone();
    ContextToImport { nth, context, title, began, from, fate, counts, known_messages }
}

/// Returns the id of a new context: the same for the same conversation.
fn context_id(from: &ImportedFrom, began: Timestamp) -> ContextId {
    let digest = crate::digest::digest(format!("{}#{}", from.key, from.growths).as_bytes());
    let number = digest.chars().take(16).collect::<String>();
    ContextId::new(began, u64::from_str_radix(&number, 16).unwrap_or_default())
}
