//! Finds exact identifiers in a text: paths, addresses, ids, numbers with their units.
//!
//! A model rounds numbers and shortens paths when it summarises, and then they cannot be looked up any more. So
//! identifiers that must stay exact are taken from the text itself.

use std::collections::HashSet;

use crate::cut_text::CUT;

/// The units that make a number worth keeping.
const UNITS: [&str; 44] = [
    "%", "km", "m", "cm", "mm", "mi", "ft", "kg", "g", "mg", "t", "lb", "l", "ml", "b", "kb", "mb",
    "gb", "tb", "kib", "mib", "gib", "ms", "s", "sec", "min", "h", "hours", "days", "weeks", "px",
    "pt", "usd", "eur", "gbp", "cny", "€", "$", "£", "°c", "hz", "ghz", "tokens", "元",
];

/// Returns the identifiers of a text, each once, in the order of their first occurrence.
pub fn identifiers(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut rest = text;
    // Most text is ordinary words, so the search goes from sign to sign and looks at nothing between.
    while let Some(sign) = rest.bytes().position(is_sign) {
        // The character before the identifier may have several bytes.
        let start =
            rest[..sign].rfind(|c| !is_part(c)).map_or(0, |at| rest.ceil_char_boundary(at + 1));
        let mut words = words(&rest[start..]);
        let (word, next) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let identifier = if is_number(word) && is_unit(next) {
            Some(format!("{word} {next}"))
        } else {
            is_identifier(word).then(|| word.to_owned())
        };
        if let Some(identifier) = identifier.filter(|identifier| seen.insert(identifier.clone())) {
            found.push(identifier);
        }
        let end = rest[sign..].find(|c| !is_part(c)).map_or(rest.len(), |at| sign + at);
        rest = &rest[end..];
    }
    found
}

/// Returns the identifiers of a text that may be cut: what stands directly at a cut is half a word, and is none.
pub(super) fn whole_identifiers(text: &str) -> Vec<String> {
    if !text.contains(CUT) {
        return identifiers(text);
    }
    let pieces: Vec<&str> = text.split(CUT).collect();
    let last = pieces.len() - 1;
    let whole = pieces.iter().enumerate().map(|(at, piece)| {
        let piece = if at > 0 { piece.trim_start_matches(is_part) } else { piece };
        if at < last { piece.trim_end_matches(is_part) } else { piece }
    });
    identifiers(&whole.collect::<Vec<_>>().join("\n"))
}

/// Whether a text names an identifier, and not only a longer one that contains it: `1500 km` does not name `500 km`,
/// nor `v1.2.34` `v1.2.3`. The last parts of a path or a host are names too.
pub(super) fn names(text: &str, identifier: &str) -> bool {
    !identifier.is_empty()
        && text.match_indices(identifier).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + identifier.len()..]);
            begins_after(before, identifier) && ends_before(after, identifier)
        })
}

/// Whether an identifier begins behind this text, and does not continue a longer one.
fn begins_after(before: &str, identifier: &str) -> bool {
    // Signs of emphasis are no part of a name, but `old_src` is one.
    let before = before.trim_end_matches('_');
    let is_number = identifier.starts_with(|c: char| c.is_ascii_digit());
    let joined = match before.strip_suffix(['.', ',']).filter(|_| is_number) {
        Some(number) => number.ends_with(|c: char| c.is_ascii_digit()),
        None => before.ends_with(|c: char| c.is_ascii_alphanumeric()),
    };
    !joined
}

/// Whether an identifier ends before this text. A unit may be written out: `10 min` is in `10 minutes`.
fn ends_before(after: &str, identifier: &str) -> bool {
    let after = after.trim_start_matches('_');
    let has_unit = identifier.contains(' ');
    let mut next = after.chars();
    match (next.next(), next.next()) {
        (Some(c), _) if c.is_ascii_digit() => false,
        (Some(c), _) if c.is_ascii_alphabetic() => {
            has_unit && !is_unit(&longer_unit(identifier, after))
        }
        (Some('.' | ','), Some(c)) if c.is_ascii_digit() => has_unit,
        (Some('.'), Some(c)) if c.is_ascii_alphabetic() => has_unit,
        _ => true,
    }
}

/// Returns the unit of an identifier with the letters that follow it in a text.
fn longer_unit(identifier: &str, after: &str) -> String {
    let unit = identifier.rsplit(' ').next().unwrap_or_default();
    let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    format!("{unit}{}", &after[..letters])
}

/// Whether a byte is one that every identifier has.
fn is_sign(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'/' | b'\\' | b'.' | b'@')
}

/// Whether a character can be part of an identifier.
fn is_part(c: char) -> bool {
    match c {
        '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';'
        | '*' => false,
        '€' | '£' | '°' | '元' => true,
        c => c.is_ascii_graphic(),
    }
}

/// Returns stretches of identifier characters. Letters of scripts without spaces also end a stretch.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_part(c))
        .map(|word| word.trim_matches(|c| ".:!?".contains(c)))
        .filter(|word| !word.is_empty())
}

fn is_identifier(word: &str) -> bool {
    // Most words are nothing but letters, and those are none.
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphabetic());
    // A longer word is data, such as base64, and not a name that is looked up.
    if is_plain || word.len() < 3 || word.len() > 200 {
        return false;
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    is_address(word)
        || is_path(word)
        || is_file_name(word)
        // This is an id, a version or a date: digits together with letters.
        || digits > 0 && letters > 0 && digits + letters >= 4
        || digits >= 4
        || digits > 0 && word.chars().any(|c| "€£$%°元".contains(c))
}

fn is_address(word: &str) -> bool {
    let is_mail = word.split_once('@').is_some_and(|(who, at)| !who.is_empty() && at.contains('.'));
    word.contains("://") || is_mail
}

fn is_path(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphanumeric).count();
    let slashes = word.bytes().filter(|b| matches!(b, b'/' | b'\\')).count();
    letters >= 3
        && (slashes >= 2
            || slashes == 1 && (word.starts_with(['/', '~', '.']) || word.contains('.')))
}

fn is_file_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(name, end)| {
        !name.is_empty()
            && (1..=5).contains(&end.len())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
            && name.bytes().any(|b| b.is_ascii_alphabetic())
            && end.bytes().any(|b| b.is_ascii_alphabetic())
    })
}

fn is_number(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_digit() || b".,:-+".contains(&b))
}

fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_word_is_skipped_that_is_an_identifier(text in "([a-c0-3/\\\\.:@%,€元é ]|km| v1\\.2 | /a/bc )*") {
            let mut one_by_one: Vec<String> = Vec::new();
            let words: Vec<&str> = words(&text).collect();
            for (at, word) in words.iter().enumerate() {
                let next = words.get(at + 1).copied().unwrap_or_default();
                let found = match is_number(word) && is_unit(next) {
                    true => format!("{word} {next}"),
                    false if is_identifier(word) => (*word).to_owned(),
                    false => continue,
                };
                if !one_by_one.contains(&found) {
                    one_by_one.push(found);
                }
            }
            prop_assert_eq!(identifiers(&text), one_by_one);
        }
    }

    #[test]
    fn a_piece_of_a_longer_identifier_is_not_named() {
        let text = "1500 km, 19876-55, old_src/main.rs.bak, 12,500 EUR, v1.2.34, a/b/mod.rs:12, \
                    www.ship.example, _plan.md_, id=4711, 10 minutes, 3GB. It is c_20260205_a. 10 GBP.";
        for piece in
            ["10 GB", "500 km", "9876", "src/main.rs", "main.rs", "500 EUR", "v1.2.3", "c_2026"]
        {
            assert!(text.contains(piece) && !names(text, piece), "{piece}");
        }
        for whole in [
            "1500 km",
            "12,500 EUR",
            "mod.rs",
            "b/mod.rs:12",
            "ship.example",
            "plan.md",
            "4711",
            "10 min",
            "c_20260205_a",
        ] {
            assert!(names(text, whole), "{whole}");
        }
        let source = super::super::SourceText::of_texts([text]);
        assert!(source.has("3 GB") && source.has("__plan.md__") && !source.has("500 km"));
    }

    #[test]
    fn what_must_stay_exact_is_found_and_ordinary_words_are_not() {
        let text = "Deploy `src/main.rs` and /etc/ship.toml to https://example.com/a?b=1, order ABC-1234 \
                    (c_20260205_abcd), 42 km or 3.5 GB, 99.5%, on 2026-02-05, mail ann@example.com. \
                    Then rest, and/or eat 3 apples. 部署到 /srv/应用 版本v1.2.3 共5000元";
        assert_eq!(
            identifiers(text),
            [
                "src/main.rs",
                "/etc/ship.toml",
                "https://example.com/a?b=1",
                "ABC-1234",
                "c_20260205_abcd",
                "42 km",
                "3.5 GB",
                "99.5%",
                "2026-02-05",
                "ann@example.com",
                "/srv/",
                "v1.2.3",
                "5000元"
            ]
        );
    }

    #[test]
    fn half_an_identifier_at_a_cut_is_none() {
        let cut = format!("see src/main.rs and /etc/sh{CUT}p.toml for v1.2.3");
        assert_eq!(whole_identifiers(&cut), ["src/main.rs", "v1.2.3"]);
        assert_eq!(whole_identifiers("/etc/ship.toml"), ["/etc/ship.toml"]);
    }
}
