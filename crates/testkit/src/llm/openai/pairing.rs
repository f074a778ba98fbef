//! Calls and their results: all results directly after the message that calls, in any order, nothing between.

use serde_json::Value;

use super::super::{Refusal, prompt::list};
use super::refuse;

/// Judges the whole list.
pub(super) fn judge(messages: &[Value]) -> Result<(), Refusal> {
    // Calls without a result yet, and those that have one, with the place of that result.
    let mut open: Vec<&str> = Vec::new();
    let mut answered: Vec<(&str, usize)> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            answer(at, message, &mut open, &mut answered)?;
            continue;
        }
        if !open.is_empty() {
            return Err(unanswered(at, &open));
        }
        answered.clear();
        let calls = list(&message["tool_calls"]).iter();
        open.extend(calls.filter_map(|call| call["id"].as_str()));
    }
    if open.is_empty() { Ok(()) } else { Err(unanswered(messages.len() - 1, &open)) }
}

fn answer<'a>(
    at: usize,
    message: &'a Value,
    open: &mut Vec<&'a str>,
    answered: &mut Vec<(&'a str, usize)>,
) -> Result<(), Refusal> {
    let id = message["tool_call_id"].as_str().unwrap_or_default();
    if let Some((_, first)) = answered.iter().find(|(answered, _)| *answered == id) {
        let message = format!(
            "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{first}] and messages[{at}]."
        );
        let param = format!("messages.[{at}].tool_call_id");
        return Err(refuse("result_twice", None, Some(&param), message));
    }
    if !open.contains(&id) {
        let message = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
        let param = format!("messages.[{at}].role");
        return Err(refuse("result_without_call", None, Some(&param), message));
    }
    // Two calls of one id are answered by one result, since nothing could tell a second one apart.
    open.retain(|called| *called != id);
    answered.push((id, at));
    Ok(())
}

/// The place is that of the message that stands where a result should, or of the last one.
fn unanswered(at: usize, open: &[&str]) -> Refusal {
    let ids = open.join(", ");
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
    );
    refuse("call_unanswered", None, Some(&format!("messages.[{at}].role")), message)
}
