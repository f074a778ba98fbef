//! One message by itself: its role, its content, and the calls that it holds.

use serde_json::Value;

use super::super::Refusal;
use super::{bad_value, empty_array, images, judge_name, missing, refuse, too_long, wrong_type};

/// The longest id of a call that is taken back.
const ID_MAX: usize = 40;

/// Judges the message at a place.
pub(super) fn judge(at: usize, message: &Value) -> Result<(), Refusal> {
    if !message.is_object() {
        let param = format!("messages[{at}]");
        return Err(wrong_type("message_type", &param, "an object", message));
    }
    let role = judge_role(at, message)?;
    judge_calls(at, message)?;
    judge_content(at, role, message)?;
    if role == "tool" {
        judge_id(&message["tool_call_id"], &format!("messages[{at}].tool_call_id"))?;
    }
    Ok(())
}

fn judge_role(at: usize, message: &Value) -> Result<&str, Refusal> {
    let param = format!("messages[{at}].role");
    match &message["role"] {
        Value::Null => Err(missing("role_missing", &param)),
        Value::String(role) => match role.as_str() {
            "system" | "assistant" | "user" | "function" | "tool" | "developer" => Ok(role),
            other => {
                let supported =
                    "'system', 'assistant', 'user', 'function', 'tool', and 'developer'";
                Err(bad_value("role", &param, other, supported))
            }
        },
        other => Err(wrong_type("role_type", &param, "a string", other)),
    }
}

fn judge_content(at: usize, role: &str, message: &Value) -> Result<(), Refusal> {
    let param = format!("messages[{at}].content");
    let something_else =
        ["tool_calls", "function_call", "refusal"].iter().any(|field| !message[*field].is_null());
    match &message["content"] {
        Value::Null if role == "assistant" && something_else => Ok(()),
        Value::Null => {
            let message = "Invalid value for 'content': expected a string, got null.";
            let param = format!("messages.[{at}].content");
            Err(refuse("content_null", None, Some(&param), message))
        }
        Value::String(_) => Ok(()),
        Value::Array(parts) if parts.is_empty() => Err(empty_array("content_empty_array", &param)),
        Value::Array(parts) => parts
            .iter()
            .enumerate()
            .try_for_each(|(k, part)| judge_part(role, part, &format!("{param}[{k}]"))),
        other => {
            Err(wrong_type("content_type", &param, "one of a string or array of objects", other))
        }
    }
}

fn judge_part(role: &str, part: &Value, param: &str) -> Result<(), Refusal> {
    let kind = part["type"].as_str().unwrap_or_default();
    let (allowed, supported): (&[&str], _) = match role {
        "user" => (
            &["text", "image_url", "input_audio", "file"],
            "'text', 'image_url', 'input_audio', and 'file'",
        ),
        "assistant" => (&["text", "refusal"], "'text' and 'refusal'"),
        _ => (&["text"], "'text'"),
    };
    if !allowed.contains(&kind) {
        return Err(bad_value("part_type", &format!("{param}.type"), kind, supported));
    }
    match kind {
        "text" => judge_text(&part["text"], &format!("{param}.text")),
        "image_url" => images::judge(&part["image_url"], &format!("{param}.image_url")),
        _ => Ok(()),
    }
}

fn judge_text(text: &Value, param: &str) -> Result<(), Refusal> {
    match text {
        Value::String(_) => Ok(()),
        Value::Null => Err(missing("part_text", param)),
        other => Err(wrong_type("part_text", param, "a string", other)),
    }
}

fn judge_calls(at: usize, message: &Value) -> Result<(), Refusal> {
    let param = format!("messages[{at}].tool_calls");
    match &message["tool_calls"] {
        Value::Null => Ok(()),
        Value::Array(calls) if calls.is_empty() => Err(empty_array("calls_empty", &param)),
        Value::Array(calls) => calls
            .iter()
            .enumerate()
            .try_for_each(|(k, call)| judge_call(call, &format!("{param}[{k}]"))),
        other => Err(wrong_type("calls_type", &param, "an array of objects", other)),
    }
}

fn judge_call(call: &Value, param: &str) -> Result<(), Refusal> {
    judge_id(&call["id"], &format!("{param}.id"))?;
    match call["type"].as_str() {
        Some("function") => {}
        Some("custom") => return Ok(()),
        None => return Err(missing("call_type", &format!("{param}.type"))),
        Some(other) => {
            let supported = "'function' and 'custom'";
            return Err(bad_value("call_type", &format!("{param}.type"), other, supported));
        }
    }
    let function = &call["function"];
    judge_name(&function["name"], &format!("{param}.function.name"))?;
    let param = format!("{param}.function.arguments");
    match &function["arguments"] {
        Value::String(_) => Ok(()),
        Value::Null => Err(missing("arguments_missing", &param)),
        other => Err(wrong_type("arguments_type", &param, "a string", other)),
    }
}

fn judge_id(id: &Value, param: &str) -> Result<(), Refusal> {
    match id {
        Value::String(id) if id.chars().count() > ID_MAX => {
            Err(too_long("id_length", param, ID_MAX, id.chars().count()))
        }
        Value::String(_) => Ok(()),
        Value::Null => Err(missing("id_missing", param)),
        other => Err(wrong_type("id_type", param, "a string", other)),
    }
}
