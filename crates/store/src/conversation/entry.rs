//! The entries of a conversation: a message or an event on each line.
//!
//! An entry is written with its keys in one order,
//! `id, ts, type, role, tool_call_id, tool_name, content, tool_calls, is_error, is_meta, compacted`. Fields with
//! their default are left out. Unknown fields follow the known ones in the order in which they were read, so that
//! rewriting a line keeps the fields of another program.

use std::fmt;

use ship_message::json::{Json, JsonError, Object};
use ship_message::names;

/// The author of an entry, as models know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryRole {
    /// Instructions, which stand before all other messages in a request.
    System,
    /// The person in the conversation.
    User,
    /// The agent, or a model in its place.
    Assistant,
    /// The answer to one tool call.
    Tool,
    /// Instructions of the surrounding program, at their place among the messages.
    Developer,
}

names!(EntryRole {
    System = "system",
    User = "user",
    Assistant = "assistant",
    Tool = "tool",
    Developer = "developer",
});

/// One message of a conversation, in the form of its line.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageEntry {
    /// The id of the message. A later line with the same id replaces it.
    pub id: String,
    /// The time of the message in ISO 8601, kept as it was read.
    pub ts: String,
    /// The author of the message.
    pub role: EntryRole,
    /// The content: text, the parts of a UIMessage, or any other JSON.
    pub content: Json,
    /// The id of the call that a tool's message answers.
    pub tool_call_id: Option<String>,
    /// The name of the tool that answers.
    pub tool_name: Option<String>,
    /// The calls in an assistant's message.
    pub tool_calls: Option<Vec<Json>>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the program wrote the message in the role of the user, as with a skill's prompt.
    pub is_meta: bool,
    /// Whether a summary covers the message.
    pub compacted: bool,
    /// The fields that this program does not know.
    pub other: Object,
}

impl MessageEntry {
    /// Makes a message with these fields and no others.
    pub fn new(
        id: impl Into<String>,
        ts: impl Into<String>,
        role: EntryRole,
        content: impl Into<Json>,
    ) -> Self {
        Self {
            id: id.into(),
            ts: ts.into(),
            role,
            content: content.into(),
            tool_call_id: None,
            tool_name: None,
            tool_calls: None,
            is_error: false,
            is_meta: false,
            compacted: false,
            other: Object::new(),
        }
    }

    /// Returns the entry as JSON.
    pub fn to_json(&self) -> Json {
        let mut line = Object::with_capacity(6);
        line.set("id", self.id.as_str());
        line.set("ts", self.ts.as_str());
        line.set("type", "msg");
        line.set("role", self.role.name());
        line.set_or_remove("tool_call_id", self.tool_call_id.as_deref().map(Json::from));
        line.set_or_remove("tool_name", self.tool_name.as_deref().map(Json::from));
        line.set("content", self.content.clone());
        line.set_or_remove("tool_calls", self.tool_calls.clone().map(Json::from));
        for (key, flag) in
            [("is_error", self.is_error), ("is_meta", self.is_meta), ("compacted", self.compacted)]
        {
            line.set_or_remove(key, flag.then_some(Json::Bool(true)));
        }
        with_other(line, &self.other)
    }

    fn from_fields(mut fields: Object) -> Result<Self, EntryError> {
        let role = take_text(&mut fields, "role")?.ok_or(EntryError::Missing("role"))?;
        Ok(Self {
            id: take_id(&mut fields)?,
            ts: take_text(&mut fields, "ts")?.ok_or(EntryError::Missing("ts"))?,
            role: EntryRole::named(&role).ok_or(EntryError::Role(role))?,
            content: fields.remove("content").ok_or(EntryError::Missing("content"))?,
            tool_call_id: take_text(&mut fields, "tool_call_id")?,
            tool_name: take_text(&mut fields, "tool_name")?,
            tool_calls: take_list(&mut fields, "tool_calls")?,
            is_error: take_flag(&mut fields, "is_error")?,
            is_meta: take_flag(&mut fields, "is_meta")?,
            compacted: take_flag(&mut fields, "compacted")?,
            other: fields,
        })
    }
}

/// An event of a conversation, in the form of its line.
#[derive(Clone, Debug, PartialEq)]
pub struct EventEntry {
    /// The id of the event. A later line with the same id replaces it.
    pub id: String,
    /// The time of the event in ISO 8601, kept as it was read.
    pub ts: String,
    /// The kind of event: `skill_activated`, `compaction`, `checkpoint`, or a kind of another program.
    pub event: String,
    /// The details of the event, which depend on its kind.
    pub data: Object,
    /// The id of the message that the event concerns.
    pub ref_msg_id: Option<String>,
    /// The fields that this program does not know.
    pub other: Object,
}

impl EventEntry {
    /// Returns the entry as JSON.
    pub fn to_json(&self) -> Json {
        let mut line = Object::with_capacity(6);
        line.set("id", self.id.as_str());
        line.set("ts", self.ts.as_str());
        line.set("type", "evt");
        line.set("event", self.event.as_str());
        line.set("data", self.data.clone());
        line.set_or_remove("ref_msg_id", self.ref_msg_id.as_deref().map(Json::from));
        with_other(line, &self.other)
    }

    fn from_fields(mut fields: Object) -> Result<Self, EntryError> {
        let Some(Json::Object(data)) = fields.remove("data") else {
            return Err(EntryError::Field("data", "an object"));
        };
        Ok(Self {
            id: take_id(&mut fields)?,
            ts: take_text(&mut fields, "ts")?.ok_or(EntryError::Missing("ts"))?,
            event: take_text(&mut fields, "event")?.ok_or(EntryError::Missing("event"))?,
            data,
            ref_msg_id: take_text(&mut fields, "ref_msg_id")?,
            other: fields,
        })
    }
}

/// One line of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ContextEntry {
    /// A line with `"type":"msg"`.
    Message(MessageEntry),
    /// A line with `"type":"evt"`.
    Event(EventEntry),
}

impl ContextEntry {
    /// Reads an entry from one line.
    ///
    /// # Errors
    /// Fails if the line is not JSON or lacks a required field.
    pub fn parse(line: &str) -> Result<Self, EntryError> {
        Self::from_json(Json::parse(line)?)
    }

    /// Reads an entry from a JSON object. Without a `type`, its `role` or `event` decides what it is.
    ///
    /// # Errors
    /// Fails if the object lacks a required field.
    pub fn from_json(json: Json) -> Result<Self, EntryError> {
        let Json::Object(mut fields) = json else { return Err(EntryError::NotAnObject) };
        let kind = take_text(&mut fields, "type")?;
        match kind.as_deref() {
            Some("msg") => MessageEntry::from_fields(fields).map(Self::Message),
            Some("evt") => EventEntry::from_fields(fields).map(Self::Event),
            None if fields.has("role") => MessageEntry::from_fields(fields).map(Self::Message),
            None if fields.has("event") => EventEntry::from_fields(fields).map(Self::Event),
            None => Err(EntryError::Missing("type")),
            Some(kind) => Err(EntryError::Type(kind.to_owned())),
        }
    }

    /// Returns the entry as JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Message(message) => message.to_json(),
            Self::Event(event) => event.to_json(),
        }
    }

    /// Returns the id of the entry.
    pub fn id(&self) -> &str {
        match self {
            Self::Message(message) => &message.id,
            Self::Event(event) => &event.id,
        }
    }

    /// Returns the message if the entry is one.
    pub fn as_message(&self) -> Option<&MessageEntry> {
        if let Self::Message(message) = self { Some(message) } else { None }
    }
}

impl From<MessageEntry> for ContextEntry {
    fn from(message: MessageEntry) -> Self {
        Self::Message(message)
    }
}

impl From<EventEntry> for ContextEntry {
    fn from(event: EventEntry) -> Self {
        Self::Event(event)
    }
}

/// Writes the line without its newline.
impl fmt::Display for ContextEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

/// The reason why a line is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The line is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The line is JSON, but not an object.
    #[error("an entry must be a JSON object")]
    NotAnObject,
    /// A required field is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A field has a value of the wrong type.
    #[error("`{0}` must be {1}")]
    Field(&'static str, &'static str),
    /// The role is unknown to this program.
    #[error("role `{0}` is none of system, user, assistant, tool and developer")]
    Role(String),
    /// The type is unknown; a newer program may know it.
    #[error("type `{0}` is neither `msg` nor `evt`; a newer program may know it")]
    Type(String),
}

/// Adds the unknown fields after ours. A field that we write ourselves wins.
fn with_other(mut line: Object, other: &Object) -> Json {
    for (key, value) in other.iter() {
        if !line.has(key) {
            line.set(key.to_owned(), value.clone());
        }
    }
    line.into()
}

fn take_id(fields: &mut Object) -> Result<String, EntryError> {
    take_text(fields, "id")?.ok_or(EntryError::Missing("id"))
}

fn take_text(fields: &mut Object, key: &'static str) -> Result<Option<String>, EntryError> {
    match fields.remove(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.into_string())),
        Some(_) => Err(EntryError::Field(key, "a string")),
    }
}

fn take_list(fields: &mut Object, key: &'static str) -> Result<Option<Vec<Json>>, EntryError> {
    match fields.remove(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Array(list)) => Ok(Some(list.into_vec())),
        Some(_) => Err(EntryError::Field(key, "a list")),
    }
}

fn take_flag(fields: &mut Object, key: &'static str) -> Result<bool, EntryError> {
    match fields.remove(key) {
        None | Some(Json::Null) => Ok(false),
        Some(Json::Bool(flag)) => Ok(flag),
        Some(_) => Err(EntryError::Field(key, "true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_fields_are_left_out_and_unknown_ones_stay() {
        let read = r#"{"mood":"calm","id":"m1","ts":"t","type":"msg","role":"user","content":"hi","tool_calls":null,"is_error":false,"is_meta":true}"#;
        let written = r#"{"id":"m1","ts":"t","type":"msg","role":"user","content":"hi","is_meta":true,"mood":"calm"}"#;
        let entry = ContextEntry::parse(read).unwrap();
        assert_eq!(entry.to_string(), written);
        assert_eq!(ContextEntry::parse(written).unwrap(), entry);
    }

    #[test]
    fn a_line_that_is_no_entry_says_what_it_lacks() {
        for (line, error) in [
            ("[]", "an entry must be a JSON object"),
            ("{}", "`type` is missing"),
            (r#"{"type":"msg","id":"m1","ts":"t","content":1}"#, "`role` is missing"),
            (r#"{"type":"msg","id":"m1","ts":"t","role":"user"}"#, "`content` is missing"),
            (r#"{"type":"msg","id":1,"ts":"t","role":"user"}"#, "`id` must be a string"),
            (r#"{"type":"evt","id":"e1","ts":"t","event":"x"}"#, "`data` must be an object"),
            (
                r#"{"type":"msg","id":"m1","ts":"t","role":"robot","content":1}"#,
                "role `robot` is none of system, user, assistant, tool and developer",
            ),
            (
                r#"{"type":"tree","id":"t1"}"#,
                "type `tree` is neither `msg` nor `evt`; a newer program may know it",
            ),
        ] {
            assert_eq!(ContextEntry::parse(line).unwrap_err().to_string(), error, "{line}");
        }
        assert!(matches!(ContextEntry::parse("{"), Err(EntryError::Json(_))));
    }
}
