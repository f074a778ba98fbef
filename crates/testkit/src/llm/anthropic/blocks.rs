//! The blocks that a message is made of, each by itself.

use serde_json::Value;

use super::super::rules::is_plain_name;
use super::super::{Refusal, Rules, Version, prompt::list};
use super::{images, judge_fields, missing, refuse};

const USER: [&str; 5] = ["text", "image", "document", "tool_result", "search_result"];
const ASSISTANT: [&str; 11] = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "document",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
];

/// Judges the blocks of the message at a place.
pub(super) fn judge(at: usize, role: &str, content: &Value, rules: &Rules) -> Result<(), Refusal> {
    for (k, block) in list(content).iter().enumerate() {
        let place = format!("messages.{at}.content.{k}");
        let kind = judge_kind(at, role, block, &place)?;
        match kind {
            "text" => judge_text_block(role, block, &place, rules)?,
            "tool_use" => judge_call(block, &place)?,
            "tool_result" => judge_result(block, &place)?,
            "image" => images::judge(block, &place)?,
            "document" if role == "assistant" && rules.version == Version::V2026 => {
                let message =
                    format!("messages.{at}: `document` blocks can only be in `user` messages");
                return Err(refuse("document_role", message));
            }
            _ => {}
        }
    }
    Ok(())
}

fn judge_kind<'a>(
    at: usize,
    role: &str,
    block: &'a Value,
    place: &str,
) -> Result<&'a str, Refusal> {
    let Some(kind) = block["type"].as_str() else {
        return Err(missing("block_type", &format!("{place}.type")));
    };
    let (here, elsewhere, owner): (&[&str], &[&str], _) = match role {
        "assistant" => (&ASSISTANT, &USER, "user"),
        "system" => (&["text"], &[], "user"),
        _ => (&USER, &ASSISTANT, "assistant"),
    };
    if here.contains(&kind) {
        return Ok(kind);
    }
    if elsewhere.contains(&kind) {
        let message = format!("messages.{at}: `{kind}` blocks can only be in `{owner}` messages");
        return Err(refuse("block_role", message));
    }
    let expected: Vec<String> = here.iter().map(|kind| format!("'{kind}'")).collect();
    let expected = expected.join(", ");
    let message = format!(
        "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
    );
    Err(refuse("block_kind", message))
}

fn judge_text_block(role: &str, block: &Value, place: &str, rules: &Rules) -> Result<(), Refusal> {
    let fields = ["type", "text", "cache_control", "citations"];
    judge_fields(block, &fields, &format!("{place}.text"))?;
    if role == "user" && rules.version == Version::V2026 && !list(&block["citations"]).is_empty() {
        let message = format!("{place}.text.citations: Extra inputs are not permitted");
        return Err(refuse("citations_role", message));
    }
    match block["text"].as_str() {
        None => Err(missing("text_missing", &format!("{place}.text.text"))),
        Some(text) => judge_text(text),
    }
}

/// Judges what somebody says.
pub(super) fn judge_text(text: &str) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(refuse("text_empty", "messages: text content blocks must be non-empty"));
    }
    if text.trim().is_empty() {
        let message = "messages: text content blocks must contain non-whitespace text";
        return Err(refuse("text_blank", message));
    }
    Ok(())
}

fn judge_call(block: &Value, place: &str) -> Result<(), Refusal> {
    let place = format!("{place}.tool_use");
    let fields = ["type", "id", "name", "input", "cache_control", "caller"];
    judge_fields(block, &fields, &place)?;
    for field in ["id", "name"] {
        match block[field].as_str() {
            None => return Err(missing("call_field", &format!("{place}.{field}"))),
            Some(text) if field == "id" && !is_plain_name(text) => {
                let message = format!("{place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
                return Err(refuse("call_id", message));
            }
            Some(text) if !is_plain_name(text) || (field == "name" && text.len() > 128) => {
                let message =
                    format!("{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
                return Err(refuse("call_name", message));
            }
            Some(_) => {}
        }
    }
    match block.get("input") {
        None => Err(missing("call_field", &format!("{place}.input"))),
        Some(Value::Object(_)) => Ok(()),
        Some(_) => {
            Err(refuse("call_input", format!("{place}.input: Input should be a valid dictionary")))
        }
    }
}

fn judge_result(block: &Value, place: &str) -> Result<(), Refusal> {
    let inner = format!("{place}.tool_result");
    let fields = ["type", "tool_use_id", "content", "is_error", "cache_control"];
    judge_fields(block, &fields, &inner)?;
    if block["tool_use_id"].as_str().is_none() {
        return Err(missing("result_id", &format!("{inner}.tool_use_id")));
    }
    let content = &block["content"];
    let empty = content.is_null() || content == "" || content.as_array().is_some_and(Vec::is_empty);
    if empty && block["is_error"] == true {
        let message = format!("{inner}: content cannot be empty if `is_error` is true");
        return Err(refuse("result_error_empty", message));
    }
    if !content.is_null() && !content.is_string() && !content.is_array() {
        let message = format!("{inner}.content: Input should be a valid list");
        return Err(refuse("result_content", message));
    }
    for (k, part) in list(content).iter().enumerate() {
        let place = format!("{inner}.content.{k}");
        match part["type"].as_str() {
            Some("text") => judge_text(part["text"].as_str().unwrap_or_default())?,
            Some("image") => images::judge(part, &place)?,
            Some("document" | "search_result" | "tool_reference") => {}
            other => {
                let other = other.unwrap_or("None");
                let message = format!(
                    "{place}: Input tag '{other}' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'"
                );
                return Err(refuse("result_part", message));
            }
        }
    }
    Ok(())
}
