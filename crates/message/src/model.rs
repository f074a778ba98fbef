//! `ModelMessage`: the message as a model receives it.
//!
//! The conversion makes these for every request, so they copy nothing: a part of a `UIMessage` is a reference, and
//! its fields are read on demand. A part that was read from a caller's JSON keeps that object with all its fields.
//! Nothing is checked here. The AI SDK's conversion passes values of any type through, so every field is a
//! [`ModelValue`] that may be absent; the sender of the messages validates them.

mod part;
mod tool;
mod value;

pub use part::{FileModelPart, ImageModelPart, ModelPart, ReasoningModelPart, TextModelPart};
pub(crate) use tool::{OutputForm, RunBy};
pub use tool::{
    ToolApprovalRequestModelPart, ToolApprovalResponseModelPart, ToolCallModelPart, ToolOutput,
    ToolOutputKind, ToolResultModelPart,
};
pub use value::ModelValue;

use smallvec::SmallVec;

use crate::json::{Json, Object, ObjectWriter};

/// The author of a model message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the roles' own names")]
pub enum ModelRole {
    System,
    User,
    Assistant,
    Tool,
}

names!(ModelRole {
    System = "system",
    User = "user",
    Assistant = "assistant",
    Tool = "tool",
});

/// The parts of one model message. Most messages have one or two, which then need no allocation.
pub type ModelParts<'a> = SmallVec<[ModelPart<'a>; 2]>;

/// The content of a model message.
#[derive(Clone, Debug)]
pub enum ModelContent<'a> {
    /// The content is plain text.
    Text(Box<str>),
    /// The content is a list of parts.
    Parts(ModelParts<'a>),
}

/// A message in the form of the AI SDK's `ModelMessage`.
#[derive(Clone, Debug)]
pub struct ModelMessage<'a> {
    /// The author of the message.
    pub role: ModelRole,
    /// The content of the message.
    pub content: ModelContent<'a>,
    /// All other fields: `providerOptions`, which is meant for one provider, and unknown fields.
    /// Most messages have none.
    other: Option<Box<Object>>,
}

/// The reason why a value is not a model message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAModelMessage {
    /// The value is not an object.
    #[error("a model message must be a JSON object")]
    NotAnObject,
    /// The role is unknown to models.
    #[error("a model message must have the role system, user, assistant or tool")]
    Role,
    /// The content is neither a string nor a list.
    #[error("a model message must have a string or a list as its content")]
    Content,
}

impl<'a> ModelMessage<'a> {
    /// Makes a message with a role and content.
    pub fn new(role: ModelRole, content: ModelContent<'a>) -> Self {
        Self { role, content, other: None }
    }

    /// Sets the options for one provider.
    pub fn with_provider_options(mut self, options: Json) -> Self {
        self.other.get_or_insert_default().set("providerOptions", options);
        self
    }

    /// Reads a model message from JSON.
    ///
    /// # Errors
    /// Fails if the role or the content is not that of a model message. The parts are not checked.
    pub fn from_json(json: Json) -> Result<Self, NotAModelMessage> {
        let Json::Object(mut other) = json else { return Err(NotAModelMessage::NotAnObject) };
        let role = other.str("role").and_then(ModelRole::named).ok_or(NotAModelMessage::Role)?;
        let content = match other.remove("content") {
            Some(Json::String(text)) => ModelContent::Text(text.into_string().into()),
            Some(Json::Array(parts)) => ModelContent::Parts(
                parts.into_vec().into_iter().map(ModelPart::from_json).collect(),
            ),
            _ => return Err(NotAModelMessage::Content),
        };
        other.remove("role");
        let other = (!other.is_empty()).then(|| Box::new(other));
        Ok(Self { role, content, other })
    }

    /// Returns the options for one provider.
    pub fn provider_options(&self) -> Option<&Json> {
        self.other.as_ref()?.get("providerOptions")
    }

    /// Returns the parts; none if the content is plain text.
    pub fn parts(&self) -> &[ModelPart<'a>] {
        match &self.content {
            ModelContent::Text(_) => &[],
            ModelContent::Parts(parts) => parts,
        }
    }

    /// Whether the content is an empty text or an empty list.
    pub fn is_empty(&self) -> bool {
        match &self.content {
            ModelContent::Text(text) => text.is_empty(),
            ModelContent::Parts(parts) => parts.is_empty(),
        }
    }

    /// Appends the message as JSON text.
    pub fn write_to(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.value("role", ModelValue::Str(self.role.name()));
        match &self.content {
            ModelContent::Text(text) => object.value("content", ModelValue::Str(text)),
            ModelContent::Parts(parts) => {
                let out = object.key("content");
                out.push('[');
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    part.write_to(out);
                }
                out.push(']');
            }
        }
        for (key, value) in self.other.iter().flat_map(|other| other.iter()) {
            object.value(key, ModelValue::Ref(value));
        }
    }
}

impl std::fmt::Display for ModelMessage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        self.write_to(&mut text);
        f.write_str(&text)
    }
}
