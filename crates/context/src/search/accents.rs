//! Takes the marks off Latin letters, so that `café` and `cafe` are one.

use std::borrow::Cow;

use unicode_normalization::char::decompose_canonical;

/// Returns a word without the marks on its Latin letters.
pub(super) fn without_accents(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut plain = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'ø' => plain.push('o'),
            'ł' => plain.push('l'),
            'đ' => plain.push('d'),
            'ı' => plain.push('i'),
            'ς' => plain.push('σ'),
            'ё' => plain.push('е'),
            c => push_base(c, &mut plain),
        }
    }
    Cow::Owned(plain)
}

fn push_base(c: char, plain: &mut String) {
    let mut base = None;
    decompose_canonical(c, |part| {
        base.get_or_insert(part);
    });
    match base {
        Some(base) if base.is_ascii_alphabetic() => plain.push(base),
        _ if is_accent(c) && plain.ends_with(|last: char| last.is_ascii_alphabetic()) => {}
        _ => plain.push(c),
    }
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_go_from_latin_letters_alone() {
        for (word, plain) in [
            ("café", "cafe"),
            ("größe", "grosse"),
            ("smørrebrød", "smorrebrod"),
            ("việt", "viet"),
            ("й", "й"),
            ("नमस्ते", "नमस्ते"),
        ] {
            assert_eq!(without_accents(word), plain, "{word}");
        }
    }
}
