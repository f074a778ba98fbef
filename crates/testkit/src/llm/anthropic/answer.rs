//! What Anthropic sends: named events, block after block, or one message.

use serde_json::{Value, json};

use super::super::sign;
use super::super::sse::{Frame, Kind, deltas};
use super::super::{Exchange, Piece, Speech, Stop, Usage};

/// Returns a speech as a stream.
pub(in super::super) fn frames(exchange: &Exchange<'_>, speech: &Speech) -> Vec<Frame> {
    let usage = exchange.usage(speech);
    let mut stream = Stream { frames: Vec::new(), blocks: 0 };
    let mut message = envelope(exchange);
    // When the answer begins, hardly any of it is there to be counted.
    message["usage"] = usage_of(&Usage { output: 1, ..usage });
    stream.push(Kind::Start, "message_start", json!({"message": message}));
    for piece in &speech.pieces {
        stream.piece(exchange, piece);
    }
    let (reason, details) = stop_reason(speech.stops());
    let mut end = json!({
        "delta": {"stop_reason": reason, "stop_sequence": null, "stop_details": details},
    });
    if speech.says_usage {
        end["usage"] = usage_of(&usage);
    }
    stream.push(Kind::Finish, "message_delta", end);
    stream.push(Kind::Done, "message_stop", json!({}));
    stream.frames
}

struct Stream {
    frames: Vec<Frame>,
    blocks: usize,
}

impl Stream {
    fn piece(&mut self, exchange: &Exchange<'_>, piece: &Piece) {
        match piece {
            Piece::Text(text) => {
                self.start(Kind::Start, json!({"type": "text", "text": ""}));
                for piece in deltas(text) {
                    self.delta(Kind::Text, json!({"type": "text_delta", "text": piece}));
                }
            }
            Piece::Reasoning(text) => self.thinking(text),
            Piece::Redacted(text) => {
                let data = sign::redacted(text);
                self.start(Kind::Reasoning, json!({"type": "redacted_thinking", "data": data}));
            }
            Piece::Call { id, name, arguments } => {
                let id = call_id(exchange, id.as_ref(), self.blocks);
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.start(Kind::Call, block);
                let delta = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
                self.delta(Kind::Call, delta(""));
                for piece in deltas(arguments) {
                    self.delta(Kind::Call, delta(piece));
                }
            }
        }
        let index = self.blocks;
        self.push(Kind::BlockEnd, "content_block_stop", json!({"index": index}));
        self.blocks += 1;
    }

    /// The signature comes once, as the last of the block.
    fn thinking(&mut self, text: &str) {
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        self.start(Kind::Start, block);
        for piece in deltas(text) {
            self.delta(Kind::Reasoning, json!({"type": "thinking_delta", "thinking": piece}));
        }
        let signature = sign::signature(text);
        let delta = json!({"type": "signature_delta", "signature": signature});
        self.delta(Kind::Reasoning, delta);
    }

    /// The real service sends its first ping after the first block has begun.
    fn start(&mut self, kind: Kind, block: Value) {
        let index = self.blocks;
        let start = json!({"index": index, "content_block": block});
        self.push(kind, "content_block_start", start);
        if index == 0 {
            self.push(Kind::Ping, "ping", json!({}));
        }
    }

    fn delta(&mut self, kind: Kind, delta: Value) {
        let index = self.blocks;
        self.push(kind, "content_block_delta", json!({"index": index, "delta": delta}));
    }

    fn push(&mut self, kind: Kind, event: &str, fields: Value) {
        let mut data = json!({"type": event});
        if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
            data.extend(fields);
        }
        let mut data = data.to_string();
        // The real service pads its events with spaces before the last brace.
        data.pop();
        let padding = " ".repeat(self.frames.len() * 5 % 17);
        self.frames.push(Frame::new(kind, Some(event), format!("{data}{padding}}}")));
    }
}

/// The id of a call, the one that was given or one by its place.
fn call_id(exchange: &Exchange<'_>, id: Option<&String>, place: usize) -> String {
    let number = exchange.request.number;
    id.cloned().unwrap_or_else(|| format!("toolu_{number:06}_{place}"))
}

/// Returns a speech as one message.
pub(in super::super) fn whole(exchange: &Exchange<'_>, speech: &Speech) -> Value {
    let (reason, details) = stop_reason(speech.stops());
    let blocks = speech.pieces.iter().enumerate();
    let blocks: Vec<Value> = blocks.map(|(place, piece)| block(exchange, place, piece)).collect();
    let mut message = envelope(exchange);
    message["content"] = blocks.into();
    message["stop_reason"] = reason.into();
    message["stop_details"] = details;
    if speech.says_usage {
        message["usage"] = usage_of(&exchange.usage(speech));
    }
    message
}

fn block(exchange: &Exchange<'_>, place: usize, piece: &Piece) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Reasoning(text) => {
            json!({"type": "thinking", "thinking": text, "signature": sign::signature(text)})
        }
        Piece::Redacted(text) => {
            json!({"type": "redacted_thinking", "data": sign::redacted(text)})
        }
        Piece::Call { id, name, arguments } => {
            let id = call_id(exchange, id.as_ref(), place);
            // Arguments that are no JSON can only be sent as the text that they are.
            let input: Value =
                serde_json::from_str(arguments).unwrap_or_else(|_| arguments.clone().into());
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

fn envelope(exchange: &Exchange<'_>) -> Value {
    json!({
        "id": format!("msg_{:06}", exchange.request.number),
        "type": "message",
        "role": "assistant",
        "model": exchange.model(),
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "stop_details": null,
    })
}

fn stop_reason(stop: Stop) -> (String, Value) {
    let reason = match stop {
        Stop::End => "end_turn",
        Stop::Length => "max_tokens",
        Stop::Tools => "tool_use",
        Stop::Refusal => {
            let details = json!({"type": "refusal", "category": null, "explanation": null});
            return ("refusal".to_owned(), details);
        }
        Stop::Window => "model_context_window_exceeded",
        Stop::Other(reason) => return (reason, Value::Null),
    };
    (reason.to_owned(), Value::Null)
}

/// The three kinds of input are disjoint: what was read, what was newly cached, and the rest.
fn usage_of(usage: &Usage) -> Value {
    let [short, long] = usage.created;
    let created = short + long;
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached + created),
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": usage.output,
        "service_tier": "standard",
        "inference_geo": "not_available",
    })
}
