//! A context by its id and its title.

use ship_message::json::{Json, Object};
use ship_store::ContextId;

/// A context by its id and its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextName {
    /// The context.
    pub context: ContextId,
    /// Its title.
    pub title: String,
}

impl ContextName {
    pub(super) fn to_json(&self) -> Json {
        let fields = [("contextId", self.context.as_str()), ("title", self.title.as_str())];
        Json::Object(Object::from(fields))
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        let context = json.get("contextId")?.as_str()?.parse().ok()?;
        Some(Self { context, title: json.get("title")?.as_str()?.to_owned() })
    }

    pub(super) fn pair(&self) -> (&ContextId, &str) {
        (&self.context, &self.title)
    }
}
