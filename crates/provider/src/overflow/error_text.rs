//! Collects the texts of an error in any form.
//!
//! The message may be a string in an object, in a list, in JSON inside a string, or after a few words of a proxy;
//! or the body is not JSON at all. All texts are collected in lower case.

use ship_message::json::{Json, Object};

use super::phrases;

/// The depth to which JSON inside strings inside JSON is followed.
const NESTED_MAX: usize = 8;

/// The fields that repeat the request or the answer, whose text people or models wrote.
const WRITTEN: &[&str] = &[
    "arguments",
    "completion",
    "content",
    "content_block",
    "delta",
    "flagged_input",
    "function",
    "generated_text",
    "input",
    "instructions",
    "item",
    "messages",
    "output",
    "output_text",
    "part",
    "prompt",
    "reasoning",
    "reasoning_content",
    "received",
    "refusal",
    "text",
    "thinking",
    "tool_calls",
    "tools",
    "value",
];

/// Those of them that an error may use for its own words.
const WORDS_OF_ERRORS: &[&str] = &["content", "text", "value"];

/// The texts and numbers of an error.
#[derive(Debug, Default)]
pub(super) struct ErrorText {
    /// The texts in lower case, without quoted passages.
    pub(super) texts: Vec<String>,
    /// The status that an error in a stream names.
    pub(super) status: Option<u16>,
    /// The sizes in fields of their own.
    pub(super) prompt: Option<u64>,
    pub(super) limit: Option<u64>,
    codes: Vec<String>,
}

impl ErrorText {
    pub(super) fn read(body: &str) -> Self {
        let mut error = Self::default();
        let mut pending = Vec::new();
        // The body may be events of a stream, as they were sent.
        let events = || body.lines().filter_map(|line| line.strip_prefix("data:"));
        if events().next().is_some() {
            events().for_each(|event| error.push_text(event, 0, &mut pending));
        } else {
            error.push_text(body, 0, &mut pending);
        }
        while let Some((json, nested)) = pending.pop() {
            error.push_value(&json, nested, &mut pending);
        }
        error
    }

    /// Whether the texts contain a code that has only this meaning.
    pub(super) fn has_overflow_code(&self) -> bool {
        self.codes.iter().any(|code| phrases::CODES.contains(&code.as_str()))
    }

    pub(super) fn has_any_word(&self, words: &[&str]) -> bool {
        self.texts.iter().any(|text| words.iter().any(|word| phrases::has_word(text, word)))
    }

    /// Takes a text, or the JSON that it is, or both if it contains an object.
    fn push_text(&mut self, text: &str, nested: usize, pending: &mut Vec<(Json, usize)>) {
        let text = text.trim();
        if nested < NESTED_MAX
            && text.starts_with(['{', '[', '"'])
            && let Ok(json) = Json::parse(text)
        {
            pending.push((json, nested + 1));
            return;
        }
        let inside = text.find('{').zip(text.rfind('}')).filter(|(start, end)| start < end);
        if nested < NESTED_MAX
            && let Some((start, end)) = inside
            && let Ok(json) = Json::parse(&text[start..=end])
        {
            pending.push((json, nested + 1));
            self.push_words(&text[..start]);
            self.push_words(&text[end + 1..]);
        } else {
            self.push_words(text);
        }
    }

    fn push_words(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.codes.push(text.to_lowercase());
            self.texts.push(normalise(text));
        }
    }

    fn push_value(&mut self, json: &Json, nested: usize, pending: &mut Vec<(Json, usize)>) {
        let mut values = vec![(json, false)];
        while let Some((value, in_error)) = values.pop() {
            match value {
                Json::String(text) => self.push_text(text.as_str(), nested, pending),
                Json::Array(list) => {
                    values.extend(list.iter().rev().map(|value| (value, in_error)));
                }
                Json::Object(object) => {
                    self.read_numbers(object);
                    let is_read = |key: &str| {
                        !WRITTEN.contains(&key) || in_error && WORDS_OF_ERRORS.contains(&key)
                    };
                    let entries = object.iter().filter(|(key, _)| is_read(key));
                    values.extend(
                        entries.map(|(key, value)| (value, in_error || key == "error")).rev(),
                    );
                }
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
        }
    }

    fn read_numbers(&mut self, object: &Object) {
        // LiteLLM has the status as a text.
        let number = |key: &str| {
            let value = object.get(key)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        let status = number("code").or_else(|| number("status"));
        self.status = self.status.or(status.and_then(|status| u16::try_from(status).ok()));
        self.prompt = self.prompt.or_else(|| number("n_prompt_tokens"));
        self.limit = self.limit.or_else(|| number("n_ctx"));
    }
}

/// Returns a text in lower case, with plain apostrophes and without quoted passages. A quotation stays if it is a
/// word or two, or the words of another host. A text in Python's notation for objects stays whole.
fn normalise(text: &str) -> String {
    let text = text.to_lowercase().replace(['\u{2018}', '\u{2019}'], "'");
    if text.contains("{'") {
        return text.replace('`', "");
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['"', '\'', '`', '\u{201c}']) {
        let mark = rest[at..].chars().next().unwrap_or('"');
        let before = rest[..at].chars().next_back();
        out.push_str(&rest[..at]);
        let inner = &rest[at + mark.len_utf8()..];
        match quotation_end(inner, mark, before) {
            Some(end) => {
                let quoted = &inner[..end];
                let is_name = quoted.chars().all(|c| c.is_ascii_alphabetic() || "_ ".contains(c))
                    && quoted.split_whitespace().count() <= 2;
                out.push_str(if is_name || is_passed_on(&out) { quoted } else { " " });
                rest = inner[end..].trim_start_matches(['"', '\'', '`', '\u{201d}']);
            }
            // This is an apostrophe, or half of a pair.
            None => {
                out.push(mark);
                rest = inner;
            }
        }
    }
    out + rest
}

/// Whether the next quotation has the words of another host.
fn is_passed_on(before: &str) -> bool {
    let before = before.trim_end().trim_end_matches(':');
    ["error", "said", "says", "message", "returned", "response"]
        .into_iter()
        .any(|word| before.ends_with(word))
}

/// Returns where a quotation ends; an apostrophe within a word begins none.
fn quotation_end(inner: &str, mark: char, before: Option<char>) -> Option<usize> {
    let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    match mark {
        '\'' if in_word(before) => None,
        '\'' => inner
            .match_indices('\'')
            .map(|(at, _)| at)
            .find(|at| !in_word(inner[at + 1..].chars().next())),
        '\u{201c}' => inner.find('\u{201d}'),
        mark => inner.find(mark),
    }
}
