//! The tools on offer.

use serde_json::Value;

use super::super::{Refusal, prompt::list};
use super::{empty_array, judge_name, missing, refuse};

/// The most tools that one request may offer.
const TOOLS_MAX: usize = 128;

/// Judges `tools` and `tool_choice`.
pub(super) fn judge(body: &Value) -> Result<(), Refusal> {
    let tools = list(&body["tools"]);
    if body["tools"].is_array() && tools.is_empty() {
        return Err(empty_array("tools_empty", "tools"));
    }
    if tools.len() > TOOLS_MAX {
        let message = format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_MAX}, but got an array with length {} instead.",
            tools.len()
        );
        let code = Some("array_above_max_length");
        return Err(refuse("tools_count", code, Some("tools"), message));
    }
    for (at, tool) in tools.iter().enumerate() {
        judge_tool(tool, &format!("tools[{at}]"))?;
    }
    judge_choice(&body["tool_choice"], tools)
}

fn judge_tool(tool: &Value, param: &str) -> Result<(), Refusal> {
    match tool["type"].as_str() {
        Some("function") => {}
        Some(_) => return Ok(()),
        None => return Err(missing("tool_type", &format!("{param}.type"))),
    }
    let function = &tool["function"];
    if function.is_null() {
        return Err(missing("tool_function", &format!("{param}.function")));
    }
    judge_name(&function["name"], &format!("{param}.function.name"))?;
    judge_schema(function, param)
}

/// No parameters at all is a function without any; otherwise they are an object's.
fn judge_schema(function: &Value, param: &str) -> Result<(), Refusal> {
    let schema = &function["parameters"];
    if schema.is_null() || schema["type"] == "object" {
        return Ok(());
    }
    let name = function["name"].as_str().unwrap_or_default();
    let found = schema["type"].as_str().unwrap_or("None");
    let message = format!(
        "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{found}\"'."
    );
    let param = format!("{param}.function.parameters");
    Err(refuse("tool_schema", Some("invalid_function_parameters"), Some(&param), message))
}

fn judge_choice(choice: &Value, tools: &[Value]) -> Result<(), Refusal> {
    if choice.is_null() {
        return Ok(());
    }
    if tools.is_empty() {
        let message = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.";
        return Err(refuse("choice_without_tools", None, Some("tool_choice"), message));
    }
    let Some(name) = choice["function"]["name"].as_str() else { return Ok(()) };
    if tools.iter().any(|tool| tool["function"]["name"] == name) {
        return Ok(());
    }
    let message = "Invalid value for 'tool_choice': 'tool_choice' specifies a function that is not in 'tools'.";
    Err(refuse("choice_unknown", None, Some("tool_choice.function.name"), message))
}
