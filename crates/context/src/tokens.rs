//! How much of a model's window a text takes.

/// Counts the tokens of a text with the tokenizer of OpenAI's present models, which comes near enough to the
/// others for a person to see what fills a request.
///
/// The first count of a process reads the vocabulary, which takes about a tenth of a second; nothing that
/// only passes text on should count it.
pub fn count_tokens(text: &str) -> u64 {
    let encoding = tiktoken::get_encoding("o200k_base");
    encoding.map_or_else(|| text.len() as u64 / 4, |encoding| encoding.count(text) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_the_real_tokenizer() {
        for (text, tokens) in [("", 0), ("hello world", 2), ("你好，世界", 3)] {
            assert_eq!(count_tokens(text), tokens, "{text}");
        }
    }
}
