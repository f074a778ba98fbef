//! The lines of a conversation: a message or an event, field by field.
//!
//! An entry is written with its keys in one order, `id, ts, type, role, tool_call_id, tool_name, content,
//! tool_calls, is_error, is_meta, compacted`, and fields that have their default are left out. Fields
//! that we do not know stand behind those that we do, in the order in which they were read, so that what
//! another program put into a line is not lost when the line is written again.

use std::fmt;

use ship_message::json::{Json, JsonError, Object};

/// Who an entry is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryRole {
    /// Instructions; they lead whatever a model is shown.
    System,
    /// A person.
    User,
    /// The agent.
    Assistant,
    /// The answer to one tool call.
    Tool,
    /// Instructions of the program around the agent, at their place in the talk.
    Developer,
}

impl EntryRole {
    /// Reads the role's name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            "developer" => Self::Developer,
            _ => return None,
        })
    }

    /// The role's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Developer => "developer",
        }
    }
}

/// One message of a conversation, as one line holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageEntry {
    /// Names the message; a later line with the same id replaces it.
    pub id: String,
    /// When it was said, in ISO 8601; kept as it was read.
    pub ts: String,
    /// Who it is from.
    pub role: EntryRole,
    /// What was said: text, or the parts of a UIMessage, or anything else.
    pub content: Json,
    /// The call that a tool's message answers.
    pub tool_call_id: Option<String>,
    /// The tool that answers.
    pub tool_name: Option<String>,
    /// The calls that an assistant's message makes.
    pub tool_calls: Option<Vec<Json>>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the program said it, in the role of the person: a skill's prompt.
    pub is_meta: bool,
    /// Whether a summary stands for it.
    pub compacted: bool,
    /// Fields that we do not know.
    pub other: Object,
}

impl MessageEntry {
    /// Makes a message with nothing but these.
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

    /// Gives the entry's JSON.
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

/// Anything else that a conversation remembers, as one line holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct EventEntry {
    /// Names the event; a later line with the same id replaces it.
    pub id: String,
    /// When it happened, in ISO 8601; kept as it was read.
    pub ts: String,
    /// What happened: `skill_activated`, `compaction`, `checkpoint`, or a program's own.
    pub event: String,
    /// To what, and how.
    pub data: Object,
    /// The message it is about.
    pub ref_msg_id: Option<String>,
    /// Fields that we do not know.
    pub other: Object,
}

impl EventEntry {
    /// Gives the entry's JSON.
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
    /// `"type":"msg"`
    Message(MessageEntry),
    /// `"type":"evt"`
    Event(EventEntry),
}

impl ContextEntry {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line is not JSON, or lacks what an entry must have.
    pub fn parse(line: &str) -> Result<Self, EntryError> {
        Self::from_json(Json::parse(line)?)
    }

    /// Takes a JSON object as an entry. A line without a `type` is told by its `role` or `event`.
    ///
    /// # Errors
    /// When it lacks what an entry must have.
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

    /// Gives the entry's JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Message(message) => message.to_json(),
            Self::Event(event) => event.to_json(),
        }
    }

    /// The id.
    pub fn id(&self) -> &str {
        match self {
            Self::Message(message) => &message.id,
            Self::Event(event) => &event.id,
        }
    }

    /// The message, if it is one.
    pub fn as_message(&self) -> Option<&MessageEntry> {
        if let Self::Message(message) = self { Some(message) } else { None }
    }

    /// The event, if it is one.
    pub fn as_event(&self) -> Option<&EventEntry> {
        if let Self::Event(event) = self { Some(event) } else { None }
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

/// Writes the line, without its end.
impl fmt::Display for ContextEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

/// Why a line is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// It is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is JSON, but not an object.
    #[error("an entry must be a JSON object")]
    NotAnObject,
    /// A field that must be there is not.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A field holds something else than it must.
    #[error("`{0}` must be {1}")]
    Field(&'static str, &'static str),
    /// A role that there is not.
    #[error("role `{0}` is none of system, user, assistant, tool and developer")]
    Role(String),
    /// A kind of entry that a newer program may know.
    #[error("type `{0}` is neither `msg` nor `evt`; a newer program may know it")]
    Type(String),
}

/// Our keys go first, and win.
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
