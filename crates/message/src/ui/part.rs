//! The parts of a message, told apart by their `type`.

use super::ToolPart;
use crate::json::{Json, Object};

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum UiPart {
    /// `text`: what was said.
    Text(TextPart),
    /// `reasoning`: what the model thought.
    Reasoning(ReasoningPart),
    /// `file`: an attachment, by URL.
    File(FilePart),
    /// `source-url`: a page the answer rests on.
    SourceUrl(SourceUrlPart),
    /// `source-document`: a document the answer rests on.
    SourceDocument(SourceDocumentPart),
    /// `step-start`: where a step of the run begins.
    StepStart(StepStartPart),
    /// `data-<name>`: anything an application adds.
    Data(DataPart),
    /// `tool-<name>` or `dynamic-tool`: a tool call with its result.
    Tool(ToolPart),
    /// A part of a type we do not know, or no part at all; kept as it was read.
    Unknown(Json),
}

/// What every part can do, because it stands on the object it was read from.
pub trait PartFields {
    /// The object: every field, in its order.
    fn object(&self) -> &Object;

    /// Any field, as it was read.
    fn field(&self, key: &str) -> Option<&Json> {
        self.object().get(key)
    }

    /// Metadata of the provider that made this part, unless absent or null.
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
            /// The object, to change it. Its `type` must stay.
            pub(crate) fn object_mut(&mut self) -> &mut Object {
                &mut self.0
            }
        }
    )*};
}

parts! {
    /// What was said: `text`, `state?`.
    TextPart
    /// What the model thought: `text`, `id?`, `state?`.
    ReasoningPart
    /// An attachment: `mediaType`, `url`, `filename?`.
    FilePart
    /// A page: `sourceId`, `url`, `title?`.
    SourceUrlPart
    /// A document: `sourceId`, `mediaType`, `title`, `filename?`.
    SourceDocumentPart
    /// The beginning of a step. It has no fields.
    StepStartPart
    /// Application data: `data`, `id?`.
    DataPart
}

/// Whether a text is still growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextState {
    /// More may come, or never came.
    Streaming,
    /// Complete.
    Done,
    /// A state we do not know.
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
    /// Makes a text part without a state, as a person's message has it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Object::from([("type", Json::from("text")), ("text", text.into().into())]))
    }

    /// The text; empty when it is not a string.
    pub fn text(&self) -> &str {
        self.0.str("text").unwrap_or_default()
    }

    /// Whether the text is complete, if it says so.
    pub fn state(&self) -> Option<TextState> {
        text_state(&self.0)
    }
}

impl ReasoningPart {
    /// The text; empty when it is not a string.
    pub fn text(&self) -> &str {
        self.0.str("text").unwrap_or_default()
    }

    /// Whether the text is complete, if it says so.
    pub fn state(&self) -> Option<TextState> {
        text_state(&self.0)
    }
}

impl FilePart {
    /// Makes a file part.
    pub fn new(media_type: impl Into<String>, url: impl Into<String>) -> Self {
        Self(Object::from([
            ("type", Json::from("file")),
            ("mediaType", media_type.into().into()),
            ("url", url.into().into()),
        ]))
    }

    /// The media type; empty when it is not a string.
    pub fn media_type(&self) -> &str {
        self.0.str("mediaType").unwrap_or_default()
    }

    /// Where the file is: http(s), `data:` or anything else.
    pub fn url(&self) -> &str {
        self.0.str("url").unwrap_or_default()
    }

    /// The file's name.
    pub fn filename(&self) -> Option<&str> {
        self.0.str("filename")
    }
}

impl StepStartPart {
    /// Makes the mark that begins a step.
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
    /// The name: what follows `data-`.
    pub fn name(&self) -> &str {
        let kind = self.0.str("type").unwrap_or_default();
        kind.strip_prefix("data-").unwrap_or(kind)
    }

    /// The data itself.
    pub fn data(&self) -> Option<&Json> {
        self.0.get("data")
    }
}

impl UiPart {
    /// Makes a text part, the part that is made most.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart::new(text))
    }

    /// Tells what part a value is. Everything is some part; see [`UiPart::Unknown`].
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

    /// Gives the part's JSON.
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
