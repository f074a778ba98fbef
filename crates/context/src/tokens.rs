//! Counts how much of a model's window a text takes.
//!
//! Tokens are counted with the vocabulary of the model that will be asked, or with the nearest public one. Counting
//! is exact for ordinary text. For text that would make it slow (a word of a megabyte, a page of every script) it
//! is approximate, so that the time is always proportional to the length.
//!
//! - [`Tokenizer`] counts: texts, messages, system blocks, tools.
//! - [`Tokenizer::kept_message_tokens`] counts a message once and not in every step. [`KnownCounts`] hand the counts
//!   to the next process.
//! - [`Calibration`] learns from the reports of providers how many tokens they count.
//! - [`surely_fits`] answers without counting, which suffices in most steps.

mod calibration;
mod family;
mod file;
mod kept_counts;
mod message;
mod pieces;
mod rare_chars;
mod tokenizer;

pub use calibration::Calibration;
pub use file::file_tokens_at_most;
pub use kept_counts::{CountProgress, KnownCounts};
pub use tokenizer::Tokenizer;

/// Whether `bytes` of text fit a budget of tokens together with `known` tokens of other content, such as images. A
/// token has at least one byte, so this needs neither a count nor a vocabulary.
///
/// If the result is `false`, the tokens must be counted.
///
/// ```
/// assert!(ship_context::surely_fits(60_000, 1_500, 100_000));
/// assert!(!ship_context::surely_fits(400_000, 0, 100_000), "it may still fit");
/// ```
pub fn surely_fits(bytes: usize, known: u64, budget: u64) -> bool {
    known.saturating_add(bytes as u64) <= budget
}

#[cfg(test)]
mod tests {
    use ship_testkit::texts;

    use super::*;

    #[test]
    fn tokens_are_those_of_the_real_tokenizer() {
        for (text, tokens) in [("", 0), ("hello world", 2), ("你好，世界", 3)] {
            assert_eq!(Tokenizer::default().count(text), tokens, "{text}");
        }
    }

    #[test]
    fn what_surely_fits_has_no_more_tokens_than_the_budget() {
        for (name, text) in texts::all(5_000) {
            let tokens = Tokenizer::default().count(&text);
            assert!(tokens <= text.len() as u64, "{name}: a token is at least a byte");
            assert!(!surely_fits(text.len(), 0, tokens - 1), "{name}");
        }
        assert!(!surely_fits(usize::MAX, u64::MAX, u64::MAX - 1), "no sum overflows");
    }
}
