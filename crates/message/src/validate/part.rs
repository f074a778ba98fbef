//! Checks a part against the schema of its type, in one pass over its fields.

use std::borrow::Cow;

use crate::json::{Json, Object};
use crate::ui::{ToolState, UiPart};

/// The rule that a part breaks; fixed words unless a field must be named.
type PartReason = Cow<'static, str>;
type PartCheck = Result<(), PartReason>;

/// Checks a part against the schema of its type, and removes fields that the schema does not know.
pub(super) fn check(part: &mut UiPart) -> PartCheck {
    match part {
        UiPart::Text(text) => check_text(text.object_mut(), false),
        UiPart::Reasoning(reasoning) => check_text(reasoning.object_mut(), true),
        UiPart::File(file) => check_file(file.object_mut()),
        UiPart::SourceUrl(source) => check_source_url(source.object_mut()),
        UiPart::SourceDocument(source) => check_source_document(source.object_mut()),
        UiPart::StepStart(step) => {
            strip(step.object_mut(), |key| key == "type");
            Ok(())
        }
        UiPart::Data(data) => check_data(data.object_mut()),
        UiPart::Tool(tool) => {
            let dynamic = tool.is_dynamic();
            check_tool(tool.object_mut(), dynamic)
        }
        UiPart::Unknown(Json::Object(object)) if object.str("type").is_some() => {
            Err("its `type` is not known".into())
        }
        UiPart::Unknown(_) => Err("it must be an object with a `type`".into()),
    }
}

fn is_string(value: &Json) -> bool {
    matches!(value, Json::String(_))
}

fn is_bool(value: &Json) -> bool {
    matches!(value, Json::Bool(_))
}

fn is_one_of(value: &Json, names: &[&str]) -> bool {
    value.as_str().is_some_and(|text| names.contains(&text))
}

/// Keeps the known fields. Most parts have no others, and then nothing moves.
fn strip(object: &mut Object, known: impl Fn(&str) -> bool) {
    if !object.keys().all(&known) {
        object.retain(|key, _| known(key));
    }
}

/// Turns a failed check into its reason.
fn require(holds: bool, reason: &'static str) -> PartCheck {
    if holds { Ok(()) } else { Err(reason.into()) }
}

const METADATA: &str = "its provider metadata must be objects in an object";

fn check_text(object: &mut Object, reasoning: bool) -> PartCheck {
    let mut has_text = false;
    let mut strange = false;
    for (key, value) in object.iter() {
        match key {
            "text" => has_text = is_string(value),
            "state" => {
                require(is_one_of(value, &["streaming", "done"]), "its `state` is not known")?;
            }
            "providerMetadata" => require(is_provider_metadata(value), METADATA)?,
            "id" if reasoning => require(is_string(value), "its `id` must be a string")?,
            "type" => {}
            _ => strange = true,
        }
    }
    require(has_text, "its `text` must be a string")?;
    if strange {
        strip(object, |key| match key {
            "type" | "text" | "state" | "providerMetadata" => true,
            "id" => reasoning,
            _ => false,
        });
    }
    Ok(())
}

/// Checks the required strings, the optional strings and the provider metadata.
fn check_strings(object: &mut Object, required: &[&str], optional: &[&str]) -> PartCheck {
    for key in required {
        if !object.get(key).is_some_and(is_string) {
            return Err(format!("its `{key}` must be a string").into());
        }
    }
    for key in optional {
        if !object.get(key).is_none_or(is_string) {
            return Err(format!("its `{key}` must be a string or absent").into());
        }
    }
    require(object.get("providerMetadata").is_none_or(is_provider_metadata), METADATA)?;
    strip(object, |key| {
        matches!(key, "type" | "providerMetadata")
            || required.contains(&key)
            || optional.contains(&key)
    });
    Ok(())
}

fn check_file(object: &mut Object) -> PartCheck {
    check_strings(object, &["mediaType", "url"], &["filename"])
}

fn check_source_url(object: &mut Object) -> PartCheck {
    check_strings(object, &["sourceId", "url"], &["title"])
}

fn check_source_document(object: &mut Object) -> PartCheck {
    check_strings(object, &["sourceId", "mediaType", "title"], &["filename"])
}

fn check_data(object: &mut Object) -> PartCheck {
    require(object.has("data"), "its `data` is missing")?;
    require(object.get("id").is_none_or(is_string), "its `id` must be a string")?;
    strip(object, |key| matches!(key, "type" | "id" | "data"));
    Ok(())
}

/// The facts about a tool part that are needed to judge its state.
#[derive(Default)]
struct ToolPartFacts<'a> {
    state: Option<ToolState>,
    tool_name: bool,
    call_id: bool,
    input: bool,
    output: bool,
    error_text: Option<&'a Json>,
    raw_input: Option<&'a Json>,
    input_encoding: Option<&'a Json>,
    preliminary: Option<&'a Json>,
    result_metadata: Option<&'a Json>,
    approval: Option<&'a Json>,
}

fn check_tool(object: &mut Object, dynamic: bool) -> PartCheck {
    let mut seen = ToolPartFacts::default();
    for (key, value) in object.iter() {
        match key {
            "state" => seen.state = value.as_str().map(ToolState::named),
            "toolCallId" => seen.call_id = is_string(value),
            "toolName" if dynamic => seen.tool_name = is_string(value),
            "dynamic" if dynamic => {
                require(value.as_bool() == Some(false), "its `dynamic` can only be false")?;
            }
            "input" => seen.input = true,
            "output" => seen.output = true,
            "errorText" => seen.error_text = Some(value),
            "rawInput" => seen.raw_input = Some(value),
            "inputEncoding" => seen.input_encoding = Some(value),
            "preliminary" => seen.preliminary = Some(value),
            "approval" => seen.approval = Some(value),
            "resultProviderMetadata" => seen.result_metadata = Some(value),
            "providerExecuted" => {
                require(is_bool(value), "its `providerExecuted` must be a boolean")?;
            }
            "callProviderMetadata" => require(is_provider_metadata(value), METADATA)?,
            "toolMetadata" => {
                require(is_record(value), "its `toolMetadata` must be an object of JSON values")?;
            }
            _ => {}
        }
    }
    require(seen.call_id, "its `toolCallId` must be a string")?;
    require(seen.tool_name || !dynamic, "its `toolName` must be a string")?;
    let state = seen.state.unwrap_or(ToolState::Unknown);
    check_state(state, &seen)?;
    let approval_known = check_approval(state, seen.approval)?;
    strip(object, |key| is_tool_field(key, state, dynamic));
    if !approval_known && let Some(Json::Object(approval)) = object.get_mut("approval") {
        strip(approval, is_approval_field);
    }
    Ok(())
}

/// Checks the fields that each state requires, allows and forbids.
fn check_state(state: ToolState, seen: &ToolPartFacts<'_>) -> PartCheck {
    let output = "its `output` does not fit its `state`";
    let error = "its `errorText` does not fit its `state`";
    let input = "its `input` is missing";
    match state {
        ToolState::InputStreaming => {
            require(!seen.output, output)?;
            require(seen.error_text.is_none(), error)?;
            require(seen.raw_input.is_none_or(is_string), "its `rawInput` must be a string")?;
            let encoding = seen.input_encoding;
            require(
                encoding.is_none_or(|encoding| is_one_of(encoding, &["json", "text"])),
                "its `inputEncoding` is not known",
            )
        }
        ToolState::InputAvailable
        | ToolState::ApprovalRequested
        | ToolState::ApprovalResponded
        | ToolState::OutputDenied => {
            require(seen.input, input)?;
            require(!seen.output, output)?;
            require(seen.error_text.is_none(), error)
        }
        ToolState::OutputAvailable => {
            require(seen.input, input)?;
            require(seen.output, output)?;
            require(seen.error_text.is_none(), error)?;
            require(seen.preliminary.is_none_or(is_bool), "its `preliminary` must be a boolean")?;
            require(seen.result_metadata.is_none_or(is_provider_metadata), METADATA)
        }
        ToolState::OutputError => {
            require(!seen.output, output)?;
            require(seen.error_text.is_some_and(is_string), error)?;
            require(seen.result_metadata.is_none_or(is_provider_metadata), METADATA)
        }
        ToolState::Unknown => Err("its `state` is not known".into()),
    }
}

/// Checks the approval that a state requires, allows or forbids. Returns whether all its fields are known.
fn check_approval(state: ToolState, approval: Option<&Json>) -> Result<bool, PartReason> {
    const WRONG: &str = "its `approval` does not fit its `state`";
    let answer = match state {
        ToolState::InputStreaming | ToolState::InputAvailable | ToolState::Unknown => {
            return if approval.is_none() { Ok(true) } else { Err(WRONG.into()) };
        }
        ToolState::OutputAvailable | ToolState::OutputError if approval.is_none() => {
            return Ok(true);
        }
        ToolState::ApprovalRequested => None,
        ToolState::ApprovalResponded => Some([true, false].as_slice()),
        ToolState::OutputAvailable | ToolState::OutputError => Some([true].as_slice()),
        ToolState::OutputDenied => Some([false].as_slice()),
    };
    let Some(Json::Object(approval)) = approval else { return Err(WRONG.into()) };
    let mut has_id = false;
    let mut answered = false;
    let mut known = true;
    for (key, value) in approval.iter() {
        let fits = match key {
            "id" => {
                has_id = is_string(value);
                has_id
            }
            "approved" => {
                answered = true;
                matches!((answer, value), (Some(allowed), Json::Bool(bool)) if allowed.contains(bool))
            }
            "reason" => answer.is_some() && is_string(value),
            "signature" => is_string(value),
            "descriptor" | "inputSchemaInput" => true,
            _ => {
                known = false;
                true
            }
        };
        require(fits, WRONG)?;
    }
    require(has_id && answered == answer.is_some(), WRONG)?;
    Ok(known)
}

fn is_approval_field(key: &str) -> bool {
    matches!(key, "id" | "approved" | "reason" | "signature" | "descriptor" | "inputSchemaInput")
}

fn is_tool_field(key: &str, state: ToolState, dynamic: bool) -> bool {
    match key {
        "type"
        | "toolCallId"
        | "state"
        | "input"
        | "output"
        | "errorText"
        | "approval"
        | "providerExecuted"
        | "callProviderMetadata"
        | "toolMetadata" => true,
        "toolName" | "dynamic" => dynamic,
        "rawInput" => matches!(state, ToolState::InputStreaming | ToolState::OutputError),
        "inputEncoding" => state == ToolState::InputStreaming,
        "preliminary" => state == ToolState::OutputAvailable,
        "resultProviderMetadata" => {
            matches!(state, ToolState::OutputAvailable | ToolState::OutputError)
        }
        _ => false,
    }
}

/// Whether a value is provider metadata: for each provider an object of JSON values.
pub(crate) fn is_provider_metadata(value: &Json) -> bool {
    let Json::Object(providers) = value else { return false };
    providers.iter().all(|(key, value)| key == "__proto__" || is_record(value))
}

/// Whether a value is an object of JSON values. A number that JSON cannot write (`1e400` is read as infinity) is
/// not one; the value of `__proto__` is never examined.
pub(crate) fn is_record(value: &Json) -> bool {
    if !matches!(value, Json::Object(_)) {
        return false;
    }
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Json::Number(number) if !number.is_finite() => return false,
            Json::Array(array) => pending.extend(array.iter()),
            Json::Object(object) => {
                let entries = object.iter().filter(|(key, _)| *key != "__proto__");
                pending.extend(entries.map(|(_, value)| value));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    true
}
