//! The way back from a change of the contexts, apart from the words about the change.

use ship_message::json::{Json, Object};
use ship_store::ContextId;

/// The way back from a change. The line about the change ends with the command for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayBack {
    /// The line up to the command.
    pub introduction: String,
    /// The destination of the command.
    pub destination: Destination,
}

/// A context or a place to which a person can go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The context that was left.
    Context(ContextId),
    /// The checkpoint of this name.
    Checkpoint(String),
}

impl WayBack {
    /// Returns the whole line, with the command that a person types in `ship chat`.
    pub fn line_in_chat(&self) -> String {
        match &self.destination {
            Destination::Context(context) => {
                format!("{}/context load {context}", self.introduction)
            }
            Destination::Checkpoint(name) => format!("{}/rewind {name}", self.introduction),
        }
    }

    /// Returns the way back in the form of the ledger and of notices.
    pub(crate) fn to_json(&self) -> Json {
        let (key, destination) = match &self.destination {
            Destination::Context(context) => ("context", context.as_str()),
            Destination::Checkpoint(name) => ("checkpoint", name.as_str()),
        };
        let introduction = ("introduction", self.introduction.as_str());
        Json::Object(Object::from([introduction, (key, destination)]))
    }

    /// Reads a way back; `None` if this is none that we know.
    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        let destination = match (text("context"), text("checkpoint")) {
            (Some(context), _) => Destination::Context(context.parse().ok()?),
            (None, name) => Destination::Checkpoint(name?.to_owned()),
        };
        Some(Self { introduction: text("introduction")?.to_owned(), destination })
    }
}
