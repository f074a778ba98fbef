//! Calls and their results: calls end the assistant's turn, results begin the user's, one for each.
//!
//! Messages of one role that follow each other are joined into one turn before they are compared, as the
//! service does it. Places in the errors are those before joining; but a list that begins with the assistant is
//! counted as if a message of the user stood before it, where the service names a call without a result.

use std::collections::HashSet;

use serde_json::Value;

use super::super::{Refusal, prompt::list};
use super::{images, refuse};

/// Messages of one role in a row.
struct Turn<'a> {
    role: &'a str,
    /// The place of its last message.
    last: usize,
    blocks: Vec<(usize, usize, &'a Value)>,
}

/// Judges the whole list.
pub(super) fn judge(messages: &[Value]) -> Result<(), Refusal> {
    images::judge_many(messages)?;
    let turns = turns(messages);
    judge_unique(&turns)?;
    let nothing = Turn { role: "", last: 0, blocks: Vec::new() };
    let before_first = usize::from(messages[0]["role"] == "assistant");
    for (at, turn) in turns.iter().enumerate() {
        let before = at.checked_sub(1).map_or(&nothing, |before| &turns[before]);
        judge_results(before, turn)?;
        let after = turns.get(at + 1).unwrap_or(&nothing);
        judge_calls(turn, after, before_first)?;
    }
    Ok(())
}

fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let blocks = match &message["content"] {
            text @ Value::String(_) => vec![(at, 0, text)],
            content => list(content).iter().enumerate().map(|(k, block)| (at, k, block)).collect(),
        };
        match turns.last_mut() {
            Some(turn) if turn.role == role => {
                turn.last = at;
                turn.blocks.extend(blocks);
            }
            _ => turns.push(Turn { role, last: at, blocks }),
        }
    }
    turns
}

fn judge_unique(turns: &[Turn<'_>]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    for (at, k, block) in turns.iter().flat_map(|turn| &turn.blocks) {
        if let Some(id) = call_id(block)
            && !seen.insert(id)
        {
            let message = format!("messages.{at}.content.{k}: `tool_use` ids must be unique");
            return Err(refuse("call_id_twice", message));
        }
    }
    Ok(())
}

fn judge_results(before: &Turn<'_>, turn: &Turn<'_>) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    for (at, k, block) in &turn.blocks {
        let Some(id) = result_id(block) else { continue };
        if !before.blocks.iter().any(|(_, _, call)| call_id(call) == Some(id)) {
            let message = format!(
                "messages.{at}.content.{k}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            );
            return Err(refuse("result_without_call", message));
        }
        if !seen.insert(id) {
            let message = format!(
                "messages.{at}.content.{k}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            );
            return Err(refuse("result_twice", message));
        }
    }
    Ok(())
}

/// Finds calls without a result at the beginning of the next turn. Words after a call, and words before a
/// result, part the two, and give the same error.
fn judge_calls(turn: &Turn<'_>, after: &Turn<'_>, before_first: usize) -> Result<(), Refusal> {
    let place = turn.last + before_first;
    let calls: Vec<&str> = turn.blocks.iter().filter_map(|(_, _, block)| call_id(block)).collect();
    let Some(first) = turn.blocks.iter().position(|(_, _, block)| call_id(block).is_some()) else {
        return Ok(());
    };
    let is_last = |(_, _, block): &(usize, usize, &Value)| call_id(block).is_some();
    if !turn.blocks[first..].iter().all(is_last) {
        return Err(unanswered("text_after_call", place, &calls));
    }
    let leading = after.blocks.iter().map_while(|(_, _, block)| result_id(block));
    let leading: HashSet<&str> = leading.collect();
    let open: Vec<&str> = calls.iter().copied().filter(|id| !leading.contains(id)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let anywhere =
        |id: &&str| after.blocks.iter().any(|(_, _, block)| result_id(block) == Some(id));
    let rule = if open.iter().all(anywhere) { "text_before_result" } else { "call_unanswered" };
    Err(unanswered(rule, place, &open))
}

fn unanswered(rule: &'static str, at: usize, ids: &[&str]) -> Refusal {
    let ids = ids.join(", ");
    let message = format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    );
    refuse(rule, message)
}

fn call_id(block: &Value) -> Option<&str> {
    (block["type"] == "tool_use").then(|| block["id"].as_str()).flatten()
}

fn result_id(block: &Value) -> Option<&str> {
    (block["type"] == "tool_result").then(|| block["tool_use_id"].as_str()).flatten()
}
