//! Replaces unreadable messages and parts by notes.
//!
//! The conversion drops unknown parts silently, and fails on values that are not messages. The model should know
//! that something was there.

use std::borrow::Cow;

use ship_message::json::Json;
use ship_message::{ConvertOptions, Role, UiMessage, UiPart, convert_to_model_messages};

/// Returns the view with notes in the place of unreadable parts; mostly it is the view itself.
pub(super) fn replace_unreadable(view: &[UiMessage]) -> Cow<'_, [UiMessage]> {
    if view.iter().all(is_readable) {
        return Cow::Borrowed(view);
    }
    Cow::Owned(view.iter().map(mend_message).collect())
}

fn is_readable(message: &UiMessage) -> bool {
    message.role() != Role::Unknown
        && message.has_parts()
        && !message.parts().iter().any(|part| matches!(part, UiPart::Unknown(_)))
        && can_be_converted(message)
}

/// Whether a message can be converted. Only system messages are joined from their parts, which can fail.
fn can_be_converted(message: &UiMessage) -> bool {
    let one = std::slice::from_ref(message);
    message.role() != Role::System
        || convert_to_model_messages(one, &ConvertOptions::default()).is_ok()
}

fn mend_message(message: &UiMessage) -> UiMessage {
    if is_readable(message) {
        return message.clone();
    }
    let id = message.id().unwrap_or_default();
    let role = match message.role() {
        Role::Assistant => Role::Assistant,
        Role::User | Role::System | Role::Unknown => Role::User,
    };
    if message.role() == Role::Unknown || !message.has_parts() || !can_be_converted(message) {
        return UiMessage::new(id, role, vec![UiPart::text("[a message that cannot be read]")]);
    }
    let mut message = message.clone();
    for part in message.parts_mut() {
        if let UiPart::Unknown(json) = part {
            *part = UiPart::text(note_about(json));
        }
    }
    message
}

fn note_about(part: &Json) -> String {
    let plain = |c: &char| c.is_alphanumeric() || "-_./:".contains(*c);
    let kind = part.get("type").and_then(Json::as_str).unwrap_or_default();
    let kind: String = kind.chars().filter(plain).take(40).collect();
    if kind.is_empty() {
        "[a part that cannot be read]".to_owned()
    } else {
        format!("[a part of the unknown type {kind}]")
    }
}
