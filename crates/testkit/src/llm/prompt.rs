//! A request as the model reads it: one line of segments, in the order in which caches compare them.
//!
//! Tools come first, then the system text, then the messages. A segment's text keeps the order of JSON keys
//! as they were sent, because a real cache notices when that changes.

use serde_json::Value;

use super::{image, tokens};

/// What every message costs besides its content.
const MESSAGE_TOKENS: u64 = 4;
/// What a picture of unknown size costs.
const IMAGE_TOKENS: u64 = 765;

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// What is compared, and counted unless `fixed` is set.
    pub(super) text: String,
    /// What it costs, where that does not follow from the text.
    pub(super) fixed: Option<u64>,
    /// The cache mark on it.
    pub(super) mark: Option<Lifetime>,
}

/// How long a marked prefix is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// `5m`, also when nothing is said.
    FiveMinutes,
    /// `1h`.
    OneHour,
}

impl Segment {
    fn text(text: String) -> Self {
        Self { text, fixed: None, mark: None }
    }

    fn image(identity: &str, fixed: u64) -> Self {
        Self { text: identity.to_owned(), fixed: Some(fixed), mark: None }
    }

    /// What it costs.
    pub(super) fn tokens(&self) -> u64 {
        self.fixed.unwrap_or_else(|| tokens::count(&self.text))
    }

    /// What it costs at most, without counting: no token is shorter than a byte.
    fn tokens_max(&self) -> u64 {
        self.fixed.unwrap_or(self.text.len() as u64)
    }
}

/// What a prompt costs.
pub(super) fn total(segments: &[Segment], factor: f64) -> u64 {
    tokens::scaled(segments.iter().map(Segment::tokens).sum(), factor)
}

/// What a prompt costs, unless it is plain without counting that it costs less than `enough`.
pub(super) fn total_unless_below(segments: &[Segment], factor: f64, enough: u64) -> Option<u64> {
    let most = tokens::scaled(segments.iter().map(Segment::tokens_max).sum(), factor);
    (most > enough).then(|| total(segments, factor))
}

/// Reads a request to OpenAI.
pub(super) fn openai(body: &Value) -> Vec<Segment> {
    let mut segments = Vec::new();
    for tool in list(&body["tools"]) {
        segments.push(Segment::text(tool.to_string()));
    }
    for message in list(&body["messages"]) {
        segments.push(Segment::image(message["role"].as_str().unwrap_or(""), MESSAGE_TOKENS));
        match &message["content"] {
            Value::String(text) => segments.push(Segment::text(text.clone())),
            content => segments.extend(list(content).iter().map(openai_part)),
        }
        for call in list(&message["tool_calls"]) {
            let function = &call["function"];
            let called = format!("{}{}", text(&function["name"]), text(&function["arguments"]));
            segments.push(Segment::text(called));
        }
    }
    segments
}

fn openai_part(part: &Value) -> Segment {
    match part["image_url"]["url"].as_str() {
        Some(url) => Segment::image(url, IMAGE_TOKENS),
        None => Segment::text(text(&part["text"]).to_owned()),
    }
}

/// Reads a request to Anthropic.
pub(super) fn anthropic(body: &Value) -> Vec<Segment> {
    let mut segments = Vec::new();
    for tool in list(&body["tools"]) {
        segments.push(marked(Segment::text(without_mark(tool)), tool));
    }
    blocks(&body["system"], &mut segments);
    for message in list(&body["messages"]) {
        segments.push(Segment::image(text(&message["role"]), MESSAGE_TOKENS));
        blocks(&message["content"], &mut segments);
    }
    segments
}

fn blocks(content: &Value, segments: &mut Vec<Segment>) {
    if let Value::String(text) = content {
        segments.push(Segment::text(text.clone()));
    }
    for block in list(content) {
        match text(&block["type"]) {
            "text" => segments.push(marked(Segment::text(text(&block["text"]).to_owned()), block)),
            "image" => segments.push(marked(anthropic_image(block), block)),
            "tool_result" => {
                segments.push(Segment::text(text(&block["tool_use_id"]).to_owned()));
                blocks(&block["content"], segments);
                if let Some(last) = segments.pop() {
                    segments.push(marked(last, block));
                }
            }
            _ => segments.push(marked(Segment::text(without_mark(block)), block)),
        }
    }
}

fn anthropic_image(block: &Value) -> Segment {
    let source = &block["source"];
    let data = source["data"].as_str().or(source["url"].as_str()).unwrap_or_default();
    let size = image::read(data).and_then(|image| image.size);
    let tokens = size.map(|(width, height)| u64::from(width) * u64::from(height) / 750);
    Segment::image(data, tokens.unwrap_or(IMAGE_TOKENS))
}

/// A mark may wander from block to block without changing what is cached.
fn without_mark(block: &Value) -> String {
    match block.as_object() {
        Some(fields) if fields.contains_key("cache_control") => {
            let mut fields = fields.clone();
            fields.shift_remove("cache_control");
            Value::Object(fields).to_string()
        }
        _ => block.to_string(),
    }
}

fn marked(segment: Segment, block: &Value) -> Segment {
    let control = &block["cache_control"];
    let lifetime = match control["ttl"].as_str() {
        Some("1h") => Lifetime::OneHour,
        _ => Lifetime::FiveMinutes,
    };
    Segment { mark: control.is_object().then_some(lifetime).or(segment.mark), ..segment }
}

/// The elements of an array, or none.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
