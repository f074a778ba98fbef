//! The tools on offer.

use std::collections::HashSet;

use serde_json::Value;

use super::super::rules::is_plain_name;
use super::super::{Refusal, prompt::list};
use super::{missing, refuse};

const NAME_MAX: usize = 128;

/// Judges `tools` and `tool_choice`.
pub(super) fn judge(body: &Value) -> Result<(), Refusal> {
    let tools = list(&body["tools"]);
    for (at, tool) in tools.iter().enumerate() {
        // Tools that the service runs itself have other fields.
        if tool["type"].is_null() || tool["type"] == "custom" {
            judge_tool(tool, &format!("tools.{at}.custom"))?;
        }
    }
    let mut names = HashSet::new();
    if !tools.iter().filter_map(|tool| tool["name"].as_str()).all(|name| names.insert(name)) {
        return Err(refuse("tool_name_twice", "tools: Tool names must be unique."));
    }
    judge_choice(body, &names)
}

fn judge_tool(tool: &Value, place: &str) -> Result<(), Refusal> {
    let Some(name) = tool["name"].as_str() else {
        return Err(missing("tool_name_missing", &format!("{place}.name")));
    };
    if !is_plain_name(name) {
        let message =
            format!("{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
        return Err(refuse("tool_name", message));
    }
    if name.len() > NAME_MAX {
        let message = format!("{place}.name: String should have at most {NAME_MAX} characters");
        return Err(refuse("tool_name_length", message));
    }
    judge_schema(&tool["input_schema"], &format!("{place}.input_schema"))
}

fn judge_schema(schema: &Value, place: &str) -> Result<(), Refusal> {
    if schema.is_null() {
        return Err(missing("tool_schema_missing", place));
    }
    if !schema.is_object() {
        let message = format!("{place}: Input should be a valid dictionary");
        return Err(refuse("tool_schema_type", message));
    }
    match schema["type"].as_str() {
        None => return Err(missing("tool_schema_object", &format!("{place}.type"))),
        Some("object") => {}
        Some(_) => {
            let message = format!("{place}.type: Input should be 'object'");
            return Err(refuse("tool_schema_object", message));
        }
    }
    if ["oneOf", "allOf", "anyOf"].iter().any(|word| schema.get(word).is_some()) {
        let message = format!(
            "{place}: input_schema does not support oneOf, allOf, or anyOf at the top level"
        );
        return Err(refuse("tool_schema_union", message));
    }
    Ok(())
}

fn judge_choice(body: &Value, names: &HashSet<&str>) -> Result<(), Refusal> {
    let choice = &body["tool_choice"];
    let kind = choice["type"].as_str();
    match kind {
        None if choice.is_null() => return Ok(()),
        Some("auto" | "any" | "tool" | "none") => {}
        _ => {
            let message = "tool_choice: Input tag found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'";
            return Err(refuse("choice_type", message));
        }
    }
    if names.is_empty() && kind != Some("none") {
        let message = "tool_choice: tool_choice may only be specified while providing tools.";
        return Err(refuse("choice_without_tools", message));
    }
    let wanted = choice["name"].as_str().unwrap_or_default();
    if kind == Some("tool") && !names.contains(wanted) {
        let message = format!("tool_choice: Tool '{wanted}' not found in provided tools");
        return Err(refuse("choice_unknown", message));
    }
    let thinks = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    if thinks && matches!(kind, Some("any" | "tool")) {
        let message = "Thinking may not be enabled when tool_choice forces tool use.";
        return Err(refuse("choice_while_thinking", message));
    }
    Ok(())
}
