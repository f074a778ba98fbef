//! Takes the bytes of an answer in any form.
//!
//! Most answers are event streams. Some hosts ignore `stream` and send one JSON object; a wrong address, a proxy or
//! a login page sends HTML. The content type does not distinguish them reliably, but their first character does: no
//! line of an event stream begins with `{` or `<`.

use ship_message::Chunk;
use ship_message::json::Json;

use super::answer_fault::AnswerFault;
use super::sse::{EVENT_BYTES_MAX, Event, Events};
use crate::AnswerEnd;

/// The number of bytes that one answer may have: far more than any model writes at once.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The meaning of an event for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventEffect {
    /// It carries nothing, and only keeps the connection alive.
    None,
    /// It continues the answer.
    Progress,
    /// It is the last one.
    End,
}

/// Reads the answers of one kind of provider, without network and clock.
pub(crate) trait StreamReader: Send {
    /// Takes one event.
    fn read_event(
        &mut self,
        event: &Event,
        out: &mut Vec<Chunk>,
    ) -> Result<EventEffect, AnswerFault>;

    /// Takes an answer that came as one object.
    fn read_whole(&mut self, json: &Json, out: &mut Vec<Chunk>) -> Result<(), AnswerFault>;

    /// Ends the answer if it has ended properly, and only then passes on its calls.
    fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<AnswerEnd, AnswerFault>;
}

/// An answer that is being received.
pub(crate) struct AnswerReceiver {
    reader: Box<dyn StreamReader>,
    shape: Shape,
    bytes_left: usize,
    /// The number of events that continued the answer.
    progress: usize,
}

enum Shape {
    /// Only white space has arrived.
    Unknown,
    Events(Events),
    Whole(Vec<u8>),
}

impl AnswerReceiver {
    pub(crate) fn new(reader: Box<dyn StreamReader>) -> Self {
        Self { reader, shape: Shape::Unknown, bytes_left: ANSWER_BYTES_MAX, progress: 0 }
    }

    /// Returns a number that grows while the answer makes progress: with each event that carries something, and with
    /// each byte of an answer that is no stream.
    pub(crate) fn progress(&self) -> usize {
        match &self.shape {
            Shape::Unknown => 0,
            Shape::Events(_) => self.progress,
            Shape::Whole(held) => held.len(),
        }
    }

    /// Takes the next bytes. Returns the end of the answer once it is known.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<Chunk>,
    ) -> Result<Option<AnswerEnd>, AnswerFault> {
        // The bytes up to the limit are read in any case, because the answer may end in them.
        let taken = bytes.len().min(self.bytes_left);
        self.bytes_left -= taken;
        if let Some(answered) = self.read(&bytes[..taken], out)? {
            return Ok(Some(answered));
        }
        if taken < bytes.len() {
            return Err(AnswerFault::Protocol(format!(
                "an answer of more than {} MB",
                ANSWER_BYTES_MAX / 1024 / 1024
            )));
        }
        Ok(None)
    }

    fn read(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<Chunk>,
    ) -> Result<Option<AnswerEnd>, AnswerFault> {
        let mut bytes = bytes;
        if matches!(self.shape, Shape::Unknown) {
            let Some(start) = bytes.iter().position(|byte| !is_blank(*byte)) else {
                return Ok(None);
            };
            bytes = &bytes[start..];
            self.shape = match bytes[0] {
                b'{' | b'[' => Shape::Whole(Vec::new()),
                b'<' => {
                    return Err(AnswerFault::Protocol("an HTML page, not an answer".to_owned()));
                }
                _ => Shape::Events(Events::default()),
            };
        }
        let (reader, progress) = (&mut self.reader, &mut self.progress);
        match &mut self.shape {
            Shape::Unknown => Ok(None),
            Shape::Whole(held) if held.len() + bytes.len() > EVENT_BYTES_MAX => {
                Err(super::sse::TooLarge.into())
            }
            Shape::Whole(held) => {
                held.extend_from_slice(bytes);
                Ok(None)
            }
            Shape::Events(events) => {
                let goes_on = events.push(bytes, &mut |event| {
                    let effect = reader.read_event(&event, out)?;
                    *progress += usize::from(effect == EventEffect::Progress);
                    Ok::<_, AnswerFault>(effect != EventEffect::End)
                })?;
                if goes_on { Ok(None) } else { reader.finish(out).map(Some) }
            }
        }
    }

    /// Ends the answer after the sender has closed it.
    pub(crate) fn end(&mut self, out: &mut Vec<Chunk>) -> Result<AnswerEnd, AnswerFault> {
        match &mut self.shape {
            Shape::Unknown => return Err(AnswerFault::Empty),
            Shape::Whole(held) => {
                let text = String::from_utf8_lossy(held);
                let json = Json::parse(&text).map_err(|error| {
                    AnswerFault::Protocol(format!("text that begins like JSON but is {error}"))
                })?;
                self.reader.read_whole(&json, out)?;
            }
            Shape::Events(events) => {
                // The tail may be half an event; then the answer is cut and not wrong.
                let tail = events.last_event().filter(|event| is_whole(event.data.trim()));
                if let Some(event) = tail {
                    self.reader.read_event(&event, out)?;
                }
                if events.is_foreign() {
                    let came = "text that is neither an event stream nor JSON";
                    return Err(AnswerFault::Protocol(came.to_owned()));
                }
            }
        }
        self.reader.finish(out)
    }

    /// Ends the answer after the connection broke or stalled. An answer that has announced its end is
    /// complete all the same.
    pub(crate) fn end_broken(&mut self, out: &mut Vec<Chunk>) -> Option<AnswerEnd> {
        match self.shape {
            Shape::Events(_) => self.reader.finish(out).ok(),
            Shape::Unknown | Shape::Whole(_) => None,
        }
    }
}

/// Whether a byte is white space or belongs to a byte order mark.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF)
}

fn is_whole(data: &str) -> bool {
    data == "[DONE]" || Json::parse(data).is_ok()
}
