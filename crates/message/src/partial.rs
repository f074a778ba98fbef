//! Parses JSON that has not arrived completely.
//!
//! While a model writes the input of a tool, the part received so far is shown. A cut text is completed: open
//! strings, lists and objects are closed, a literal is finished, and a key without a value, a dangling comma or the
//! start of an escape is left out. Text that is wrong and not only cut gives nothing. It takes one pass, with the
//! states of the AI SDK's own repair.

use crate::chunk::has_prototype_key;
use crate::json::Json;

/// Parses the received part of a JSON text; `None` if it cannot become JSON.
pub(crate) fn parse_partial(text: &str) -> Option<Json> {
    let value = Json::parse(text).or_else(|_| Json::parse(&complete(text))).ok()?;
    // The AI SDK applies the same guard to tool input as to chunks.
    (!has_prototype_key(&value)).then_some(value)
}

#[derive(Clone, Copy, PartialEq)]
enum PartialState {
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
    let mut scan = PartialScan {
        text,
        stack: vec![PartialState::Root],
        valid: 0,
        literal_start: 0,
        unicode_digits: 0,
    };
    for (at, char) in text.char_indices() {
        // JavaScript sees a character beyond 16 bits as two, and so do its states.
        for _ in 0..char.len_utf16() {
            scan.step(at, char);
        }
    }
    scan.finish()
}

struct PartialScan<'a> {
    text: &'a str,
    stack: Vec<PartialState>,
    /// The length of the text up to which it can be completed.
    valid: usize,
    literal_start: usize,
    unicode_digits: u8,
}

impl PartialScan<'_> {
    fn swap(&mut self, state: PartialState) {
        self.stack.pop();
        self.stack.push(state);
    }

    fn top(&self) -> PartialState {
        self.stack.last().copied().unwrap_or(PartialState::Finish)
    }

    fn step(&mut self, at: usize, char: char) {
        let end = at + char.len_utf8();
        match self.top() {
            PartialState::Root => self.value_start(char, at, PartialState::Finish),
            PartialState::Finish => {}
            PartialState::ObjectStart => match char {
                '"' => self.swap(PartialState::ObjectKey),
                '}' => self.close(end),
                _ => {}
            },
            PartialState::ObjectAfterComma if char == '"' => self.swap(PartialState::ObjectKey),
            PartialState::ObjectKey if char == '"' => self.swap(PartialState::ObjectAfterKey),
            PartialState::ObjectAfterKey if char == ':' => {
                self.swap(PartialState::ObjectBeforeValue)
            }
            PartialState::ObjectAfterComma
            | PartialState::ObjectKey
            | PartialState::ObjectAfterKey => {}
            PartialState::ObjectBeforeValue => {
                self.value_start(char, at, PartialState::ObjectAfterValue)
            }
            PartialState::ObjectAfterValue => self.after_object_value(char, end),
            PartialState::ArrayStart if char == ']' => self.close(end),
            PartialState::ArrayStart => {
                self.valid = end;
                self.value_start(char, at, PartialState::ArrayAfterValue);
            }
            PartialState::ArrayAfterComma => {
                self.value_start(char, at, PartialState::ArrayAfterValue)
            }
            PartialState::ArrayAfterValue => match char {
                ',' | ']' => self.after_array_value(char, end),
                _ => self.valid = end,
            },
            PartialState::String => match char {
                '"' => self.close(end),
                '\\' => self.stack.push(PartialState::StringEscape),
                _ => self.valid = end,
            },
            PartialState::StringEscape if char == 'u' => {
                self.unicode_digits = 0;
                self.swap(PartialState::UnicodeEscape);
            }
            PartialState::StringEscape => self.close(end),
            PartialState::UnicodeEscape => {
                self.unicode_digits += u8::from(char.is_ascii_hexdigit());
                if self.unicode_digits == 4 {
                    self.close(end);
                }
            }
            PartialState::Number => self.number(char, end),
            PartialState::Literal => self.literal(char, end),
        }
    }

    /// Ends a value that is complete.
    fn close(&mut self, end: usize) {
        self.valid = end;
        self.stack.pop();
    }

    fn value_start(&mut self, char: char, at: usize, after: PartialState) {
        let inside = match char {
            '"' => PartialState::String,
            'f' | 't' | 'n' => {
                self.literal_start = at;
                PartialState::Literal
            }
            // A lone minus cannot be completed, so it does not count as valid yet.
            '-' | '0'..='9' => PartialState::Number,
            '{' => PartialState::ObjectStart,
            '[' => PartialState::ArrayStart,
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
            ',' => self.swap(PartialState::ObjectAfterComma),
            '}' => self.close(end),
            _ => {}
        }
    }

    fn after_array_value(&mut self, char: char, end: usize) {
        match char {
            ',' => self.swap(PartialState::ArrayAfterComma),
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
                if self.top() == PartialState::ArrayAfterValue && char != '}' {
                    self.after_array_value(char, end);
                } else if self.top() == PartialState::ObjectAfterValue && char != ']' {
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
        if self.top() == PartialState::ObjectAfterValue {
            self.after_object_value(char, end);
        } else if self.top() == PartialState::ArrayAfterValue {
            self.after_array_value(char, end);
        }
    }

    fn finish(self) -> String {
        let mut text = self.text[..self.valid].to_owned();
        for state in self.stack.iter().rev() {
            match state {
                PartialState::String => text.push('"'),
                PartialState::ObjectKey
                | PartialState::ObjectAfterKey
                | PartialState::ObjectAfterComma
                | PartialState::ObjectStart
                | PartialState::ObjectBeforeValue
                | PartialState::ObjectAfterValue => text.push('}'),
                PartialState::ArrayStart
                | PartialState::ArrayAfterComma
                | PartialState::ArrayAfterValue => text.push(']'),
                PartialState::Literal => {
                    let begun = &self.text[self.literal_start..];
                    if let Some(whole) = literal_of(begun) {
                        text.push_str(&whole[begun.len()..]);
                    }
                }
                PartialState::Root
                | PartialState::Finish
                | PartialState::StringEscape
                | PartialState::UnicodeEscape
                | PartialState::Number => {}
            }
        }
        text
    }
}

/// Returns the literal that begins with this text.
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
