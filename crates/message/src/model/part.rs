//! The parts of a model message, distinguished by their `type`.

use super::tool::{
    ToolApprovalRequestModelPart, ToolApprovalResponseModelPart, ToolCallModelPart,
    ToolResultModelPart,
};
use super::value::ModelValue;
use crate::json::{Json, Object, ObjectWriter};
use crate::ui::{FilePart, PartFields, ReasoningPart, TextPart};

/// The source of a part's fields: the UI part it was converted from, or the object it was read from.
#[derive(Clone, Debug)]
pub(super) enum PartSource<'a, P> {
    Ui(&'a P),
    Given(Box<Object>),
}

impl<P: PartFields> PartSource<'_, P> {
    /// Returns a field that has the same name in both sources.
    pub(super) fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Ui(part) => part.object().get(key),
            Self::Given(object) => object.get(key),
        }
    }
}

/// One part of a model message.
#[derive(Clone, Debug)]
pub enum ModelPart<'a> {
    /// A `text` part.
    Text(TextModelPart<'a>),
    /// A `reasoning` part.
    Reasoning(ReasoningModelPart<'a>),
    /// An `image` part.
    Image(ImageModelPart),
    /// A `file` part.
    File(FileModelPart<'a>),
    /// A `tool-call` part.
    ToolCall(ToolCallModelPart<'a>),
    /// A `tool-result` part.
    ToolResult(ToolResultModelPart<'a>),
    /// A `tool-approval-request` part.
    ToolApprovalRequest(ToolApprovalRequestModelPart<'a>),
    /// A `tool-approval-response` part.
    ToolApprovalResponse(ToolApprovalResponseModelPart<'a>),
    /// A part of an unknown type, kept as it was given.
    Unknown(Box<Json>),
}

/// A `text` part of a model message.
#[derive(Clone, Debug)]
pub struct TextModelPart<'a>(PartSource<'a, TextPart>);

/// A `reasoning` part of a model message.
#[derive(Clone, Debug)]
pub struct ReasoningModelPart<'a>(PartSource<'a, ReasoningPart>);

/// A `file` part, whose data is a URL or base64.
#[derive(Clone, Debug)]
pub struct FileModelPart<'a>(PartSource<'a, FilePart>);

/// An `image` part. The conversion never makes one, but callers may.
#[derive(Clone, Debug)]
pub struct ImageModelPart(Box<Object>);

impl<'a> TextModelPart<'a> {
    pub(crate) fn of(part: &'a TextPart) -> Self {
        Self(PartSource::Ui(part))
    }

    /// Returns the field `text`.
    pub fn text(&self) -> Option<ModelValue<'_>> {
        self.0.get("text").map(ModelValue::Ref)
    }

    /// Returns the field `providerOptions`.
    pub fn provider_options(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            PartSource::Ui(part) => part.provider_metadata().map(ModelValue::Ref),
            PartSource::Given(object) => object.get("providerOptions").map(ModelValue::Ref),
        }
    }
}

impl<'a> ReasoningModelPart<'a> {
    pub(crate) fn of(part: &'a ReasoningPart) -> Self {
        Self(PartSource::Ui(part))
    }

    /// Returns the field `text`.
    pub fn text(&self) -> Option<ModelValue<'_>> {
        self.0.get("text").map(ModelValue::Ref)
    }

    /// Returns `providerOptions`. Unlike other parts, reasoning passes a null on.
    pub fn provider_options(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            PartSource::Ui(part) => part.field("providerMetadata").map(ModelValue::Ref),
            PartSource::Given(object) => object.get("providerOptions").map(ModelValue::Ref),
        }
    }
}

impl<'a> FileModelPart<'a> {
    pub(crate) fn of(part: &'a FilePart) -> Self {
        Self(PartSource::Ui(part))
    }

    /// Returns the field `data`: a URL or base64.
    pub fn data(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            PartSource::Ui(part) => part.field("url").map(ModelValue::Ref),
            PartSource::Given(object) => object.get("data").map(ModelValue::Ref),
        }
    }

    /// Returns the field `mediaType`.
    pub fn media_type(&self) -> Option<ModelValue<'_>> {
        self.0.get("mediaType").map(ModelValue::Ref)
    }

    /// Returns the field `filename`.
    pub fn filename(&self) -> Option<ModelValue<'_>> {
        self.0.get("filename").map(ModelValue::Ref)
    }

    /// Returns the field `providerOptions`.
    pub fn provider_options(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            PartSource::Ui(part) => part.provider_metadata().map(ModelValue::Ref),
            PartSource::Given(object) => object.get("providerOptions").map(ModelValue::Ref),
        }
    }
}

impl ImageModelPart {
    /// Returns the field `image`: a URL or base64.
    pub fn image(&self) -> Option<ModelValue<'_>> {
        self.0.get("image").map(ModelValue::Ref)
    }

    /// Returns the field `mediaType`.
    pub fn media_type(&self) -> Option<ModelValue<'_>> {
        self.0.get("mediaType").map(ModelValue::Ref)
    }

    /// Returns the field `providerOptions`.
    pub fn provider_options(&self) -> Option<ModelValue<'_>> {
        self.0.get("providerOptions").map(ModelValue::Ref)
    }
}

/// Gives the object that a part was read from, if it was not converted.
pub(super) trait SourceObject {
    fn given(&self) -> Option<&Object>;
}

impl<P> SourceObject for PartSource<'_, P> {
    fn given(&self) -> Option<&Object> {
        match self {
            PartSource::Ui(_) => None,
            PartSource::Given(object) => Some(object),
        }
    }
}

impl ModelPart<'_> {
    /// Reads a part from a value. Every value is some part; see [`ModelPart::Unknown`].
    pub fn from_json(json: Json) -> Self {
        let Json::Object(object) = json else { return Self::Unknown(Box::new(json)) };
        let object = Box::new(object);
        match object.str("type") {
            Some("text") => Self::Text(TextModelPart(PartSource::Given(object))),
            Some("reasoning") => Self::Reasoning(ReasoningModelPart(PartSource::Given(object))),
            Some("image") => Self::Image(ImageModelPart(object)),
            Some("file") => Self::File(FileModelPart(PartSource::Given(object))),
            Some("tool-call") => Self::ToolCall(ToolCallModelPart::given(object)),
            Some("tool-result") => Self::ToolResult(ToolResultModelPart::given(object)),
            Some("tool-approval-request") => {
                Self::ToolApprovalRequest(ToolApprovalRequestModelPart::given(object))
            }
            Some("tool-approval-response") => {
                Self::ToolApprovalResponse(ToolApprovalResponseModelPart::given(object))
            }
            _ => Self::Unknown(Box::new(Json::Object(*object))),
        }
    }

    /// Returns the object that the part was read from, if it was not converted.
    fn given(&self) -> Option<&Object> {
        match self {
            Self::Text(part) => part.0.given(),
            Self::Reasoning(part) => part.0.given(),
            Self::Image(part) => Some(&part.0),
            Self::File(part) => part.0.given(),
            Self::ToolCall(part) => part.object(),
            Self::ToolResult(part) => part.object(),
            Self::ToolApprovalRequest(part) => part.object(),
            Self::ToolApprovalResponse(part) => part.object(),
            Self::Unknown(json) => json.as_object(),
        }
    }

    /// Appends the part as JSON text.
    pub fn write_to(&self, out: &mut String) {
        if let Some(object) = self.given() {
            crate::json::write_object(object, out);
            return;
        }
        match self {
            Self::Unknown(json) => json.write_to(out),
            Self::Image(_) => {}
            Self::Text(part) => {
                let mut object = ObjectWriter::open(out);
                object.value("type", ModelValue::Str("text"));
                object.option("text", part.text());
                object.option("providerOptions", part.provider_options());
            }
            Self::Reasoning(part) => {
                let mut object = ObjectWriter::open(out);
                object.value("type", ModelValue::Str("reasoning"));
                object.option("text", part.text());
                object.option("providerOptions", part.provider_options());
            }
            Self::File(part) => {
                let mut object = ObjectWriter::open(out);
                object.value("type", ModelValue::Str("file"));
                object.option("mediaType", part.media_type());
                object.option("filename", part.filename());
                object.option("data", part.data());
                object.option("providerOptions", part.provider_options());
            }
            Self::ToolCall(part) => part.write_to(out),
            Self::ToolResult(part) => part.write_to(out),
            Self::ToolApprovalRequest(part) => part.write_to(out),
            Self::ToolApprovalResponse(part) => part.write_to(out),
        }
    }
}
