//! Fills lines with words: text breaks between words at the width of the terminal.
//!
//! Printed text cannot be withdrawn, so the caller hands over whole words: each call ends where a line may break.
//! Chinese and related scripts have no spaces. There a line may break between any two characters, unless the second
//! is a closing mark or the first an opening one.

use unicode_width::UnicodeWidthChar;

use super::inline::{Sgr, StyledText};
use crate::table;

/// Lines of a certain width that are being filled.
pub(super) struct Wrap {
    width: usize,
    column: usize,
    /// The number of spaces before the next word, unless that begins a line.
    gap: usize,
    /// The text with which further lines of this paragraph begin, and the columns it takes.
    indent: (String, usize),
    /// The current style; none are written where they would not be seen.
    sgr: Sgr,
    styled: bool,
}

impl Wrap {
    pub(super) fn new(width: usize, styled: bool) -> Self {
        let (indent, sgr) = ((String::new(), 0), Sgr::default());
        Self { width, column: 0, gap: 0, indent, sgr, styled }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// Begins a line with a mark, such as the dot of a list. Further lines of the paragraph begin with `indent`,
    /// which takes as many columns.
    pub(super) fn begin(&mut self, shown: &str, indent: String, columns: usize, out: &mut String) {
        out.push_str(shown);
        self.column = columns;
        self.indent = (indent, columns);
    }

    /// Writes whole words.
    pub(super) fn push_words(&mut self, pieces: &[StyledText], out: &mut String) {
        let chars: Vec<(char, Sgr)> =
            pieces.iter().flat_map(|piece| piece.text.chars().map(|c| (c, piece.sgr))).collect();
        let mut start = 0;
        for end in 1..=chars.len() {
            let is_end = end == chars.len() || may_break(chars[end - 1].0, chars[end].0);
            if is_end {
                self.push_word(&chars[start..end], out);
                start = end;
            }
        }
    }

    /// Writes one word with the spaces after it, on the next line if it does not fit here.
    fn push_word(&mut self, word: &[(char, Sgr)], out: &mut String) {
        let text: String = word.iter().map(|(c, _)| c).collect();
        let spaces = text.chars().rev().take_while(|c| c.is_whitespace());
        let spaces: usize = spaces.map(|c| if c == '\t' { 4 } else { 1 }).sum();
        let text = text.trim_end();
        let columns = table::width(text);
        if columns > 0 {
            let used = self.column + self.gap;
            // At the start of a line a break would not help: the word is wider than any line.
            if self.column > self.indent.1 && used.saturating_add(columns) > self.width {
                self.set_style(Sgr::default(), out);
                out.push('\n');
                out.push_str(&self.indent.0);
                self.column = self.indent.1;
            } else {
                // A gap has only the style of both its neighbours, so that no underline runs ahead of its word.
                self.set_style(self.sgr.and(word[0].1), out);
                out.push_str(&" ".repeat(self.gap));
                self.column += self.gap;
            }
            self.gap = 0;
            for (c, sgr) in word.iter().take(text.chars().count()) {
                self.set_style(*sgr, out);
                out.push(*c);
            }
            self.column += columns;
        }
        self.gap += spaces;
    }

    /// Ends the line.
    pub(super) fn newline(&mut self, out: &mut String) {
        self.end_styles(out);
        out.push('\n');
        *self = Self::new(self.width, self.styled);
    }

    /// Ends all styles.
    pub(super) fn end_styles(&mut self, out: &mut String) {
        self.set_style(Sgr::default(), out);
    }

    /// Writes a text unchanged, without breaking it.
    pub(super) fn verbatim(&mut self, text: &str, sgr: Sgr, out: &mut String) {
        self.set_style(sgr, out);
        out.push_str(text);
        self.column = self.column.saturating_add(table::width(text));
    }

    fn set_style(&mut self, sgr: Sgr, out: &mut String) {
        if self.styled && sgr != self.sgr {
            out.push_str(&sgr.codes());
            self.sgr = sgr;
        }
    }
}

/// Whether a line may break between two characters.
pub(super) fn may_break(before: char, after: char) -> bool {
    if after.is_whitespace() {
        return false;
    }
    let is_wide = |c: char| c.width() == Some(2);
    before.is_whitespace()
        || ((is_wide(before) || is_wide(after))
            && !is_opening(before)
            && !is_closing(after)
            && !look_like_one(before, after))
}

fn is_opening(c: char) -> bool {
    "([{“‘（［｛「『【《〈〔".contains(c)
}

fn is_closing(c: char) -> bool {
    ")]}”’.,;:!?%…）］｝」』】》〉〕、。，．；：！？％ー々".contains(c)
}

/// Whether two characters look like one: a combining mark, a joiner, or a variation selector.
fn look_like_one(before: char, after: char) -> bool {
    before == '\u{200d}' || after.width() == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(width: usize, text: &str) -> String {
        let mut wrap = Wrap::new(width, false);
        let mut out = String::new();
        wrap.push_words(&[StyledText { text: text.to_owned(), sgr: Sgr::default() }], &mut out);
        out
    }

    #[test]
    fn lines_break_between_words_and_never_inside_one() {
        assert_eq!(wrapped(10, "one two three four"), "one two\nthree four");
        assert_eq!(wrapped(10, "a https://example.org/long b"), "a\nhttps://example.org/long\nb");
        assert_eq!(wrapped(3, "one two"), "one\ntwo");
        assert_eq!(wrapped(80, "two  spaces stay"), "two  spaces stay");
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_before_what_closes() {
        assert_eq!(wrapped(6, "深い海の底"), "深い海\nの底");
        assert_eq!(wrapped(6, "你好吗，朋友"), "你好\n吗，朋\n友");
        assert_eq!(wrapped(6, "你好（吗）"), "你好\n（吗）");
        assert_eq!(wrapped(7, "abc深い海"), "abc深い\n海");
    }

    #[test]
    fn a_family_of_joined_emoji_is_one_character() {
        assert_eq!(wrapped(3, "👩\u{200d}👩\u{200d}👧"), "👩\u{200d}👩\u{200d}👧");
    }
}
