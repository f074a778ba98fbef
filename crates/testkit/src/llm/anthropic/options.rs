//! The fields of a request besides its messages and tools.

use serde_json::Value;

use super::super::{Refusal, Rules, Version, prompt::list};
use super::{errors, judge_fields, missing, refuse};

const KNOWN: [&str; 21] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "stop_sequences",
    "stream",
    "metadata",
    "service_tier",
    "temperature",
    "top_p",
    "top_k",
    "container",
    "context_management",
    "mcp_servers",
    "inference_geo",
    "speed",
];
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// Judges the options of a request.
pub(super) fn judge(body: &Value, rules: &Rules) -> Result<(), Refusal> {
    if !body.is_object() {
        return Err(refuse("body_type", "Input should be a valid dictionary"));
    }
    judge_fields(body, &KNOWN, "")?;
    if rules.version == Version::V2026
        && let Some(field) = SAMPLING.iter().find(|field| !body[**field].is_null())
    {
        return Err(refuse("sampling", format!("{field}: Extra inputs are not permitted")));
    }
    match body["model"].as_str() {
        None => return Err(missing("model_missing", "model")),
        Some(model) if !rules.has_model(model) => return Err(errors::model_not_found(model)),
        Some(_) => {}
    }
    judge_max_tokens(body, rules)?;
    judge_system(&body["system"])?;
    let blank = |text: &&Value| text.as_str().is_none_or(|text| text.trim().is_empty());
    if list(&body["stop_sequences"]).iter().any(|text| blank(&text)) {
        let message = "stop_sequences: each stop sequence must contain non-whitespace";
        return Err(refuse("stop_sequences", message));
    }
    Ok(())
}

fn judge_max_tokens(body: &Value, rules: &Rules) -> Result<(), Refusal> {
    let value = &body["max_tokens"];
    if value.is_null() {
        return Err(missing("max_tokens_missing", "max_tokens"));
    }
    let Some(asked) = value.as_i64() else {
        return Err(refuse("max_tokens_type", "max_tokens: Input should be a valid integer"));
    };
    if asked < 1 {
        let message = "max_tokens: must be greater than or equal to 1";
        return Err(refuse("max_tokens_minimum", message));
    }
    match rules.max_output {
        Some(max) if asked.unsigned_abs() > max => {
            let model = body["model"].as_str().unwrap_or_default();
            let message = format!(
                "max_tokens: {asked} > {max}, which is the maximum allowed number of output tokens for {model}"
            );
            Err(refuse("max_output", message))
        }
        _ => Ok(()),
    }
}

fn judge_system(system: &Value) -> Result<(), Refusal> {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => {
            blocks.iter().enumerate().try_for_each(|(at, block)| judge_system_block(at, block))
        }
        _ => Err(refuse("system_type", "system: Input should be a valid list")),
    }
}

fn judge_system_block(at: usize, block: &Value) -> Result<(), Refusal> {
    let place = format!("system.{at}");
    if block["type"] != "text" {
        return Err(refuse("system_block", format!("{place}.type: Input should be 'text'")));
    }
    judge_fields(block, &["type", "text", "cache_control", "citations"], &place)?;
    match block["text"].as_str() {
        None => Err(missing("system_text", &format!("{place}.text"))),
        Some("") => Err(refuse("system_empty", "system: text content blocks must be non-empty")),
        Some(text) if text.trim().is_empty() => Err(refuse(
            "system_blank",
            "system: text content blocks must contain non-whitespace text",
        )),
        Some(_) => Ok(()),
    }
}
