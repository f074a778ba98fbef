//! Which errors mean that a request was too long for the model.
//!
//! Providers say it in dozens of ways, and say other things in nearly the same words: that too many tokens were
//! sent within a minute, that too long an answer was asked for, that a tool's name has too many letters. Only
//! the first is cured by a shorter conversation; shortening it for one of the others would lose something for
//! nothing. So the answer is looked for in this order:
//!
//! 1. a code that means nothing else, wherever it stands (`words::CODES`);
//! 2. the status: an error of any other kind is none of ours;
//! 3. what speaks against it (`words::OTHER`): limits of rate, money and policy;
//! 4. the sentences that providers are known to use (`words::SENTENCES`);
//! 5. a few words that hardly mean anything else, unless they are said about something small;
//! 6. and nothing at all, which one provider says.
//!
//! What people wrote is never looked at: texts in quotation marks are left out, and fields that repeat the
//! request.

mod said;
mod sizes;
mod words;

use self::said::ErrorText;

/// Where a provider said something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverflowPlace {
    /// In the body of a response.
    Body,
    /// In an event of a stream that had begun well.
    #[default]
    Stream,
    /// As the reason why an answer ended.
    Finish,
}

/// A request was too long for the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// How many tokens it had, as far as the provider tells.
    pub observed: Option<u64>,
    /// How many the model takes, as far as the provider tells.
    pub limit: Option<u64>,
    /// How many tokens the answer may have for the same messages to fit, when the provider tells that it is
    /// messages and answer together that do not. Asking again with this `max_tokens` is the cure then.
    pub max_tokens: Option<u64>,
}

/// Tells whether an error means that the request was too long. `status` is that of the response, if there is
/// one.
///
/// ```
/// use ship_provider::overflow::{Overflow, Place, overflow};
///
/// let body = r#"{"error":{"message":"prompt is too long: 200251 tokens > 200000 maximum"}}"#;
/// let found = overflow(Some(400), body, Place::Body);
/// assert_eq!(found.and_then(|overflow| overflow.limit), Some(200_000));
/// assert_eq!(overflow(Some(429), body, Place::Body), None);
/// ```
pub fn overflow(status: Option<u16>, body: &str, place: OverflowPlace) -> Option<Overflow> {
    let said = ErrorText::read(body);
    let found = if said.names_a_code() && !is_about_the_sender(status) {
        true
    } else if place == OverflowPlace::Finish {
        false
    } else {
        may_be(status, &said)
            && !said.holds_any(words::OTHER)
            && (is_told(status, &said) || is_silent(status, body))
    };
    found.then(|| sizes::of(&said))
}

/// Who sends, pays or asks too often gets these, whatever else is said.
fn is_about_the_sender(status: Option<u16>) -> bool {
    matches!(status, Some(401 | 402 | 403 | 429))
}

/// Whether an error of this status can be one of ours. An error in a stream has no status of its own, but may
/// name one.
fn may_be(status: Option<u16>, said: &ErrorText) -> bool {
    match status {
        Some(400 | 413 | 422) => true,
        // Only llama.cpp: the window was full while the answer was made, and that is its own failure.
        Some(500) => said.holds_any(&["context size has been exceeded"]),
        None | Some(200) => !said.status.is_some_and(|status| is_about_the_sender(Some(status))),
        Some(_) => false,
    }
}

fn is_told(status: Option<u16>, said: &ErrorText) -> bool {
    let too_large = status == Some(413) && said.texts.iter().any(|text| words::is_too_large(text));
    too_large || said.texts.iter().any(|text| words::is_sentence(text) || words::is_hint(text))
}

/// Cerebras refuses without a word, and some clients write that down.
fn is_silent(status: Option<u16>, body: &str) -> bool {
    let body = body.trim();
    let nothing = body.is_empty() || matches!(body, "null" | "\"\"") || body.ends_with("(no body)");
    nothing && matches!(status, Some(400 | 413))
}
