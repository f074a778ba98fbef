//! Thinking: how much is asked for, and that what comes back is what was sent.

use serde_json::Value;

use super::super::sign::{Seal, is_ours, verify};
use super::super::{Refusal, Rules, prompt::list};
use super::{judge_fields, missing, refuse};

const BUDGET_MIN: i64 = 1024;
const MANUAL: &str = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking";

/// Judges the option, the blocks, and that an open tool loop still begins with its thinking.
pub(super) fn judge(body: &Value, messages: &[Value], rules: &Rules) -> Result<(), Refusal> {
    judge_option(body, rules)?;
    let latest = messages.iter().rposition(|message| message["role"] == "assistant");
    for (at, message) in messages.iter().enumerate() {
        for (k, block) in list(&message["content"]).iter().enumerate() {
            let place = format!("messages.{at}.content.{k}");
            match block["type"].as_str() {
                Some("thinking") => judge_thinking(block, &place, latest == Some(at), rules)?,
                Some("redacted_thinking") => judge_redacted(block, &place, rules)?,
                _ => {}
            }
        }
    }
    if body["thinking"]["type"] == "enabled" { judge_loop(messages) } else { Ok(()) }
}

fn judge_option(body: &Value, rules: &Rules) -> Result<(), Refusal> {
    let thinking = &body["thinking"];
    match thinking["type"].as_str() {
        None if thinking.is_null() => return Ok(()),
        Some("disabled" | "adaptive" | "between_tools") => return Ok(()),
        Some("enabled") => {}
        _ => {
            let message = "thinking: Input tag found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'";
            return Err(refuse("thinking_type", message));
        }
    }
    if !rules.thinking_budget {
        let message = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
        return Err(refuse("thinking_enabled", message));
    }
    let Some(budget) = thinking["budget_tokens"].as_i64() else {
        return Err(missing("thinking_budget_missing", "thinking.enabled.budget_tokens"));
    };
    if budget < BUDGET_MIN {
        let message =
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
        return Err(refuse("thinking_budget_minimum", message));
    }
    if body["max_tokens"].as_i64() <= Some(budget) {
        let message = format!(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at {MANUAL}#max-tokens-and-context-window-size"
        );
        return Err(refuse("thinking_budget", message));
    }
    if body["temperature"].as_f64().is_some_and(|temperature| temperature != 1.0) {
        let message = format!(
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at {MANUAL}#important-considerations-when-using-extended-thinking"
        );
        return Err(refuse("thinking_temperature", message));
    }
    Ok(())
}

fn judge_thinking(
    block: &Value,
    place: &str,
    is_latest: bool,
    rules: &Rules,
) -> Result<(), Refusal> {
    let inner = format!("{place}.thinking");
    judge_fields(block, &["type", "thinking", "signature", "cache_control"], &inner)?;
    let Some(thinking) = block["thinking"].as_str() else {
        return Err(missing("thinking_field", &format!("{inner}.thinking")));
    };
    let Some(signature) = block["signature"].as_str() else {
        return Err(missing("thinking_field", &format!("{inner}.signature")));
    };
    if !rules.signatures {
        return Ok(());
    }
    match verify(thinking, signature) {
        Seal::Whole => Ok(()),
        Seal::Changed if is_latest => Err(refuse(
            "thinking_modified",
            format!(
                "{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
            ),
        )),
        Seal::Changed | Seal::Foreign => {
            let message = format!("{place}: Invalid `signature` in `thinking` block");
            Err(refuse("thinking_signature", message))
        }
    }
}

fn judge_redacted(block: &Value, place: &str, rules: &Rules) -> Result<(), Refusal> {
    let inner = format!("{place}.redacted_thinking");
    judge_fields(block, &["type", "data", "cache_control"], &inner)?;
    match block["data"].as_str() {
        None => Err(missing("thinking_field", &format!("{inner}.data"))),
        Some(data) if rules.signatures && !is_ours(data) => {
            let message = format!("{place}: Invalid `data` in `redacted_thinking` block");
            Err(refuse("thinking_redacted", message))
        }
        Some(_) => Ok(()),
    }
}

/// While results are being handed in, the turn that they belong to has to begin with its thinking. The turn
/// begins after the last message in which the user spoke.
fn judge_loop(messages: &[Value]) -> Result<(), Refusal> {
    let has_result = |message: &Value| {
        list(&message["content"]).iter().any(|block| block["type"] == "tool_result")
    };
    if !messages.last().is_some_and(has_result) {
        return Ok(());
    }
    let spoke = |message: &Value| message["role"] == "user" && !has_result(message);
    let from = messages.iter().rposition(spoke).map_or(0, |at| at + 1);
    let first = messages[from..].iter().position(|message| message["role"] == "assistant");
    let Some(at) = first.map(|first| from + first) else { return Ok(()) };
    match messages[at]["content"][0]["type"].as_str().unwrap_or("text") {
        "thinking" | "redacted_thinking" => Ok(()),
        found => Err(refuse(
            "thinking_dropped",
            format!(
                "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at {MANUAL}"
            ),
        )),
    }
}
