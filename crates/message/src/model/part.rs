//! The parts of a model message, told apart by their `type`.

use super::Value;
use super::value::ObjectWriter;
use crate::json::{Json, Object};

/// Declares a part: its JSON `type`, and its fields in the order in which they are written.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident $kind:literal { $($field:ident $key:literal)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        #[expect(missing_docs, reason = "each field is the JSON key of the same name")]
        pub struct $name<'a> {
            $(pub $field: Option<Value<'a>>,)*
            pub other: Object,
        }

        impl $name<'_> {
            fn from_object(mut other: Object) -> Self {
                other.remove("type");
                Self { $($field: other.remove($key).map(Value::Owned),)* other }
            }

            fn write_to(&self, out: &mut String) {
                let mut object = ObjectWriter::open(out);
                object.str("type", $kind);
                $(object.option($key, self.$field.as_ref());)*
                object.rest(&self.other);
            }
        }
    )*};
}

parts! {
    /// `text`
    TextModelPart "text" { text "text" provider_options "providerOptions" }
    /// `reasoning`
    ReasoningModelPart "reasoning" { text "text" provider_options "providerOptions" }
    /// `image`; conversion never makes one, callers may.
    ImageModelPart "image" {
        image "image" media_type "mediaType" provider_options "providerOptions"
    }
    /// `file`; `data` is a URL or base64.
    FileModelPart "file" {
        media_type "mediaType" filename "filename" data "data" provider_options "providerOptions"
    }
    /// `tool-call`
    ToolCallModelPart "tool-call" {
        call_id "toolCallId" tool_name "toolName" input "input"
        provider_executed "providerExecuted" provider_options "providerOptions"
    }
    /// `tool-approval-request`
    ToolApprovalRequestModelPart "tool-approval-request" {
        approval_id "approvalId" call_id "toolCallId" input_schema_input "inputSchemaInput"
        signature "signature"
    }
    /// `tool-approval-response`
    ToolApprovalResponseModelPart "tool-approval-response" {
        approval_id "approvalId" approved "approved" reason "reason"
        provider_executed "providerExecuted"
    }
}

/// `tool-result`
#[derive(Clone, Debug)]
pub struct ToolResultModelPart<'a> {
    /// The call that this answers.
    pub call_id: Option<Value<'a>>,
    /// The tool's name.
    pub tool_name: Option<Value<'a>>,
    /// What the tool answered.
    pub output: ToolOutput<'a>,
    /// What is meant for one provider alone.
    pub provider_options: Option<Value<'a>>,
    /// Fields we do not know.
    pub other: Object,
}

/// What a tool answered: `{type, value}`.
#[derive(Clone, Debug)]
pub enum ToolOutput<'a> {
    /// One of the kinds that conversion makes.
    Of(ToolOutputKind, Value<'a>),
    /// Any other output, as the caller gave it; none when it gave none.
    Other(Option<Value<'a>>),
}

/// The kinds of output that conversion makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kinds' own names")]
pub enum ToolOutputKind {
    Text,
    Json,
    ErrorText,
    ErrorJson,
}

impl ToolOutputKind {
    fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            "error-text" => Some(Self::ErrorText),
            "error-json" => Some(Self::ErrorJson),
            _ => None,
        }
    }

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::ErrorText => "error-text",
            Self::ErrorJson => "error-json",
        }
    }
}

impl ToolOutput<'_> {
    fn from_json(output: Option<Json>) -> Self {
        // Anything beside type and value belongs to the caller and is kept with them.
        if let Some(Json::Object(mut object)) = output {
            let kind = object.str("type").and_then(ToolOutputKind::named);
            if let (Some(kind), 2) = (kind, object.len())
                && let Some(value) = object.remove("value")
            {
                return Self::Of(kind, Value::Owned(value));
            }
            return Self::Other(Some(Value::Owned(Json::Object(object))));
        }
        Self::Other(output.map(Value::Owned))
    }
}

impl ToolResultModelPart<'_> {
    fn from_object(mut other: Object) -> Self {
        other.remove("type");
        Self {
            call_id: other.remove("toolCallId").map(Value::Owned),
            tool_name: other.remove("toolName").map(Value::Owned),
            output: ToolOutput::from_json(other.remove("output")),
            provider_options: other.remove("providerOptions").map(Value::Owned),
            other,
        }
    }

    fn write_to(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.str("type", "tool-result");
        object.option("toolCallId", self.call_id.as_ref());
        object.option("toolName", self.tool_name.as_ref());
        match &self.output {
            ToolOutput::Of(kind, value) => {
                let mut output = ObjectWriter::open(object.key("output"));
                output.str("type", kind.name());
                output.value("value", value);
            }
            ToolOutput::Other(output) => object.option("output", output.as_ref()),
        }
        object.option("providerOptions", self.provider_options.as_ref());
        object.rest(&self.other);
    }
}

/// One part of a model message.
#[derive(Clone, Debug)]
pub enum ModelPart<'a> {
    /// `text`
    Text(TextModelPart<'a>),
    /// `reasoning`
    Reasoning(ReasoningModelPart<'a>),
    /// `image`
    Image(ImageModelPart<'a>),
    /// `file`
    File(FileModelPart<'a>),
    /// `tool-call`
    ToolCall(ToolCallModelPart<'a>),
    /// `tool-result`
    ToolResult(ToolResultModelPart<'a>),
    /// `tool-approval-request`
    ToolApprovalRequest(ToolApprovalRequestModelPart<'a>),
    /// `tool-approval-response`
    ToolApprovalResponse(ToolApprovalResponseModelPart<'a>),
    /// A part of a type we do not know; kept as it was given.
    Unknown(Json),
}

impl ModelPart<'_> {
    /// Tells what part a value is. Everything is some part; see [`ModelPart::Unknown`].
    pub fn from_json(json: Json) -> Self {
        let Json::Object(object) = json else { return Self::Unknown(json) };
        match object.str("type") {
            Some("text") => Self::Text(TextModelPart::from_object(object)),
            Some("reasoning") => Self::Reasoning(ReasoningModelPart::from_object(object)),
            Some("image") => Self::Image(ImageModelPart::from_object(object)),
            Some("file") => Self::File(FileModelPart::from_object(object)),
            Some("tool-call") => Self::ToolCall(ToolCallModelPart::from_object(object)),
            Some("tool-result") => Self::ToolResult(ToolResultModelPart::from_object(object)),
            Some("tool-approval-request") => {
                Self::ToolApprovalRequest(ToolApprovalRequestModelPart::from_object(object))
            }
            Some("tool-approval-response") => {
                Self::ToolApprovalResponse(ToolApprovalResponseModelPart::from_object(object))
            }
            _ => Self::Unknown(Json::Object(object)),
        }
    }

    /// Appends the part's JSON text.
    pub fn write_to(&self, out: &mut String) {
        match self {
            Self::Text(part) => part.write_to(out),
            Self::Reasoning(part) => part.write_to(out),
            Self::Image(part) => part.write_to(out),
            Self::File(part) => part.write_to(out),
            Self::ToolCall(part) => part.write_to(out),
            Self::ToolResult(part) => part.write_to(out),
            Self::ToolApprovalRequest(part) => part.write_to(out),
            Self::ToolApprovalResponse(part) => part.write_to(out),
            Self::Unknown(json) => json.write_to(out),
        }
    }
}
