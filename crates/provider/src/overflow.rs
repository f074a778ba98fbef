//! Recognises the errors of a request that was too long for the model.
//!
//! Providers report this in dozens of ways, and report other problems in nearly the same words: too many
//! tokens within a minute, too long an answer, too long a name of a tool. Only the first is solved by a
//! shorter conversation; shortening it for another reason would lose something for nothing. So the rules are
//! applied in this order:
//!
//! 1. a code that means nothing else, wherever it stands (`phrases::CODES`);
//! 2. the status: an error of any other kind is none of ours;
//! 3. what speaks against it (`phrases::OTHER`): limits of rate, money and policy;
//! 4. the sentences that providers are known to use (`phrases::SENTENCES`);
//! 5. a few words that hardly mean anything else, unless they are said about something small;
//! 6. and nothing at all, which one provider says.
//!
//! Text of people is never examined: quoted texts are left out, and so are fields that repeat the request.

mod error_text;
mod phrases;
mod sizes;

use self::error_text::ErrorText;

/// The place where a provider reported an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverflowPlace {
    /// The body of a response.
    Body,
    /// An event of a stream that had begun well.
    #[default]
    Stream,
    /// The reason why an answer ended.
    Finish,
}

/// The request was too long for the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// The number of tokens that the provider counted in the prompt, if it says.
    pub prompt: Option<u64>,
    /// The number of tokens that were asked for as the answer, if the provider says.
    pub completion: Option<u64>,
    /// The number of tokens that the model takes, if the provider says.
    pub limit: Option<u64>,
}

impl Overflow {
    /// Returns the number of tokens that the answer may have for the same prompt to fit, if the provider says that
    /// only prompt and answer together do not. Then another request with this `max_tokens` is the remedy.
    pub fn max_tokens(&self) -> Option<u64> {
        let room = self.limit?.checked_sub(self.prompt?)?;
        (room > 0 && self.completion.is_none_or(|completion| room < completion)).then_some(room)
    }
}

/// Returns the overflow if an error means that the request was too long. `status` is that of the response,
/// if there is one.
///
/// ```
/// use ship_provider::overflow::{Overflow, OverflowPlace, overflow};
///
/// let body = r#"{"error":{"message":"prompt is too long: 200251 tokens > 200000 maximum"}}"#;
/// let found = overflow(Some(400), body, OverflowPlace::Body);
/// assert_eq!(found.and_then(|overflow| overflow.limit), Some(200_000));
/// assert_eq!(overflow(Some(429), body, OverflowPlace::Body), None);
/// ```
pub fn overflow(status: Option<u16>, body: &str, place: OverflowPlace) -> Option<Overflow> {
    let error = ErrorText::read(body);
    let found = if error.has_overflow_code() && !is_about_sender(status) {
        true
    } else if place == OverflowPlace::Finish {
        false
    } else {
        may_be_overflow(status, &error)
            && !error.has_any_word(phrases::OTHER)
            && (has_overflow_phrase(status, &error) || is_empty_refusal(status, body))
    };
    found.then(|| sizes::sizes_in(&error))
}

/// Whether a status concerns the sender: its key, its money or its rate of requests.
fn is_about_sender(status: Option<u16>) -> bool {
    matches!(status, Some(401 | 402 | 403 | 429))
}

/// Whether an error of this status can be an overflow. An error in a stream has no status of its own,
/// but may name one.
fn may_be_overflow(status: Option<u16>, error: &ErrorText) -> bool {
    match status {
        Some(400 | 413 | 422) => true,
        // Without such words a 500 is an outage, unless its request was large: `ProviderError::is_unexplained`.
        Some(500) => error.has_any_word(phrases::SERVER_FAILURES),
        None | Some(200) => !error.status.is_some_and(|status| is_about_sender(Some(status))),
        Some(_) => false,
    }
}

fn has_overflow_phrase(status: Option<u16>, error: &ErrorText) -> bool {
    let too_large =
        status == Some(413) && error.texts.iter().any(|text| phrases::is_too_large(text));
    too_large || error.texts.iter().any(|text| phrases::is_sentence(text) || phrases::is_hint(text))
}

/// Cerebras refuses without a message, and some clients record that.
fn is_empty_refusal(status: Option<u16>, body: &str) -> bool {
    let body = body.trim();
    let nothing = body.is_empty() || matches!(body, "null" | "\"\"") || body.ends_with("(no body)");
    nothing && matches!(status, Some(400 | 413))
}
