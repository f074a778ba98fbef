//! What happens to connections: reset, closed too early, or silent.

use super::super::exchange::{chunk, head, last_chunk};
use super::super::sse::Kind;
use super::super::{Answer, Exchange, Piece, Speech, Step};
use super::{WORDS, steps};

/// Makes a host that never answers.
pub fn no_answer() -> Answer {
    Answer::Raw(vec![Step::Hang])
}

/// Closes the connection without an answer.
pub fn closed_before_headers() -> Answer {
    Answer::Raw(vec![Step::Close])
}

/// Resets the connection without an answer.
pub fn reset_before_headers() -> Answer {
    Answer::Raw(vec![Step::Reset])
}

/// Resets the connection after the headers.
pub fn reset_after_headers() -> Answer {
    steps(|exchange| [exchange.opening(&[]), vec![Step::Reset]].concat())
}

/// Sends headers, and nothing more.
pub fn headers_only() -> Answer {
    steps(|exchange| [exchange.opening(&[]), vec![Step::Hang]].concat())
}

/// Resets the connection in the midst of an event that holds words.
pub fn reset_mid_text() -> Answer {
    cut(Kind::Text, Cut::InsideEvent, Step::Reset)
}

/// Resets the connection in the midst of an event that holds arguments.
pub fn reset_mid_call() -> Answer {
    cut(Kind::Call, Cut::InsideEvent, Step::Reset)
}

/// Closes the connection in the midst of an event that holds words, without ending the body.
pub fn closed_mid_text() -> Answer {
    cut(Kind::Text, Cut::InsideEvent, Step::Close)
}

/// Closes the connection in the midst of an event that holds arguments, without ending the body.
pub fn closed_mid_call() -> Answer {
    cut(Kind::Call, Cut::InsideEvent, Step::Close)
}

/// Falls silent after some words.
pub fn stall_mid_text() -> Answer {
    cut(Kind::Text, Cut::AfterEvent, Step::Hang)
}

/// Falls silent after some arguments.
pub fn stall_mid_call() -> Answer {
    cut(Kind::Call, Cut::AfterEvent, Step::Hang)
}

/// Ends the body in an orderly way after some words, without saying why.
pub fn ended_mid_text() -> Answer {
    cut(Kind::Text, Cut::AfterEvent, last_chunk())
}

/// Ends the body in an orderly way after some arguments, without saying why.
pub fn ended_mid_call() -> Answer {
    cut(Kind::Call, Cut::AfterEvent, last_chunk())
}

/// Ends the body in an orderly way in the midst of a line.
pub fn ended_mid_event() -> Answer {
    cut(Kind::Text, Cut::InsideEvent, last_chunk())
}

/// Says why it ends, and leaves out only the very last event.
pub fn ended_without_last_event() -> Answer {
    steps(|exchange| {
        let mut frames = exchange.frames(&Speech::text(WORDS));
        frames.pop();
        exchange.stream(&frames)
    })
}

/// Where a stream is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// In the midst of the bytes of an event.
    InsideEvent,
    /// Between two events.
    AfterEvent,
}

/// Cuts a speech in the middle of what it says or calls, and ends as told.
fn cut(kind: Kind, place: Cut, end: Step) -> Answer {
    steps(move |exchange| {
        let speech = match kind {
            Kind::Call => Speech::new([
                Piece::Text("Let me look.".to_owned()),
                Piece::call("read_file", r#"{"path":"notes/a-file-with-a-long-name.txt"}"#),
            ]),
            _ => Speech::text(WORDS),
        };
        if !exchange.is_streamed() {
            return half_a_body(exchange, &speech, end.clone());
        }
        let frames = exchange.frames(&speech);
        let these: Vec<usize> = (0..frames.len()).filter(|at| frames[*at].kind == kind).collect();
        let middle = these[these.len() / 2];
        let mut steps = exchange.opening(&frames[..middle]);
        match place {
            Cut::AfterEvent => steps.push(chunk(frames[middle].encode())),
            Cut::InsideEvent => {
                let event = frames[middle].encode();
                steps.push(chunk(&event.as_bytes()[..event.len() / 2]));
            }
        }
        steps.push(end.clone());
        steps
    })
}

fn half_a_body(exchange: &Exchange<'_>, speech: &Speech, end: Step) -> Vec<Step> {
    let body = exchange.whole(speech).to_string();
    let length = body.len().to_string();
    let headers = [("content-type", "application/json"), ("content-length", length.as_str())];
    let mut bytes = head(200, &headers, Some(exchange.format), exchange.request.number);
    bytes.extend_from_slice(&body.as_bytes()[..body.len() / 2]);
    // The end of a body that comes in chunks means nothing to one of a given length.
    let end = if end == last_chunk() { Step::Close } else { end };
    vec![Step::Bytes(bytes), end]
}
