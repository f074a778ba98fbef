//! The parts of a message, distinguished by their `type`.

use super::ToolPart;
use crate::json::{Json, Object};

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum UiPart {
    /// `text`: the words of the message.
    Text(TextPart),
    /// `reasoning`: the thoughts of the model.
    Reasoning(ReasoningPart),
    /// `file`: an attachment, by URL.
    File(FilePart),
    /// `source-url`: a page that the answer rests on.
    SourceUrl(SourceUrlPart),
    /// `source-document`: a document that the answer rests on.
    SourceDocument(SourceDocumentPart),
    /// `step-start`: the beginning of a step of the run.
    StepStart(StepStartPart),
    /// `data-<name>`: data of an application.
    Data(DataPart),
    /// `tool-<name>` or `dynamic-tool`: a tool call with its result.
    Tool(ToolPart),
    /// A part of an unknown type, or a value that is not a part; kept as it was read.
    Unknown(Json),
}

/// The operations of every part, which keeps the object it was read from.
pub trait PartFields {
    /// Returns the object with all fields, in their order.
    fn object(&self) -> &Object;

    /// Returns any field, as it was read.
    fn field(&self, key: &str) -> Option<&Json> {
        self.object().get(key)
    }

    /// Returns the metadata of the provider of this part, unless it is absent or null.
    fn provider_metadata(&self) -> Option<&Json> {
        self.field("providerMetadata").filter(|metadata| !metadata.is_null())
    }
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(pub(crate) Object);

        impl PartFields for $name {
            fn object(&self) -> &Object {
                &self.0
            }
        }

        impl $name {
            /// Returns the object for changes. Its `type` must stay.
            pub(crate) fn object_mut(&mut self) -> &mut Object {
                &mut self.0
            }
        }
    )*};
}

parts! {
    /// The words of the message: `text`, `state?`.
    TextPart
    /// The thoughts of the model: `text`, `id?`, `state?`.
    ReasoningPart
    /// An attachment: `mediaType`, `url`, `filename?`.
    FilePart
    /// A page on the web: `sourceId`, `url`, `title?`.
    SourceUrlPart
    /// A document: `sourceId`, `mediaType`, `title`, `filename?`.
    SourceDocumentPart
    /// The beginning of a step, without fields.
    StepStartPart
    /// Application data: `data`, `id?`.
    DataPart
}

/// The state of a text: growing or complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextState {
    /// More text may come, or never came.
    Streaming,
    /// The text is complete.
    Done,
    /// The state is unknown to this program.
    Unknown,
}

fn text_state(object: &Object) -> Option<TextState> {
    object.get("state").map(|state| match state.as_str() {
        Some("streaming") => TextState::Streaming,
        Some("done") => TextState::Done,
        _ => TextState::Unknown,
    })
}

impl TextPart {
    /// Makes a text part without a state, as user messages have it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Object::from([("type", Json::from("text")), ("text", text.into().into())]))
    }

    /// Returns the text; empty if it is not a string.
    pub fn text(&self) -> &str {
        self.0.str("text").unwrap_or_default()
    }

    /// Returns whether the text is complete, if the part says so.
    pub fn state(&self) -> Option<TextState> {
        text_state(&self.0)
    }
}

impl ReasoningPart {
    /// Returns the text; empty if it is not a string.
    pub fn text(&self) -> &str {
        self.0.str("text").unwrap_or_default()
    }

    /// Returns whether the text is complete, if the part says so.
    pub fn state(&self) -> Option<TextState> {
        text_state(&self.0)
    }
}

impl FilePart {
    /// Makes a file part from a URL.
    pub fn new(media_type: impl Into<String>, url: impl Into<String>) -> Self {
        Self(Object::from([
            ("type", Json::from("file")),
            ("mediaType", media_type.into().into()),
            ("url", url.into().into()),
        ]))
    }

    /// Returns the media type; empty if it is not a string.
    pub fn media_type(&self) -> &str {
        self.0.str("mediaType").unwrap_or_default()
    }

    /// Returns the URL of the file: http(s), `data:` or any other.
    pub fn url(&self) -> &str {
        self.0.str("url").unwrap_or_default()
    }

    /// Returns the name of the file.
    pub fn filename(&self) -> Option<&str> {
        self.0.str("filename")
    }
}

impl StepStartPart {
    /// Makes the part that begins a step.
    pub fn new() -> Self {
        Self(Object::from([("type", Json::from("step-start"))]))
    }
}

impl Default for StepStartPart {
    fn default() -> Self {
        Self::new()
    }
}

impl DataPart {
    /// Returns the name: the text after `data-`.
    pub fn name(&self) -> &str {
        let kind = self.0.str("type").unwrap_or_default();
        kind.strip_prefix("data-").unwrap_or(kind)
    }

    /// Returns the data itself.
    pub fn data(&self) -> Option<&Json> {
        self.0.get("data")
    }
}

impl UiPart {
    /// Returns the object of the part; `None` if the type is unknown.
    pub fn object(&self) -> Option<&Object> {
        Some(match self {
            Self::Text(part) => part.object(),
            Self::Reasoning(part) => part.object(),
            Self::File(part) => part.object(),
            Self::SourceUrl(part) => part.object(),
            Self::SourceDocument(part) => part.object(),
            Self::StepStart(part) => part.object(),
            Self::Data(part) => part.object(),
            Self::Tool(part) => part.object(),
            Self::Unknown(_) => return None,
        })
    }

    /// Makes a text part, the most frequent one.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart::new(text))
    }

    /// Reads a part from a value. Every value is some part; see [`UiPart::Unknown`].
    pub fn from_json(json: Json) -> Self {
        let Json::Object(object) = json else { return Self::Unknown(json) };
        match object.str("type") {
            Some("text") => Self::Text(TextPart(object)),
            Some("reasoning") => Self::Reasoning(ReasoningPart(object)),
            Some("file") => Self::File(FilePart(object)),
            Some("source-url") => Self::SourceUrl(SourceUrlPart(object)),
            Some("source-document") => Self::SourceDocument(SourceDocumentPart(object)),
            Some("step-start") => Self::StepStart(StepStartPart(object)),
            Some(kind) if kind.starts_with("data-") => Self::Data(DataPart(object)),
            Some(kind) if kind == "dynamic-tool" || kind.starts_with("tool-") => {
                Self::Tool(ToolPart::from_object(object))
            }
            _ => Self::Unknown(Json::Object(object)),
        }
    }

    /// Returns the part as JSON.
    pub fn into_json(self) -> Json {
        match self {
            Self::Text(TextPart(object))
            | Self::Reasoning(ReasoningPart(object))
            | Self::File(FilePart(object))
            | Self::SourceUrl(SourceUrlPart(object))
            | Self::SourceDocument(SourceDocumentPart(object))
            | Self::StepStart(StepStartPart(object))
            | Self::Data(DataPart(object)) => Json::Object(object),
            Self::Tool(tool) => Json::Object(tool.into_object()),
            Self::Unknown(json) => json,
        }
    }
}
