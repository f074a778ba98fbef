//! The four parts that one tool call becomes: the call, its result, the approval request and its answer.

use super::part::{PartSource, SourceObject};
use super::value::{ModelValue, present};
use crate::json::{Json, Object, ObjectWriter};
use crate::ui::{PartFields, ToolPart, ToolState};

const DENIED: &str = "Tool call execution denied.";
const TOOL_IS_GONE: &str = "Tool output omitted because the tool is no longer available.";
const UNKNOWN_ERROR: &str = "unknown error";

/// Says where a tool ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunBy {
    /// The tool ran here: its result is a message of its own, and an error is text.
    Us,
    /// The provider ran the tool: its result follows the call, and an error is JSON.
    Provider,
}

/// The form in which the model is shown an output.
#[derive(Clone, Debug)]
pub(crate) enum OutputForm {
    /// A string is shown as text, any other value as JSON.
    AsIs,
    /// The output is left out, because the tool no longer exists.
    Gone,
    /// The tool itself gives the form.
    AsTool(Box<Json>),
}

macro_rules! tool_parts {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name<'a>(PartSource<'a, ToolPart>);

        impl<'a> $name<'a> {
            pub(crate) fn of(part: &'a ToolPart) -> Self {
                Self(PartSource::Ui(part))
            }

            pub(super) fn given(object: Box<Object>) -> Self {
                Self(PartSource::Given(object))
            }

            pub(super) fn object(&self) -> Option<&Object> {
                self.0.given()
            }
        }
    )*};
}

tool_parts! {
    /// `tool-call`
    ToolCallModelPart
    /// `tool-approval-request`
    ToolApprovalRequestModelPart
    /// `tool-approval-response`
    ToolApprovalResponseModelPart
}

/// Returns the name of a tool: a field of a dynamic part, or the end of the type.
fn tool_name(part: &ToolPart) -> Option<ModelValue<'_>> {
    if part.is_dynamic() {
        part.field("toolName").map(ModelValue::Ref)
    } else {
        part.name().map(ModelValue::Str)
    }
}

/// Returns a field of the approval. As in JavaScript, only an object has fields.
pub(crate) fn approval<'a>(part: &'a ToolPart, key: &str) -> Option<&'a Json> {
    part.field("approval").and_then(|approval| approval.get(key))
}

impl PartSource<'_, ToolPart> {
    /// Returns a field that the UI part keeps in its approval, under another name.
    fn of_approval(&self, here: &str, in_approval: &str) -> Option<&Json> {
        match self {
            Self::Ui(part) => approval(part, in_approval),
            Self::Given(object) => object.get(here),
        }
    }
}

impl ToolCallModelPart<'_> {
    /// Returns the field `toolCallId`.
    pub fn call_id(&self) -> Option<ModelValue<'_>> {
        self.0.get("toolCallId").map(ModelValue::Ref)
    }

    /// Returns the field `toolName`.
    pub fn tool_name(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            PartSource::Ui(part) => tool_name(part),
            PartSource::Given(object) => object.get("toolName").map(ModelValue::Ref),
        }
    }

    /// Returns `input`. A failed call without an input shows the text that could not be parsed.
    pub fn input(&self) -> Option<ModelValue<'_>> {
        let input = match &self.0 {
            PartSource::Ui(part) if part.state() == ToolState::OutputError => {
                present(part.input()).or_else(|| part.field("rawInput"))
            }
            PartSource::Ui(_) | PartSource::Given(_) => self.0.get("input"),
        };
        input.map(ModelValue::Ref)
    }

    /// Returns the field `providerExecuted`.
    pub fn provider_executed(&self) -> Option<ModelValue<'_>> {
        self.0.get("providerExecuted").map(ModelValue::Ref)
    }

    /// Returns `providerOptions`. A failed call falls back to the metadata of its result.
    pub fn provider_options(&self) -> Option<ModelValue<'_>> {
        let options = match &self.0 {
            PartSource::Ui(part) => present(part.field("callProviderMetadata")).or_else(|| {
                let failed = part.state() == ToolState::OutputError;
                present(part.field("resultProviderMetadata")).filter(|_| failed)
            }),
            PartSource::Given(object) => object.get("providerOptions"),
        };
        options.map(ModelValue::Ref)
    }

    pub(super) fn write_to(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.value("type", ModelValue::Str("tool-call"));
        object.option("toolCallId", self.call_id());
        object.option("toolName", self.tool_name());
        object.option("input", self.input());
        object.option("providerExecuted", self.provider_executed());
        object.option("providerOptions", self.provider_options());
    }
}

impl ToolApprovalRequestModelPart<'_> {
    /// Returns the field `approvalId`.
    pub fn approval_id(&self) -> Option<ModelValue<'_>> {
        self.0.of_approval("approvalId", "id").map(ModelValue::Ref)
    }

    /// Returns the field `toolCallId`.
    pub fn call_id(&self) -> Option<ModelValue<'_>> {
        self.0.get("toolCallId").map(ModelValue::Ref)
    }

    /// Returns `signature`, which can prove that the request was made.
    pub fn signature(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            PartSource::Ui(part) => present(approval(part, "signature")).map(ModelValue::Ref),
            PartSource::Given(object) => object.get("signature").map(ModelValue::Ref),
        }
    }

    pub(super) fn write_to(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.value("type", ModelValue::Str("tool-approval-request"));
        object.option("approvalId", self.approval_id());
        object.option("toolCallId", self.call_id());
        let input = self.0.of_approval("inputSchemaInput", "inputSchemaInput");
        object.option("inputSchemaInput", input.map(ModelValue::Ref));
        object.option("signature", self.signature());
    }
}

impl ToolApprovalResponseModelPart<'_> {
    /// Returns the field `approvalId`.
    pub fn approval_id(&self) -> Option<ModelValue<'_>> {
        self.0.of_approval("approvalId", "id").map(ModelValue::Ref)
    }

    /// Returns the field `approved`.
    pub fn approved(&self) -> Option<ModelValue<'_>> {
        self.0.of_approval("approved", "approved").map(ModelValue::Ref)
    }

    /// Returns the field `reason`.
    pub fn reason(&self) -> Option<ModelValue<'_>> {
        self.0.of_approval("reason", "reason").map(ModelValue::Ref)
    }

    /// Returns the field `providerExecuted`.
    pub fn provider_executed(&self) -> Option<ModelValue<'_>> {
        self.0.get("providerExecuted").map(ModelValue::Ref)
    }

    pub(super) fn write_to(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.value("type", ModelValue::Str("tool-approval-response"));
        object.option("approvalId", self.approval_id());
        object.option("approved", self.approved());
        object.option("reason", self.reason());
        object.option("providerExecuted", self.provider_executed());
    }
}

/// A `tool-result` part of a model message.
#[derive(Clone, Debug)]
pub struct ToolResultModelPart<'a>(ResultSource<'a>);

#[derive(Clone, Debug)]
enum ResultSource<'a> {
    Ui { part: &'a ToolPart, run_by: RunBy, shown: OutputForm },
    Given(Box<Object>),
}

/// The output of a tool: `{type, value}`.
#[derive(Clone, Debug)]
pub enum ToolOutput<'v> {
    /// One of the kinds that the conversion makes.
    Of(ToolOutputKind, ModelValue<'v>),
    /// Any other output, as the caller gave it.
    Other(&'v Json),
}

/// The kinds of output that the conversion makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kinds' own names")]
pub enum ToolOutputKind {
    Text,
    Json,
    ErrorText,
    ErrorJson,
}

names!(ToolOutputKind {
    Text = "text",
    Json = "json",
    ErrorText = "error-text",
    ErrorJson = "error-json",
});

impl<'a> ToolResultModelPart<'a> {
    pub(crate) fn of(part: &'a ToolPart, run_by: RunBy, shown: OutputForm) -> Self {
        Self(ResultSource::Ui { part, run_by, shown })
    }

    pub(super) fn given(object: Box<Object>) -> Self {
        Self(ResultSource::Given(object))
    }

    pub(super) fn object(&self) -> Option<&Object> {
        match &self.0 {
            ResultSource::Ui { .. } => None,
            ResultSource::Given(object) => Some(object),
        }
    }

    /// Returns `toolCallId`: the id of the answered call.
    pub fn call_id(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            ResultSource::Ui { part, .. } => part.field("toolCallId").map(ModelValue::Ref),
            ResultSource::Given(object) => object.get("toolCallId").map(ModelValue::Ref),
        }
    }

    /// Returns the field `toolName`.
    pub fn tool_name(&self) -> Option<ModelValue<'_>> {
        match &self.0 {
            ResultSource::Ui { part, .. } => tool_name(part),
            ResultSource::Given(object) => object.get("toolName").map(ModelValue::Ref),
        }
    }

    /// Returns `output`: the answer of the tool.
    pub fn output(&self) -> Option<ToolOutput<'_>> {
        match &self.0 {
            ResultSource::Ui { part, run_by, shown } => Some(output(part, *run_by, shown)),
            ResultSource::Given(object) => {
                let output = object.get("output")?;
                let kind =
                    output.get("type").and_then(Json::as_str).and_then(ToolOutputKind::named);
                Some(match (kind, output.get("value")) {
                    (Some(kind), Some(value)) => ToolOutput::Of(kind, ModelValue::Ref(value)),
                    _ => ToolOutput::Other(output),
                })
            }
        }
    }

    /// Returns `output.providerOptions`, which the conversion never makes.
    pub fn output_options(&self) -> Option<&Json> {
        match &self.0 {
            ResultSource::Ui { shown: OutputForm::AsTool(output), .. } => {
                output.get("providerOptions")
            }
            ResultSource::Ui { .. } => None,
            ResultSource::Given(object) => object.get("output")?.get("providerOptions"),
        }
    }

    /// Returns the field `providerOptions`.
    pub fn provider_options(&self) -> Option<ModelValue<'_>> {
        let options = match &self.0 {
            ResultSource::Ui { part, run_by, .. } => {
                let of_call = || present(part.field("callProviderMetadata"));
                match run_by {
                    RunBy::Us => of_call(),
                    RunBy::Provider => {
                        present(part.field("resultProviderMetadata")).or_else(of_call)
                    }
                }
            }
            ResultSource::Given(object) => object.get("providerOptions"),
        };
        options.map(ModelValue::Ref)
    }

    pub(super) fn write_to(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.value("type", ModelValue::Str("tool-result"));
        object.option("toolCallId", self.call_id());
        object.option("toolName", self.tool_name());
        match self.output() {
            Some(ToolOutput::Of(kind, value)) => {
                let mut output = ObjectWriter::open(object.key("output"));
                output.value("type", ModelValue::Str(kind.name()));
                output.value("value", value);
            }
            Some(ToolOutput::Other(output)) => object.value("output", ModelValue::Ref(output)),
            None => {}
        }
        object.option("providerOptions", self.provider_options());
    }
}

fn output<'v>(part: &'v ToolPart, run_by: RunBy, shown: &'v OutputForm) -> ToolOutput<'v> {
    match (part.state(), shown) {
        (ToolState::OutputDenied, _) => {
            let reason = present(approval(part, "reason"));
            let value = reason.map_or(ModelValue::Str(DENIED), ModelValue::Ref);
            ToolOutput::Of(ToolOutputKind::ErrorText, value)
        }
        (ToolState::OutputError, _) => error_output(part.field("errorText"), run_by),
        (_, OutputForm::Gone) => {
            ToolOutput::Of(ToolOutputKind::Text, ModelValue::Str(TOOL_IS_GONE))
        }
        (_, OutputForm::AsTool(output)) => ToolOutput::Other(output),
        (_, OutputForm::AsIs) => match part.output() {
            Some(text @ Json::String(_)) => {
                ToolOutput::Of(ToolOutputKind::Text, ModelValue::Ref(text))
            }
            Some(json) => ToolOutput::Of(ToolOutputKind::Json, ModelValue::Ref(json)),
            None => ToolOutput::Of(ToolOutputKind::Json, ModelValue::Owned(Json::Null)),
        },
    }
}

fn error_output(error: Option<&Json>, run_by: RunBy) -> ToolOutput<'_> {
    match (run_by, error) {
        (RunBy::Provider, error) => {
            let value = error.map_or(ModelValue::Owned(Json::Null), ModelValue::Ref);
            ToolOutput::Of(ToolOutputKind::ErrorJson, value)
        }
        (RunBy::Us, None | Some(Json::Null)) => {
            ToolOutput::Of(ToolOutputKind::ErrorText, ModelValue::Str(UNKNOWN_ERROR))
        }
        (RunBy::Us, Some(text @ Json::String(_))) => {
            ToolOutput::Of(ToolOutputKind::ErrorText, ModelValue::Ref(text))
        }
        (RunBy::Us, Some(json)) => {
            ToolOutput::Of(ToolOutputKind::ErrorText, ModelValue::Owned(json.stringify().into()))
        }
    }
}
