//! Writes the model's messages: text, thinking, and calls of tools.
//!
//! Thinking is sent back only with its signature. Calls move behind everything up to the next thinking, because the
//! provider wants the results directly after them.

use std::borrow::Cow;

use ship_message::json::{Json, Object};

use super::super::anthropic_block::{Block, BlockBody, Cache, ToolUseBlock};
use super::super::anthropic_message::{AnthropicMessage, AnthropicMessages};
use super::super::error::WireError;
use super::super::json_text::{parse_safely, trim_as_js, without};
use super::super::prompt_message::{AssistantPart, Message, ToolCall};
use super::super::provider_options::{ANTHROPIC, ProviderOptions};
use super::super::sdk_compat::{callers, provider_tools};
use super::cache::CacheControl;

pub(super) fn add<'p>(
    block: &'p [Message<'_>],
    is_last_block: bool,
    conversation: &mut AnthropicMessages<'p>,
    cache: &mut CacheControl,
) -> Result<(), WireError> {
    let mut blocks = Vec::new();
    let mut mcp_calls = Vec::new();
    for (j, message) in block.iter().enumerate() {
        let Message::Assistant { parts, options } = message else { continue };
        for (k, part) in parts.iter().enumerate() {
            let is_last = k + 1 == parts.len();
            let mut mark = cache.mark_from(options_of(part).json());
            if mark.is_none() && is_last {
                mark = cache.mark_from(options.json());
            }
            // The model continues where such a text ends, and cannot continue from white space.
            let is_prefill = is_last_block && j + 1 == block.len() && is_last;
            let made = match part {
                AssistantPart::Text { text, options } => {
                    Some(text_block(text, options, is_prefill))
                }
                AssistantPart::Reasoning { text, options } => thinking_block(text, options)?,
                AssistantPart::Call(call) if call.by_provider => {
                    provider_tools::call(call, &mut mcp_calls).map(BlockBody::ByProvider)
                }
                AssistantPart::Call(call) => tool_use(call).map(BlockBody::ToolUse),
                AssistantPart::Result(result) => {
                    provider_tools::result(result, &mcp_calls)?.map(BlockBody::ByProvider)
                }
                AssistantPart::File { .. } => None,
            };
            blocks.extend(made.map(|body| finish_block(body, part, mark)));
        }
    }
    conversation.messages.push(AnthropicMessage::new("assistant", move_calls_last(blocks)));
    Ok(())
}

fn options_of<'p>(part: &'p AssistantPart<'_>) -> &'p ProviderOptions<'p> {
    match part {
        AssistantPart::Text { options, .. }
        | AssistantPart::Reasoning { options, .. }
        | AssistantPart::File { options } => options,
        AssistantPart::Call(call) => &call.options,
        AssistantPart::Result(result) => &result.options,
    }
}

/// Makes a block with the options of its part: thinking takes no mark, and only some blocks know a caller.
fn finish_block<'p>(
    body: BlockBody<'p>,
    part: &'p AssistantPart<'_>,
    mark: Option<Cache<'p>>,
) -> Block<'p> {
    let (has_caller, may_be_marked) = match &body {
        BlockBody::ToolUse(_) => (true, true),
        BlockBody::ByProvider(fields) => (provider_tools::has_caller(fields), true),
        BlockBody::Thinking { .. } | BlockBody::RedactedThinking(_) => (false, false),
        _ => (false, true),
    };
    Block {
        body,
        caller: if has_caller { callers::of(options_of(part)) } else { None },
        cache: mark.filter(|_| may_be_marked),
    }
}

fn text_block<'p>(
    text: &'p str,
    options: &'p ProviderOptions<'_>,
    is_prefill: bool,
) -> BlockBody<'p> {
    if options.get(ANTHROPIC, "type").and_then(Json::as_str) == Some("compaction") {
        return BlockBody::Compaction(text);
    }
    let text = if is_prefill { trim_as_js(text) } else { text };
    BlockBody::Text { text, citations: options.get(ANTHROPIC, "citations") }
}

fn thinking_block<'p>(
    text: &'p str,
    options: &'p ProviderOptions<'_>,
) -> Result<Option<BlockBody<'p>>, WireError> {
    let Some(options) = options.of(ANTHROPIC) else { return Ok(None) };
    let field = |key: &str| match options.get(key) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or(WireError::InvalidOptions),
    };
    let (signature, redacted) = (field("signature")?, field("redactedData")?);
    Ok(match (signature, redacted) {
        (Some(signature), _) => Some(BlockBody::Thinking { text, signature }),
        (None, Some(data)) => Some(BlockBody::RedactedThinking(data)),
        (None, None) => None,
    })
}

/// Returns the toolset of a call or a result: several tools of the provider that we see as one.
pub(super) fn toolset<'p>(options: &'p ProviderOptions<'_>) -> Option<&'p str> {
    options.get(ANTHROPIC, "toolsetName").and_then(Json::as_str)
}

fn tool_use<'p>(call: &'p ToolCall<'_>) -> Option<ToolUseBlock<'p>> {
    let Some(toolset) = toolset(&call.options) else {
        let input = call.input.as_deref().map(as_input);
        return Some(ToolUseBlock { id: &call.id, name: &call.name, toolset: None, input });
    };
    // The action of a toolset is the name of the called tool.
    let input = call.input.as_deref()?.as_object()?;
    let name = input.str("action")?;
    let input: Object = without(input, "action");
    let input = Some(Cow::Owned(input.into()));
    Some(ToolUseBlock { id: &call.id, name, toolset: Some(toolset), input })
}

/// Returns an input as an object if it is the text of one: it was read before its end, or never parsed.
fn as_input(input: &Json) -> Cow<'_, Json> {
    let parsed = input.as_str().and_then(parse_safely);
    match parsed {
        Some(object @ Json::Object(_)) => Cow::Owned(object),
        _ => Cow::Borrowed(input),
    }
}

/// Moves calls behind the other blocks between two thoughts.
fn move_calls_last(blocks: Vec<Block<'_>>) -> Vec<Block<'_>> {
    let mut sorted = Vec::with_capacity(blocks.len());
    let mut calls = Vec::new();
    for block in blocks {
        match block.body {
            BlockBody::Thinking { .. } | BlockBody::RedactedThinking(_) => {
                sorted.append(&mut calls);
                sorted.push(block);
            }
            BlockBody::ToolUse(_) => calls.push(block),
            _ => sorted.push(block),
        }
    }
    sorted.append(&mut calls);
    sorted
}
