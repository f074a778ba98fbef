//! Counts tokens without a vocabulary.

use ship_context::file_tokens_at_most;
use ship_message::{UiMessage, UiPart};

/// Returns an approximate count: one token for four letters of English, and one for each
/// character of other scripts.
pub(crate) fn rough_tokens(text: &str) -> u64 {
    if text.is_ascii() {
        return (text.len() / 4 + 1) as u64;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count();
    // Every other character begins with one byte of this kind.
    let others = text.bytes().filter(|byte| *byte >= 0xc0).count();
    (ascii / 4 + others + 1) as u64
}

fn rough_part_tokens(part: &UiPart) -> u64 {
    match part {
        UiPart::Text(text) => rough_tokens(text.text()),
        UiPart::StepStart(_) => 0,
        UiPart::File(file) => file_tokens_at_most(file),
        other => rough_tokens(&other.clone().into_json().to_string()),
    }
}

/// The approximate tokens of a message, which are kept with the message.
struct RoughTokens(u64);

pub(super) fn rough_message_tokens(message: &UiMessage) -> u64 {
    let count = || RoughTokens(message.parts().iter().map(rough_part_tokens).sum());
    message.derived(|_| true, count).0
}
