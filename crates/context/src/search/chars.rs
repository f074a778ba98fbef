//! Tells which characters make words, and which stand in scripts without spaces.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What a character does to the words around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharKind {
    /// It belongs to a word: a letter, a digit, an apostrophe, or a mark on one of these.
    Word,
    /// It belongs to a script that puts no spaces between words.
    Unspaced,
    /// It is invisible and divides nothing, such as a joiner or a mark of direction.
    Ignored,
    /// It separates words.
    Gap,
}

impl CharKind {
    pub(super) fn of(c: char) -> Self {
        match c {
            _ if c.is_ascii_alphanumeric() || is_apostrophe(c) => Self::Word,
            _ if c.is_ascii() => Self::Gap,
            // The letters of most texts, so that few characters are looked up in the tables of Unicode.
            '\u{430}'..='\u{45f}' | '\u{e0}'..='\u{f6}' => Self::Word,
            _ if is_unspaced(c) => Self::Unspaced,
            _ if is_ignored(c) => Self::Ignored,
            _ if c.is_alphanumeric() || is_combining_mark(c) => Self::Word,
            _ => Self::Gap,
        }
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2bc}' | '\u{2019}' | '\u{ff07}')
}

/// Whether a character belongs to a script without spaces. Korean has spaces, but its words carry endings, so pairs
/// of syllables find them better than whole words do.
fn is_unspaced(c: char) -> bool {
    is_han(c)
        || is_kana(c)
        || is_hangul(c)
        || matches!(c, '\u{e01}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3100}'..='\u{312f}')
}

pub(super) fn is_han(c: char) -> bool {
    matches!(
        c,
        '\u{3005}'..='\u{3007}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

pub(super) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}')
}

pub(super) fn is_kana(c: char) -> bool {
    is_hiragana(c) || is_katakana(c)
}

pub(super) fn is_hangul(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}'
            | '\u{3130}'..='\u{318f}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{ffa0}'..='\u{ffdc}'
    )
}

fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200c}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}

/// Returns a run of characters as it is compared: NFKC, in lower case, with one kind of apostrophe.
pub(super) fn normalized(run: &str) -> Cow<'_, str> {
    if run.is_ascii() {
        return match run.bytes().any(|b| b.is_ascii_uppercase()) {
            true => Cow::Owned(run.to_ascii_lowercase()),
            false => Cow::Borrowed(run),
        };
    }
    if run.chars().all(is_normal) {
        return Cow::Borrowed(run);
    }
    let plain = run.chars().filter(|c| !is_ignored(*c)).nfkc();
    let lower = plain.flat_map(char::to_lowercase);
    Cow::Owned(lower.map(|c| if is_apostrophe(c) { '\'' } else { c }).filter(is_content).collect())
}

/// Whether a character is one that normalizing leaves as it is, beside any other of these.
fn is_normal(c: char) -> bool {
    matches!(
        c,
        '0'..='9'
            | 'a'..='z'
            | '\u{e0}'..='\u{f6}'
            | '\u{430}'..='\u{45f}'
            | '\u{3041}'..='\u{3096}'
            | '\u{30a1}'..='\u{30fa}'
            | '\u{30fc}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
    )
}

/// Whether a normalized character is kept: NFKC makes signs of some letters, such as the stroke of a fraction.
fn is_content(c: &char) -> bool {
    !matches!(CharKind::of(*c), CharKind::Gap | CharKind::Ignored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_normal_is_so() {
        for c in ('\0'..=char::MAX).filter(|c| is_normal(*c)) {
            let normal: String = c.to_string().nfkc().flat_map(char::to_lowercase).collect();
            assert_eq!(normal, c.to_string());
            assert!(matches!(CharKind::of(c), CharKind::Word | CharKind::Unspaced), "{c}");
            assert!(!is_combining_mark(c), "it could join what stands before it");
        }
    }

    #[test]
    fn forms_of_one_word_are_the_same_after_normalization() {
        for (written, plain) in [
            ("Ｄｏｃｋｅｒ", "docker"),
            ("ｶﾞｲﾄﾞ", "ガイド"),
            ("한국", "한국"),
            ("ﬁle", "file"),
            ("don’t", "don't"),
            ("a\u{202e}b\u{200d}", "ab"),
            ("½", "12"),
            ("ÉCOLE", "école"),
        ] {
            assert_eq!(normalized(written), plain, "{written:?}");
        }
        assert_eq!(normalized("cafe\u{301}"), "café");
    }
}
