//! Counting as a provider does: with a real tokenizer, and by its own measure.

/// Counts the tokens of a text with the tokenizer of OpenAI's present models.
pub fn count(text: &str) -> u64 {
    let encoding = tiktoken::get_encoding("o200k_base");
    encoding.map_or_else(|| text.len() as u64 / 4, |encoding| encoding.count(text) as u64)
}

/// Counts by a measure that gives `factor` times as much, rounded up.
pub(super) fn scaled(tokens: u64, factor: f64) -> u64 {
    (tokens as f64 * factor).ceil() as u64
}
