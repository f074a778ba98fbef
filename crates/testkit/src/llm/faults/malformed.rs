//! Streams that are none.

use super::super::exchange::EVENT_STREAM;
use super::super::sse::{Frame, Kind};
use super::super::{Answer, Exchange, Format, Speech, Status};
use super::status::page;
use super::{WORDS, steps};

/// How long the line of [`endless_line`] is.
pub const LINE_BYTES: usize = 8 << 20;

/// One event whose data is not JSON.
pub fn bad_json() -> Answer {
    spoiled(|frame| frame.data.truncate(frame.data.len() / 2))
}

/// One event without `data:` before its data.
pub fn missing_data_prefix() -> Answer {
    steps(|exchange| {
        let frames = exchange.frames(&Speech::text(WORDS));
        let middle = middle(&frames);
        let encode = |(at, frame): (usize, &Frame)| match at == middle {
            true => format!("{}\n\n", frame.data).into_bytes(),
            false => frame.encode().into_bytes(),
        };
        let body = frames.iter().enumerate().map(encode).collect();
        exchange.stream_bytes(EVENT_STREAM, body)
    })
}

/// One chunk whose `choices` are null; from Anthropic, an event whose `delta` is.
pub fn null_choices() -> Answer {
    Answer::judge(|exchange| {
        let null = match exchange.format {
            Format::OpenAi => r#"{"id":"x","object":"chat.completion.chunk","choices":null}"#,
            Format::Anthropic => r#"{"type":"content_block_delta","index":0,"delta":null}"#,
        };
        spoiled(move |frame| frame.data = null.to_owned())
    })
}

/// One event whose data is JSON of another kind.
pub fn data_of_another_kind() -> Answer {
    spoiled(|frame| frame.data = r#"["what",1,null]"#.to_owned())
}

/// Status 200 and a page in HTML.
pub fn html_with_status_200() -> Answer {
    let body = page(200, "Just a moment...").into_bytes();
    let status = Status { status: 200, headers: Vec::new(), body };
    Answer::Status(status.header("content-type", "text/html; charset=utf-8"))
}

/// Status 200 and no body.
pub fn empty_body() -> Answer {
    let status = Status { status: 200, headers: Vec::new(), body: Vec::new() };
    Answer::Status(status.header("content-type", EVENT_STREAM))
}

/// A stream that is right in everything but its content type.
pub fn wrong_content_type() -> Answer {
    steps(|exchange| {
        let frames = exchange.frames(&Speech::text(WORDS));
        exchange.stream_bytes("application/json", vec![encode_all(&frames)])
    })
}

/// A line of [`LINE_BYTES`] that does not end before the body does.
pub fn endless_line() -> Answer {
    steps(|exchange| {
        let mut body: Vec<Vec<u8>> = exchange.opening_bytes(&Speech::text(WORDS));
        body.push(b"data: {\"x\":\"".to_vec());
        body.extend((0..LINE_BYTES / (64 << 10)).map(|_| vec![b'x'; 64 << 10]));
        exchange.stream_bytes(EVENT_STREAM, body)
    })
}

/// Spoils an event in the middle of a speech.
fn spoiled(spoil: impl Fn(&mut Frame) + Send + Sync + 'static) -> Answer {
    steps(move |exchange| {
        let mut frames = exchange.frames(&Speech::text(WORDS));
        let middle = middle(&frames);
        spoil(&mut frames[middle]);
        exchange.stream(&frames)
    })
}

fn middle(frames: &[Frame]) -> usize {
    let texts: Vec<usize> = (0..frames.len()).filter(|at| frames[*at].kind == Kind::Text).collect();
    texts[texts.len() / 2]
}

fn encode_all(frames: &[Frame]) -> Vec<u8> {
    frames.iter().map(Frame::encode).collect::<String>().into_bytes()
}

impl Exchange<'_> {
    /// The events of a speech up to its first words.
    fn opening_bytes(&self, speech: &Speech) -> Vec<Vec<u8>> {
        let frames = self.frames(speech);
        let first = frames.iter().position(|frame| frame.kind == Kind::Text).unwrap_or(0);
        frames[..=first].iter().map(|frame| frame.encode().into_bytes()).collect()
    }
}
