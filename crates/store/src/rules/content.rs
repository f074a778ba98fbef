//! Checks content and makes lines from it.
//!
//! Content is checked here and only here: no reserved field, and no more than `limits.messageBytes`. Strings above
//! 32 KB leave the line as blobs.

use ship_message::json::{Json, Object};

use super::blob_texts::{BLOB_BYTES_MIN, TextBlob, extract_texts};
use crate::line::{HEAD, LineKind, PURGED, RESERVED, UnnumberedLine};
use crate::{LedgerSeq, MessageId, NewLine, RefusedInput};

/// The maximal length of an `id` or `key`. They are compared with others, so they stay whole in the line.
const NAME_BYTES_MAX: usize = 1000;

/// A checked line that can be written, and its id.
#[derive(Debug, Clone)]
pub struct PreparedLine {
    /// The id of the message or event.
    pub id: MessageId,
    /// The line without its number.
    pub line: UnnumberedLine,
}

/// Makes a line from a message or an event of at most `bytes_max` bytes. Returns the texts that must be stored before
/// the line.
pub(super) fn prepare_line(
    new: NewLine,
    bytes_max: usize,
) -> Result<(PreparedLine, Vec<TextBlob>), RefusedInput> {
    let (id, kind, body, rev, inbox) = match new {
        NewLine::Message(new) => {
            (check_message(&new.message)?, LineKind::Message, new.message, new.rev, new.inbox)
        }
        NewLine::Event(event) => {
            if [HEAD, PURGED].contains(&event.event.as_str()) {
                return Err(RefusedInput::Reserved(event.event));
            }
            let id = MessageId::new(event.id.clone())
                .ok_or(RefusedInput::NotAMessage("an event needs a non-empty `id`"))?;
            let inbox = event.inbox;
            (id, LineKind::Event, event.into_body(), 0, inbox)
        }
    };
    let (line, texts) = prepare_body(kind, body, id.as_str(), bytes_max)?;
    let line = UnnumberedLine { rev, inbox: inbox.map(LedgerSeq::get), ..line };
    Ok((PreparedLine { id, line }, texts))
}

fn check_message(message: &Object) -> Result<MessageId, RefusedInput> {
    let id = message.str("id").and_then(MessageId::new);
    let id = id.ok_or(RefusedInput::NotAMessage("its `id` is not text, or is empty"))?;
    match message.str("role") {
        Some("user" | "assistant" | "system") => {}
        _ => {
            return Err(RefusedInput::NotAMessage("its `role` is none of user, assistant, system"));
        }
    }
    match message.get("parts").and_then(Json::as_array) {
        Some(_) => Ok(id),
        None => Err(RefusedInput::NotAMessage("its `parts` are not a list")),
    }
}

/// Checks content of at most `bytes_max` bytes and makes a line from it. `name` is its id or key. Returns the texts
/// that must be stored before the line.
pub(crate) fn prepare_body(
    kind: LineKind,
    mut content: Object,
    name: &str,
    bytes_max: usize,
) -> Result<(UnnumberedLine, Vec<TextBlob>), RefusedInput> {
    if name.len() > NAME_BYTES_MAX {
        let (start, bytes) = (name.chars().take(40).collect(), name.len());
        return Err(RefusedInput::LongName { start, bytes, max: NAME_BYTES_MAX });
    }
    if let Some(field) = RESERVED.iter().find(|field| content.has(field)) {
        return Err(RefusedInput::Reserved((*field).to_owned()));
    }
    let line = UnnumberedLine::new(kind, content.clone());
    // The two braces are not part of `line.body`.
    let bytes = line.body.len() + 2;
    if bytes > bytes_max {
        return Err(RefusedInput::TooLarge { id: name.to_owned(), bytes, max: bytes_max });
    }
    // No string in it can be longer than the whole content.
    if bytes <= BLOB_BYTES_MIN {
        return Ok((line, Vec::new()));
    }
    let (texts, blobs) = extract_texts(&mut content);
    Ok((UnnumberedLine { blobs, ..UnnumberedLine::new(kind, content) }, texts))
}
