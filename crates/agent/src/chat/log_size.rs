//! Limits the size of a log, regardless of what a model could still be sent.
//!
//! The cost of opening a chat grows with its live log. So a long log is compacted even if the window is so large,
//! or so much was pruned, that no request needs it.

use ship_message::json::{Json, Object};
use ship_message::{UiMessage, UiPart};
use ship_store::{ContextBody, ContextLine, View};

use crate::rules::Rules;

/// The size of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogSize {
    /// The number of lines, with the head and every revision of a message.
    pub(crate) lines: u64,
    /// The approximate number of bytes: long texts are blobs and count as their previews.
    pub(crate) bytes: u64,
}

impl LogSize {
    pub(crate) fn of(view: &View) -> Self {
        let first = view.lines.first().map_or(view.position.seq, |line| line.seq);
        // Both ends count, and the head is not among the lines of a view.
        let lines = view.position.seq.get().saturating_sub(first.get()) + 2;
        Self { lines, bytes: view.lines.iter().map(|line| line_bytes(line)).sum() }
    }

    /// Returns the size of messages as lines that a rotation keeps.
    pub(crate) fn of_messages<'m>(messages: impl Iterator<Item = &'m UiMessage>) -> Self {
        messages.fold(Self::default(), |size, message| Self {
            lines: size.lines + 1,
            bytes: size.bytes + message_bytes(message),
        })
    }

    pub(crate) fn is_over(&self, rules: &Rules) -> bool {
        self.lines > rules.log_lines_max || self.bytes > rules.log_bytes_max
    }

    /// Whether the log is so small that the next compaction is far off: as much as it has must be added first.
    pub(crate) fn is_half_of(&self, rules: &Rules) -> bool {
        self.lines <= rules.log_lines_max / 2 && self.bytes <= rules.log_bytes_max / 2
    }
}

/// The bytes around the content of a line.
const LINE_BYTES: u64 = 64;
/// The length above which a text is stored as a blob, and its line has a preview.
const BLOB_BYTES_MIN: usize = 32 * 1024;
// The store keeps 512 bytes of each end of the text, and a line between them.
const PREVIEW_BYTES: usize = 1_200;

fn line_bytes(line: &ContextLine) -> u64 {
    match &line.body {
        ContextBody::Message(message) => message_bytes(message),
        ContextBody::Event(event) => LINE_BYTES + json_bytes(&event.data),
    }
}

/// The approximate bytes of a message's line, which are kept with the message.
struct LineBytes(u64);

fn message_bytes(message: &UiMessage) -> u64 {
    message.derived(|_| true, || LineBytes(measured_bytes(message))).0
}

fn measured_bytes(message: &UiMessage) -> u64 {
    let part = |part: &UiPart| match part {
        UiPart::Unknown(json) => json_bytes(json),
        part => part.object().map_or(0, fields_bytes) + 2,
    };
    // The fields have a null in the place of the parts, which counts as much as a list.
    LINE_BYTES + fields_bytes(message.fields()) + message.parts().iter().map(part).sum::<u64>()
}

fn fields_bytes(object: &Object) -> u64 {
    let field = |(key, value): (&str, &Json)| key.len() as u64 + 4 + json_bytes(value);
    object.iter().map(field).sum()
}

fn json_bytes(json: &Json) -> u64 {
    let mut bytes = 0;
    json.for_each(|value| {
        bytes += match value {
            Json::String(text) if text.as_str().len() > BLOB_BYTES_MIN => PREVIEW_BYTES,
            Json::String(text) => text.as_str().len() + 3,
            Json::Object(object) => object.keys().map(|key| key.len() + 4).sum::<usize>() + 2,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => 6,
        };
    });
    bytes as u64
}

#[cfg(test)]
mod tests {
    use ship_message::Role;

    use super::*;

    #[test]
    fn a_line_is_about_as_long_as_it_is_written() {
        let text = format!(
            r#"{{"id":"m1","role":"user","parts":[{{"type":"text","text":"{}"}},{{"type":"step-start"}}],"metadata":{{"v":1,"ts":1770286500123}}}}"#,
            "ahoy ".repeat(200)
        );
        let message = UiMessage::parse(&text).unwrap();
        let size = LogSize::of_messages([&message].into_iter());
        let written = text.len() as u64;
        assert!(size.bytes.abs_diff(written) * 10 < written, "{size:?} for {written}");
    }

    #[test]
    fn a_long_text_is_a_blob_and_counts_as_its_preview() {
        let message = UiMessage::new("m1", Role::User, vec![UiPart::text("x".repeat(1_000_000))]);
        assert!(LogSize::of_messages([&message].into_iter()).bytes < 2_000);
    }
}
