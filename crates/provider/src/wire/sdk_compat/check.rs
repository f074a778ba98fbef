//! Checks that messages have the form of the AI SDK's messages.
//!
//! A `ModelMessage` of ours may hold anything, because the conversion passes malformed values through. They are
//! refused here: a field of the wrong type, a part in the wrong kind of message, an option that is not two levels
//! deep. Unknown fields do no harm.

use ship_message::json::Json;
use ship_message::{
    ModelContent, ModelMessage, ModelPart, ModelRole, ModelValue, ToolOutput, ToolResultModelPart,
};

use super::super::error::WireError;

const EMPTY: WireError = WireError::InvalidPrompt("messages must not be empty");
const NOT_MESSAGES: WireError =
    WireError::InvalidPrompt("The messages do not match the ModelMessage[] schema.");

/// Checks every message.
pub(in crate::wire) fn messages(messages: &[ModelMessage<'_>]) -> Result<(), WireError> {
    if messages.is_empty() {
        return Err(EMPTY);
    }
    if messages.iter().all(is_message) { Ok(()) } else { Err(NOT_MESSAGES) }
}

fn is_message(message: &ModelMessage<'_>) -> bool {
    let content = match (&message.content, message.role) {
        (ModelContent::Text(_), role) => role != ModelRole::Tool,
        (ModelContent::Parts(_), ModelRole::System) => false,
        (ModelContent::Parts(parts), role) => parts.iter().all(|part| is_part(part, role)),
    };
    content && message.provider_options().is_none_or(are_options)
}

/// Whether a part is complete, and belongs into a message of this role.
fn is_part(part: &ModelPart<'_>, role: ModelRole) -> bool {
    use ModelRole::{Assistant, Tool, User};
    match part {
        ModelPart::Text(part) => {
            matches!(role, User | Assistant)
                && is_text(part.text())
                && is_options(part.provider_options())
        }
        ModelPart::Reasoning(part) => {
            role == Assistant && is_text(part.text()) && is_options(part.provider_options())
        }
        ModelPart::Image(part) => {
            role == User
                && is_text(part.image())
                && may_be_text(part.media_type())
                && is_options(part.provider_options())
        }
        ModelPart::File(part) => {
            matches!(role, User | Assistant)
                && is_text(part.data())
                && is_text(part.media_type())
                && may_be_text(part.filename())
                && is_options(part.provider_options())
        }
        ModelPart::ToolCall(part) => {
            role == Assistant
                && is_text(part.call_id())
                && is_text(part.tool_name())
                && part.provider_executed().is_none_or(is_bool)
                && is_options(part.provider_options())
        }
        ModelPart::ToolResult(part) => {
            matches!(role, Assistant | Tool)
                && is_text(part.call_id())
                && is_text(part.tool_name())
                && is_output(part)
                && is_options(part.provider_options())
        }
        ModelPart::ToolApprovalRequest(part) => {
            role == Assistant
                && is_text(part.approval_id())
                && is_text(part.call_id())
                && may_be_text(part.signature())
        }
        ModelPart::ToolApprovalResponse(part) => {
            role == Tool
                && is_text(part.approval_id())
                && part.approved().is_some_and(is_bool)
                && may_be_text(part.reason())
        }
        ModelPart::Unknown(_) => false,
    }
}

fn is_text(value: Option<ModelValue<'_>>) -> bool {
    value.is_some_and(|value| value.as_str().is_some())
}

fn may_be_text(value: Option<ModelValue<'_>>) -> bool {
    value.is_none_or(|value| value.as_str().is_some())
}

fn is_bool(value: ModelValue<'_>) -> bool {
    matches!(value, ModelValue::Ref(Json::Bool(_)) | ModelValue::Owned(Json::Bool(_)))
}

fn is_output(part: &ToolResultModelPart<'_>) -> bool {
    let Some(output) = part.output() else { return false };
    let (kind, value) = match &output {
        ToolOutput::Of(kind, value) => (kind.name(), Some(value.clone())),
        ToolOutput::Other(output) => {
            let kind = output.get("type").and_then(Json::as_str).unwrap_or_default();
            (kind, output.get("value").map(ModelValue::Ref))
        }
    };
    let options = part.output_options().is_none_or(are_options);
    match (kind, value) {
        ("text" | "error-text", value) => is_text(value) && options,
        ("json" | "error-json", Some(ModelValue::Ref(json))) => is_finite(json) && options,
        ("json" | "error-json", Some(ModelValue::Owned(json))) => is_finite(&json) && options,
        ("json" | "error-json", Some(ModelValue::Str(_))) => options,
        ("execution-denied", _) => {
            let ToolOutput::Other(output) = output else { return false };
            is_text_or_absent(output, "reason") && options
        }
        // The options of this kind are not checked by the SDK.
        ("content", Some(ModelValue::Ref(Json::Array(items)))) => items.iter().all(is_item),
        _ => false,
    }
}

/// Whether a value is an item of a `content` output.
fn is_item(item: &Json) -> bool {
    let text = |key: &str| item.get(key).and_then(Json::as_str).is_some();
    match item.get("type").and_then(Json::as_str) {
        // The options of this kind are not checked either.
        Some("media") => text("data") && text("mediaType"),
        Some("text") => text("text") && has_valid_options(item),
        Some("file-data") => {
            text("data")
                && text("mediaType")
                && is_text_or_absent(item, "filename")
                && has_valid_options(item)
        }
        Some("file-url") => {
            text("url") && is_text_or_absent(item, "mediaType") && has_valid_options(item)
        }
        Some("image-data") => text("data") && text("mediaType") && has_valid_options(item),
        Some("image-url") => text("url") && has_valid_options(item),
        Some("file-id" | "image-file-id") => {
            item.get("fileId").is_some_and(is_file_id) && has_valid_options(item)
        }
        Some("custom") => has_valid_options(item),
        _ => false,
    }
}

/// Whether the id of a file is a string, or one string for each provider.
fn is_file_id(id: &Json) -> bool {
    match id {
        Json::String(_) => true,
        Json::Object(ids) => ids.iter().all(|(_, id)| id.as_str().is_some()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => false,
    }
}

fn is_text_or_absent(object: &Json, key: &str) -> bool {
    object.get(key).is_none_or(|value| value.as_str().is_some())
}

fn has_valid_options(object: &Json) -> bool {
    object.get("providerOptions").is_none_or(are_options)
}

fn is_options(value: Option<ModelValue<'_>>) -> bool {
    match &value {
        None => true,
        Some(ModelValue::Ref(json)) => are_options(json),
        Some(ModelValue::Owned(json)) => are_options(json),
        Some(ModelValue::Str(_)) => false,
    }
}

/// Whether options are objects in an object, with the name of a provider for each.
fn are_options(options: &Json) -> bool {
    let of_provider =
        |(_, options): (&str, &Json)| options.as_object().is_some() && is_finite(options);
    options.as_object().is_some_and(|options| options.iter().all(of_provider))
}

/// Whether every number is one that JSON can write.
fn is_finite(value: &Json) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Json::Number(number) if !number.is_finite() => return false,
            Json::Array(values) => pending.extend(values.iter()),
            Json::Object(object) => pending.extend(object.iter().map(|(_, value)| value)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    true
}
