//! Reading JSON that has not arrived whole.
//!
//! While a model writes the input of a tool, what is there so far is shown. A cut text is completed:
//! open strings, lists and objects are closed, a begun literal is finished, and a key without a value, a
//! dangling comma or the beginning of an escape is left out. Text that is wrong rather than cut gives
//! nothing. One pass, the states of the AI SDK's own repair.

use crate::chunk::has_prototype_key;
use crate::json::Json;

/// Reads as much of a JSON text as is there; nothing when it cannot become JSON.
pub(crate) fn parse_partial(text: &str) -> Option<Json> {
    let value = Json::parse(text).or_else(|_| Json::parse(&complete(text))).ok()?;
    // The AI SDK reads tool input with the same guard as chunks.
    (!has_prototype_key(&value)).then_some(value)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Root,
    Finish,
    String,
    StringEscape,
    UnicodeEscape,
    Literal,
    Number,
    ObjectStart,
    ObjectKey,
    ObjectAfterKey,
    ObjectBeforeValue,
    ObjectAfterValue,
    ObjectAfterComma,
    ArrayStart,
    ArrayAfterValue,
    ArrayAfterComma,
}

/// Completes a JSON text that was cut.
fn complete(text: &str) -> String {
    let mut scan =
        Scan { text, stack: vec![State::Root], valid: 0, literal_start: 0, unicode_digits: 0 };
    for (at, char) in text.char_indices() {
        // JavaScript sees a character beyond 16 bits as two, and so do its states.
        for _ in 0..char.len_utf16() {
            scan.step(at, char);
        }
    }
    scan.finish()
}

struct Scan<'a> {
    text: &'a str,
    stack: Vec<State>,
    /// The length of the text up to which it can be completed.
    valid: usize,
    literal_start: usize,
    unicode_digits: u8,
}

impl Scan<'_> {
    fn swap(&mut self, state: State) {
        self.stack.pop();
        self.stack.push(state);
    }

    fn top(&self) -> State {
        self.stack.last().copied().unwrap_or(State::Finish)
    }

    fn step(&mut self, at: usize, char: char) {
        let end = at + char.len_utf8();
        match self.top() {
            State::Root => self.value_start(char, at, State::Finish),
            State::Finish => {}
            State::ObjectStart => match char {
                '"' => self.swap(State::ObjectKey),
                '}' => self.close(end),
                _ => {}
            },
            State::ObjectAfterComma if char == '"' => self.swap(State::ObjectKey),
            State::ObjectKey if char == '"' => self.swap(State::ObjectAfterKey),
            State::ObjectAfterKey if char == ':' => self.swap(State::ObjectBeforeValue),
            State::ObjectAfterComma | State::ObjectKey | State::ObjectAfterKey => {}
            State::ObjectBeforeValue => self.value_start(char, at, State::ObjectAfterValue),
            State::ObjectAfterValue => self.after_object_value(char, end),
            State::ArrayStart if char == ']' => self.close(end),
            State::ArrayStart => {
                self.valid = end;
                self.value_start(char, at, State::ArrayAfterValue);
            }
            State::ArrayAfterComma => self.value_start(char, at, State::ArrayAfterValue),
            State::ArrayAfterValue => match char {
                ',' | ']' => self.after_array_value(char, end),
                _ => self.valid = end,
            },
            State::String => match char {
                '"' => self.close(end),
                '\\' => self.stack.push(State::StringEscape),
                _ => self.valid = end,
            },
            State::StringEscape if char == 'u' => {
                self.unicode_digits = 0;
                self.swap(State::UnicodeEscape);
            }
            State::StringEscape => self.close(end),
            State::UnicodeEscape => {
                self.unicode_digits += u8::from(char.is_ascii_hexdigit());
                if self.unicode_digits == 4 {
                    self.close(end);
                }
            }
            State::Number => self.number(char, end),
            State::Literal => self.literal(char, end),
        }
    }

    /// What ends here is whole.
    fn close(&mut self, end: usize) {
        self.valid = end;
        self.stack.pop();
    }

    fn value_start(&mut self, char: char, at: usize, after: State) {
        let inside = match char {
            '"' => State::String,
            'f' | 't' | 'n' => {
                self.literal_start = at;
                State::Literal
            }
            // A lone minus cannot be completed, so it does not count as valid yet.
            '-' | '0'..='9' => State::Number,
            '{' => State::ObjectStart,
            '[' => State::ArrayStart,
            _ => return,
        };
        if char != '-' {
            self.valid = at + 1;
        }
        self.swap(after);
        self.stack.push(inside);
    }

    fn after_object_value(&mut self, char: char, end: usize) {
        match char {
            ',' => self.swap(State::ObjectAfterComma),
            '}' => self.close(end),
            _ => {}
        }
    }

    fn after_array_value(&mut self, char: char, end: usize) {
        match char {
            ',' => self.swap(State::ArrayAfterComma),
            ']' => self.close(end),
            _ => {}
        }
    }

    fn number(&mut self, char: char, end: usize) {
        match char {
            '0'..='9' => self.valid = end,
            'e' | 'E' | '-' | '.' => {}
            ',' | '}' | ']' => {
                self.stack.pop();
                // Each bracket closes only its own kind of container.
                if self.top() == State::ArrayAfterValue && char != '}' {
                    self.after_array_value(char, end);
                } else if self.top() == State::ObjectAfterValue && char != ']' {
                    self.after_object_value(char, end);
                }
            }
            _ => {
                self.stack.pop();
            }
        }
    }

    fn literal(&mut self, char: char, end: usize) {
        let begun = &self.text[self.literal_start..end];
        if literal_of(begun).is_some() {
            self.valid = end;
            return;
        }
        self.stack.pop();
        if self.top() == State::ObjectAfterValue {
            self.after_object_value(char, end);
        } else if self.top() == State::ArrayAfterValue {
            self.after_array_value(char, end);
        }
    }

    fn finish(self) -> String {
        let mut text = self.text[..self.valid].to_owned();
        for state in self.stack.iter().rev() {
            match state {
                State::String => text.push('"'),
                State::ObjectKey
                | State::ObjectAfterKey
                | State::ObjectAfterComma
                | State::ObjectStart
                | State::ObjectBeforeValue
                | State::ObjectAfterValue => text.push('}'),
                State::ArrayStart | State::ArrayAfterComma | State::ArrayAfterValue => {
                    text.push(']')
                }
                State::Literal => {
                    let begun = &self.text[self.literal_start..];
                    if let Some(whole) = literal_of(begun) {
                        text.push_str(&whole[begun.len()..]);
                    }
                }
                State::Root
                | State::Finish
                | State::StringEscape
                | State::UnicodeEscape
                | State::Number => {}
            }
        }
        text
    }
}

/// The literal that begins like this.
fn literal_of(begun: &str) -> Option<&'static str> {
    ["true", "false", "null"].into_iter().find(|whole| whole.starts_with(begun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_is_completed_with_what_is_there() {
        for (text, value) in [
            ("", None),
            ("{", Some("{}")),
            ("[", Some("[]")),
            ("{\"a", Some("{}")),
            ("{\"a\"", Some("{}")),
            ("{\"a\":", Some("{}")),
            ("{\"a\":1", Some("{\"a\":1}")),
            ("{\"a\":1,", Some("{\"a\":1}")),
            ("{\"a\":1,\"b", Some("{\"a\":1}")),
            ("{\"a\":-", Some("{}")),
            ("{\"a\":12.", Some("{\"a\":12}")),
            ("{\"a\":1e", Some("{\"a\":1}")),
            ("{\"a\":tr", Some("{\"a\":true}")),
            ("[fal", Some("[false]")),
            ("n", Some("null")),
            ("\"ab", Some("\"ab\"")),
            ("\"ab\\", Some("\"ab\"")),
            ("\"ab\\u00", Some("\"ab\"")),
            ("\"ab\\u0041", Some("\"abA\"")),
            ("{\"a\":[1,{\"b\":\"c", Some("{\"a\":[1,{\"b\":\"c\"}]}")),
            ("{\"a\":1} ", Some("{\"a\":1}")),
            ("{not json", Some("{}")),
            ("not json", None),
            ("{\"__proto__\":1", None),
            ("-", None),
            ("[1 2", None),
            ("[1😀", None),
            ("[1é", Some("[1]")),
        ] {
            assert_eq!(
                parse_partial(text).map(|json| json.to_string()).as_deref(),
                value,
                "{text}"
            );
        }
    }

    #[test]
    fn every_prefix_of_a_text_can_be_read() {
        let text = r#"{"a":[1,-2.5e3,true,null],"b":{"c":"d\"\u0041😀"},"e":[[],{}]}"#;
        for (at, _) in text.char_indices().skip(1) {
            assert!(parse_partial(&text[..at]).is_some(), "{}", &text[..at]);
        }
    }
}
