//! Remembers the token counts of messages.
//!
//! A window is counted before every step, and all but its last messages were in it the step before. They are
//! recognised by a hash of their content. So a message that was changed in place is counted again, and the same
//! words under another id are not.
//!
//! The memory has two generations. A count that is used moves to the young one. When that is full, it becomes the
//! old one, and the counts of the old one are forgotten. Each generation has room for a whole window: with less
//! room, counting a window from its first message on would forget each count just before it is needed again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ship_message::json::{Json, Object};
use ship_message::{PartFields, UiMessage, UiPart};

use super::Tokenizer;
use super::family::Family;

/// The counts of messages that were counted lately.
///
/// ```
/// use ship_context::{TokenCache, Tokenizer};
/// use ship_message::{Role, UiMessage, UiPart};
///
/// let tokenizer = Tokenizer::for_model("gpt-4o");
/// let window = [UiMessage::new("u1", Role::User, vec![UiPart::text("How are you?")])];
/// let mut cache = TokenCache::new(4_096);
/// let tokens = cache.window_tokens(&tokenizer, &window);
/// assert_eq!(tokens, tokenizer.message_tokens(&window[0]));
/// assert_eq!((cache.window_tokens(&tokenizer, &window), cache.count_misses()), (tokens, 1));
/// ```
#[derive(Clone, Debug)]
pub struct TokenCache {
    young: HashMap<TokenCacheKey, u64>,
    old: HashMap<TokenCacheKey, u64>,
    generation_max: usize,
    count_misses: u64,
}

/// The counter and a hash of the content. Two messages with one hash would share a count; at 64 bits that is very
/// unlikely, and would only make an estimate wrong.
type TokenCacheKey = (Family, u64);

impl TokenCache {
    /// Makes a cache for windows of up to `window_max` messages. It remembers at most twice as many, at a
    /// few dozen bytes each.
    pub fn new(window_max: usize) -> Self {
        let generation_max = window_max.max(1);
        Self { young: HashMap::new(), old: HashMap::new(), generation_max, count_misses: 0 }
    }

    /// Returns the result of [`Tokenizer::message_tokens`], counted only if it is not remembered.
    pub fn message_tokens(&mut self, tokenizer: &Tokenizer, message: &UiMessage) -> u64 {
        let key = (tokenizer.family(), hash_of(message));
        if let Some(tokens) = self.young.get(&key) {
            return *tokens;
        }
        let tokens = self.old.remove(&key).unwrap_or_else(|| {
            self.count_misses += 1;
            tokenizer.message_tokens(message)
        });
        // What was not used for a whole generation is forgotten, without keeping an order of use.
        if self.young.len() >= self.generation_max {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, tokens);
        tokens
    }

    /// Returns the tokens of all messages of a window.
    pub fn window_tokens(&mut self, tokenizer: &Tokenizer, window: &[UiMessage]) -> u64 {
        window.iter().map(|message| self.message_tokens(tokenizer, message)).sum()
    }

    /// Returns the number of messages that had to be counted so far.
    pub fn count_misses(&self) -> u64 {
        self.count_misses
    }

    /// Returns the number of messages that are remembered.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether no message is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns a hash of everything that a message's count depends on: its role and its parts.
fn hash_of(message: &UiMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.role().name().hash(&mut hasher);
    for part in message.parts() {
        match part {
            UiPart::Text(part) => hash_object(part.object(), &mut hasher),
            UiPart::Reasoning(part) => hash_object(part.object(), &mut hasher),
            UiPart::File(part) => hash_object(part.object(), &mut hasher),
            UiPart::Tool(part) => hash_object(part.object(), &mut hasher),
            UiPart::StepStart(part) => hash_object(part.object(), &mut hasher),
            // These parts take no tokens.
            UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::Data(_)
            | UiPart::Unknown(_) => {}
        }
    }
    hasher.finish()
}

fn hash_object(object: &Object, hasher: &mut DefaultHasher) {
    object.len().hash(hasher);
    for (key, value) in object.iter() {
        key.hash(hasher);
        value.for_each(|value| hash_value(value, hasher));
    }
}

/// Hashes one value without the values in it. Their number is hashed, so that different
/// nestings give different sequences.
fn hash_value(value: &Json, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Json::Null => {}
        Json::Bool(bool) => bool.hash(hasher),
        Json::Number(number) => number.to_bits().hash(hasher),
        Json::String(string) => string.as_str().hash(hasher),
        Json::Array(array) => array.len().hash(hasher),
        Json::Object(object) => {
            object.len().hash(hasher);
            object.keys().for_each(|key| key.hash(hasher));
        }
    }
}

#[cfg(test)]
mod tests {
    use ship_message::Role;

    use super::*;

    fn message(number: usize) -> UiMessage {
        let text = format!("This is message number {number} of them.");
        UiMessage::new(format!("m{number}"), Role::User, vec![UiPart::text(text)])
    }

    fn tool(json: &str) -> UiMessage {
        let part = format!(r#"{{"type":"tool-x","toolCallId":"c","input":{json}}}"#);
        UiMessage::new("a", Role::Assistant, vec![UiPart::from_json(Json::parse(&part).unwrap())])
    }

    #[test]
    fn a_window_with_one_more_message_costs_one_count() {
        let tokenizer = Tokenizer::default();
        let mut cache = TokenCache::new(4_096);
        let mut window: Vec<UiMessage> = (0..400).map(message).collect();
        let before = cache.window_tokens(&tokenizer, &window);
        assert_eq!(cache.count_misses(), 400);
        window.push(message(400));
        let after = cache.window_tokens(&tokenizer, &window);
        assert_eq!(cache.count_misses(), 401);
        assert_eq!(after, before + tokenizer.message_tokens(&window[400]));
    }

    #[test]
    fn a_window_as_long_as_the_memory_is_counted_once() {
        let tokenizer = Tokenizer::default();
        let mut cache = TokenCache::new(500);
        let window: Vec<UiMessage> = (0..500).map(message).collect();
        for _ in 0..5 {
            cache.window_tokens(&tokenizer, &window);
        }
        assert_eq!(cache.count_misses(), 500);
    }

    #[test]
    fn a_message_that_was_changed_is_counted_anew() {
        let tokenizer = Tokenizer::default();
        let mut cache = TokenCache::new(10);
        let mut message = message(1);
        cache.message_tokens(&tokenizer, &message);
        message.parts_mut().push(UiPart::text("And this came after."));
        let tokens = cache.message_tokens(&tokenizer, &message);
        assert_eq!(tokens, tokenizer.message_tokens(&message));
        assert_eq!(cache.count_misses(), 2);
    }

    #[test]
    fn each_family_of_models_has_counts_of_its_own() {
        let chinese = UiMessage::new("u", Role::User, vec![UiPart::text("人工智能正在改变世界")]);
        let mut cache = TokenCache::new(10);
        for model in ["gpt-4", "gpt-4o", "deepseek-chat", "gpt-4"] {
            let tokenizer = Tokenizer::for_model(model);
            let tokens = cache.message_tokens(&tokenizer, &chinese);
            assert_eq!(tokens, tokenizer.message_tokens(&chinese), "{model}");
        }
        assert_eq!(cache.count_misses(), 3);
    }

    #[test]
    fn what_is_not_used_is_forgotten_and_what_is_used_stays() {
        let tokenizer = Tokenizer::default();
        let mut cache = TokenCache::new(10);
        for number in 1..1_000 {
            cache.message_tokens(&tokenizer, &message(0));
            cache.message_tokens(&tokenizer, &message(number));
            assert!(cache.len() <= 20);
        }
        assert_eq!(cache.count_misses(), 1_000, "the first was counted once");
        cache.message_tokens(&tokenizer, &message(1));
        assert_eq!(cache.count_misses(), 1_001, "the second was forgotten");
    }

    #[test]
    fn messages_that_differ_in_form_only_have_different_hashes() {
        let inputs = [
            "null",
            "0",
            "\"\"",
            "\"0\"",
            "false",
            "[]",
            "{}",
            "[[]]",
            "[[],[]]",
            "[[[]]]",
            r#"{"a":"b"}"#,
            r#"{"b":"a"}"#,
            r#"{"ab":""}"#,
            r#"["a","b"]"#,
            r#"["ab"]"#,
            r#"[["a"],"b"]"#,
            r#"["a",["b"]]"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":{},"b":1}"#,
        ];
        let mut hashes: Vec<u64> = inputs.map(|input| hash_of(&tool(input))).to_vec();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), inputs.len());
    }

    #[test]
    fn a_deep_message_is_hashed_without_recursion() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_ne!(hash_of(&tool(&deep)), hash_of(&tool("[]")));
    }
}
