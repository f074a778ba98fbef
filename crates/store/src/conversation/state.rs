//! Holds a conversation in memory: the last line of each id.
//!
//! Lines are applied one by one, both when they are read and after they are written, so a loaded conversation
//! equals the one that was left. Of a compacted message only the place is kept; its content stays in the file. So
//! the memory in use grows with what a model is shown, and not with the age of the conversation.
//!
//! The order of messages for a model differs from the order of lines in two ways. A summary takes the place of the
//! messages it covers, because the messages kept after them are newer. And a tool's result stands next to its call,
//! even if other lines came in between, because providers refuse any other order.

use std::collections::{HashMap, HashSet, VecDeque};

use ship_message::json::Json;

use super::ids::EntryIds;
use super::{ContextEntry, EntryRole, EventEntry, MessageEntry};

#[derive(Default)]
pub(super) struct ConversationState {
    slots: Vec<Slot>,
    /// The index of the slot of each id.
    places: HashMap<String, usize>,
    /// The slots of messages, in the order in which a model is shown them.
    order: Vec<usize>,
    ids: EntryIds,
    skills: Vec<String>,
    /// The activated skills whose prompt is still to come.
    unprompted: VecDeque<String>,
    /// The skill of each prompt, by the id of the message.
    prompts: HashMap<String, String>,
    checkpoints: Vec<EntryCheckpoint>,
    /// The slot of the message with the call, for each call without a result.
    open_calls: HashMap<String, usize>,
    /// The last covered message, for the id of each summary that is still to come.
    summaries: HashMap<String, String>,
    /// The ids of the summaries that were appended.
    summary_ids: HashSet<String>,
}

/// The place of an entry among the others, which its first line decides.
enum Slot {
    Live(ContextEntry),
    Compacted,
}

struct EntryCheckpoint {
    name: String,
    offset: u64,
}

impl ConversationState {
    /// Applies a line that begins at `offset`.
    pub(super) fn apply(&mut self, offset: u64, entry: ContextEntry) {
        self.ids.observe(entry.id());
        if let ContextEntry::Event(event) = &entry {
            self.apply_event(offset, event);
        }
        match self.places.get(entry.id()) {
            Some(&slot) => self.replace(slot, entry),
            None => self.add(entry),
        }
    }

    fn apply_event(&mut self, offset: u64, event: &EventEntry) {
        let text = |key| event.data.str(key).map(str::to_owned);
        match event.event.as_str() {
            "skill_activated" => {
                self.unprompted.extend(text("skill"));
                self.skills.extend(text("skill").filter(|skill| !self.skills.contains(skill)));
            }
            "skill_deactivated" => {
                self.skills.retain(|skill| Some(skill.as_str()) != event.data.str("skill"));
            }
            "checkpoint" => {
                self.checkpoints.extend(text("name").map(|name| EntryCheckpoint { name, offset }));
            }
            "compaction" => self.summaries.extend(text("summary").zip(text("to"))),
            _ => {}
        }
    }

    fn add(&mut self, entry: ContextEntry) {
        let slot = self.slots.len();
        self.places.insert(entry.id().to_owned(), slot);
        if let ContextEntry::Message(message) = &entry {
            self.note_prompt(message);
            let place = self.place_of(message);
            self.order.insert(place, slot);
            // A call that is not shown is no place to put a result beside.
            for id in call_ids(message).filter(|_| !message.compacted) {
                self.open_calls.insert(id.to_owned(), slot);
            }
        }
        self.slots.push(Slot::from_entry(entry));
    }

    /// Notes the prompt of a skill: the first meta message after the activation, with only results between them.
    fn note_prompt(&mut self, message: &MessageEntry) {
        match message.role {
            EntryRole::User if message.is_meta => {
                let prompt = self.unprompted.pop_front().map(|skill| (message.id.clone(), skill));
                self.prompts.extend(prompt);
            }
            EntryRole::User | EntryRole::Assistant => self.unprompted.clear(),
            EntryRole::Tool | EntryRole::System | EntryRole::Developer => {}
        }
    }

    /// Returns the skill of which a message is the prompt.
    pub(super) fn skill_of_prompt(&self, id: &str) -> Option<&str> {
        self.prompts.get(id).map(String::as_str)
    }

    fn replace(&mut self, slot: usize, entry: ContextEntry) {
        let was_event = matches!(self.slots[slot], Slot::Live(ContextEntry::Event(_)));
        // An id that was an event until now has no place among the messages yet.
        if was_event && entry.as_message().is_some() {
            self.order.push(slot);
        }
        self.slots[slot] = Slot::from_entry(entry);
        if matches!(self.slots[slot], Slot::Compacted) {
            self.open_calls.retain(|_, caller| *caller != slot);
        }
    }

    /// Whether a message is the summary of a compaction.
    pub(super) fn is_summary(&self, id: &str) -> bool {
        self.summary_ids.contains(id)
    }

    /// Returns the position of a new message in the order for a model.
    fn place_of(&mut self, message: &MessageEntry) -> usize {
        self.place_of_summary(message)
            .or_else(|| self.place_of_result(message))
            .unwrap_or(self.order.len())
    }

    fn place_of_summary(&mut self, message: &MessageEntry) -> Option<usize> {
        let last_covered = self.summaries.remove(&message.id)?;
        self.summary_ids.insert(message.id.clone());
        Some(self.position(&last_covered)? + 1)
    }

    fn place_of_result(&mut self, message: &MessageEntry) -> Option<usize> {
        let call_id = message.tool_call_id.as_ref().filter(|_| message.role == EntryRole::Tool)?;
        let caller = self.open_calls.remove(call_id)?;
        // The call is nearly always close to the end.
        let call = self.order.iter().rposition(|slot| *slot == caller)?;
        // Results of one message stand in the order in which they came.
        let others = self.order[call + 1..].iter().take_while(|slot| {
            self.message(**slot).is_some_and(|other| other.role == EntryRole::Tool)
        });
        Some(call + 1 + others.count())
    }

    fn message(&self, slot: usize) -> Option<&MessageEntry> {
        match &self.slots[slot] {
            Slot::Live(entry) => entry.as_message(),
            Slot::Compacted => None,
        }
    }

    /// Returns the position of a message, compacted or not, in the order for a model.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        let slot = self.places.get(id)?;
        self.order.iter().position(|other| other == slot)
    }

    /// Returns the messages that are not compacted, and system messages, each with its position.
    pub(super) fn visible_entries(&self) -> impl Iterator<Item = (usize, &MessageEntry)> {
        let slots = self.order.iter().enumerate();
        slots.filter_map(|(position, slot)| Some((position, self.message(*slot)?)))
    }

    /// Whether the last message for a model is a tool's result.
    pub(super) fn ends_with_result(&self) -> bool {
        let last = self.order.iter().rev().find_map(|slot| self.message(*slot));
        last.is_some_and(|last| last.role == EntryRole::Tool)
    }

    /// Whether there is any message, compacted or not.
    pub(super) fn has_messages(&self) -> bool {
        !self.order.is_empty()
    }

    /// Whether an entry has this id.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// Returns a copy of the counters, for ids that follow the known ones.
    pub(super) fn ids(&self) -> EntryIds {
        self.ids
    }

    /// Returns the active skills in the order of their activation.
    pub(super) fn skills(&self) -> &[String] {
        &self.skills
    }

    /// Returns the names of the checkpoints, oldest first.
    pub(super) fn checkpoints(&self) -> impl Iterator<Item = &str> {
        self.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str())
    }

    /// Returns the offset of the newest checkpoint of this name.
    pub(super) fn checkpoint(&self, name: &str) -> Option<u64> {
        let found = self.checkpoints.iter().rfind(|checkpoint| checkpoint.name == name);
        found.map(|checkpoint| checkpoint.offset)
    }
}

impl Slot {
    /// Makes the slot of an entry. System messages are shown even when they are marked as compacted.
    fn from_entry(entry: ContextEntry) -> Self {
        match entry {
            ContextEntry::Message(message)
                if message.compacted && message.role != EntryRole::System =>
            {
                Self::Compacted
            }
            entry => Self::Live(entry),
        }
    }
}

/// Returns the ids of the calls in a message.
pub(super) fn call_ids(message: &MessageEntry) -> impl Iterator<Item = &str> {
    let calls = match message.role {
        EntryRole::Assistant => message.tool_calls.as_deref().unwrap_or_default(),
        _ => &[],
    };
    calls.iter().filter_map(|call| call.get("id").and_then(Json::as_str))
}
