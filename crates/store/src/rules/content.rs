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

/// Makes a line from a message or an event of at most `bytes_max` bytes. Returns the texts that must be stored
/// before the line.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextEvent, Timestamp};
    use ship_message::json::Array;

    fn message(id: &str) -> Object {
        let parts = Array::default().into();
        Object::from([("id", Json::from(id)), ("role", "user".into()), ("parts", parts)])
    }

    fn refusal(message: Object) -> RefusedInput {
        prepare_line(message.into(), 2000).expect_err("it is refused")
    }

    #[test]
    fn reserved_fields_and_what_is_no_message_are_refused() {
        for field in RESERVED {
            let mut posing = message("m1");
            posing.set(field, "x");
            assert_eq!(refusal(posing), RefusedInput::Reserved(field.to_owned()));
        }
        for field in ["id", "role", "parts"] {
            let mut broken = message("m1");
            broken.remove(field);
            assert!(matches!(refusal(broken), RefusedInput::NotAMessage(_)), "{field}");
        }
        for name in [HEAD, PURGED] {
            let (id, ts, event) = ("e1".to_owned(), Timestamp::from_millis(0), name.to_owned());
            let (data, ref_msg_id, inbox) = (Json::Null, None, None);
            let event = ContextEvent { id, ts, event, data, ref_msg_id, inbox };
            let refused = prepare_line(NewLine::Event(event), 2000).expect_err("it is refused");
            assert_eq!(refused, RefusedInput::Reserved(name.to_owned()));
        }
    }

    #[test]
    fn a_line_of_just_the_allowed_size_passes() {
        let mut large = message("m1");
        let bytes = Json::from(large.clone()).to_string().len();
        large.set("text", "x".repeat(2000 - bytes - r#","text":"""#.len()));
        assert!(prepare_line(large.clone().into(), 2000).is_ok());
        let refused = prepare_line(large.into(), 1999).expect_err("it is refused");
        assert!(matches!(refused, RefusedInput::TooLarge { bytes: 2000, max: 1999, .. }));
        let name = "m".repeat(NAME_BYTES_MAX + 1);
        assert!(matches!(refusal(message(&name)), RefusedInput::LongName { bytes: 1001, .. }));
    }

    #[test]
    fn a_prepared_line_keeps_revision_and_ledger_position() {
        let inbox = Some(LedgerSeq::new(7));
        let new = crate::NewMessage { message: message("m1"), rev: 2, inbox };
        let (PreparedLine { id, line }, texts) = prepare_line(new.into(), 2000).expect("a line");
        assert_eq!((id.as_str(), line.rev, line.inbox), ("m1", 2, Some(7)));
        assert!(texts.is_empty() && line.blobs.is_none());
    }
}
