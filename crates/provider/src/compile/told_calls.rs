//! Tells calls and results as text, for a model that takes no tools.
//!
//! A call is told by the assistant that made it, and its result by the other side, so that the turns stay
//! what they were.

use ship_message::json::Json;
use ship_message::{ModelPart, ModelParts, ModelValue, ToolOutput};

use super::exchanges::Exchange;
use super::parts::text;

/// Replaces calls and results by texts.
pub(super) fn tell_calls(exchanges: Vec<Exchange<'_>>) -> Vec<Exchange<'_>> {
    let mut told = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        match exchange {
            Exchange::Assistant { parts, results } if !results.is_empty() => {
                let parts = parts.into_iter().map(tell_call).collect();
                told.push(Exchange::Assistant { parts, results: ModelParts::new() });
                told.push(Exchange::Person(results.iter().map(tell_result).collect()));
            }
            other => told.push(other),
        }
    }
    told
}

fn tell_call(part: ModelPart<'_>) -> ModelPart<'_> {
    let ModelPart::ToolCall(call) = &part else { return part };
    let name = call.tool_name();
    let name = name.as_ref().and_then(ModelValue::as_str).unwrap_or_default();
    let input = call.input().map(ModelValue::into_json).unwrap_or_default();
    text(format!("[{name} was called with {input}]"))
}

fn tell_result<'a>(part: &ModelPart<'a>) -> ModelPart<'a> {
    let ModelPart::ToolResult(result) = part else { return part.clone() };
    let name = result.tool_name();
    let name = name.as_ref().and_then(ModelValue::as_str).unwrap_or_default();
    let output = match result.output() {
        Some(ToolOutput::Of(_, value)) => value.into_json(),
        Some(ToolOutput::Other(other)) => other.clone(),
        None => Json::Null,
    };
    let output = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
    text(format!("[{name} answered: {output}]"))
}
