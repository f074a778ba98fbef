//! `UIMessage`: the message as it is stored and shown.
//!
//! A message and each of its parts keep the JSON object they were read from. The enums give the kind of a part; the
//! object keeps all fields, known or not, in their order. So reading and writing a message gives the same JSON,
//! even with fields of a newer program, and changing one field leaves the others in place.

mod derived;
mod part;
mod tool;

pub use part::{
    DataPart, FilePart, PartFields, ReasoningPart, SourceDocumentPart, SourceUrlPart,
    StepStartPart, TextPart, TextState, UiPart,
};
pub use tool::{INTERRUPTED_CALL, ToolPart, ToolState};

use std::any::Any;
use std::sync::Arc;

use crate::json::{Json, Object};
use derived::DerivedValues;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions, which are never stored in a chat's history.
    System,
    /// The person in the chat.
    User,
    /// The agent, or the model behind it.
    Assistant,
    /// Any other role that was read.
    Unknown,
}

names!(Role {
    System = "system",
    User = "user",
    Assistant = "assistant",
} else Unknown);

/// The value is not a JSON object, and so not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message must be a JSON object")]
pub struct NotAMessage;

/// A message as the AI SDK's `UIMessage`: `id`, `role`, `metadata?`, `parts`, and any other fields it had.
///
/// ```
/// use ship_message::{Role, UiMessage, UiPart};
///
/// let text = r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}],"x":1}"#;
/// let message = UiMessage::parse(text)?;
/// assert!(matches!(&message.parts()[0], UiPart::Text(text) if text.text() == "hi"));
/// assert_eq!((message.role(), message.to_string()), (Role::User, text.to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A copy shares its content with the original until one of them is changed.
#[derive(Clone, PartialEq)]
pub struct UiMessage {
    content: Arc<MessageContent>,
}

#[derive(Clone, PartialEq)]
struct MessageContent {
    /// All fields in order. While the parts are in `parts`, a null holds their place here.
    fields: Object,
    /// The parts, if the message has a list of them.
    parts: Option<Vec<UiPart>>,
    /// What was derived from these fields and parts.
    derived: DerivedValues,
    /// The author, as the fields tell. It stands here because a walk through a window asks each message for it, and the
    /// fields are elsewhere in memory.
    role: Role,
}

fn role_in(fields: &Object) -> Role {
    fields.str("role").map_or(Role::Unknown, Role::named)
}

impl UiMessage {
    /// Makes a message with these parts.
    pub fn new(id: impl Into<String>, role: Role, parts: Vec<UiPart>) -> Self {
        let fields = Object::from([
            ("id", Json::from(id.into())),
            ("role", role.name().map_or(Json::Null, Json::from)),
            ("parts", Json::Null),
        ]);
        Self::of(fields, Some(parts))
    }

    /// Reads a message from its JSON text.
    ///
    /// # Errors
    /// Fails if the text is not JSON, or not an object.
    pub fn parse(text: &str) -> Result<Self, UiMessageError> {
        Ok(Self::from_json(Json::parse(text)?)?)
    }

    /// Reads a message from a JSON object. The fields are not checked;
    /// [`validate_ui_messages`](crate::validate_ui_messages) does that.
    ///
    /// # Errors
    /// Fails if the value is not an object.
    pub fn from_json(json: Json) -> Result<Self, NotAMessage> {
        let Json::Object(fields) = json else { return Err(NotAMessage) };
        Ok(Self::from_object(fields))
    }

    /// Reads a message from an object. The fields are not checked.
    pub fn from_object(mut fields: Object) -> Self {
        let mut parts = None;
        if let Some(slot @ Json::Array(_)) = fields.get_mut("parts")
            && let Json::Array(array) = std::mem::take(slot)
        {
            parts = Some(array.into_vec().into_iter().map(UiPart::from_json).collect());
        }
        Self::of(fields, parts)
    }

    fn of(fields: Object, parts: Option<Vec<UiPart>>) -> Self {
        let (derived, role) = (DerivedValues::default(), role_in(&fields));
        Self { content: Arc::new(MessageContent { fields, parts, derived, role }) }
    }

    fn content_mut(&mut self) -> &mut MessageContent {
        let content = Arc::make_mut(&mut self.content);
        content.derived = DerivedValues::default();
        content
    }

    /// Returns a value that was derived from the message and is kept with its content, or else makes it and keeps it.
    /// One value of each type is kept; one that does not fit is made again. Every copy of the message shares it until
    /// its content changes.
    ///
    /// The value must follow from the message and from what `fits` checks. It must not hold a copy of the message, which
    /// would keep both in memory for ever.
    ///
    /// ```
    /// use ship_message::{Role, UiMessage, UiPart};
    ///
    /// struct Letters(usize);
    /// let letters = |message: &UiMessage| message.derived(|_| true, || Letters(message.text().len())).0;
    /// let mut message = UiMessage::new("m1", Role::User, vec![UiPart::text("How are you?")]);
    /// let before = letters(&message);
    /// message.parts_mut()[0] = UiPart::text("Fine!");
    /// assert_eq!((before, letters(&message)), (12, 5));
    /// ```
    pub fn derived<T: Any + Send + Sync>(
        &self,
        fits: impl FnOnce(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some(known) = self.known::<T>().filter(|known| fits(known)) {
            return known;
        }
        // It is made without a lock, so that two tasks at once make it twice and none waits.
        let made = Arc::new(make());
        self.content.derived.set(Arc::clone(&made));
        made
    }

    /// Whether this is a copy of another message, and neither was changed since.
    pub fn shares_content(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }

    /// Returns a value of [`UiMessage::derived`], if one of its type is kept.
    pub fn known<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.content.derived.get()
    }

    /// Returns the message as JSON, without copying what no other copy of the message shares.
    pub fn into_json(self) -> Json {
        Json::Object(self.into_object())
    }

    /// Returns the message as an object, like [`UiMessage::into_json`].
    pub fn into_object(self) -> Object {
        let MessageContent { mut fields, parts, .. } = Arc::unwrap_or_clone(self.content);
        if let Some(parts) = parts {
            let parts: Vec<Json> = parts.into_iter().map(UiPart::into_json).collect();
            fields.set("parts", parts);
        }
        fields
    }

    /// Returns a copy of the message as JSON.
    pub fn to_json(&self) -> Json {
        self.clone().into_json()
    }

    /// Returns the id, if it is a string.
    pub fn id(&self) -> Option<&str> {
        self.content.fields.str("id")
    }

    /// Replaces the id of the message.
    pub fn set_id(&mut self, id: impl Into<String>) {
        self.content_mut().fields.set("id", id.into());
    }

    /// Returns the author of the message.
    pub fn role(&self) -> Role {
        self.content.role
    }

    /// Returns the metadata, unless it is absent or null.
    pub fn metadata(&self) -> Option<&Json> {
        self.content.fields.get("metadata").filter(|metadata| !metadata.is_null())
    }

    /// Returns the metadata for changes, unless it is absent or null.
    pub(crate) fn metadata_mut(&mut self) -> Option<&mut Json> {
        self.content_mut().fields.get_mut("metadata").filter(|metadata| !metadata.is_null())
    }

    /// Replaces the metadata of the message.
    pub fn set_metadata(&mut self, metadata: Json) {
        self.content_mut().fields.set("metadata", metadata);
    }

    /// Sets the metadata, or removes it if there is none.
    pub fn set_metadata_or_remove(&mut self, metadata: Option<Json>) {
        self.content_mut().fields.set_or_remove("metadata", metadata);
    }

    /// Returns the parts; none if the message has no list of them.
    pub fn parts(&self) -> &[UiPart] {
        self.content.parts.as_deref().unwrap_or_default()
    }

    /// Returns the parts for changes. A message without a list of parts gets an empty one.
    pub fn parts_mut(&mut self) -> &mut Vec<UiPart> {
        let MessageContent { fields, parts, .. } = self.content_mut();
        if parts.is_none() {
            fields.set("parts", Json::Null);
        }
        parts.get_or_insert_default()
    }

    /// Whether the message has a list of parts, even an empty one.
    pub fn has_parts(&self) -> bool {
        self.content.parts.is_some()
    }

    /// Returns any field except `parts`, as it was read.
    pub fn field(&self, key: &str) -> Option<&Json> {
        self.content.fields.get(key)
    }

    /// Returns all fields in order; `parts` is null here if it is a list.
    pub fn fields(&self) -> &Object {
        &self.content.fields
    }

    /// Keeps only the fields that `keep` accepts.
    pub(crate) fn retain_fields(&mut self, keep: impl Fn(&str) -> bool) {
        let content = self.content_mut();
        content.fields.retain(|key, _| keep(key));
        content.role = role_in(&content.fields);
    }

    /// Returns the texts of the text parts, joined by newlines: what a person would read.
    pub fn text(&self) -> String {
        let texts = self.parts().iter().filter_map(|part| {
            if let UiPart::Text(text) = part { Some(text.text()) } else { None }
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The reason why a text is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UiMessageError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] crate::json::JsonError),
    /// The JSON is not an object.
    #[error(transparent)]
    NotAMessage(#[from] NotAMessage),
}

impl std::fmt::Display for UiMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_json().fmt(f)
    }
}

impl std::fmt::Debug for UiMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_json().fmt(f)
    }
}
