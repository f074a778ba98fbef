//! The tokenizer of a model, which counts the tokens of its texts.

use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

use ship_message::json::Json;

use super::family::Family;
use super::pieces::{TextPiece, for_each_piece};
use super::rare_chars::CharTokens;

/// The tokens between one block or message and the next.
pub(super) const MESSAGE_TOKENS: u64 = 4;

/// Counts tokens as a model does, or as nearly as is known.
///
/// Making one costs nothing. The first count of a process loads the vocabulary, in about a tenth of a second;
/// [`surely_fits`](super::surely_fits) mostly avoids that.
///
/// ```
/// use ship_context::Tokenizer;
///
/// let text = "人工智能正在改变世界";
/// let [old, new] = ["gpt-4", "deepseek-chat"].map(|model| Tokenizer::for_model(model).count(text));
/// assert!(new < old);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tokenizer {
    family: Family,
    /// The thread that needed the vocabulary first.
    loader: Arc<OnceLock<ThreadId>>,
    /// Made for the first text with more kinds of rare characters than usual.
    chars: Arc<OnceLock<CharTokens>>,
}

impl Tokenizer {
    /// Returns the tokenizer for a model, by its name as providers spell it. A model of an unknown family is
    /// counted with OpenAI's present vocabulary, and so is Claude, whose own is not public;
    /// [`Calibration`](super::Calibration) learns their real counts.
    pub fn for_model(model: &str) -> Self {
        Self { family: Family::of_model(model), ..Self::default() }
    }

    pub(super) fn family(&self) -> Family {
        self.family
    }

    /// Whether the vocabulary is loaded, so that a short text is counted in microseconds.
    ///
    /// ```
    /// let tokenizer = ship_context::Tokenizer::for_model("gpt-4o");
    /// let before = tokenizer.has_vocabulary();
    /// tokenizer.count("How are you?");
    /// assert_eq!((before, tokenizer.has_vocabulary()), (false, true));
    /// ```
    pub fn has_vocabulary(&self) -> bool {
        self.loader.get().is_some()
    }

    /// Returns the thread that has waited for the vocabulary to be loaded, once it is there.
    pub fn loader(&self) -> Option<ThreadId> {
        self.loader.get().copied()
    }

    /// Counts the tokens of a text, in time proportional to its length.
    ///
    /// The count is that of the vocabulary, with two exceptions. Words of more than 2,048 bytes get a token or two
    /// too many for each 2,048. In texts with characters of more than 16 blocks of 64, beyond those of western
    /// Europe and Chinese, Japanese and Korean, all but the most used blocks are counted character by character,
    /// which is rather too much.
    pub fn count(&self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        // It cannot be missing: a test loads every family's. One byte per token is the safe fallback.
        let Some(encoding) = self.family.encoding() else { return text.len() as u64 };
        self.loader.get_or_init(|| thread::current().id());
        let mut tokens = 0;
        for_each_piece(text, |piece| {
            tokens += match piece {
                TextPiece::Text(text) => encoding.count(text) as u64,
                TextPiece::Rare(c) => {
                    self.chars.get_or_init(|| CharTokens::of_vocabulary(encoding)).count(c)
                }
            };
        });
        tokens
    }

    /// Counts system blocks, with the tokens between one and the next.
    pub fn system_tokens(&self, blocks: &[String]) -> u64 {
        blocks.iter().map(|block| self.count(block) + MESSAGE_TOKENS).sum()
    }

    /// Counts the tools as they are sent: names, descriptions and schemas, as JSON.
    pub fn tools_tokens(&self, tools: &Json) -> u64 {
        match tools {
            Json::Null => 0,
            Json::Array(list) if list.is_empty() => 0,
            Json::Array(_)
            | Json::Object(_)
            | Json::String(_)
            | Json::Number(_)
            | Json::Bool(_) => self.count(&tools.stringify()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ship_testkit::texts;

    use super::*;

    const MODELS: [&str; 10] = [
        "gpt-4o",
        "gpt-4",
        "deepseek-chat",
        "qwen3",
        "llama-3.3",
        "mistral-large",
        "kimi-k2",
        "glm-4.6",
        "glm-5",
        "minimax-m2",
    ];

    fn exact(tokenizer: &Tokenizer, text: &str) -> u64 {
        tokenizer.family.encoding().unwrap().count(text) as u64
    }

    #[test]
    fn ordinary_text_is_counted_exactly_in_every_vocabulary() {
        for model in MODELS {
            let tokenizer = Tokenizer::for_model(model);
            for (name, text) in texts::ordinary(20_000) {
                assert_eq!(tokenizer.count(&text), exact(&tokenizer, &text), "{model}: {name}");
            }
        }
    }

    /// The exact counts are slow here, so there are few models and small texts.
    #[test]
    fn pathological_text_is_counted_within_a_tenth() {
        for model in ["gpt-4o", "deepseek-chat"] {
            let tokenizer = Tokenizer::for_model(model);
            for (name, text) in texts::pathological(8_000) {
                let (ours, exact) = (tokenizer.count(&text), exact(&tokenizer, &text));
                let error = ours.abs_diff(exact) as f64 / exact as f64;
                assert!(error < 0.1, "{model}: {name}: {ours} for {exact}");
            }
        }
    }

    #[test]
    fn families_count_the_same_chinese_differently() {
        let text = "人工智能正在改变我们的世界";
        let counts = ["gpt-4", "gpt-4o", "deepseek-chat", "kimi-k2"]
            .map(|model| Tokenizer::for_model(model).count(text));
        assert!(
            counts[0] > counts[1] && counts[1] > counts[2] && counts[1] > counts[3],
            "{counts:?}"
        );
    }

    #[test]
    fn blocks_and_tools_are_counted_whole() {
        let tokenizer = Tokenizer::default();
        let text = "You are a helpful agent.".to_owned();
        let one = tokenizer.count(&text);
        assert_eq!(tokenizer.system_tokens(&[]), 0);
        assert_eq!(tokenizer.system_tokens(&[text.clone(), text]), 2 * (one + MESSAGE_TOKENS));
        let tools = Json::parse(r#"[{"name":"shell","description":"Runs a command."}]"#).unwrap();
        assert_eq!(tokenizer.tools_tokens(&tools), tokenizer.count(&tools.to_string()));
        assert_eq!(tokenizer.tools_tokens(&Json::from(Vec::new())), 0);
        assert_eq!(tokenizer.tools_tokens(&Json::Null), 0);
    }
}
