//! Answers that arrive as they should and say something that nobody expects.

use super::super::exchange::EVENT_STREAM;
use super::super::sse::Frame;
use super::super::{Answer, Piece, Speech, Stop};
use super::steps;

/// How long the text of [`two_megabytes`] is.
pub const MANY_BYTES: usize = 2 << 20;

/// Stands in a speech for bytes that a Rust string cannot hold.
const PLACE: &str = "@@@";

/// Half of a surrogate pair, escaped as JSON allows it.
pub fn lone_surrogate() -> Answer {
    replaced(Speech::text(format!("a{PLACE}b")), br"\ud83d")
}

/// Half of a surrogate pair inside of the arguments of a call.
pub fn lone_surrogate_in_arguments(name: &str) -> Answer {
    replaced(Speech::new([Piece::call(name, format!(r#"{{"a":"{PLACE}"}}"#))]), br"\\ud83d")
}

/// A NUL character.
pub fn nul() -> Answer {
    Answer::text("a\0b")
}

/// Bytes that are no UTF-8.
pub fn invalid_utf8() -> Answer {
    replaced(Speech::text(format!("a{PLACE}b")), b"\xff\xc3")
}

/// Two megabytes of words.
pub fn two_megabytes() -> Answer {
    Answer::text("All work and no play. ".repeat(MANY_BYTES / 22 + 1)[..MANY_BYTES].to_owned())
}

/// An answer with nothing in it.
pub fn empty_answer() -> Answer {
    Speech::new([]).into()
}

/// Reasoning, and then nothing.
pub fn only_reasoning() -> Answer {
    Speech::new([Piece::Reasoning("Hm.".to_owned())]).into()
}

/// Nothing but white space.
pub fn only_whitespace() -> Answer {
    Answer::text(" \n\t ")
}

/// A refusal, or a filter's.
pub fn refusal() -> Answer {
    Speech::text("I cannot").stop(Stop::Refusal).into()
}

/// Words that the limit on the answer's length has cut off.
pub fn cut_by_length() -> Answer {
    Speech::text("This is only the beg").stop(Stop::Length).into()
}

/// A reason to stop that nobody has heard of.
pub fn unknown_stop() -> Answer {
    Speech::text("Done.").stop(Stop::Other("moon_phase".to_owned())).into()
}

/// A speech with bytes in the place of [`PLACE`].
fn replaced(speech: Speech, bytes: &'static [u8]) -> Answer {
    steps(move |exchange| {
        let encode = |frame: &Frame| replace(frame.encode().as_bytes(), bytes);
        exchange.stream_bytes(EVENT_STREAM, exchange.frames(&speech).iter().map(encode).collect())
    })
}

fn replace(text: &[u8], bytes: &[u8]) -> Vec<u8> {
    match text.windows(PLACE.len()).position(|window| window == PLACE.as_bytes()) {
        None => text.to_vec(),
        Some(at) => [&text[..at], bytes, &text[at + PLACE.len()..]].concat(),
    }
}
