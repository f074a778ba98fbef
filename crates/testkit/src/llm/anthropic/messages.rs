//! Roles, their order, and that every message says something.

use serde_json::Value;

use super::super::{Refusal, Rules};
use super::{blocks, judge_fields, missing, refuse};

/// Judges each message, and the roles of them all.
pub(super) fn judge(list: &[Value], rules: &Rules) -> Result<(), Refusal> {
    for (at, message) in list.iter().enumerate() {
        if !message.is_object() {
            return Err(refuse(
                "message_type",
                format!("messages.{at}: Input should be an object"),
            ));
        }
        judge_fields(message, &["role", "content"], &format!("messages.{at}"))?;
        let role = judge_role(at, list, rules)?;
        judge_content(at, role, message, at + 1 == list.len(), rules)?;
    }
    if rules.is_strict() { judge_order(list) } else { Ok(()) }
}

fn judge_role<'a>(at: usize, list: &'a [Value], rules: &Rules) -> Result<&'a str, Refusal> {
    match list[at]["role"].as_str() {
        None => Err(missing("role_missing", &format!("messages.{at}.role"))),
        Some(role @ ("user" | "assistant")) => Ok(role),
        Some("system") if !rules.system_role => Err(refuse(
            "system_role",
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.",
        )),
        Some("system") if at > 0 && list[at - 1]["role"] == "user" => Ok("system"),
        Some("system") => Err(refuse(
            "system_place",
            format!(
                "messages.{at}: role \"system\" is only allowed directly after a \"user\" message"
            ),
        )),
        Some(_) => Err(refuse(
            "role",
            format!("messages.{at}.role: Input should be 'user' or 'assistant'"),
        )),
    }
}

/// The real service joins messages of one role, and takes a first one of the assistant; others do not.
fn judge_order(list: &[Value]) -> Result<(), Refusal> {
    if list[0]["role"] != "user" {
        let message = "messages: first message must use the \"user\" role";
        return Err(refuse("strict_first", message));
    }
    for pair in list.windows(2) {
        if pair[0]["role"] == pair[1]["role"] {
            let role = pair[0]["role"].as_str().unwrap_or_default();
            return Err(refuse(
                "strict_alternation",
                format!(
                    "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles in a row"
                ),
            ));
        }
    }
    Ok(())
}

fn judge_content(
    at: usize,
    role: &str,
    message: &Value,
    is_last: bool,
    rules: &Rules,
) -> Result<(), Refusal> {
    let empty = match &message["content"] {
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => blocks.is_empty(),
        Value::Null => return Err(missing("content_missing", &format!("messages.{at}.content"))),
        _ => {
            let message = format!("messages.{at}.content: Input should be a valid list");
            return Err(refuse("content_type", message));
        }
    };
    if empty && is_last && role == "assistant" {
        return Ok(());
    }
    if empty {
        let message = format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        );
        return Err(refuse("content_empty", message));
    }
    match &message["content"] {
        Value::String(text) => blocks::judge_text(text),
        content => blocks::judge(at, role, content, rules),
    }
}

/// Judges a last message that is the assistant's.
pub(super) fn judge_end(list: &[Value], rules: &Rules) -> Result<(), Refusal> {
    let Some(last) = list.last().filter(|last| last["role"] == "assistant") else { return Ok(()) };
    if !rules.prefill {
        let message = "This model does not support assistant message prefill. The conversation must end with a user message.";
        return Err(refuse("prefill", message));
    }
    let text = match &last["content"] {
        Value::String(text) => Some(text.as_str()),
        content => content.as_array().and_then(|blocks| blocks.last()?["text"].as_str()),
    };
    match text {
        Some(text) if text.ends_with(char::is_whitespace) => Err(refuse(
            "trailing_whitespace",
            "messages: final assistant content cannot end with trailing whitespace",
        )),
        _ => Ok(()),
    }
}
