//! Writes Anthropic messages.
//!
//! Consecutive messages of one side become one, and the results of tools belong to the user. The first system
//! messages have a field of their own; later ones stay in their place. Everything is a [`Block`],
//! which may carry a mark where a cache may end.

mod assistant;
mod cache;
mod model_limits;
mod system;
mod user;

use ship_message::json::{Json, ObjectWriter};

use self::cache::CacheControl;
use super::anthropic_block::{Block, Cache};
use super::anthropic_message::{AnthropicMessage, AnthropicMessages};
use super::error::WireError;
use super::prompt_message::Message;
use super::sdk_compat::callers;
use super::{AnthropicRequest, Parameters, description};
use crate::ToolSpec;

pub(super) fn write_request(
    prompt: &[Message<'_>],
    tools: &[ToolSpec],
    parameters: &Parameters<'_>,
) -> Result<AnthropicRequest, WireError> {
    let mut conversation = convert_prompt(prompt, parameters)?;
    callers::forget_lost(&mut conversation);
    if parameters.cache_marks {
        cache::set_marks(&mut conversation);
    }
    let body = write_body(&conversation, tools, parameters);
    Ok(AnthropicRequest { body, betas: conversation.betas })
}

fn convert_prompt<'p>(
    prompt: &'p [Message<'_>],
    parameters: &Parameters<'_>,
) -> Result<AnthropicMessages<'p>, WireError> {
    let mut conversation = AnthropicMessages::default();
    let mut cache = CacheControl::new(parameters.cache_marks);
    let mut rest = prompt;
    while let Some(first) = rest.first() {
        let side = side_of(first);
        let end = rest.iter().position(|message| self::side_of(message) != side);
        let (block, after) = rest.split_at(end.unwrap_or(rest.len()));
        let is_first = rest.len() == prompt.len();
        rest = after;
        match side {
            Side::System => system::add(block, is_first, &mut conversation, &mut cache)?,
            Side::User => user::add(block, &mut conversation, &mut cache)?,
            Side::Assistant => {
                assistant::add(block, rest.is_empty(), &mut conversation, &mut cache)?;
            }
        }
    }
    Ok(conversation)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    System,
    User,
    Assistant,
}

fn side_of(message: &Message<'_>) -> Side {
    match message {
        Message::System { .. } => Side::System,
        Message::User { .. } | Message::Tool { .. } => Side::User,
        Message::Assistant { .. } => Side::Assistant,
    }
}

fn write_body(
    conversation: &AnthropicMessages<'_>,
    tools: &[ToolSpec],
    parameters: &Parameters<'_>,
) -> String {
    let model = model_limits::limits_of(parameters.model);
    let mut out = String::new();
    let mut body = ObjectWriter::open(&mut out);
    body.str("model", parameters.model);
    body.json("max_tokens", &model.max_tokens(parameters.max_tokens).into());
    if let Some(temperature) = parameters.temperature.filter(|_| model.takes_temperature) {
        // Anthropic takes at most 1, where OpenAI takes 2.
        body.json("temperature", &temperature.clamp(0.0, 1.0).into());
    }
    if let Some(system) = &conversation.system {
        body.list("system", system, Block::write_to);
    }
    body.list("messages", &conversation.messages, AnthropicMessage::write_to);
    if !tools.is_empty() {
        let last = tools.len() - 1;
        body.list("tools", tools.iter().enumerate(), |(i, tool), out| {
            // A mark at the last tool covers all tools before it.
            write_tool(tool, parameters, parameters.cache_marks && i == last, out);
        });
        body.object("tool_choice").str("type", "auto");
    }
    if parameters.stream {
        body.json("stream", &Json::Bool(true));
    }
    drop(body);
    out
}

fn write_tool(tool: &ToolSpec, parameters: &Parameters<'_>, mark: bool, out: &mut String) {
    let mut object = ObjectWriter::open(out);
    object.str("name", &tool.name);
    if let Some(description) = description(tool) {
        object.str("description", description);
    }
    object.json("input_schema", &tool.input_schema);
    if mark {
        Cache::Mark.write_to(&mut object);
    }
    // Without it, the input of a streamed call comes in one piece at its end.
    if parameters.stream {
        object.json("eager_input_streaming", &Json::Bool(true));
    }
}
