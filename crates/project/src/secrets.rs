//! Knows the secrets of a project and masks them in texts that are shown.
//!
//! A secret is a configured key or token, or a value of the environment or `.env` with a name that says so.
//! [`Secrets`] finds them in any text, also in the spelling of JSON, a URL or a program's escaping. It is meant for
//! texts that *people look at* (logs, errors, `ship config`). Messages of a chat are stored as people wrote them.

mod forms;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// The text in the place of a secret.
const MASK: &str = "****";

/// The number of characters from which a value of the environment counts as a secret. Shorter values are mostly
/// switches and counts, and masking `1` everywhere would leave nothing to read.
const NAMED_CHARS_MIN: usize = 8;

/// The number of characters from which a configured key is masked. Local servers get keys like `x`, which protect
/// nothing and occur in every second word.
const CONFIGURED_CHARS_MIN: usize = 4;

/// The length above which the last four characters of a secret are shown: enough to tell two keys apart, too little
/// to help an attacker.
const TAIL_SHOWN_ABOVE: usize = 12;

/// A key or token, which is only shown by [`expose`](Self::expose).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret from a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret itself, for the request that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the masked form: `****`, and the last four characters of a long secret.
    pub fn masked(&self) -> String {
        let chars = self.0.chars().count();
        let shown = if chars > TAIL_SHOWN_ABOVE { chars - 4 } else { chars };
        MASK.chars().chain(self.0.chars().skip(shown)).collect()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

/// Whether the name of a variable or key says that its value is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
}

/// All secrets of a project, which are found in a text in one pass.
///
/// ```
/// let variables = [("API_KEY", "sk-0123456789"), ("EDITOR", "vim")];
/// let secrets = ship_project::Secrets::collect(variables, ["bot-token"]);
/// assert_eq!(secrets.mask("key sk-0123456789, bot-token, vim"), "key ****, ****, vim");
/// ```
#[derive(Clone)]
pub struct Secrets {
    finder: Option<AhoCorasick>,
    count: usize,
}

impl Secrets {
    /// Collects those `variables` whose names say that they are secret, and all `configured` secrets.
    pub fn collect<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
        configured: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let named = variables.into_iter().filter(|(name, _)| is_secret_name(name));
        let named = named.filter_map(|(_, value)| with_min_chars(NAMED_CHARS_MIN, value));
        let configured =
            configured.into_iter().filter_map(|value| with_min_chars(CONFIGURED_CHARS_MIN, value));
        // A text of stars cannot be masked by stars, and needs no mask.
        let texts: BTreeSet<&str> =
            named.chain(configured).filter(|text| text.chars().any(|c| c != '*')).collect();
        let forms: BTreeSet<String> =
            texts.iter().flat_map(|text| forms::spellings(text)).collect();
        // Only `Standard` reports overlapping matches. Building fails only if 32-bit ids do not suffice, that is
        // for gigabytes of secrets.
        let finder = (!forms.is_empty()).then(|| {
            let mut builder = AhoCorasick::builder();
            // This kind is small and quick to build, even for a private key of several kilobytes; every
            // start pays for it.
            builder.match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::ContiguousNFA));
            builder.build(&forms).expect("secrets are few and short")
        });
        Self { finder, count: texts.len() }
    }

    /// Replaces each secret in `text` by `****`, also where two overlap.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        let Some(finder) = &self.finder else { return masked };
        // A mask may form another secret with the text around it. Each round turns at least one character into a
        // star, so the loop ends; the second round nearly always finds nothing.
        loop {
            let found = secret_ranges(finder, &masked);
            if found.is_empty() {
                return masked;
            }
            masked = Cow::Owned(replace_ranges(&masked, &found));
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.count)
    }
}

fn with_min_chars(chars: usize, text: &str) -> Option<&str> {
    let text = text.trim();
    (text.chars().count() >= chars).then_some(text)
}

/// Returns the ranges of secrets; overlapping ones are merged.
fn secret_ranges(finder: &AhoCorasick, text: &str) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    // Matches come in the order of their ends, so a long one may cover several before it.
    for found in finder.find_overlapping_iter(text) {
        let mut range = found.range();
        while let Some(last) = merged.pop_if(|last| last.end > range.start) {
            range.start = range.start.min(last.start);
        }
        merged.push(range);
    }
    merged
}

fn replace_ranges(text: &str, found: &[Range<usize>]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for range in found {
        masked.push_str(&text[end..range.start]);
        masked.push_str(MASK);
        end = range.end;
    }
    masked.push_str(&text[end..]);
    masked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn configured(secrets: &[&str]) -> Secrets {
        Secrets::collect([], secrets.iter().copied())
    }

    #[test]
    fn a_variable_is_a_secret_when_its_name_says_so_and_its_value_is_long_enough() {
        for (name, value, secret) in [
            ("OPENAI_API_KEY", "abcdefgh", true),
            ("telegram_bot_token", "abcdefgh", true),
            ("CLIENT_SECRET", "abcdefgh", true),
            ("DB_PASSWORD", "密码密码密码密码", true),
            ("DB_PASSWORD", "密码密码密码密", false),
            ("API_KEY", "abcdefg", false),
            ("EDITOR", "abcdefgh", false),
        ] {
            let masked = Secrets::collect([(name, value)], []).mask(value).into_owned();
            assert_eq!(masked == MASK, secret, "{name}={value}");
        }
    }

    #[test]
    fn a_configured_key_is_a_secret_unless_it_is_too_short_to_be_one() {
        assert_eq!(configured(&["ollama"]).mask("key ollama"), "key ****");
        assert_eq!(configured(&["x", ""]).mask("extra"), "extra");
    }

    #[test]
    fn a_text_without_secrets_is_not_copied() {
        assert!(matches!(configured(&["sk-secret"]).mask("nothing here"), Cow::Borrowed(_)));
        assert!(matches!(configured(&[]).mask("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_secret_is_found_as_json_urls_and_escapes_spell_it() {
        let secrets = configured(&["p\"a/s s\\w\u{f6}rd\n!"]);
        for text in [
            "p\"a/s s\\w\u{f6}rd\n!",
            r#"{"key":"p\"a/s s\\wörd\n!"}"#,
            r#"{"key":"p\"a\/s s\\wörd\n!"}"#,
            r#"{"key":"p\"a/s s\\w\u00f6rd\n!"}"#,
            r#"{"key":"p\"a/s s\\w\u00F6rd\n!"}"#,
            r#"{"body":"{\"key\":\"p\\\"a/s s\\\\wörd\\n!\"}"}"#,
            "https://host/?key=p%22a%2Fs%20s%5Cw%C3%B6rd%0A!",
            "https://host/?key=p%22a%2fs%20s%5cw%c3%b6rd%0a!",
            "key=p%22a%2Fs+s%5Cw%C3%B6rd%0A%21",
            &format!("{:?}", "p\"a/s s\\w\u{f6}rd\n!"),
        ] {
            let masked = secrets.mask(text);
            assert!(masked.contains(MASK) && !masked.contains("rd"), "{text} became {masked}");
        }
    }

    #[test]
    fn the_longest_of_secrets_that_share_a_beginning_is_masked_whole() {
        let secrets = configured(&["sk-abcd", "sk-abcd-efgh", "abcd"]);
        assert_eq!(secrets.mask("sk-abcd-efgh sk-abcd abcd"), "**** **** ****");
    }

    #[test]
    fn of_secrets_that_overlap_nothing_is_left() {
        let secrets = configured(&["abcdefgh", "efghijkl"]);
        assert_eq!(secrets.mask("abcdefghijkl"), "****");
        assert_eq!(secrets.mask("abcdefghefghijkl"), "********");
    }

    #[test]
    fn a_secret_that_a_mask_would_spell_is_masked_too() {
        let secrets = configured(&["12345678", "ab****cd"]);
        assert_eq!(secrets.mask("ab12345678cd"), "****");
    }

    #[test]
    fn a_long_secret_shows_its_last_four_characters_and_a_short_one_nothing() {
        for (secret, shown) in [
            ("", "****"),
            ("123456789012", "****"),
            ("1234567890123", "****0123"),
            ("密".repeat(13).as_str(), "****密密密密"),
        ] {
            assert_eq!(Secret::new(secret).masked(), shown);
            assert_eq!(format!("{:?}", Secret::new(secret)), shown);
        }
        let secrets = configured(&["123456789012"]);
        assert_eq!(format!("{secrets:?}"), "Secrets(1)");
    }

    #[test]
    fn a_megabyte_and_a_thousand_secrets_take_one_pass() {
        let many: Vec<String> = (0..1000).map(|n| format!("secret-number-{n:04}")).collect();
        let secrets = configured(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let text = "secret-number-0500 and some text ".repeat(30_000);
        assert_eq!(secrets.mask(&text), "**** and some text ".repeat(30_000));
    }

    proptest! {
        #[test]
        fn masking_never_leaves_a_secret(
            secrets in proptest::collection::vec("[ab*\"\\\\é/ ]{4,10}", 1..6),
            pieces in proptest::collection::vec((any::<proptest::sample::Index>(), "[ab*\"é/ ]{0,3}"), 0..12),
        ) {
            let all = configured(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
            let text: String = pieces.iter().map(|(which, gap)| format!("{}{gap}", which.get(&secrets))).collect();
            let masked = all.mask(&text);
            let json = ship_message::json::Json::from(text.as_str()).to_string();
            let masked_json = all.mask(&json);
            for secret in secrets.iter().filter_map(|s| with_min_chars(CONFIGURED_CHARS_MIN, s)) {
                if secret.chars().any(|c| c != '*') {
                    prop_assert!(!masked.contains(secret), "{secret:?} is in {masked:?}");
                    let in_json = ship_message::json::Json::from(secret).to_string();
                    prop_assert!(!masked_json.contains(&in_json[1..in_json.len() - 1]));
                }
            }
        }
    }
}
