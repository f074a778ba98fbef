//! Marks of where a cached prefix ends: at most four, long-lived ones first, none on thinking.

use serde_json::Value;

use super::super::{Refusal, prompt::list};
use super::refuse;

const MARKS_MAX: usize = 4;

/// Judges all marks of a request.
pub(super) fn judge(body: &Value) -> Result<(), Refusal> {
    let mut marks = Vec::new();
    collect(&body["tools"], "tools", &mut marks);
    collect(&body["system"], "system", &mut marks);
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        collect(&message["content"], &format!("messages.{at}.content"), &mut marks);
    }
    for (place, block, mark) in &marks {
        judge_mark(place, block, mark)?;
    }
    if marks.len() > MARKS_MAX {
        let found = marks.len();
        let message = format!(
            "A maximum of {MARKS_MAX} blocks with cache_control may be provided. Found {found}."
        );
        return Err(refuse("marks", message));
    }
    judge_order(&marks)
}

type Mark<'a> = (String, &'a Value, &'a Value);

/// Only elements that carry a mark get a name, since there may be very many that do not.
fn collect<'a>(blocks: &'a Value, place: &str, marks: &mut Vec<Mark<'a>>) {
    for (k, block) in list(blocks).iter().enumerate() {
        if block["content"].is_array() {
            collect(&block["content"], &format!("{place}.{k}.tool_result.content"), marks);
        }
        let mark = &block["cache_control"];
        if !mark.is_null() {
            marks.push((format!("{place}.{k}"), block, mark));
        }
    }
}

fn judge_mark(place: &str, block: &Value, mark: &Value) -> Result<(), Refusal> {
    if let Some(kind @ ("thinking" | "redacted_thinking")) = block["type"].as_str() {
        let message = format!("{place}.{kind}.cache_control: Extra inputs are not permitted");
        return Err(refuse("mark_on_thinking", message));
    }
    if mark["type"] != "ephemeral" {
        let message = format!("{place}.cache_control.type: Input should be 'ephemeral'");
        return Err(refuse("mark_type", message));
    }
    match mark["ttl"].as_str() {
        Some("5m" | "1h") => Ok(()),
        None if mark["ttl"].is_null() => Ok(()),
        _ => {
            let message =
                format!("{place}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'");
            Err(refuse("mark_ttl", message))
        }
    }
}

fn judge_order(marks: &[Mark<'_>]) -> Result<(), Refusal> {
    let is_long = |mark: &Value| mark["ttl"] == "1h";
    let short = marks.iter().position(|(_, _, mark)| !is_long(mark)).unwrap_or(marks.len());
    match marks[short..].iter().find(|(_, _, mark)| is_long(mark)) {
        None => Ok(()),
        Some((place, _, _)) => {
            let message = format!(
                "{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."
            );
            Err(refuse("mark_order", message))
        }
    }
}
