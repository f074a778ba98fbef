//! Reads the stream of Anthropic's messages.
//!
//! An answer is a list of blocks, each of which begins, grows and stops: text, thinking with its signature,
//! hidden thinking, calls of tools. Token counts are cumulative, so a later one replaces an earlier one.
//! Only `message_stop` ends an answer properly. Unknown events, blocks and deltas are skipped, as Anthropic
//! asks of its clients.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ship_message::json::{JsString, Json, Object};
use ship_message::{Chunk, FinishReason};

use super::answer_draft::{AnswerDraft, CALLS_MAX, Call, Origin, Part, ProseKind};
use super::answer_fault::{AnswerFault, ProviderErrorText};
use super::sse::Event;
use super::stream_reader::{EventEffect, StreamReader};
use crate::{AnswerEnd, Usage};

/// The key of Anthropic's own metadata in the metadata of a part.
const NAME: &str = "anthropic";

/// An answer of Anthropic that is being read.
#[derive(Debug)]
pub(crate) struct AnthropicReader {
    draft: AnswerDraft,
    /// The blocks that have not stopped, by their index.
    open: BTreeMap<u64, StreamBlock>,
    calls: Vec<Call>,
    tokens: Tokens,
    reason: Option<FinishReason>,
    has_stopped: bool,
}

#[derive(Debug)]
enum StreamBlock {
    Text(Part),
    Thinking { part: Part, signature: String },
    Hidden { part: Part, data: String },
    Call { call: Call, whole: Option<Json> },
}

/// The token counts of the last report.
#[derive(Debug, Default)]
struct Tokens {
    input: Option<u64>,
    cache_write: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
}

impl AnthropicReader {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            draft: AnswerDraft::new(origin),
            open: BTreeMap::new(),
            calls: Vec::new(),
            tokens: Tokens::default(),
            reason: None,
            has_stopped: false,
        }
    }

    fn start_block(
        &mut self,
        index: u64,
        block: &Json,
        out: &mut Vec<Chunk>,
    ) -> Result<(), AnswerFault> {
        // A block that begins again has stopped silently.
        self.stop_block(index, out);
        if self.calls.len() + self.open.len() >= CALLS_MAX {
            return Err(AnswerFault::Protocol(format!(
                "more than {CALLS_MAX} calls in one answer"
            )));
        }
        let text = |key: &str| block.get(key).and_then(Json::as_js_string);
        let string = |key: &str| text(key).map(|text| text.as_str().to_owned()).unwrap_or_default();
        let started = match block.get("type").and_then(Json::as_str) {
            Some("text") => {
                let mut part = self.draft.new_part(ProseKind::Text);
                self.draft.extend_part(
                    &mut part,
                    text("text").unwrap_or(&JsString::default()),
                    out,
                );
                StreamBlock::Text(part)
            }
            Some("thinking") => {
                let mut part = self.draft.new_part(ProseKind::Reasoning);
                self.draft.extend_part(
                    &mut part,
                    text("thinking").unwrap_or(&JsString::default()),
                    out,
                );
                StreamBlock::Thinking { part, signature: string("signature") }
            }
            Some("redacted_thinking") => StreamBlock::Hidden {
                part: self.draft.new_part(ProseKind::Reasoning),
                data: string("data"),
            },
            Some("tool_use") => {
                let call = Call { id: string("id"), name: string("name"), ..Call::default() };
                StreamBlock::Call { call, whole: block.get("input").cloned() }
            }
            _ => return Ok(()),
        };
        self.open.insert(index, started);
        Ok(())
    }

    /// Adds to a block. Returns whether there was anything to add.
    fn extend_block(&mut self, index: u64, delta: &Json, out: &mut Vec<Chunk>) -> bool {
        let text = |key: &str| delta.get(key).and_then(Json::as_js_string);
        match self.open.get_mut(&index) {
            Some(StreamBlock::Text(part)) => {
                if let Some(text) = text("text") {
                    self.draft.extend_part(part, text, out);
                }
            }
            Some(StreamBlock::Thinking { part, signature }) => {
                if let Some(text) = text("thinking") {
                    self.draft.extend_part(part, text, out);
                }
                if let Some(text) = text("signature") {
                    signature.push_str(text);
                }
            }
            Some(StreamBlock::Call { call, .. }) => {
                if let Some(text) = text("partial_json") {
                    call.input.push(text);
                }
            }
            Some(StreamBlock::Hidden { .. }) | None => {}
        }
        let is_known = ["text", "thinking", "signature", "partial_json"];
        match is_known.iter().find_map(|key| text(key)) {
            Some(text) => !text.is_empty(),
            // A delta of another type, such as a citation, carries what it is for.
            None => true,
        }
    }

    fn stop_block(&mut self, index: u64, out: &mut Vec<Chunk>) {
        match self.open.remove(&index) {
            Some(StreamBlock::Text(part)) => self.draft.end_part(part, None, out),
            Some(StreamBlock::Thinking { part, signature }) => {
                // Without its signature it cannot be sent back, and the compiler sees that.
                let own = (!signature.is_empty())
                    .then(|| (NAME, Object::from([("signature", signature)])));
                self.draft.end_part(part, own, out);
            }
            Some(StreamBlock::Hidden { part, data }) => {
                self.draft.end_part(
                    part,
                    Some((NAME, Object::from([("redactedData", data)]))),
                    out,
                );
            }
            Some(StreamBlock::Call { mut call, whole }) => {
                // Some hosts give the whole input at once, where Anthropic begins with an empty one.
                if call.input.trim().is_empty()
                    && let Some(whole) = whole
                {
                    call.input = whole.stringify().into();
                }
                self.calls.push(call);
            }
            None => {}
        }
    }

    /// Returns the index of an event's block; without an index it is the latest.
    fn block_index(&self, json: &Json) -> u64 {
        let latest = || self.open.last_key_value().map_or(0, |(index, _)| *index);
        json.get("index").and_then(Json::as_u64).unwrap_or_else(latest)
    }

    fn message_delta(&mut self, delta: &Json) {
        if let Some(reason) = delta.get("stop_reason").and_then(Json::as_str) {
            self.reason = Some(finish_reason(reason));
        }
    }
}

impl StreamReader for AnthropicReader {
    fn read_event(
        &mut self,
        event: &Event,
        out: &mut Vec<Chunk>,
    ) -> Result<EventEffect, AnswerFault> {
        // Some imitations of Anthropic end as OpenAI does; that means nothing here.
        if matches!(event.data.trim(), "" | "[DONE]") {
            return Ok(EventEffect::None);
        }
        let json = Json::parse(&event.data).map_err(|error| AnswerFault::bad_event(&error))?;
        if let Some(report) = ProviderErrorText::from_stream(&json, event.name == "error") {
            return Err(AnswerFault::Reported(report));
        }
        let part = |key: &str| json.get(key).unwrap_or(&Json::Null);
        match json.get("type").and_then(Json::as_str).unwrap_or(&event.name) {
            "message_start" => self.tokens.update(part("message").get("usage")),
            "content_block_start" => {
                self.start_block(self.block_index(&json), part("content_block"), out)?;
            }
            "content_block_delta" => {
                let is_filled = self.extend_block(self.block_index(&json), part("delta"), out);
                if !is_filled {
                    return Ok(EventEffect::None);
                }
            }
            "content_block_stop" => self.stop_block(self.block_index(&json), out),
            "message_delta" => {
                self.message_delta(part("delta"));
                self.tokens.update(json.get("usage"));
            }
            "message_stop" => {
                self.has_stopped = true;
                return Ok(EventEffect::End);
            }
            // A ping, or something that is not part of the answer.
            _ => return Ok(EventEffect::None),
        }
        Ok(EventEffect::Progress)
    }

    fn read_whole(&mut self, json: &Json, out: &mut Vec<Chunk>) -> Result<(), AnswerFault> {
        if let Some(report) = ProviderErrorText::from_stream(json, false) {
            return Err(AnswerFault::Reported(report));
        }
        let Some(blocks) = json.get("content").and_then(Json::as_array) else {
            return Err(AnswerFault::Protocol("JSON without an answer".to_owned()));
        };
        for (index, block) in (0..).zip(blocks) {
            self.start_block(index, block, out)?;
            self.stop_block(index, out);
        }
        self.message_delta(json);
        self.tokens.update(json.get("usage"));
        self.has_stopped = true;
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<AnswerEnd, AnswerFault> {
        // An open block or a missing reason means that something was lost on the way.
        let Some(reason) = self.reason.filter(|_| self.has_stopped && self.open.is_empty()) else {
            return Err(AnswerFault::Unfinished);
        };
        self.draft.usage = self.tokens.usage();
        Ok(self.draft.finish(reason, std::mem::take(&mut self.calls), out))
    }
}

impl Tokens {
    fn update(&mut self, usage: Option<&Json>) {
        let Some(usage) = usage else { return };
        let count = |old: Option<u64>, key: &str| usage.get(key).and_then(Json::as_u64).or(old);
        self.input = count(self.input, "input_tokens");
        self.cache_write = count(self.cache_write, "cache_creation_input_tokens");
        self.cache_read = count(self.cache_read, "cache_read_input_tokens");
        self.output = count(self.output, "output_tokens");
    }

    /// Returns the usage. Anthropic counts cache reads and cache writes apart from other input.
    fn usage(&self) -> Option<Usage> {
        self.input.or(self.output)?;
        let parts = [self.input, self.cache_write, self.cache_read];
        let input = parts.into_iter().flatten().fold(0, u64::saturating_add);
        Some(Usage {
            input,
            cached: self.cache_read.unwrap_or_default(),
            output: self.output.unwrap_or_default(),
        })
    }
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        // This includes `pause_turn`: the answer stands, but the model had not finished.
        _ => FinishReason::Other,
    }
}
