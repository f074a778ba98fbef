//! Groups the lines that form one message.

use ship_message::json::{Json, Object};
use ship_message::{Role, ToolPart, UiMessage, UiPart};

use super::plain_entries;
use crate::conversation::{ContextEntry, EntryRole, MessageEntry};

/// A message that grows line by line, with its lines.
pub(super) struct EntryGroup<'a> {
    lines: Vec<&'a ContextEntry>,
    /// The message so far; none while the lines are only events.
    message: Option<UiMessage>,
    /// The calls of the last assistant entry without a result: their ids and the indexes of their parts.
    open: Vec<(String, usize)>,
    /// Whether the last message entry answered a call of this message.
    ends_with_result: bool,
}

impl<'a> EntryGroup<'a> {
    /// Makes a group of lines that all belong to one message.
    pub(super) fn from_lines(lines: impl IntoIterator<Item = &'a ContextEntry>) -> Self {
        let mut group =
            Self { lines: Vec::new(), message: None, open: Vec::new(), ends_with_result: false };
        lines.into_iter().for_each(|line| group.push(line));
        group
    }

    /// Whether a step of the assistant would belong to this message.
    pub(super) fn accepts_step(&self) -> bool {
        self.ends_with_result && self.open.is_empty()
    }

    /// Whether a line belongs to this message.
    pub(super) fn accepts(&self, line: &ContextEntry) -> bool {
        let ContextEntry::Message(entry) = line else { return true };
        if self.message.is_none() {
            return true;
        }
        match entry.role {
            EntryRole::Tool => self.open_call(entry).is_some(),
            EntryRole::Assistant => {
                self.accepts_step() && plain_entries::begins_step(&entry.content)
            }
            EntryRole::System | EntryRole::User | EntryRole::Developer => false,
        }
    }

    pub(super) fn push(&mut self, line: &'a ContextEntry) {
        self.lines.push(line);
        let ContextEntry::Message(entry) = line else { return };
        match self.open_call(entry) {
            Some(call) => self.answer_call(call, entry),
            None => self.extend(entry),
        }
    }

    fn answer_call(&mut self, call: usize, result: &MessageEntry) {
        let (_, place) = self.open.remove(call);
        let parts = self.message.as_mut().map(UiMessage::parts_mut);
        if let Some(UiPart::Tool(part)) = parts.and_then(|parts| parts.get_mut(place)) {
            set_result(part, result);
        }
        self.ends_with_result = true;
    }

    fn extend(&mut self, entry: &MessageEntry) {
        let mut parts = parts_of(entry);
        let calls = calls_of(entry);
        let message = self.message.get_or_insert_with(|| open_message(entry));
        let places = message.parts().len() + parts.len()..;
        self.open = calls.iter().map(|call| call.call_id().to_owned()).zip(places).collect();
        self.ends_with_result = false;
        parts.extend(calls.into_iter().map(UiPart::Tool));
        // `parts_mut` would give an empty list to a message that has none, so it is called only when needed.
        if !parts.is_empty() {
            message.parts_mut().extend(parts);
        }
    }

    fn open_call(&self, entry: &MessageEntry) -> Option<usize> {
        let id = entry.tool_call_id.as_deref().filter(|_| entry.role == EntryRole::Tool)?;
        self.open.iter().position(|(open, _)| open == id)
    }

    /// Returns the message without its record, and its lines.
    pub(super) fn finish(self) -> (UiMessage, Vec<&'a ContextEntry>) {
        let id = self.lines.first().map(|line| line.id()).unwrap_or_default();
        let message = self.message.unwrap_or_else(|| UiMessage::new(id, Role::Assistant, vec![]));
        (message, self.lines)
    }
}

/// Returns the message that begins with an entry, without parts.
fn open_message(entry: &MessageEntry) -> UiMessage {
    let role = match entry.role {
        EntryRole::System | EntryRole::Developer => Role::System,
        EntryRole::User => Role::User,
        EntryRole::Assistant | EntryRole::Tool => Role::Assistant,
    };
    let message = UiMessage::new(entry.id.as_str(), role, vec![]);
    match plain_entries::read_opening(entry) {
        None => message,
        Some(given) => plain_entries::with_given_fields(message, given),
    }
}

/// Returns the parts that an entry adds to its message, without calls.
fn parts_of(entry: &MessageEntry) -> Vec<UiPart> {
    match (&entry.content, entry.role) {
        (_, EntryRole::Tool) => vec![UiPart::Tool(result_without_call(entry))],
        (Json::Array(list), _) => {
            let said_before = usize::from(plain_entries::read_opening(entry).is_some());
            list.iter().skip(said_before).map(|part| UiPart::from_json(part.clone())).collect()
        }
        (content, EntryRole::Assistant) => plain_entries::text_step(text_of(content)),
        (content, _) => text_of(content).map(plain_entries::text).into_iter().collect(),
    }
}

/// Returns content that is not a list as text; other JSON is shown as it is written.
fn text_of(content: &Json) -> Option<Json> {
    match content {
        Json::Null => None,
        Json::String(_) => Some(content.clone()),
        other => Some(other.to_string().into()),
    }
}

fn calls_of(entry: &MessageEntry) -> Vec<ToolPart> {
    if entry.role != EntryRole::Assistant {
        return Vec::new();
    }
    entry.tool_calls.iter().flatten().filter_map(plain_entries::read_call).collect()
}

fn result_without_call(entry: &MessageEntry) -> ToolPart {
    // A part needs a name, because its type is `tool-<name>`.
    let name = entry.tool_name.as_deref().unwrap_or("unknown");
    let call_id = entry.tool_call_id.as_deref().unwrap_or_default();
    let mut part = ToolPart::new(name, call_id, Object::new().into());
    set_result(&mut part, entry);
    part
}

fn set_result(part: &mut ToolPart, result: &MessageEntry) {
    match &result.content {
        content if !result.is_error => part.set_output(content.clone()),
        Json::String(text) => part.set_error(text.as_str()),
        content => part.set_error(content.to_string()),
    }
}
