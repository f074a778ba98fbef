//! What the strictest of the compatible hosts ask for besides.
//!
//! No single host refuses all of this; a request that passes here passes on all of them. A run of tool results
//! counts as part of the assistant's turn, so the user may speak directly after it.

use serde_json::Value;

use super::super::{Refusal, Rules, prompt::list};
use super::refuse;

/// Judges the whole list.
pub(super) fn judge(messages: &[Value], rules: &Rules) -> Result<(), Refusal> {
    for (at, message) in messages.iter().enumerate() {
        judge_fields(at, message, rules)?;
        judge_content(at, message)?;
        judge_arguments(at, message)?;
    }
    judge_order(messages)
}

fn judge_fields(at: usize, message: &Value, rules: &Rules) -> Result<(), Refusal> {
    let usual = ["role", "content", "name", "tool_calls", "tool_call_id"];
    let known = |field: &str| {
        usual.contains(&field) || rules.extra_message_fields.iter().any(|extra| extra == field)
    };
    let unknown = message.as_object().and_then(|fields| fields.keys().find(|field| !known(field)));
    match unknown {
        None => Ok(()),
        Some(field) => {
            let message = format!(
                "Additional properties are not allowed ('{field}' was unexpected) - 'messages.{at}'"
            );
            Err(refuse("strict_field", None, None, message))
        }
    }
}

fn judge_content(at: usize, message: &Value) -> Result<(), Refusal> {
    let empty = match &message["content"] {
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.iter().any(|part| part["text"] == ""),
        _ => false,
    };
    if !empty {
        return Ok(());
    }
    let message = format!("Invalid 'messages[{at}].content': content must not be empty.");
    Err(refuse("strict_empty", None, Some(&format!("messages.[{at}].content")), message))
}

fn judge_arguments(at: usize, message: &Value) -> Result<(), Refusal> {
    for (k, call) in list(&message["tool_calls"]).iter().enumerate() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let read = serde_json::from_str::<Value>(arguments);
        if !read.is_ok_and(|arguments| arguments.is_object()) {
            let param = format!("messages[{at}].tool_calls[{k}].function.arguments");
            let message = format!("Invalid '{param}': arguments must be a valid JSON object.");
            return Err(refuse("strict_arguments", None, Some(&param), message));
        }
    }
    Ok(())
}

fn judge_order(messages: &[Value]) -> Result<(), Refusal> {
    let role = |at: usize| messages.get(at).and_then(|message| message["role"].as_str());
    let mut before = None;
    for at in 0..messages.len() {
        match role(at) {
            Some("system" | "developer") if at == 0 => continue,
            Some("system" | "developer") => {
                let message = "System message must be at the beginning.";
                return Err(refuse("strict_system", None, None, message));
            }
            Some("tool") => before = Some("tool"),
            now if now == before => return Err(alternate()),
            Some("assistant") if before.is_none() => return Err(alternate()),
            now => before = now,
        }
    }
    match role(messages.len() - 1) {
        Some("user" | "tool") => Ok(()),
        last => {
            let last = last.unwrap_or_default();
            let message = format!("Expected last role user or tool for serving but got {last}");
            Err(refuse("strict_last", None, None, message))
        }
    }
}

fn alternate() -> Refusal {
    let message = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...";
    refuse("strict_alternation", None, None, message)
}
