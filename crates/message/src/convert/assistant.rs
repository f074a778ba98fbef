//! Assistant messages: split into steps, each with the results of its tool calls.

use super::{ConvertError, ConvertOptions, check_has_type, file_part, is_wanted, text_part};
use crate::json::{Json, Object};
use crate::model::{
    ModelMessage, ModelPart, ModelRole, ReasoningModelPart, ToolApprovalRequestModelPart,
    ToolApprovalResponseModelPart, ToolCallModelPart, ToolOutput, ToolOutputKind,
    ToolResultModelPart, Value,
};
use crate::ui::{PartFields, ReasoningPart, ToolFields, ToolPart, ToolState, UiMessage, UiPart};

const DENIED: &str = "Tool call execution denied.";
const TOOL_IS_GONE: &str = "Tool output omitted because the tool is no longer available.";
const UNKNOWN_ERROR: &str = "unknown error";

/// Appends what one assistant message becomes: per step an assistant message and a tool message, either
/// of which may be missing.
pub(super) fn push_messages<'a>(
    message: &'a UiMessage,
    options: &ConvertOptions<'_>,
    converted: &mut Vec<ModelMessage<'a>>,
) -> Result<(), ConvertError> {
    if !message.has_parts() {
        return check_iterable(message.field("parts"));
    }
    // JavaScript converts a step when it meets the next one, and only then looks at the parts behind it;
    // so an error in the first step wins over one in the second.
    for step in message.parts().split(|part| matches!(part, UiPart::StepStart(_))) {
        step.iter().try_for_each(check_has_type)?;
        push_step(step, options, converted)?;
    }
    Ok(())
}

/// Parts that are not a list: absent ones are none, a string has its characters for parts.
fn check_iterable(parts: Option<&Json>) -> Result<(), ConvertError> {
    let what = match parts {
        None | Some(Json::Null) => return Ok(()),
        Some(Json::String(text)) if text.is_empty() => return Ok(()),
        Some(Json::String(_)) => "Cannot read properties of undefined (reading 'startsWith')",
        Some(_) => "message.parts is not iterable",
    };
    Err(ConvertError::Malformed(what.to_owned()))
}

fn push_step<'a>(
    step: &'a [UiPart],
    options: &ConvertOptions<'_>,
    converted: &mut Vec<ModelMessage<'a>>,
) -> Result<(), ConvertError> {
    let mut content = Vec::with_capacity(step.len());
    let mut results = Vec::new();
    for part in step.iter().filter(|part| is_wanted(part, options)) {
        match part {
            UiPart::Text(text) => content.push(text_part(text)),
            UiPart::File(file) => content.push(file_part(file)),
            UiPart::Reasoning(reasoning) => content.push(reasoning_part(reasoning)),
            UiPart::Data(data) => content.extend(options.convert_data_part.and_then(|f| f(data))),
            UiPart::Tool(tool) => {
                let call = Call { part: tool, fields: tool.fields(), options };
                call.push_call(&mut content)?;
                call.push_result(&mut results)?;
            }
            UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::StepStart(_)
            | UiPart::Unknown(_) => {}
        }
    }
    if !content.is_empty() {
        converted.push(ModelMessage::of_parts(ModelRole::Assistant, content));
    }
    if !results.is_empty() {
        converted.push(ModelMessage::of_parts(ModelRole::Tool, results));
    }
    Ok(())
}

/// Unlike text, reasoning passes a null on as its provider options.
fn reasoning_part(part: &ReasoningPart) -> ModelPart<'_> {
    ModelPart::Reasoning(ReasoningModelPart {
        text: part.field("text").map(Value::Ref),
        provider_options: part.field("providerMetadata").map(Value::Ref),
        other: Object::new(),
    })
}

/// How an error is shown: as text to a tool message, as JSON where the provider ran the tool itself.
#[derive(Clone, Copy)]
enum ErrorMode {
    Text,
    Json,
}

/// One tool part on its way to the model.
struct Call<'a, 'o> {
    part: &'a ToolPart,
    fields: ToolFields<'a>,
    options: &'o ConvertOptions<'o>,
}

/// Absent and null are the same to JavaScript's `??` and `!= null`.
fn present(value: Option<&Json>) -> Option<&Json> {
    value.filter(|value| !value.is_null())
}

impl<'a> Call<'a, '_> {
    fn name(&self) -> Option<Value<'a>> {
        match self.fields.tool_name {
            name if self.part.is_dynamic() => name.map(Value::Ref),
            _ => self.part.name().map(Value::Str),
        }
    }

    fn ran_at_provider(&self) -> bool {
        self.fields.provider_executed.and_then(Json::as_bool) == Some(true)
    }

    /// A field of the approval; of whatever stands there, JavaScript reads fields of objects only.
    fn approval(&self, key: &str) -> Option<&'a Json> {
        self.fields.approval.and_then(|approval| approval.get(key))
    }

    /// The call, the question for approval, and the result if the provider ran the tool.
    fn push_call(&self, content: &mut Vec<ModelPart<'a>>) -> Result<(), ConvertError> {
        let fields = &self.fields;
        let state = fields.tool_state();
        if state == ToolState::InputStreaming {
            return Ok(());
        }
        let failed = state == ToolState::OutputError;
        let own_metadata = present(fields.call_metadata);
        content.push(ModelPart::ToolCall(ToolCallModelPart {
            call_id: fields.call_id.map(Value::Ref),
            tool_name: self.name(),
            input: if failed {
                present(fields.input).or(fields.raw_input).map(Value::Ref)
            } else {
                fields.input.map(Value::Ref)
            },
            provider_executed: fields.provider_executed.map(Value::Ref),
            provider_options: own_metadata
                .or(if failed { present(fields.result_metadata) } else { None })
                .map(Value::Ref),
            other: Object::new(),
        }));
        if present(fields.approval).is_some() {
            content.push(ModelPart::ToolApprovalRequest(ToolApprovalRequestModelPart {
                approval_id: self.approval("id").map(Value::Ref),
                call_id: fields.call_id.map(Value::Ref),
                input_schema_input: self.approval("inputSchemaInput").map(Value::Ref),
                signature: present(self.approval("signature")).map(Value::Ref),
                other: Object::new(),
            }));
        }
        if self.ran_at_provider()
            && matches!(state, ToolState::OutputAvailable | ToolState::OutputError)
        {
            let metadata = present(fields.result_metadata).or(own_metadata);
            content.push(self.result(self.output(ErrorMode::Json)?, metadata));
        }
        Ok(())
    }

    /// The answer to the question for approval, and the result of a tool that ran with us.
    fn push_result(&self, results: &mut Vec<ModelPart<'a>>) -> Result<(), ConvertError> {
        let fields = &self.fields;
        if let Some(approved) = present(self.approval("approved")) {
            results.push(ModelPart::ToolApprovalResponse(ToolApprovalResponseModelPart {
                approval_id: self.approval("id").map(Value::Ref),
                approved: Some(Value::Ref(approved)),
                reason: self.approval("reason").map(Value::Ref),
                provider_executed: fields.provider_executed.map(Value::Ref),
                other: Object::new(),
            }));
        }
        if self.ran_at_provider() {
            return Ok(());
        }
        let output = match fields.tool_state() {
            ToolState::OutputDenied => {
                let reason = present(self.approval("reason"));
                let value = reason.map_or(Value::Str(DENIED), Value::Ref);
                ToolOutput::Of(ToolOutputKind::ErrorText, value)
            }
            ToolState::OutputAvailable | ToolState::OutputError => self.output(ErrorMode::Text)?,
            ToolState::InputStreaming
            | ToolState::InputAvailable
            | ToolState::ApprovalRequested
            | ToolState::ApprovalResponded
            | ToolState::Unknown => return Ok(()),
        };
        results.push(self.result(output, present(fields.call_metadata)));
        Ok(())
    }

    fn result(&self, output: ToolOutput<'a>, metadata: Option<&'a Json>) -> ModelPart<'a> {
        ModelPart::ToolResult(ToolResultModelPart {
            call_id: self.fields.call_id.map(Value::Ref),
            tool_name: self.name(),
            output,
            provider_options: metadata.map(Value::Ref),
            other: Object::new(),
        })
    }

    /// The output of a call that has one, good or bad.
    fn output(&self, mode: ErrorMode) -> Result<ToolOutput<'a>, ConvertError> {
        if self.fields.tool_state() == ToolState::OutputError {
            return Ok(error_output(self.fields.error_text, mode));
        }
        let output = self.fields.output;
        let name = self.name();
        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
        let known = self.options.tools.is_some_and(|tools| tools.contains(name));
        if !known
            && self.part.is_dynamic()
            && self.fields.dynamic.and_then(Json::as_bool) == Some(false)
        {
            return Ok(ToolOutput::Of(ToolOutputKind::Text, Value::Str(TOOL_IS_GONE)));
        }
        let converter = self.options.to_model_output.filter(|_| known);
        match converter.and_then(|f| f(name, self.fields.call_id, self.fields.input, output)) {
            Some(Ok(output)) => Ok(ToolOutput::Other(Some(Value::Owned(output)))),
            Some(Err(message)) => Err(ConvertError::ToolOutput(message)),
            None => Ok(match output {
                Some(text @ Json::String(_)) => {
                    ToolOutput::Of(ToolOutputKind::Text, Value::Ref(text))
                }
                Some(json) => ToolOutput::Of(ToolOutputKind::Json, Value::Ref(json)),
                None => ToolOutput::Of(ToolOutputKind::Json, Value::Owned(Json::Null)),
            }),
        }
    }
}

fn error_output(error: Option<&Json>, mode: ErrorMode) -> ToolOutput<'_> {
    match (mode, error) {
        (ErrorMode::Json, error) => {
            let value = error.map_or(Value::Owned(Json::Null), Value::Ref);
            ToolOutput::Of(ToolOutputKind::ErrorJson, value)
        }
        (ErrorMode::Text, None | Some(Json::Null)) => {
            ToolOutput::Of(ToolOutputKind::ErrorText, Value::Str(UNKNOWN_ERROR))
        }
        (ErrorMode::Text, Some(text @ Json::String(_))) => {
            ToolOutput::Of(ToolOutputKind::ErrorText, Value::Ref(text))
        }
        (ErrorMode::Text, Some(json)) => {
            ToolOutput::Of(ToolOutputKind::ErrorText, Value::Owned(json.stringify().into()))
        }
    }
}
