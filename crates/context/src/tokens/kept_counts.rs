//! Counts of messages, each made once.
//!
//! A window is counted before every step, and all but its last messages were in it the step before. The count of a
//! message is kept with its content ([`UiMessage::derived`]), so a message that was changed is counted again, and
//! counting takes no lock. [`KnownCounts`] are those of an earlier process: they find a message by a hash of its content.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ship_message::json::{Json, Object};
use ship_message::{PartFields, Role, UiMessage, UiPart};

use super::Tokenizer;
use super::family::Family;

/// The version of the rules in `message.rs`. Counts by other rules are not used.
const RULES: u64 = 1;

/// The most counts that are written: as many as a log has messages before it is compacted for its length.
const COUNTS_MAX: usize = 20_000;

/// The count of a message, with the hash of what it depends on. Two messages with one hash would share a count; at 64
/// bits that is very unlikely, and would only make an estimate wrong.
struct MessageCount {
    family: Family,
    hash: u64,
    tokens: u64,
    /// Whether it stands in the file of counts, as far as this process knows.
    is_written: AtomicBool,
}

impl MessageCount {
    fn is_written(&self) -> bool {
        self.is_written.load(Ordering::Relaxed)
    }
}

/// How many messages of a window are counted, and kept for later processes.
#[derive(Clone, Debug, Default)]
pub struct CountProgress {
    /// The messages that are not counted yet.
    pub uncounted: Vec<UiMessage>,
    /// The number of those that are counted, and in no file.
    pub unwritten: usize,
}

impl Tokenizer {
    /// Returns the result of [`Tokenizer::message_tokens`], counted once for each content of a message.
    ///
    /// ```
    /// use ship_message::{Role, UiMessage, UiPart};
    ///
    /// let tokenizer = ship_context::Tokenizer::for_model("gpt-4o");
    /// let message = UiMessage::new("u1", Role::User, vec![UiPart::text("How are you?")]);
    /// let before = tokenizer.has_counted(&message);
    /// let tokens = tokenizer.kept_message_tokens(&message);
    /// assert_eq!((before, tokenizer.has_counted(&message)), (false, true));
    /// assert_eq!(tokens, tokenizer.message_tokens(&message));
    /// ```
    pub fn kept_message_tokens(&self, message: &UiMessage) -> u64 {
        let is_ours = |count: &MessageCount| count.family == self.family();
        let count = || {
            let tokens = self.message_tokens(message);
            let (family, hash) = (self.family(), hash_of(message));
            MessageCount { family, hash, tokens, is_written: AtomicBool::new(false) }
        };
        message.derived(is_ours, count).tokens
    }

    /// Whether the count of a message is kept with it.
    pub fn has_counted(&self, message: &UiMessage) -> bool {
        self.kept_count(message).is_some()
    }

    /// Returns how far the messages of a window are counted.
    pub fn count_progress(&self, messages: &[UiMessage]) -> CountProgress {
        let mut progress = CountProgress::default();
        for message in messages {
            match self.kept_count(message) {
                None => progress.uncounted.push(message.clone()),
                Some(count) => progress.unwritten += usize::from(!count.is_written()),
            }
        }
        progress
    }

    fn kept_count(&self, message: &UiMessage) -> Option<Arc<MessageCount>> {
        message.known::<MessageCount>().filter(|count| count.family == self.family())
    }
}

/// The counts of an earlier process for one tokenizer.
#[derive(Clone, Debug, Default)]
pub struct KnownCounts(HashMap<u64, u64>);

impl KnownCounts {
    /// Reads the result of [`KnownCounts::write`], but no counts of another tokenizer, or by other rules or hashes.
    pub fn read(tokenizer: &Tokenizer, object: &Object) -> Self {
        let header = header(tokenizer);
        if header.iter().any(|(key, value)| object.get(key) != Some(value)) {
            return Self::default();
        }
        let count = |text: &str| {
            let (hash, tokens) = text.split_once('=')?;
            Some((u64::from_str_radix(hash, 16).ok()?, tokens.parse().ok()?))
        };
        Self(object.str("counts").unwrap_or_default().split(' ').filter_map(count).collect())
    }

    /// Keeps the count with each message that is known, and returns how many are not.
    pub fn adopt(&self, tokenizer: &Tokenizer, messages: &[UiMessage]) -> usize {
        let family = tokenizer.family();
        let is_new = |message: &&UiMessage| {
            let hash = hash_of(message);
            let Some(tokens) = self.0.get(&hash).copied() else { return true };
            let is_written = AtomicBool::new(true);
            let count = || MessageCount { family, hash, tokens, is_written };
            message.derived(|known: &MessageCount| known.family == family, count);
            false
        };
        messages.iter().filter(is_new).count()
    }

    /// Returns the counts that are kept with messages, in the form of a file, and takes them for written.
    pub fn write(tokenizer: &Tokenizer, messages: &[UiMessage]) -> Object {
        let last = messages.len().saturating_sub(COUNTS_MAX);
        let counts = messages[last..].iter().filter_map(|message| tokenizer.kept_count(message));
        let count = |count: Arc<MessageCount>| {
            count.is_written.store(true, Ordering::Relaxed);
            format!("{:016x}={}", count.hash, count.tokens)
        };
        let counts: Vec<String> = counts.map(count).collect();
        let mut object = header(tokenizer);
        object.set("counts", counts.join(" "));
        object
    }
}

/// Returns what the counts depend on besides the messages. The hash of a message that never changes shows whether the
/// hashes are those of this program.
fn header(tokenizer: &Tokenizer) -> Object {
    let probe = UiMessage::new("", Role::User, vec![UiPart::text("probe")]);
    Object::from([
        ("v", Json::from(RULES)),
        ("vocabulary", tokenizer.family().encoding_name().into()),
        ("probe", format!("{:016x}", hash_of(&probe)).into()),
    ])
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
    fn a_message_that_was_changed_is_counted_anew_and_its_copies_are_not() {
        let tokenizer = Tokenizer::default();
        let mut message = message(1);
        let before = tokenizer.kept_message_tokens(&message);
        let copy = message.clone();
        message.parts_mut().push(UiPart::text("And this came after."));
        assert!(!tokenizer.has_counted(&message) && tokenizer.has_counted(&copy));
        let tokens = tokenizer.kept_message_tokens(&message);
        assert_eq!(tokens, tokenizer.message_tokens(&message));
        assert!(tokens > before);
    }

    #[test]
    fn each_family_of_models_has_counts_of_its_own() {
        let chinese = UiMessage::new("u", Role::User, vec![UiPart::text("人工智能正在改变世界")]);
        for model in ["gpt-4", "gpt-4o", "deepseek-chat", "gpt-4"] {
            let tokenizer = Tokenizer::for_model(model);
            let tokens = tokenizer.kept_message_tokens(&chinese);
            assert_eq!(tokens, tokenizer.message_tokens(&chinese), "{model}");
        }
    }

    #[test]
    fn what_a_process_has_counted_the_next_need_not_count() {
        let (tokenizer, of) = (Tokenizer::default(), |numbers| -> Vec<UiMessage> {
            std::ops::Range::map(numbers, message).collect()
        });
        let before = of(0..20);
        for message in &before {
            tokenizer.kept_message_tokens(message);
        }
        let written = KnownCounts::write(&tokenizer, &before);
        let now = of(10..30);
        let known = KnownCounts::read(&tokenizer, &written);
        assert_eq!(known.adopt(&tokenizer, &now), 10, "the new ones");
        for (message, is_known) in now.iter().zip((10..30).map(|number| number < 20)) {
            assert_eq!(tokenizer.has_counted(message), is_known);
            assert_eq!(tokenizer.kept_message_tokens(message), tokenizer.message_tokens(message));
        }
    }

    #[test]
    fn counts_that_this_program_would_make_otherwise_are_not_used() {
        let (tokenizer, messages) = (Tokenizer::default(), [message(1)]);
        tokenizer.kept_message_tokens(&messages[0]);
        let written = KnownCounts::write(&tokenizer, &messages);
        assert_eq!(KnownCounts::read(&tokenizer, &written).0.len(), 1);
        for key in ["v", "vocabulary", "probe"] {
            let mut other = written.clone();
            other.set(key, "other");
            assert!(KnownCounts::read(&tokenizer, &other).0.is_empty(), "{key}");
        }
        let mut damaged = written.clone();
        damaged.set("counts", "x= =1 0 00000000000000ff=7");
        assert_eq!(KnownCounts::read(&tokenizer, &damaged).0, HashMap::from([(255, 7)]));
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
