//! Entries as messages, and messages as entries.
//!
//! A *view* is a list of [`UiMessage`]s, which is what the rest of Shipmate works on. Nothing is lost on
//! the way in either direction: `entries → view → entries` is the identity, to the byte, and
//! `view → entries → view` gives an equal view, with a *record* of the lines in each message's metadata.
//!
//! # The plain rules
//!
//! | entry | message |
//! | --- | --- |
//! | system or user, content is text | the same role, one text part |
//! | assistant, content is text or null, with or without `tool_calls` | a step: `step-start`, the text with `state: "done"` if there is one, a part `tool-<name>` in state `input-available` for each call |
//! | tool, for a call of the last assistant entry | that part, in state `output-available` with the content as `output`, or `output-error` with the content as `errorText` when `is_error` |
//! | assistant, after all calls of the one before it were answered | the next step of the same message |
//! | any of these but tool, content is a list | the list is the parts, as they are; calls follow behind them |
//!
//! A call is `{"id","type":"function","function":{"name","arguments"}}`, with the input as JSON text in
//! `arguments`.
//!
//! In the other direction a message takes the plain form when it can. What the fields of an entry cannot
//! hold makes the content a list of parts: reasoning, files, sources, data, provider metadata, text in
//! another state. Calls at the end of a step still become `tool_calls` and tool entries, unless they have
//! what those cannot hold, such as an approval or half an input; then they stay among the parts.
//!
//! What a message has beside its parts, such as metadata, stands in front of them in a part
//! `{"type":"data-message","data":{…}}`; such a part always begins a message. An entry has its message's
//! id, if that can be an id of its own; the others of the same message get the next free ones.
//!
//! # What is left
//!
//! A message holds neither the time nor the id of each of its lines, and the lines may hold what no
//! message does: the role `developer`, `is_meta`, `compacted`, unknown fields, content that is neither
//! text nor a list (shown as its JSON), calls in another form, events. All that is in the record,
//! `metadata.conversation.entries`: for each line the fields that the plain rules do not give, or the
//! whole line where they give none. Events are in the record of the message before them, or of the first;
//! without any message they have one of their own, without parts. A result without its call is shown as a
//! call with an empty input.
//!
//! A record is believed only if, with the plain rules, it gives exactly the message that carries it. So a
//! message that was changed keeps its lines' ids and times where that can be, and is a new one where not.

mod group;
mod plain;
mod record;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use ship_message::UiMessage;

use super::ids::EntryIds;
use super::state::ConversationState;
use super::{ContextEntry, EntryRole, MessageEntry};
use crate::Timestamp;
use group::EntryGroup;
use plain::Opening;

pub use record::without_record;

/// Gives the messages that entries are.
///
/// All entries, compacted ones and events as well; to show a conversation to a model, see
/// [`Conversation::view`](super::Conversation::view).
pub fn to_view<'a>(entries: impl IntoIterator<Item = &'a ContextEntry>) -> Vec<UiMessage> {
    let mut groups: Vec<EntryGroup<'a>> = Vec::new();
    for entry in entries {
        match groups.last_mut() {
            Some(last) if last.takes(entry) => last.push(entry),
            _ => groups.push(EntryGroup::of_lines([entry])),
        }
    }
    groups.into_iter().map(record::with_record).collect()
}

/// Gives the entries that messages are. Those of a message without a record get the time `now`, and ids
/// after the highest in the view.
pub fn to_entries(view: &[UiMessage], now: Timestamp) -> Vec<ContextEntry> {
    new_entries(&ConversationState::default(), view, now)
}

/// The entries that messages become behind those of a conversation.
pub(super) fn new_entries(
    state: &ConversationState,
    messages: &[UiMessage],
    now: Timestamp,
) -> Vec<ContextEntry> {
    let mut new = NewEntries {
        now: now.to_string(),
        ids: state.ids(),
        taken: HashSet::new(),
        takes_step: state.ends_with_result(),
        entries: Vec::new(),
    };
    // Events alone are a message only where there is no other.
    let is_alone = messages.len() == 1;
    let is_message = |entries: &Vec<ContextEntry>| is_alone || has_message(entries);
    let recorded =
        messages.iter().map(|message| record::recorded_entries(message).filter(is_message));
    let recorded: Vec<_> = recorded.collect();
    // No id that comes later in the view may be given to a line before it.
    messages.iter().filter_map(UiMessage::id).for_each(|id| new.ids.observe(id));
    recorded.iter().flatten().flatten().for_each(|entry| new.ids.observe(entry.id()));
    for (message, recorded) in messages.iter().zip(recorded) {
        new.push(message, recorded);
    }
    new.entries
}

fn has_message(entries: &[ContextEntry]) -> bool {
    entries.iter().any(|entry| entry.as_message().is_some())
}

/// Entries that are being made from messages.
struct NewEntries {
    now: String,
    ids: EntryIds,
    taken: HashSet<String>,
    /// Whether an assistant's step would be taken to belong to the message before it.
    takes_step: bool,
    entries: Vec<ContextEntry>,
}

impl NewEntries {
    /// Adds a message, by its record if that is of use here.
    fn push(&mut self, message: &UiMessage, recorded: Option<Vec<ContextEntry>>) {
        let entries = match recorded.filter(|entries| self.is_of_use(entries)) {
            Some(entries) => entries,
            None => self.make(message),
        };
        self.taken.extend(entries.iter().map(|entry| entry.id().to_owned()));
        self.takes_step = EntryGroup::of_lines(&entries).takes_step();
        self.entries.extend(entries);
    }

    /// Whether recorded entries have ids that are free, and would be seen to begin a message.
    fn is_of_use(&self, entries: &[ContextEntry]) -> bool {
        let first = entries.iter().find_map(ContextEntry::as_message);
        let is_step = first.is_some_and(|first| {
            first.role == EntryRole::Assistant && plain::begins_step(&first.content)
        });
        let is_free = |entry: &ContextEntry| !self.taken.contains(entry.id());
        entries.iter().all(is_free) && !(is_step && self.takes_step)
    }

    fn make(&mut self, message: &UiMessage) -> Vec<ContextEntry> {
        let own_id = message.id().filter(|id| !id.is_empty() && !self.taken.contains(*id));
        let opening =
            Opening { keeps_id: own_id.is_some(), could_be_taken_for_a_step: self.takes_step };
        let mut first_id = own_id.map(str::to_owned);
        let entries = plain::entries(message, opening).into_iter().map(|entry| {
            let id = first_id.take().unwrap_or_else(|| self.ids.message());
            MessageEntry { id, ts: self.now.clone(), ..entry }.into()
        });
        entries.collect()
    }
}

/// Messages of a conversation, in the order in which a model is shown them.
pub(super) fn of_messages(messages: Vec<&MessageEntry>) -> Vec<UiMessage> {
    let entries: Vec<ContextEntry> =
        messages.into_iter().map(|message| message.clone().into()).collect();
    to_view(&entries)
}
