//! Reads messages of OpenAI's chat completions, one value for each, or conversations of them.
//!
//! An assistant's message, the results of its calls and what it says after them become one message with steps.

use ship_message::json::Json;
use ship_message::{Role, UiMessage};

use super::FormatReader;
use super::container::{Conversations, part_of};
use super::content::{add_openai_content, output_of};
use crate::message_builder::{MessageBuilder, input_of_arguments, seconds};
use crate::plan::{Piece, PlannedContext};

#[derive(Default)]
pub(super) struct OpenAiMessages {
    conversations: Conversations,
    last: LastMessage,
}

/// The last message, as far as the next one depends on it.
#[derive(Clone, Copy, Default, PartialEq)]
enum LastMessage {
    #[default]
    Other,
    Assistant,
    Result,
}

impl FormatReader for OpenAiMessages {
    fn look(&mut self, item: u32, _bytes: u32, value: &Json) -> Result<(), String> {
        let last = &mut self.last;
        self.conversations.look(item, value, |context, piece, message| {
            if piece.part == 1 {
                *last = LastMessage::Other;
            }
            add(context, piece, message, last)
        })
    }

    fn finish(&mut self) -> Vec<PlannedContext> {
        self.conversations.finish()
    }

    fn build(
        &self,
        fallback: String,
        _is_summary: bool,
        pieces: &[(&Json, u32)],
    ) -> Vec<UiMessage> {
        let messages: Vec<&Json> =
            pieces.iter().map(|(value, part)| part_of(value, *part)).collect();
        let Some(first) = messages.first() else { return Vec::new() };
        let role = match first.get("role").and_then(Json::as_str) {
            Some("user") => Role::User,
            Some("system" | "developer") => Role::System,
            _ => Role::Assistant,
        };
        let mut builder = MessageBuilder::with_id(first.get("id"), fallback, role);
        for message in messages {
            add_message(&mut builder, message);
        }
        vec![builder.finish()]
    }
}

/// Adds a message to a context: as one of its own, or to the assistant's before it.
fn add(
    context: &mut PlannedContext,
    piece: Piece,
    message: &Json,
    last: &mut LastMessage,
) -> Result<(), String> {
    let role = message.get("role").and_then(Json::as_str).unwrap_or_default();
    let (next, joins) = match role {
        "user" | "system" | "developer" => (LastMessage::Other, false),
        "assistant" => (LastMessage::Assistant, *last == LastMessage::Result),
        "tool" | "function" => (LastMessage::Result, *last != LastMessage::Other),
        "" => return Err("it has no `role`".to_owned()),
        other => return Err(format!("the role `{other}` is unknown")),
    };
    context.began = context.began.or(time_of(message));
    if !joins || !context.add(piece) {
        context.begin(piece);
    }
    *last = next;
    Ok(())
}

fn time_of(message: &Json) -> Option<ship_record::Timestamp> {
    seconds(message.get("created_at").or_else(|| message.get("created")))
}

fn add_message(builder: &mut MessageBuilder, message: &Json) {
    let text = |key: &str| message.get(key).and_then(Json::as_str);
    builder.set_ts(time_of(message));
    match text("role") {
        Some("tool") => {
            let id = text("tool_call_id").unwrap_or_default();
            builder.result(id, output_of(message.get("content")), false);
        }
        Some("function") => {
            let name = text("name").unwrap_or_default();
            let id = builder.open_call(|call| call == name).unwrap_or_else(|| name.to_owned());
            builder.result(&id, output_of(message.get("content")), false);
        }
        _ => add_words_and_calls(builder, message),
    }
    let is_kept =
        |key: &str| matches!(key, "name" | "audio" | "annotations" | "logprobs" | "weight");
    for (key, value) in message.as_object().into_iter().flat_map(|all| all.iter()) {
        let is_said =
            matches!(value, Json::Null) || (key == "name" && text("role") == Some("function"));
        let is_empty = value.as_array().is_some_and(<[Json]>::is_empty);
        if is_kept(key) && !is_said && !is_empty {
            builder.keep(key, value.clone());
        }
    }
}

fn add_words_and_calls(builder: &mut MessageBuilder, message: &Json) {
    let text = |key: &str| message.get(key).and_then(Json::as_str);
    builder.end_step();
    if let Some(thought) =
        text("reasoning_content").or(text("reasoning")).filter(|it| !it.is_empty())
    {
        builder.reasoning(thought, None);
    }
    add_openai_content(builder, message.get("content"));
    if let Some(refusal) = text("refusal") {
        builder.text(refusal);
    }
    let calls = message.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
    for call in calls {
        let id = call.get("id").and_then(Json::as_str).unwrap_or_default();
        match call.get("function") {
            Some(function) => {
                let name = function.get("name").and_then(Json::as_str).unwrap_or_default();
                builder.call(name, id, input_of_arguments(function.get("arguments")));
            }
            None => builder.keep("tool call", call.clone()),
        }
    }
    if let Some(call) = message.get("function_call").filter(|call| !call.is_null()) {
        let name = call.get("name").and_then(Json::as_str).unwrap_or_default();
        builder.call(name, name, input_of_arguments(call.get("arguments")));
    }
}
