//! Handles calls that were made by code which the provider ran.
//!
//! Such a call names the execution of code that it came from. If that execution was pruned from the conversation,
//! the provider refuses the name, so it is left out. This is done only before the last user message: after it, the
//! code may still be waiting for its result.

use std::collections::HashSet;

use ship_message::json::Json;

use super::super::anthropic_block::{BlockBody, Caller};
use super::super::anthropic_message::AnthropicMessages;
use super::super::json_text::is_true;
use super::super::provider_options::{ANTHROPIC, ProviderOptions};

/// Returns the caller that options name.
pub(in crate::wire) fn of<'p>(options: &'p ProviderOptions<'_>) -> Option<Caller<'p>> {
    let caller = options.get(ANTHROPIC, "caller")?;
    let id = caller.get("toolId").filter(|id| is_true(id));
    match (caller.get("type").and_then(Json::as_str)?, id) {
        (kind @ ("code_execution_20250825" | "code_execution_20260120"), Some(id)) => {
            Some(Caller::Code { kind, id })
        }
        ("direct", _) => Some(Caller::Direct),
        _ => None,
    }
}

/// Forgets callers that are no longer in the conversation.
pub(in crate::wire) fn forget_lost(conversation: &mut AnthropicMessages<'_>) {
    let assistant = |role: &str| role == "assistant";
    let blocks = conversation.messages.iter().filter(|message| assistant(message.role));
    let runs: HashSet<String> = blocks
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match &block.body {
            BlockBody::ByProvider(call)
                if call.str("type") == Some("server_tool_use")
                    && call.str("name") == Some("code_execution") =>
            {
                call.str("id")
            }
            _ => None,
        })
        .map(str::to_owned)
        .collect();
    for message in conversation.messages.iter_mut().take(conversation.last_person_message) {
        for block in &mut message.blocks {
            let lost = match &block.caller {
                Some(Caller::Code { id, .. }) => !id.as_str().is_some_and(|id| runs.contains(id)),
                Some(Caller::Direct) | None => false,
            };
            if lost {
                block.caller = None;
            }
        }
    }
}
