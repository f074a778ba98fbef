//! Makes texts short and plain.

use crate::cut_text::{CutMark, cut_middle};

/// Puts a text on one line: white space becomes single spaces, and characters that are invisible or turn the
/// direction are left out.
pub(super) fn one_line(text: &str) -> String {
    let visible: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_hidden(*c))
        .collect();
    visible.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Whether a character is hidden. Joiners are not: some scripts and most emoji families need them.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The number of characters of a line that are used; a line may have megabytes.
const LINE_CHARS_MAX: usize = 1_000;

/// Returns the beginning of a line without its Markdown.
pub(super) fn without_marks(line: &str) -> String {
    let mut plain = one_line(&line.chars().take(LINE_CHARS_MAX).collect::<String>());
    // Marks stand inside one another, as in `> - **word**`.
    loop {
        let stripped = without_inline_marks(without_leading_mark(&plain));
        if stripped == plain {
            return plain;
        }
        plain = stripped;
    }
}

/// Removes marks of emphasis and code, and replaces a link by its text.
fn without_inline_marks(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let mut plain = String::with_capacity(line.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
        let after = chars.get(at + 1).copied();
        // A sign between spaces is no mark, as in `2 * 3`.
        let alone = before.is_none_or(|c| c == ' ') && after.is_none_or(|c| c == ' ');
        match c {
            '`' => {}
            '*' | '~' if !alone => {}
            '!' if after == Some('[') => {}
            '[' => {
                if let Some((text, next)) = link_at(&chars, at) {
                    plain.push_str(&without_inline_marks(&text));
                    at = next;
                    continue;
                }
                plain.push(c);
            }
            _ => plain.push(c),
        }
        at += 1;
    }
    one_line(&plain)
}

/// Returns the text of `[text](address)` at `at`, and where the link ends.
fn link_at(chars: &[char], at: usize) -> Option<(String, usize)> {
    let find =
        |from: usize, c: char| chars.iter().skip(from).position(|x| *x == c).map(|n| from + n);
    let close = find(at, ']').filter(|close| chars.get(close + 1) == Some(&'('))?;
    let end = find(close, ')')?;
    let text: String = chars.get(at + 1..close)?.iter().collect();
    // A bracket inside begins a link of its own.
    (!text.contains('[')).then_some((text, end + 1))
}

fn without_leading_mark(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>', '•']).trim_start();
    for mark in ["- ", "* ", "+ ", "[ ] ", "[x] ", "[X] "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return rest;
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") "));
    match numbered {
        // A longer number, such as a year, is no mark of a list.
        Some(rest) if (1..=3).contains(&digits) => rest,
        _ => line,
    }
}

/// Returns the beginning of a text on one line, of at most so many characters, with a mark if it is cut.
pub(super) fn preview(text: &str, chars_max: usize) -> String {
    // Only this part is read, because a text may have megabytes. It is four times as long as the preview, because
    // white space is joined and hidden characters are left out.
    let window: String = text.chars().take(chars_max.saturating_mul(4)).collect();
    let line = one_line(&window);
    let whole = window.len() == text.len() && line.chars().count() <= chars_max;
    if whole {
        return line;
    }
    let mut cut: String = line.chars().take(chars_max.saturating_sub(1)).collect();
    if chars_max > 0 {
        cut.push('…');
    }
    cut
}

/// Returns a text of at most so many characters: its beginning and its end if it is too long.
pub(super) fn cut_to_chars(text: &str, chars_max: usize) -> String {
    cut_middle(text, chars_max, CutMark::ShortWithin)
}

/// Whether a letter belongs to a script without spaces between words.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3134f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_goes_and_words_stay() {
        for (line, plain) in [
            ("## The **plan**", "The plan"),
            ("- [ ] fix `main.rs`", "fix main.rs"),
            ("> 1. see [the docs](https://example.com/a) now", "see the docs now"),
            ("2 * 3 is snake_case", "2 * 3 is snake_case"),
            ("![a ship](x.png)", "a ship"),
            ("[[a](b)", "[a"),
            ("2026. was a year", "2026. was a year"),
            ("`# not code`", "not code"),
            ("a\u{202e}b\u{0}\tc", "ab c"),
        ] {
            assert_eq!(without_marks(line), plain, "{line:?}");
        }
    }

    #[test]
    fn a_preview_tells_that_it_is_cut() {
        assert_eq!(preview("one\ntwo", 7), "one two");
        assert_eq!(preview("one\ntwo three", 7), "one tw…");
        assert_eq!(preview(&" ".repeat(100), 7), "…");
        assert_eq!(preview("long", 0), "");
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_it_may_be(text in ".{0,80}", max in 0usize..90) {
            prop_assert!(preview(&text, max).chars().count() <= max);
        }

        #[test]
        fn a_line_without_marks_has_none_left(line in "[-#>*`\\[\\]()!a1. \u{200b}~+]{0,30}") {
            let plain = without_marks(&line);
            prop_assert!(!plain.contains('`') && !plain.contains("**"), "{plain:?}");
            prop_assert!(!plain.starts_with(['#', '>']), "{plain:?}");
            prop_assert_eq!(without_marks(&plain), plain);
        }
    }
}
