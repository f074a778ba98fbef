//! Converts entries into messages and messages into entries.
//!
//! A *view* is a list of [`UiMessage`]s, the form in which the rest of Shipmate handles messages. Nothing is lost
//! in either direction: `entries → view → entries` is the identity, to the byte, and `view → entries → view` gives
//! an equal view, with a *record* of the lines in each message's metadata.
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
//! In the other direction a message takes the plain form if it can. Content that the fields of an entry cannot hold
//! makes the content a list of parts: reasoning, files, sources, data, provider metadata, text in another state.
//! Calls at the end of a step still become `tool_calls` and tool entries. They stay among the parts if those cannot
//! hold them, as with an approval or half an input.
//!
//! Other fields of a message, such as metadata, stand before its parts in a part
//! `{"type":"data-message","data":{…}}`; such a part always begins a message. The first entry has the id of its
//! message if that id is free; further entries of the message get the next free ids.
//!
//! # The record
//!
//! A message holds neither the time nor the id of each of its lines. And lines can hold more than a message: the
//! role `developer`, `is_meta`, `compacted`, unknown fields, content that is neither text nor a list (shown as its
//! JSON), calls in another form, events. All this is in the record, `metadata.conversation.entries`: for each line,
//! the fields that the plain rules do not give, or the whole line where they give none. Events are in the record of
//! the message before them, or of the first message. Without any message they get one of their own, without parts.
//! A result without its call is shown as a call with an empty input.
//!
//! A record is trusted only if, with the plain rules, it gives exactly the message that carries it. So a changed
//! message keeps the ids and times of its lines if it still fits them, and otherwise counts as a new message.

mod group;
mod plain_entries;
mod record;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use ship_message::UiMessage;
use ship_message::json::Object;

use super::ids::EntryIds;
use super::state::ConversationState;
use super::{
    ContextEntry, EntryRole, EventEntry, MessageEntry, NewConversationMessage, NewViewMessage,
    SkillChange,
};
use crate::Timestamp;
use group::EntryGroup;
use plain_entries::Opening;

pub use record::{recorded_lines, without_record};

/// Converts entries into messages.
///
/// All entries are converted, with compacted messages and events. [`Conversation::view`](super::Conversation::view)
/// returns only the messages for a model.
pub fn to_view<'a>(entries: impl IntoIterator<Item = &'a ContextEntry>) -> Vec<UiMessage> {
    let mut groups: Vec<EntryGroup<'a>> = Vec::new();
    for entry in entries {
        match groups.last_mut() {
            Some(last) if last.accepts(entry) => last.push(entry),
            _ => groups.push(EntryGroup::from_lines([entry])),
        }
    }
    groups.into_iter().map(record::with_record).collect()
}

/// Converts messages into entries. The entries of a message without a record get the time `now`, and ids after the
/// highest in the view.
pub fn to_entries(view: &[UiMessage], now: Timestamp) -> Vec<ContextEntry> {
    new_entries(&ConversationState::default(), view, now)
}

/// Returns the entries for messages that are appended to a conversation.
pub(super) fn new_entries(
    state: &ConversationState,
    messages: &[UiMessage],
    now: Timestamp,
) -> Vec<ContextEntry> {
    let mut new = NewEntries::new(state, now);
    // Events alone make a message only if the view has no other.
    let is_alone = messages.len() == 1;
    let is_message = |entries: &Vec<ContextEntry>| is_alone || has_message(entries);
    let recorded =
        messages.iter().map(|message| record::recorded_entries(message).filter(is_message));
    let recorded: Vec<_> = recorded.collect();
    // All ids of the view are noted first, so that no new line gets the id of a later one.
    messages.iter().filter_map(UiMessage::id).for_each(|id| new.ids.observe(id));
    recorded.iter().flatten().flatten().for_each(|entry| new.ids.observe(entry.id()));
    for (message, recorded) in messages.iter().zip(recorded) {
        new.push(message, recorded);
    }
    new.entries
}

/// Returns the entries for messages with skills that their calls changed.
pub(super) fn entries_with_skills(
    state: &ConversationState,
    messages: &[NewViewMessage],
    now: Timestamp,
) -> Vec<ContextEntry> {
    let mut new = NewEntries::new(state, now);
    messages.iter().filter_map(|new| new.message.id()).for_each(|id| new.ids.observe(id));
    for message in messages {
        new.push_with_skills(message);
    }
    new.entries
}

fn has_message(entries: &[ContextEntry]) -> bool {
    entries.iter().any(|entry| entry.as_message().is_some())
}

/// The entries that are being made from messages.
struct NewEntries {
    now: String,
    ids: EntryIds,
    taken: HashSet<String>,
    /// Whether a step of the assistant would count as part of the message before it.
    takes_step: bool,
    entries: Vec<ContextEntry>,
}

impl NewEntries {
    fn new(state: &ConversationState, now: Timestamp) -> Self {
        Self {
            now: now.to_string(),
            ids: state.ids(),
            taken: HashSet::new(),
            takes_step: state.ends_with_result(),
            entries: Vec::new(),
        }
    }

    /// Adds a message, the event of each changed skill before the result of its call, and the prompts behind.
    fn push_with_skills(&mut self, new: &NewViewMessage) {
        let first = self.entries.len();
        let mut message = new.message.clone();
        if message.id().is_none_or(str::is_empty) {
            message.set_id(self.ids.next_message());
        }
        self.push(&message, None);
        if let Some(ContextEntry::Message(line)) = self.entries.get_mut(first) {
            line.other = new.other.clone();
        }
        for change in &new.skill_changes {
            let answers = |entry: &ContextEntry| {
                let line = entry.as_message();
                line.is_some_and(|line| line.tool_call_id.as_ref() == Some(&change.call_id))
            };
            let result = self.entries[first..].iter().position(answers);
            let at = result.map_or(self.entries.len(), |at| first + at);
            let event = self.event_of(change);
            self.entries.insert(at, event.into());
        }
        for prompt in new.skill_changes.iter().filter_map(|change| change.prompt.clone()) {
            let prompt = NewConversationMessage::user(prompt).meta();
            let line = prompt.into_entry(self.ids.next_message(), self.now.clone());
            self.entries.push(line.into());
            self.takes_step = false;
        }
    }

    fn event_of(&mut self, change: &SkillChange) -> EventEntry {
        let is_active = change.prompt.is_some();
        EventEntry {
            id: self.ids.next_event(),
            ts: self.now.clone(),
            event: if is_active { "skill_activated" } else { "skill_deactivated" }.to_owned(),
            data: Object::from([("skill", change.skill.as_str())]),
            ref_msg_id: None,
            other: Object::new(),
        }
    }

    /// Adds a message, from its record if the record is usable here.
    fn push(&mut self, message: &UiMessage, recorded: Option<Vec<ContextEntry>>) {
        let entries = match recorded.filter(|entries| self.is_of_use(entries)) {
            Some(entries) => entries,
            None => self.entries_for(message),
        };
        self.taken.extend(entries.iter().map(|entry| entry.id().to_owned()));
        self.takes_step = EntryGroup::from_lines(&entries).accepts_step();
        self.entries.extend(entries);
    }

    /// Whether recorded entries have free ids and would begin a message of their own.
    fn is_of_use(&self, entries: &[ContextEntry]) -> bool {
        let first = entries.iter().find_map(ContextEntry::as_message);
        let is_step = first.is_some_and(|first| {
            first.role == EntryRole::Assistant && plain_entries::begins_step(&first.content)
        });
        let is_free = |entry: &ContextEntry| !self.taken.contains(entry.id());
        entries.iter().all(is_free) && !(is_step && self.takes_step)
    }

    fn entries_for(&mut self, message: &UiMessage) -> Vec<ContextEntry> {
        let own_id = message.id().filter(|id| !id.is_empty() && !self.taken.contains(*id));
        let opening =
            Opening { keeps_id: own_id.is_some(), could_be_taken_for_a_step: self.takes_step };
        let mut first_id = own_id.map(str::to_owned);
        let entries = plain_entries::entries_of(message, opening).into_iter().map(|entry| {
            let id = first_id.take().unwrap_or_else(|| self.ids.next_message());
            MessageEntry { id, ts: self.now.clone(), ..entry }.into()
        });
        entries.collect()
    }
}

/// Converts messages of a conversation, in the order in which a model is shown them.
pub(super) fn view_of_entries(messages: Vec<&MessageEntry>) -> Vec<UiMessage> {
    let entries: Vec<ContextEntry> =
        messages.into_iter().map(|message| message.clone().into()).collect();
    to_view(&entries)
}
