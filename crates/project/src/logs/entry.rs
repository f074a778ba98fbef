//! Describes one line of a log, and decides which of its fields are written.

use ship_message::json::{Json, Object};
use ship_record::{ChatKey, Timestamp};

use super::LogOptions;
use crate::Secrets;

/// The depth below which values are written as the text of their JSON. No person reads deeper, and a hostile body
/// must not exhaust the stack.
const DEPTH_MAX: usize = 32;

/// The importance of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Details for developers of the program.
    Debug,
    /// A normal event of the program.
    Info,
    /// A problem that does not stop the work.
    Warn,
    /// A failure of an operation.
    Error,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// A line for the log.
///
/// A field is plain, message text or payload. The words of a person or a model are message text, and so is anything
/// that may quote them: a provider's error, a tool's input and output.
///
/// ```
/// use ship_project::{Level, LogEntry};
///
/// let entry = LogEntry::new(Level::Info, "llm_request").request("r1").plain("model", "small");
/// let entry = entry.message("text", "What is the plan?");
/// ```
#[derive(Debug, Clone)]
pub struct LogEntry {
    level: Level,
    kind: &'static str,
    ids: [(&'static str, Option<String>); 3],
    fields: Vec<(&'static str, LogField)>,
}

#[derive(Debug, Clone)]
enum LogField {
    Plain(Json),
    Message(Json),
    Payload(Json),
}

impl LogEntry {
    /// Begins a line of a kind.
    pub fn new(level: Level, kind: &'static str) -> Self {
        let ids = [("chatKey", None), ("requestId", None), ("runId", None)];
        Self { level, kind, ids, fields: Vec::new() }
    }

    /// Sets the chat that the line belongs to.
    #[must_use]
    pub fn chat(mut self, key: &ChatKey) -> Self {
        self.ids[0].1 = Some(key.as_str().to_owned());
        self
    }

    /// Sets the request that the line belongs to.
    #[must_use]
    pub fn request(mut self, id: impl Into<String>) -> Self {
        self.ids[1].1 = Some(id.into());
        self
    }

    /// Sets the run that the line belongs to.
    #[must_use]
    pub fn run(mut self, id: impl Into<String>) -> Self {
        self.ids[2].1 = Some(id.into());
        self
    }

    /// Adds a field that contains no message text.
    #[must_use]
    pub fn plain(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.fields.push((name, LogField::Plain(value.into())));
        self
    }

    /// Adds a field that contains, or may quote, message text. It is left out if message text is not wanted.
    #[must_use]
    pub fn message(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.fields.push((name, LogField::Message(value.into())));
        self
    }

    /// Adds a raw body. It is left out unless it is wanted, and always if message text is not wanted.
    #[must_use]
    pub fn payload(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.fields.push((name, LogField::Payload(value.into())));
        self
    }

    /// Returns the line with the wanted fields and without secrets.
    pub(super) fn into_line(
        self,
        now: Timestamp,
        options: LogOptions,
        secrets: &Secrets,
    ) -> String {
        let mut line = Object::with_capacity(6 + self.fields.len());
        line.set("ts", now.to_string());
        line.set("level", self.level.as_str());
        line.set("kind", self.kind);
        for (name, id) in self.ids {
            if let Some(id) = id {
                line.set(name, secrets.mask(&id).into_owned());
            }
        }
        for (name, field) in self.fields {
            let value = match field {
                LogField::Plain(value) => Some(value),
                LogField::Message(value) => options.messages.then_some(value),
                LogField::Payload(value) => (options.messages && options.payload).then_some(value),
            };
            // A field must not replace one that every line has.
            if let (Some(value), false) = (value, line.has(name)) {
                line.set(name, mask_json(value, secrets, DEPTH_MAX));
            }
        }
        let mut text = String::new();
        Json::Object(line).write_to(&mut text);
        text.push('\n');
        text
    }
}

/// Returns the value without secrets. Strings are masked before they are written as JSON, so that a mask can
/// never break the line.
fn mask_json(value: Json, secrets: &Secrets, depth: usize) -> Json {
    let below = |value| mask_json(value, secrets, depth - 1);
    match value {
        Json::String(text) => secrets.mask(&text).into_owned().into(),
        Json::Array(_) | Json::Object(_) if depth == 0 => {
            secrets.mask(&value.to_string()).into_owned().into()
        }
        Json::Array(values) => values.into_vec().into_iter().map(below).collect::<Vec<_>>().into(),
        Json::Object(object) => {
            let entries = object.into_entries().into_iter();
            let masked: Object = entries
                .map(|(key, value)| (secrets.mask(&key).into_owned(), below(value)))
                .collect();
            masked.into()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value,
    }
}
