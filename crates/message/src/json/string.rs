//! A string that may have been cut inside a character.
//!
//! JavaScript strings are sequences of 16-bit units, so a stream may end one chunk with the first half of a
//! surrogate pair and begin the next with the second. Rust strings cannot hold a half. A [`JsString`] shows U+FFFD
//! for a half at one of its ends, remembers which half it was, and joins the two when the other arrives. A half in
//! the middle can never be completed, so it stays U+FFFD.

use std::fmt;
use std::ops::Deref;

/// The character shown in place of half a surrogate pair.
const REPLACEMENT: char = '\u{FFFD}';

/// A JSON string. Reads as a `str`, and remembers half a surrogate pair at either end.
#[derive(Clone, Default)]
pub struct JsString {
    text: String,
    /// The second half of a pair, if the string begins with one: U+DC00 to U+DFFF, else 0.
    leading: u16,
    /// The first half of a pair, if the string ends with one: U+D800 to U+DBFF, else 0.
    trailing: u16,
}

impl JsString {
    /// Returns the text, with U+FFFD in the place of halves.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text, and forgets the halves at its ends.
    pub fn into_string(self) -> String {
        self.text
    }

    /// Appends `other`, and joins the two halves of a pair where they meet.
    pub fn push(&mut self, other: &Self) {
        if self.text.is_empty() {
            self.clone_from(other);
            return;
        }
        if other.text.is_empty() {
            return;
        }
        let mut rest = other.text.as_str();
        if self.trailing != 0 && other.leading != 0 {
            self.text.truncate(self.text.len() - REPLACEMENT.len_utf8());
            self.text.push(join(self.trailing, other.leading));
            rest = &rest[REPLACEMENT.len_utf8()..];
        }
        self.text.push_str(rest);
        // A half that was just joined leaves nothing open, and then `other.trailing` is 0.
        self.trailing = other.trailing;
    }

    /// Appends text from an escape or from the plain run of a literal.
    pub(super) fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.trailing = 0;
        }
    }

    /// Appends one 16-bit unit of a `\u` escape.
    pub(super) fn push_unit(&mut self, unit: u16) {
        match unit {
            0xD800..=0xDBFF => {
                // The first half of a pair is no character; if the second follows, it takes this place.
                self.text.push(REPLACEMENT);
                self.trailing = unit;
            }
            0xDC00..=0xDFFF if self.trailing != 0 => {
                self.text.truncate(self.text.len() - REPLACEMENT.len_utf8());
                self.text.push(join(self.trailing, unit));
                self.trailing = 0;
            }
            0xDC00..=0xDFFF => {
                if self.text.is_empty() {
                    self.leading = unit;
                }
                self.text.push(REPLACEMENT);
                self.trailing = 0;
            }
            _ => {
                self.text.push(char::from_u32(u32::from(unit)).unwrap_or(REPLACEMENT));
                self.trailing = 0;
            }
        }
    }
}

/// Returns the character of two halves.
fn join(high: u16, low: u16) -> char {
    let code = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
    char::from_u32(code).unwrap_or(REPLACEMENT)
}

impl Deref for JsString {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for JsString {
    fn from(text: String) -> Self {
        Self { text, leading: 0, trailing: 0 }
    }
}

impl From<&str> for JsString {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Compares the texts; halves at the ends do not count.
impl PartialEq for JsString {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for JsString {}

impl fmt::Debug for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: &[u16]) -> JsString {
        let mut string = JsString::default();
        for &unit in units {
            string.push_unit(unit);
        }
        string
    }

    #[test]
    fn a_pair_cut_between_two_strings_is_joined() {
        let mut text = units(&[0x61, 0xD83D]);
        text.push(&units(&[0xDE00, 0x62]));
        assert_eq!(text.as_str(), "a😀b");
    }

    #[test]
    fn a_pair_cut_into_single_halves_is_joined() {
        let mut text = JsString::from("x");
        text.push(&units(&[0xD83D]));
        text.push(&"".into());
        text.push(&units(&[0xDE00]));
        text.push(&units(&[0xDE00]));
        assert_eq!(text.as_str(), "x😀\u{FFFD}");
    }

    #[test]
    fn a_half_that_stays_alone_becomes_the_replacement_character() {
        let mut text = units(&[0xD83D]);
        text.push(&"a".into());
        text.push(&units(&[0xDE00]));
        assert_eq!(text.as_str(), "\u{FFFD}a\u{FFFD}");
    }

    #[test]
    fn a_half_at_the_start_is_remembered_through_a_copy() {
        let mut empty = JsString::default();
        empty.push(&units(&[0xDE00]));
        let mut text = units(&[0xD83D]);
        text.push(&empty);
        assert_eq!(text.as_str(), "😀");
    }
}
