//! Makes characters visible that models read and people do not see.
//!
//! Tag characters can spell whole invisible sentences, and direction controls show a text in another order than it
//! has. In a skill each is replaced by its code.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces invisible characters by their codes, such as `[U+E0041]`.
///
/// Joiners, direction marks and emoji selectors stay, because words are written with them.
pub(super) fn make_visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            // Writing to a `String` cannot fail.
            let _ = write!(shown, "[U+{:04X}]", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // These are zero-width characters, invisible operators, and direction embeddings and isolates.
        '\u{200B}'
        | '\u{2060}'..='\u{2064}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{206F}' => true,
        '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{180E}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{3164}' => true,
        // These are tags, and selectors that can hide any byte behind a character.
        '\u{E0000}'..='\u{E0FFF}' => true,
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_written_as_code_points() {
        for (text, shown) in [
            ("plain\ttext\n密码 🏳️‍🌈 می\u{200C}خواهم", "plain\ttext\n密码 🏳️‍🌈 می\u{200C}خواهم"),
            ("a\u{E0041}b", "a[U+E0041]b"),
            ("a\u{200B}b\u{202E}c\u{FEFF}", "a[U+200B]b[U+202E]c[U+FEFF]"),
            ("x\u{E0100}\u{1b}[0m", "x[U+E0100][U+001B][0m"),
        ] {
            assert_eq!(make_visible(text), shown);
        }
        assert!(matches!(make_visible("plain"), Cow::Borrowed(_)));
    }
}
