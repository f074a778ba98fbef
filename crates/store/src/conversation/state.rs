//! What a conversation is in memory: its entries, last line first served.
//!
//! Lines are applied one by one, when they are read and after they are written, so a conversation that
//! was loaded is the one that was left. Of a compacted message only its place is kept; what it said is
//! in the file. So memory is in proportion to what a model is shown, however old the conversation is.
//!
//! A model is shown messages in an order that differs from the order of the lines in two places. A
//! summary stands where the messages stood that it stands for, because what was kept behind them is
//! newer. And a tool's result stands with its call, whatever was said in between, because every provider
//! refuses anything else.

use std::collections::{HashMap, HashSet};

use ship_message::json::Json;

use super::ids::EntryIds;
use super::{ContextEntry, EntryRole, EventEntry, MessageEntry};

#[derive(Default)]
pub(super) struct ConversationState {
    slots: Vec<Slot>,
    /// The slot of each id.
    places: HashMap<String, usize>,
    /// The slots of messages, in the order in which a model is shown them.
    order: Vec<usize>,
    ids: EntryIds,
    skills: Vec<String>,
    checkpoints: Vec<EntryCheckpoint>,
    /// The slot of the message that made each call without a result.
    open_calls: HashMap<String, usize>,
    /// For the id of a summary to come, the last message it stands for.
    summaries: HashMap<String, String>,
    /// The ids of the summaries that have come.
    summary_ids: HashSet<String>,
}

/// The place of an entry among the others: that of its first line.
enum Slot {
    Live(ContextEntry),
    Compacted,
}

struct EntryCheckpoint {
    name: String,
    offset: u64,
}

impl ConversationState {
    /// Takes in a line and its offset.
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
                self.skills.extend(text("skill").filter(|skill| !self.skills.contains(skill)))
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
            let place = self.place_of(message);
            self.order.insert(place, slot);
            for id in call_ids(message).filter(|_| !message.compacted) {
                self.open_calls.insert(id.to_owned(), slot);
            }
        }
        self.slots.push(Slot::of(entry));
    }

    fn replace(&mut self, slot: usize, entry: ContextEntry) {
        let was_event = matches!(self.slots[slot], Slot::Live(ContextEntry::Event(_)));
        if was_event && entry.as_message().is_some() {
            self.order.push(slot);
        }
        self.slots[slot] = Slot::of(entry);
        if matches!(self.slots[slot], Slot::Compacted) {
            self.open_calls.retain(|_, caller| *caller != slot);
        }
    }

    /// Whether a message stands for others.
    pub(super) fn is_summary(&self, id: &str) -> bool {
        self.summary_ids.contains(id)
    }

    /// Where a new message goes among those that a model is shown.
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
        let call = self.order.iter().rposition(|slot| *slot == caller)?;
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

    /// The position of a message, compacted or not, among those that a model is shown.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        let slot = self.places.get(id)?;
        self.order.iter().position(|other| other == slot)
    }

    /// The messages that are not compacted, and the system's, each with its position.
    pub(super) fn shown(&self) -> impl Iterator<Item = (usize, &MessageEntry)> {
        let slots = self.order.iter().enumerate();
        slots.filter_map(|(position, slot)| Some((position, self.message(*slot)?)))
    }

    /// Whether the last message that a model is shown is a tool's.
    pub(super) fn ends_with_result(&self) -> bool {
        let last = self.order.iter().rev().find_map(|slot| self.message(*slot));
        last.is_some_and(|last| last.role == EntryRole::Tool)
    }

    /// Whether there is an entry of this id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// The counters, to go on from.
    pub(super) fn ids(&self) -> EntryIds {
        self.ids
    }

    /// The skills that are active, in the order in which they were activated.
    pub(super) fn skills(&self) -> &[String] {
        &self.skills
    }

    /// The names of the checkpoints, oldest first.
    pub(super) fn checkpoints(&self) -> impl Iterator<Item = &str> {
        self.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str())
    }

    /// The offset of the newest checkpoint of this name.
    pub(super) fn checkpoint(&self, name: &str) -> Option<u64> {
        let found = self.checkpoints.iter().rfind(|checkpoint| checkpoint.name == name);
        found.map(|checkpoint| checkpoint.offset)
    }
}

impl Slot {
    /// The system's messages are shown whether they are marked or not.
    fn of(entry: ContextEntry) -> Self {
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

/// The ids of the calls that a message makes.
pub(super) fn call_ids(message: &MessageEntry) -> impl Iterator<Item = &str> {
    let calls = match message.role {
        EntryRole::Assistant => message.tool_calls.as_deref().unwrap_or_default(),
        _ => &[],
    };
    calls.iter().filter_map(|call| call.get("id").and_then(Json::as_str))
}
