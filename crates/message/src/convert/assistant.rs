//! Converts assistant messages: splits them into steps, each with the results of its tool calls.

use super::{ConvertError, ConvertOptions, check_has_type, is_wanted};
use crate::json::Json;
use crate::model::{
    FileModelPart, ModelContent, ModelMessage, ModelPart, ModelParts, ModelRole, OutputForm,
    ReasoningModelPart, RunBy, TextModelPart, ToolApprovalRequestModelPart,
    ToolApprovalResponseModelPart, ToolCallModelPart, ToolResultModelPart,
};
use crate::ui::{PartFields, ToolPart, ToolState, UiMessage, UiPart};

/// Appends the messages of one assistant message: for each step an assistant message and a tool message, either of
/// which may be missing.
pub(super) fn push_messages<'a>(
    message: &'a UiMessage,
    options: &ConvertOptions<'_>,
    converted: &mut Vec<ModelMessage<'a>>,
) -> Result<(), ConvertError> {
    if !message.has_parts() {
        return check_iterable(message.field("parts"));
    }
    // JavaScript converts a step when it meets the next one, and checks the parts after it only then. So an error
    // in the first step wins over one in the second.
    for step in message.parts().split(|part| matches!(part, UiPart::StepStart(_))) {
        step.iter().try_for_each(check_has_type)?;
        push_step(step, options, converted)?;
    }
    Ok(())
}

/// Checks parts that are not a list: absent parts count as none, and a string as its characters.
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
    let mut content = ModelParts::new();
    let mut results = ModelParts::new();
    for part in step.iter().filter(|part| is_wanted(part, options)) {
        match part {
            UiPart::Text(text) => content.push(ModelPart::Text(TextModelPart::of(text))),
            UiPart::File(file) => content.push(ModelPart::File(FileModelPart::of(file))),
            UiPart::Reasoning(reasoning) => {
                content.push(ModelPart::Reasoning(ReasoningModelPart::of(reasoning)));
            }
            UiPart::Data(data) => content.extend(options.convert_data_part.and_then(|f| f(data))),
            UiPart::Tool(tool) => push_call(tool, options, &mut content, &mut results)?,
            UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::StepStart(_)
            | UiPart::Unknown(_) => {}
        }
    }
    if !content.is_empty() {
        converted.push(ModelMessage::new(ModelRole::Assistant, ModelContent::Parts(content)));
    }
    if !results.is_empty() {
        converted.push(ModelMessage::new(ModelRole::Tool, ModelContent::Parts(results)));
    }
    Ok(())
}

/// Appends the parts of a tool call. The assistant's message gets the call, the approval request, and the result if
/// the provider ran the tool. The tool message gets the answer to the request, and our result.
fn push_call<'a>(
    part: &'a ToolPart,
    options: &ConvertOptions<'_>,
    content: &mut ModelParts<'a>,
    results: &mut ModelParts<'a>,
) -> Result<(), ConvertError> {
    let state = part.state();
    let approval = part.field("approval").filter(|approval| !approval.is_null());
    let approved = approval.and_then(|approval| approval.get("approved"));
    let run_by = match part.field("providerExecuted") {
        Some(Json::Bool(true)) => RunBy::Provider,
        _ => RunBy::Us,
    };
    let has_output = matches!(state, ToolState::OutputAvailable | ToolState::OutputError);
    if state != ToolState::InputStreaming {
        content.push(ModelPart::ToolCall(ToolCallModelPart::of(part)));
        if approval.is_some() {
            content.push(ModelPart::ToolApprovalRequest(ToolApprovalRequestModelPart::of(part)));
        }
        if run_by == RunBy::Provider && has_output {
            content.push(result(part, run_by, options)?);
        }
    }
    if approved.is_some_and(|approved| !approved.is_null()) {
        results.push(ModelPart::ToolApprovalResponse(ToolApprovalResponseModelPart::of(part)));
    }
    if run_by == RunBy::Us && (has_output || state == ToolState::OutputDenied) {
        results.push(result(part, run_by, options)?);
    }
    Ok(())
}

fn result<'a>(
    part: &'a ToolPart,
    run_by: RunBy,
    options: &ConvertOptions<'_>,
) -> Result<ModelPart<'a>, ConvertError> {
    let succeeded = part.state() == ToolState::OutputAvailable;
    let shown = if succeeded { shown(part, options)? } else { OutputForm::AsIs };
    Ok(ModelPart::ToolResult(ToolResultModelPart::of(part, run_by, shown)))
}

/// Chooses the form in which the output of a successful call is shown.
fn shown(part: &ToolPart, options: &ConvertOptions<'_>) -> Result<OutputForm, ConvertError> {
    let name = part.name().unwrap_or_default();
    let known = options.tools.is_some_and(|tools| tools.contains(name));
    if !known {
        // Validation marks a static part this way if its tool no longer exists.
        let gone = part.is_dynamic() && part.field("dynamic") == Some(&Json::Bool(false));
        return Ok(if gone { OutputForm::Gone } else { OutputForm::AsIs });
    }
    let Some(convert) = options.to_model_output else { return Ok(OutputForm::AsIs) };
    match convert(name, part.field("toolCallId"), part.input(), part.output()) {
        Some(Ok(output)) => Ok(OutputForm::AsTool(Box::new(output))),
        Some(Err(message)) => Err(ConvertError::ToolOutput(message)),
        None => Ok(OutputForm::AsIs),
    }
}
