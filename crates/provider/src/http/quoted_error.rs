//! Quotes a provider's message so that it can be shown and logged.
//!
//! Providers repeat keys in their errors, more or less masked, and echo what they received. So a quote is one line
//! of limited length, and every word that looks like a key or contains a part of ours is left out.

/// The number of characters that are quoted.
const QUOTED_CHARS_MAX: usize = 300;

/// The number of bytes of a text that are read for that.
const READ_BYTES_MAX: usize = 4096;

/// The text in the place of a word that was left out.
const LEFT_OUT: &str = "[…]";

/// The number of consecutive bytes of our key that cannot match by accident.
const KEY_PART_BYTES: usize = 6;

/// The length below which a key is not a secret but a word such as `none`, for hosts that want any.
const KEY_BYTES_MIN: usize = 8;

/// The length from which a run of letters and digits is not a word.
const SECRET_CHARS_MIN: usize = 20;

/// Quotes a text: one line of limited length, without control characters and without anything like a key.
pub(crate) fn quote(text: &str, key: Option<&str>) -> String {
    // Only the beginning is read, because an error may be as large as an event.
    let text = &text[..text.floor_char_boundary(READ_BYTES_MAX)];
    let mut quoted = String::new();
    let mut chars = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        let word = if is_secret(word, key) { LEFT_OUT } else { word };
        if !quoted.is_empty() {
            quoted.push(' ');
            chars += 1;
        }
        for c in word.chars() {
            if chars == QUOTED_CHARS_MAX {
                quoted.push('…');
                return quoted;
            }
            // Characters that turn the direction of writing could make a sentence read as another.
            quoted.push(if is_invisible(c) { '\u{FFFD}' } else { c });
            chars += 1;
        }
    }
    quoted
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

/// Whether a word is a key, or contains or hints at one.
fn is_secret(word: &str, key: Option<&str>) -> bool {
    const BEGINNINGS: [&str; 8] =
        ["sk-", "sk_", "pk-", "gsk_", "xai-", "aiza", "bearer", "api-key:"];
    let lower = word.to_ascii_lowercase();
    let bare = lower.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    BEGINNINGS.iter().any(|beginning| bare.starts_with(beginning))
        || BEGINNINGS[..3].iter().any(|beginning| lower.contains(&format!("={beginning}")))
        || word.contains("**")
        || has_part_of(word, key)
        || word.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random)
}

fn has_part_of(word: &str, key: Option<&str>) -> bool {
    let Some(key) = key.filter(|key| key.len() >= KEY_BYTES_MIN) else { return false };
    let mut parts = key.as_bytes().windows(KEY_PART_BYTES);
    let word = word.as_bytes();
    parts.any(|part| word.windows(KEY_PART_BYTES).any(|of_word| of_word == part))
}

/// Whether a run is long and mixes letters and digits.
fn is_random(run: &str) -> bool {
    run.len() >= SECRET_CHARS_MIN
        && run.contains(|c: char| c.is_ascii_digit())
        && run.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_left_out_masked_or_not() {
        let key = Some("sk-proj-Secret1234567890");
        let cases = [
            (
                "Incorrect API key provided: sk-pro**********7890. You can find it at https://x.y/keys.",
                "Incorrect API key provided: […] You can find it at https://x.y/keys.",
            ),
            ("bad key 'sk-abc'", "bad key […]"),
            ("got Secret12 of yours", "got […] of yours"),
            ("key AIzaSyA1234 is bad", "key […] is bad"),
            ("token=abcdefghij0123456789XYZ", "[…]"),
            ("model: claude-sonnet-4-5-20250929", "model: claude-sonnet-4-5-20250929"),
        ];
        for (text, wanted) in cases {
            assert_eq!(quote(text, key), wanted);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_part_of_our_key_is_ever_quoted(
            before in "\\PC{0,40}",
            behind in "\\PC{0,40}",
            from in 0_usize..18,
            size in 6_usize..24,
        ) {
            let key = "Kw3-Zr9x_Qm5T.Vb8Lp2Hn";
            let part = &key[from.min(key.len())..(from + size).min(key.len())];
            let quoted = quote(&format!("{before}{part}{behind}"), Some(key));
            for window in part.as_bytes().windows(6) {
                let window = std::str::from_utf8(window).unwrap();
                proptest::prop_assert!(!quoted.contains(window), "{}", quoted);
            }
        }
    }

    #[test]
    fn a_quote_is_one_short_line() {
        assert_eq!(quote("a\n\u{1b}[31mb\0c\td\u{202e}", None), "a [31mb c d\u{FFFD}");
        let long = quote(&"x ".repeat(1000), None);
        assert_eq!(long.chars().count(), QUOTED_CHARS_MAX + 1);
        assert!(long.ends_with('…'));
    }
}
