//! Reads the stream of a chat completion, from OpenAI and from the many hosts that claim to be compatible.
//!
//! A chunk has at most one choice that matters, with a delta: text, reasoning under one of several names, a
//! refusal, pieces of calls. The answer has ended properly when a `finish_reason` has come; the token counts may
//! come before, with or after it. The presence of calls decides whether tools are called, not the reason.

mod streamed_calls;
#[cfg(test)]
mod tests;
mod think_tags;

use ship_message::json::{JsString, Json, Object};
use ship_message::{Chunk, FinishReason};

use self::streamed_calls::StreamedCalls;
use self::think_tags::ThinkTags;
use super::answer_draft::{AnswerDraft, Origin, Part, ProseKind};
use super::answer_fault::{AnswerFault, ProviderErrorText};
use super::sse::Event;
use super::stream_reader::{EventEffect, StreamReader};
use crate::{AnswerEnd, Usage};

/// A chat completion that is being read.
#[derive(Debug)]
pub(crate) struct OpenAiReader {
    draft: AnswerDraft,
    open: Option<Part>,
    calls: StreamedCalls,
    tags: ThinkTags,
    reason: Option<FinishReason>,
    /// Whether the message has named its role, as the first delta does.
    has_role: bool,
}

impl OpenAiReader {
    pub(crate) fn new(origin: Origin) -> Self {
        let draft = AnswerDraft::new(origin);
        Self {
            draft,
            open: None,
            calls: StreamedCalls::default(),
            tags: ThinkTags::default(),
            reason: None,
            has_role: false,
        }
    }

    /// Takes a chunk. Returns whether it carries anything.
    fn read_chunk(&mut self, json: &Json, out: &mut Vec<Chunk>) -> Result<bool, AnswerFault> {
        let choice = json.get("choices").and_then(Json::as_array).and_then(first_choice);
        let groq = json.get("x_groq").and_then(|groq| groq.get("usage"));
        // Groq has the counts in a field of its own, and some hosts have them in the choice.
        let usages = [json.get("usage"), groq, choice.and_then(|choice| choice.get("usage"))];
        let usage = usages.into_iter().flatten().find_map(usage).or(self.draft.usage);
        let has_usage = std::mem::replace(&mut self.draft.usage, usage) != usage;
        let Some(choice) = choice else { return Ok(has_usage) };
        if let Some(report) = ProviderErrorText::from_stream(choice, false) {
            return Err(AnswerFault::Reported(report));
        }
        // A host that ignores `stream` has a message in the place of the delta.
        let delta = ["delta", "message"].iter().find_map(|key| choice.get(key)?.as_object());
        let has_content = match delta {
            Some(delta) => self.read_delta(delta, out)?,
            None => false,
        };
        let has_reason = match choice.get("finish_reason").and_then(Json::as_str) {
            None | Some("") => false,
            Some(reason @ ("error" | "insufficient_system_resource")) => {
                return Err(AnswerFault::Reported(ProviderErrorText::server_error(format!(
                    "it ended the answer with `{reason}`"
                ))));
            }
            Some(reason) => self.reason.replace(finish_reason(reason)).is_none(),
        };
        Ok(has_usage || has_content || has_reason)
    }

    /// Takes a delta. Returns whether it carries anything.
    fn read_delta(&mut self, delta: &Object, out: &mut Vec<Chunk>) -> Result<bool, AnswerFault> {
        let mut has_content =
            delta.get("role").is_some() && !std::mem::replace(&mut self.has_role, true);
        // What only other clients understand, such as `reasoning_details`, is still an answer that goes on.
        has_content |= delta.iter().any(|(name, value)| !READ.contains(&name) && !is_empty(value));
        let reasoning = ["reasoning_content", "reasoning"]
            .into_iter()
            .find_map(|key| Some((key, non_empty(delta.get(key)?.as_js_string()?)?)));
        if let Some((field, reasoning)) = reasoning {
            // Only a host that writes this field is known to read it.
            self.draft.reasoning_field = Some(field).filter(|field| *field == "reasoning_content");
            self.extend_part(ProseKind::Reasoning, reasoning, out);
            has_content = true;
        }
        if let Some(content) = delta.get("content") {
            has_content |= self.read_content(content, out);
        }
        let refusal = delta.get("refusal").and_then(Json::as_js_string);
        if let Some(refusal) = refusal.and_then(non_empty) {
            self.extend_part(ProseKind::Text, refusal, out);
            has_content = true;
        }
        for piece in delta.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
            has_content |= self.calls.add_delta(piece)?;
        }
        Ok(has_content)
    }

    /// Takes a text, or a list of texts and thoughts. Returns whether there was any.
    fn read_content(&mut self, content: &Json, out: &mut Vec<Chunk>) -> bool {
        let mut has_any = false;
        if let Some(text) = content.as_js_string() {
            let mut tags = std::mem::take(&mut self.tags);
            tags.push(text, &mut |kind, text| self.extend_part(kind, text, out));
            self.tags = tags;
            // A piece of a tag may be held back, but it has come.
            has_any |= !text.is_empty();
        }
        let mut extend = |kind, text: &JsString| {
            self.extend_part(kind, text, out);
            has_any |= !text.is_empty();
        };
        for item in content.as_array().unwrap_or_default() {
            if let Some(text) = item.get("text").or(Some(item)).and_then(Json::as_js_string) {
                extend(ProseKind::Text, text);
            }
            let Some(thinking) = item.get("thinking") else { continue };
            if let Some(text) = thinking.as_js_string() {
                extend(ProseKind::Reasoning, text);
            }
            for thought in thinking.as_array().unwrap_or_default() {
                if let Some(text) = thought.get("text").and_then(Json::as_js_string) {
                    extend(ProseKind::Reasoning, text);
                }
            }
        }
        has_any
    }

    /// Adds to the open part, or ends it and begins another if it is of the other kind.
    fn extend_part(&mut self, kind: ProseKind, delta: &JsString, out: &mut Vec<Chunk>) {
        if delta.is_empty() {
            return;
        }
        let mut part = match self.open.take() {
            Some(part) if part.kind == kind => part,
            other => {
                if let Some(part) = other {
                    self.draft.end_part(part, None, out);
                }
                self.draft.new_part(kind)
            }
        };
        self.draft.extend_part(&mut part, delta, out);
        self.open = Some(part);
    }
}

impl StreamReader for OpenAiReader {
    fn read_event(
        &mut self,
        event: &Event,
        out: &mut Vec<Chunk>,
    ) -> Result<EventEffect, AnswerFault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(EventEffect::End);
        }
        if data.is_empty() {
            return Ok(EventEffect::None);
        }
        let json = Json::parse(data).map_err(|error| AnswerFault::bad_event(&error))?;
        if let Some(report) = ProviderErrorText::from_stream(&json, event.name == "error") {
            return Err(AnswerFault::Reported(report));
        }
        Ok(match self.read_chunk(&json, out)? {
            true => EventEffect::Progress,
            false => EventEffect::None,
        })
    }

    fn read_whole(&mut self, json: &Json, out: &mut Vec<Chunk>) -> Result<(), AnswerFault> {
        if let Some(report) = ProviderErrorText::from_stream(json, false) {
            return Err(AnswerFault::Reported(report));
        }
        if json.get("choices").and_then(Json::as_array).and_then(first_choice).is_none() {
            return Err(AnswerFault::Protocol("JSON without an answer".to_owned()));
        }
        self.read_chunk(json, out).map(|_| ())
    }

    fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<AnswerEnd, AnswerFault> {
        let mut tags = std::mem::take(&mut self.tags);
        tags.finish(&mut |kind, text| self.extend_part(kind, text, out));
        // An answer without a reason was cut off, even if `[DONE]` follows.
        let Some(reason) = self.reason else { return Err(AnswerFault::Unfinished) };
        if let Some(part) = self.open.take() {
            self.draft.end_part(part, None, out);
        }
        let calls = std::mem::take(&mut self.calls).into_calls();
        Ok(self.draft.finish(reason, calls, out))
    }
}

/// Returns the choice that matters; we never ask for a second.
fn first_choice(choices: &[Json]) -> Option<&Json> {
    let is_first = |choice: &&Json| {
        choice.as_object().is_some()
            && choice.get("index").and_then(Json::as_u64).is_none_or(|index| index == 0)
    };
    choices.iter().find(is_first)
}

/// The fields of a delta that are read.
const READ: [&str; 6] =
    ["role", "content", "reasoning", "reasoning_content", "refusal", "tool_calls"];

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(values) => values.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn non_empty(text: &JsString) -> Option<&JsString> {
    (!text.is_empty()).then_some(text)
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "stop" => FinishReason::Stop,
        "length" | "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        _ => FinishReason::Other,
    }
}

/// Reads the token counts; those read from a cache are part of the input.
fn usage(json: &Json) -> Option<Usage> {
    let count = |key: &str| json.get(key).and_then(Json::as_u64);
    let input = count("prompt_tokens");
    let output = count("completion_tokens");
    let details = json.get("prompt_tokens_details");
    let cached = details
        .and_then(|details| details.get("cached_tokens")?.as_u64())
        // DeepSeek's name for the same.
        .or_else(|| count("prompt_cache_hit_tokens"))
        .unwrap_or_default();
    input.or(output)?;
    let input = input.unwrap_or_default();
    Some(Usage { input, cached: cached.min(input), output: output.unwrap_or_default() })
}
