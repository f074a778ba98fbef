//! One request and what can be said to it: the tools from which answers and faults are built.

use serde_json::Value;

use super::prompt::list;
use super::script::{Format, Speech, Step, Usage};
use super::sse::Frame;
use super::{Received, anthropic, openai, tokens};

/// A request that was accepted, on its way to be answered.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// The format that it speaks.
    pub format: Format,
    /// The request as it came.
    pub request: &'a Received,
    /// The body of the request.
    pub body: &'a Value,
    /// What was counted of it; the output is not known yet.
    pub counted: Usage,
    pub(super) token_factor: f64,
}

impl Exchange<'_> {
    /// Whether a stream is asked for.
    pub fn is_streamed(&self) -> bool {
        self.body["stream"].as_bool().unwrap_or(false)
    }

    /// The model that is asked.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Returns the text of the last message: what the user said, or what tools answered.
    pub fn last_text(&self) -> String {
        let said = list(&self.body["messages"]).iter().rev();
        let mut said =
            said.filter(|message| message["role"] == "user" || message["role"] == "tool");
        let text = said.next().map(|message| text_of(&message["content"])).unwrap_or_default();
        if text.is_empty() { "(nothing was said)".to_owned() } else { text }
    }

    /// Returns what a speech costs, as it says or as it is counted.
    pub fn usage(&self, speech: &Speech) -> Usage {
        speech.usage.unwrap_or_else(|| {
            let (mut output, mut reasoning) = (0, 0);
            for piece in &speech.pieces {
                let (text, thought) = piece.counted();
                let tokens = tokens::count(&text);
                output += tokens;
                reasoning += if thought { tokens } else { 0 };
            }
            let scaled = |tokens| tokens::scaled(tokens, self.token_factor);
            Usage { output: scaled(output).max(1), reasoning: scaled(reasoning), ..self.counted }
        })
    }

    /// Returns a speech as the events of a stream.
    pub fn frames(&self, speech: &Speech) -> Vec<Frame> {
        match self.format {
            Format::OpenAi => openai::answer::frames(self, speech),
            Format::Anthropic => anthropic::answer::frames(self, speech),
        }
    }

    /// Returns a speech as the body of an answer that is not streamed.
    pub fn whole(&self, speech: &Speech) -> Value {
        match self.format {
            Format::OpenAi => openai::answer::whole(self, speech),
            Format::Anthropic => anthropic::answer::whole(self, speech),
        }
    }

    /// The id that is in this answer's headers.
    pub fn request_id(&self) -> String {
        request_id(self.request.number)
    }

    /// Returns the head of a stream whose body comes in chunks of HTTP.
    pub fn stream_head(&self, content_type: &str) -> Vec<u8> {
        let headers = [
            ("content-type", content_type),
            ("transfer-encoding", "chunked"),
            ("cache-control", "no-cache"),
        ];
        head(200, &headers, Some(self.format), self.request.number)
    }

    /// Returns the steps of a stream that holds these events and does not end.
    pub fn opening(&self, frames: &[Frame]) -> Vec<Step> {
        let mut steps = vec![Step::Bytes(self.stream_head(EVENT_STREAM))];
        steps.extend(frames.iter().map(|frame| chunk(frame.encode())));
        steps
    }

    /// Returns the steps of a stream that holds these events and ends in an orderly way.
    pub fn stream(&self, frames: &[Frame]) -> Vec<Step> {
        let mut steps = self.opening(frames);
        steps.push(last_chunk());
        steps
    }

    /// Returns the steps of a stream with a body of any bytes, each element in a chunk of its own.
    pub fn stream_bytes(&self, content_type: &str, body: Vec<Vec<u8>>) -> Vec<Step> {
        let mut steps = vec![Step::Bytes(self.stream_head(content_type))];
        steps.extend(body.into_iter().filter(|bytes| !bytes.is_empty()).map(chunk));
        steps.push(last_chunk());
        steps
    }
}

/// The content type of a stream.
pub(super) const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// Puts bytes into a chunk of HTTP.
pub(super) fn chunk(bytes: impl AsRef<[u8]>) -> Step {
    let bytes = bytes.as_ref();
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    Step::Bytes(chunk)
}

/// The chunk that ends a body.
pub(super) fn last_chunk() -> Step {
    Step::Bytes(b"0\r\n\r\n".to_vec())
}

/// The id of a request by its number.
pub(super) fn request_id(number: usize) -> String {
    format!("req_{number:06}")
}

/// Writes the head of a response, with the headers that each service puts on everything.
pub(super) fn head(
    status: u16,
    headers: &[(&str, &str)],
    format: Option<Format>,
    number: usize,
) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    let id = request_id(number);
    let own: &[(&str, &str)] = match format {
        Some(Format::Anthropic) => &[
            ("request-id", &id),
            ("anthropic-organization-id", "org-test"),
            ("anthropic-ratelimit-requests-limit", "4000"),
            ("anthropic-ratelimit-requests-remaining", "3999"),
            ("anthropic-ratelimit-requests-reset", "2026-02-05T10:15:01Z"),
        ],
        _ => &[
            ("x-request-id", &id),
            ("openai-processing-ms", "12"),
            ("openai-version", "2020-10-01"),
            ("x-ratelimit-limit-requests", "10000"),
            ("x-ratelimit-remaining-requests", "9999"),
            ("x-ratelimit-reset-requests", "6ms"),
        ],
    };
    for (name, value) in headers.iter().chain(own).chain(&[("connection", "close")]) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Payload Too Large",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}

/// Joins the words in a content of either format, those inside of tool results too.
fn text_of(content: &Value) -> String {
    if let Value::String(text) = content {
        return text.clone();
    }
    let texts = list(content).iter().map(|block| match block["type"].as_str() {
        Some("tool_result") => text_of(&block["content"]),
        _ => block["text"].as_str().unwrap_or_default().to_owned(),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
