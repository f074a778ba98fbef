//! Reads the stream of a chat completion, from OpenAI and from the many hosts that claim to be compatible.
//!
//! A chunk has at most one choice that matters, with a delta: text, reasoning under one of several names, a
//! refusal, pieces of calls. The answer has ended properly when a `finish_reason` has come; the token counts may
//! come before, with or after it. The presence of calls decides whether tools are called, not the reason.

mod streamed_calls;
#[cfg(test)]
mod tests;
mod think_tags;

use ship_message::json::{JsString, Json};
use ship_message::{Chunk, FinishReason};

use self::streamed_calls::StreamedCalls;
use self::think_tags::ThinkTags;
use super::answer_draft::{AnswerDraft, Origin, Part, ProseKind};
use super::answer_fault::{AnswerFault, ProviderErrorText};
use super::sse::Event;
use super::stream_reader::StreamReader;
use crate::{AnswerEnd, Usage};

/// A chat completion that is being read.
#[derive(Debug)]
pub(crate) struct OpenAiReader {
    draft: AnswerDraft,
    open: Option<Part>,
    calls: StreamedCalls,
    tags: ThinkTags,
    reason: Option<FinishReason>,
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
        }
    }

    fn read_chunk(&mut self, json: &Json, out: &mut Vec<Chunk>) -> Result<(), AnswerFault> {
        let choice = json.get("choices").and_then(Json::as_array).and_then(first_choice);
        let groq = json.get("x_groq").and_then(|groq| groq.get("usage"));
        // Groq has the counts in a field of its own, and some hosts have them in the choice.
        let usages = [json.get("usage"), groq, choice.and_then(|choice| choice.get("usage"))];
        if let Some(usage) = usages.into_iter().flatten().find_map(usage) {
            self.draft.usage = Some(usage);
        }
        let Some(choice) = choice else { return Ok(()) };
        if let Some(report) = ProviderErrorText::from_stream(choice, false) {
            return Err(AnswerFault::Reported(report));
        }
        // A host that ignores `stream` has a message in the place of the delta.
        let delta = ["delta", "message"].iter().find_map(|key| choice.get(key)?.as_object());
        if let Some(delta) = delta {
            let reasoning = ["reasoning_content", "reasoning"]
                .into_iter()
                .find_map(|key| Some((key, non_empty(delta.get(key)?.as_js_string()?)?)));
            if let Some((field, reasoning)) = reasoning {
                // Only a host that writes this field is known to read it.
                self.draft.reasoning_field =
                    Some(field).filter(|field| *field == "reasoning_content");
                self.extend_part(ProseKind::Reasoning, reasoning, out);
            }
            if let Some(content) = delta.get("content") {
                self.read_content(content, out);
            }
            if let Some(refusal) = delta.get("refusal").and_then(Json::as_js_string) {
                self.extend_part(ProseKind::Text, refusal, out);
            }
            for piece in delta.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
                self.calls.add_delta(piece)?;
            }
        }
        match choice.get("finish_reason").and_then(Json::as_str) {
            None | Some("") => Ok(()),
            Some(reason @ ("error" | "insufficient_system_resource")) => {
                Err(AnswerFault::Reported(ProviderErrorText::server_error(format!(
                    "it ended the answer with `{reason}`"
                ))))
            }
            Some(reason) => {
                self.reason = Some(finish_reason(reason));
                Ok(())
            }
        }
    }

    /// Takes a text, or a list of texts and thoughts.
    fn read_content(&mut self, content: &Json, out: &mut Vec<Chunk>) {
        if let Some(text) = content.as_js_string() {
            let mut tags = std::mem::take(&mut self.tags);
            tags.push(text, &mut |kind, text| self.extend_part(kind, text, out));
            self.tags = tags;
        }
        for item in content.as_array().unwrap_or_default() {
            if let Some(text) = item.get("text").or(Some(item)).and_then(Json::as_js_string) {
                self.extend_part(ProseKind::Text, text, out);
            }
            let Some(thinking) = item.get("thinking") else { continue };
            if let Some(text) = thinking.as_js_string() {
                self.extend_part(ProseKind::Reasoning, text, out);
            }
            for thought in thinking.as_array().unwrap_or_default() {
                if let Some(text) = thought.get("text").and_then(Json::as_js_string) {
                    self.extend_part(ProseKind::Reasoning, text, out);
                }
            }
        }
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
    fn read_event(&mut self, event: &Event, out: &mut Vec<Chunk>) -> Result<bool, AnswerFault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(true);
        }
        if data.is_empty() {
            return Ok(false);
        }
        let json = Json::parse(data).map_err(|error| AnswerFault::bad_event(&error))?;
        if let Some(report) = ProviderErrorText::from_stream(&json, event.name == "error") {
            return Err(AnswerFault::Reported(report));
        }
        self.read_chunk(&json, out)?;
        Ok(false)
    }

    fn read_whole(&mut self, json: &Json, out: &mut Vec<Chunk>) -> Result<(), AnswerFault> {
        if let Some(report) = ProviderErrorText::from_stream(json, false) {
            return Err(AnswerFault::Reported(report));
        }
        if json.get("choices").and_then(Json::as_array).and_then(first_choice).is_none() {
            return Err(AnswerFault::Protocol("JSON that holds no answer".to_owned()));
        }
        self.read_chunk(json, out)
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
