//! Streams that are right, and yet catch out parsers.

use super::super::exchange::{EVENT_STREAM, chunk, last_chunk};
use super::super::sse::{Frame, Kind};
use super::super::{Answer, Exchange, Format, Speech, Step};
use super::steps;

/// What each of these streams says.
pub const ODD_WORDS: &str = "Grüße, 世界! 🙂 Everything is as it should be.";

/// How many pings [`many_pings`] sends.
pub const PINGS: usize = 2000;

/// Lines that end in CR LF.
pub fn crlf() -> Answer {
    rewritten(|_, text| text.replace('\n', "\r\n"))
}

/// Lines that end in CR.
pub fn cr() -> Answer {
    rewritten(|_, text| text.replace('\n', "\r"))
}

/// Comments before every event.
pub fn comments() -> Answer {
    rewritten(|_, text| format!(": OPENROUTER PROCESSING\n\n:\n{text}"))
}

/// Data that is spread over several lines.
pub fn multi_line_data() -> Answer {
    rewritten(|_, text| match text.contains("[DONE]") {
        true => text,
        // Between a comma and the next quote JSON may have a line break.
        false => text.replace(",\"", ",\ndata: \""),
    })
}

/// No space after the colons.
pub fn no_space_after_colon() -> Answer {
    rewritten(|_, text| text.replacen("data: ", "data:", 1).replacen("event: ", "event:", 1))
}

/// Further fields in every event, known (`id`, `retry`) and unknown.
pub fn further_fields() -> Answer {
    rewritten(|at, text| format!("id: {at}\nretry: 3000\nx-unknown: yes\n{text}"))
}

/// A byte order mark before the first event.
pub fn byte_order_mark() -> Answer {
    rewritten(|at, text| if at == 0 { format!("\u{feff}{text}") } else { text })
}

/// Events of kinds that nobody has heard of, between the others.
pub fn unknown_events() -> Answer {
    steps(|exchange| {
        let strange = |_: &Frame| match exchange.format {
            Format::OpenAi => {
                Frame::new(Kind::Ping, Some("weather"), r#"{"object":"weather","choices":[]}"#)
            }
            Format::Anthropic => {
                Frame::new(Kind::Ping, Some("weather"), r#"{"type":"weather","sun":true}"#)
            }
        };
        let frames = exchange.frames(&Speech::text(ODD_WORDS));
        let (last, others) = (&frames[frames.len() - 1..], &frames[..frames.len() - 1]);
        let mixed = others.iter().flat_map(|frame| [frame.clone(), strange(frame)]);
        exchange.stream(&mixed.chain(last.iter().cloned()).collect::<Vec<_>>())
    })
}

/// Thousands of pings before the first words; from OpenAI's format, as comments.
pub fn many_pings() -> Answer {
    steps(|exchange| {
        let ping = match exchange.format {
            Format::OpenAi => ": ping\n\n".to_owned(),
            Format::Anthropic => {
                Frame::new(Kind::Ping, Some("ping"), r#"{"type":"ping"}"#).encode()
            }
        };
        let mut body = exchange.events(&Speech::text(ODD_WORDS));
        body.insert(1, ping.repeat(PINGS).into_bytes());
        exchange.stream_bytes(EVENT_STREAM, body)
    })
}

/// Every byte in a chunk of its own. A client gets one chunk at a time, however many it has read at once.
pub fn split_utf8() -> Answer {
    steps(|exchange| {
        let mut steps = vec![Step::Bytes(exchange.stream_head(EVENT_STREAM))];
        for byte in exchange.events(&Speech::text(ODD_WORDS)).concat() {
            steps.push(chunk([byte]));
        }
        steps.push(last_chunk());
        steps
    })
}

/// All events in one write.
pub fn all_at_once() -> Answer {
    steps(|exchange| {
        let body = exchange.events(&Speech::text(ODD_WORDS)).concat();
        exchange.stream_bytes(EVENT_STREAM, vec![body])
    })
}

/// Writes each event of a speech in another way.
fn rewritten(rewrite: impl Fn(usize, String) -> String + Send + Sync + 'static) -> Answer {
    steps(move |exchange| {
        let frames = exchange.frames(&Speech::text(ODD_WORDS)).into_iter().enumerate();
        let body = frames.map(|(at, frame)| rewrite(at, frame.encode()).into_bytes());
        exchange.stream_bytes(EVENT_STREAM, body.collect())
    })
}

impl Exchange<'_> {
    /// The bytes of each event of a speech.
    fn events(&self, speech: &Speech) -> Vec<Vec<u8>> {
        self.frames(speech).iter().map(|frame| frame.encode().into_bytes()).collect()
    }
}
