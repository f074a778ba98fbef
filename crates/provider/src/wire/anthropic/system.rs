//! Writes system messages: the first become a field of the request, later ones stay among the messages.

use ship_message::json::{Json, Object};

use super::super::anthropic_block::{Block, BlockBody};
use super::super::anthropic_message::{AnthropicMessage, AnthropicMessages};
use super::super::error::WireError;
use super::super::prompt_message::Message;
use super::super::provider_options::{ANTHROPIC, ProviderOptions};
use super::cache::CacheControl;

const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// The options that only a system message in the middle of a conversation can have.
#[derive(Default)]
struct MidSystemOptions<'p> {
    clear_at: Option<&'p str>,
    effort: Option<&'p str>,
    tool_changes: Vec<BlockBody<'p>>,
}

pub(super) fn add<'p>(
    block: &'p [Message<'_>],
    is_first: bool,
    conversation: &mut AnthropicMessages<'p>,
    cache: &mut CacheControl,
) -> Result<(), WireError> {
    let mut messages = Vec::new();
    let (mut changes_tools, mut is_midway) = (false, false);
    for message in block {
        let Message::System { text, options } = message else { continue };
        let mid_system = mid_system_options(options)?;
        changes_tools |= !mid_system.tool_changes.is_empty();
        is_midway |= mid_system.clear_at.is_some() || mid_system.effort.is_some();
        messages.push(system_message(text, options, mid_system, cache));
    }
    if is_first || (conversation.system.is_none() && !changes_tools && !is_midway) {
        move_to_system_prompt(messages, conversation);
        return Ok(());
    }
    conversation.require_beta("mid-conversation-system-2026-04-07");
    if changes_tools {
        conversation.require_beta("mid-conversation-tool-changes-2026-07-01");
    }
    if messages.iter().any(|message| message.clear_at.is_some()) {
        conversation.require_beta("mid-conversation-system-clear-at-2026-08-21");
    }
    if messages.iter().any(|message| message.effort.is_some()) {
        conversation.require_beta("mid-conversation-output-config-2026-07-01");
    }
    conversation.messages.extend(messages);
    Ok(())
}

/// Turns the texts into the system prompt. A message that only sets the effort stays a message; other options for
/// later messages are lost.
fn move_to_system_prompt<'p>(
    messages: Vec<AnthropicMessage<'p>>,
    conversation: &mut AnthropicMessages<'p>,
) {
    let mut system = Vec::new();
    for mut message in messages {
        if message.blocks.is_empty() && message.clear_at.is_none() && message.effort.is_some() {
            conversation.require_beta("mid-conversation-output-config-2026-07-01");
            conversation.messages.push(message);
        } else {
            let texts =
                message.blocks.extract_if(.., |block| matches!(block.body, BlockBody::Text { .. }));
            system.extend(texts);
        }
    }
    conversation.system = Some(system);
}

fn system_message<'p>(
    text: &'p str,
    options: &'p ProviderOptions<'_>,
    mid_system: MidSystemOptions<'p>,
    cache: &mut CacheControl,
) -> AnthropicMessage<'p> {
    let says_more = !mid_system.tool_changes.is_empty()
        || mid_system.clear_at.is_some()
        || mid_system.effort.is_some();
    let mut blocks = Vec::with_capacity(1 + mid_system.tool_changes.len());
    // An empty text is sent only if the message has nothing else.
    if !text.is_empty() || !says_more {
        blocks.push(Block::new(
            BlockBody::Text { text, citations: None },
            cache.mark_from(options.json()),
        ));
    }
    blocks.extend(mid_system.tool_changes.into_iter().map(|change| Block::new(change, None)));
    AnthropicMessage {
        role: "system",
        blocks,
        clear_at: mid_system.clear_at,
        effort: mid_system.effort,
    }
}

fn mid_system_options<'p>(
    options: &'p ProviderOptions<'_>,
) -> Result<MidSystemOptions<'p>, WireError> {
    let Some(options) = options.of(ANTHROPIC) else { return Ok(MidSystemOptions::default()) };
    let tool_changes = match options.get("toolChanges") {
        None => Vec::new(),
        Some(Json::Array(changes)) => changes
            .iter()
            .map(tool_change)
            .collect::<Option<_>>()
            .ok_or(WireError::InvalidOptions)?,
        Some(_) => return Err(WireError::InvalidOptions),
    };
    Ok(MidSystemOptions {
        clear_at: read_choice(options, "clearAt", &["next_user_message"])?,
        effort: read_choice(options, "effort", &EFFORTS)?,
        tool_changes,
    })
}

/// Reads an option that must be absent or one of a few words.
fn read_choice<'p>(
    options: &'p Object,
    key: &str,
    words: &[&str],
) -> Result<Option<&'p str>, WireError> {
    match options.get(key) {
        None => Ok(None),
        Some(value) => match value.as_str().filter(|word| words.contains(word)) {
            Some(word) => Ok(Some(word)),
            None => Err(WireError::InvalidOptions),
        },
    }
}

fn tool_change(change: &Json) -> Option<BlockBody<'_>> {
    let kind = change.get("type")?.as_str()?;
    let tool = change.get("toolName")?.as_str()?;
    matches!(kind, "tool_addition" | "tool_removal").then_some(BlockBody::ToolChange { kind, tool })
}
