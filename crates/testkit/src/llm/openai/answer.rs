//! What OpenAI sends: chunks that begin with the role and end with `[DONE]`, or one completion.

use serde_json::{Map, Value, json};

use super::super::sse::{Frame, Kind, deltas};
use super::super::{Exchange, Piece, Speech, Stop, Usage};

/// When all answers are created: 5 February 2026, 10:15.
const CREATED: u64 = 1_770_286_500;

/// Returns a speech as a stream.
pub(in super::super) fn frames(exchange: &Exchange<'_>, speech: &Speech) -> Vec<Frame> {
    let mut stream = Stream { exchange, frames: Vec::new() };
    let calls_first = matches!(speech.pieces.first(), Some(Piece::Call { .. }));
    if !calls_first {
        stream.delta(Kind::Start, json!({"role": "assistant", "content": "", "refusal": null}));
    }
    let mut calls = 0;
    for piece in &speech.pieces {
        match piece {
            Piece::Text(text) => stream.grow(Kind::Text, "content", text),
            Piece::Reasoning(text) => stream.grow(Kind::Reasoning, speech.reasoning_field, text),
            Piece::Redacted(_) => {}
            Piece::Call { id, name, arguments } => {
                let id = call_id(exchange, id.as_ref(), calls);
                stream.call(calls, &id, name, arguments);
                calls += 1;
            }
        }
    }
    stream.finish(speech);
    stream.frames
}

/// The id of a call, the one that was given or one by its place.
fn call_id(exchange: &Exchange<'_>, id: Option<&String>, place: usize) -> String {
    let number = exchange.request.number;
    id.cloned().unwrap_or_else(|| format!("call_{number:06}_{place}"))
}

struct Stream<'a> {
    exchange: &'a Exchange<'a>,
    frames: Vec<Frame>,
}

impl Stream<'_> {
    fn delta(&mut self, kind: Kind, delta: Value) {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
        self.push(kind, json!([choice]), Value::Null);
    }

    fn grow(&mut self, kind: Kind, field: &str, text: &str) {
        for piece in deltas(text) {
            let delta: Map<String, Value> =
                [(field.to_owned(), piece.into())].into_iter().collect();
            self.delta(kind, delta.into());
        }
    }

    /// The real service puts the role and the first call into one chunk when nothing is said before it.
    fn call(&mut self, index: usize, id: &str, name: &str, arguments: &str) {
        let function = json!({"name": name, "arguments": ""});
        let call = json!([{"index": index, "id": id, "type": "function", "function": function}]);
        let delta = match self.frames.is_empty() {
            true => {
                json!({"role": "assistant", "content": null, "tool_calls": call, "refusal": null})
            }
            false => json!({"tool_calls": call}),
        };
        self.delta(Kind::Call, delta);
        for piece in deltas(arguments) {
            let call = json!([{"index": index, "function": {"arguments": piece}}]);
            self.delta(Kind::Call, json!({"tool_calls": call}));
        }
    }

    fn finish(&mut self, speech: &Speech) {
        let reason = finish_reason(speech.stops());
        let choice = json!({"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason});
        self.push(Kind::Finish, json!([choice]), Value::Null);
        if speech.says_usage && self.wants_usage() {
            let usage = usage_of(&self.exchange.usage(speech));
            self.push(Kind::Finish, json!([]), usage);
        }
        self.frames.push(Frame::new(Kind::Done, None, "[DONE]"));
    }

    fn wants_usage(&self) -> bool {
        self.exchange.body["stream_options"]["include_usage"].as_bool().unwrap_or(false)
    }

    fn push(&mut self, kind: Kind, choices: Value, usage: Value) {
        let mut chunk = envelope(self.exchange, "chat.completion.chunk");
        chunk["choices"] = choices;
        if self.wants_usage() {
            chunk["usage"] = usage;
        }
        // Padding hides the length of what is said from who watches the wire; here it only has to be there.
        let padding = "7HxQ2mVn9KpL4cRt".repeat(2);
        chunk["obfuscation"] = padding[..1 + self.frames.len() * 7 % 24].into();
        self.frames.push(Frame::new(kind, None, chunk.to_string()));
    }
}

/// Returns a speech as one completion.
pub(in super::super) fn whole(exchange: &Exchange<'_>, speech: &Speech) -> Value {
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    let mut calls = Vec::new();
    for piece in &speech.pieces {
        match piece {
            Piece::Text(text) => append(&mut message["content"], text),
            Piece::Reasoning(text) => append(&mut message[speech.reasoning_field], text),
            Piece::Redacted(_) => {}
            Piece::Call { id, name, arguments } => {
                let id = call_id(exchange, id.as_ref(), calls.len());
                let function = json!({"name": name, "arguments": arguments});
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let reason = finish_reason(speech.stops());
    let mut answer = envelope(exchange, "chat.completion");
    answer["choices"] =
        json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": reason}]);
    if speech.says_usage {
        answer["usage"] = usage_of(&exchange.usage(speech));
    }
    answer
}

fn append(text: &mut Value, more: &str) {
    let before = text.as_str().unwrap_or_default();
    *text = format!("{before}{more}").into();
}

fn envelope(exchange: &Exchange<'_>, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{:06}", exchange.request.number),
        "object": object,
        "created": CREATED,
        "model": exchange.model(),
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
    })
}

fn finish_reason(stop: Stop) -> String {
    let reason = match stop {
        Stop::End => "stop",
        Stop::Length => "length",
        Stop::Tools => "tool_calls",
        Stop::Refusal => "content_filter",
        Stop::Window => "model_context_window_exceeded",
        Stop::Other(reason) => return reason,
    };
    reason.to_owned()
}

/// Cached tokens are inside of the prompt's, reasoning inside of the completion's.
fn usage_of(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
