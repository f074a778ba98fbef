//! Cuts a text into runs of letters, and finds the identifiers that several runs make.
//!
//! `src/foo_bar.rs` is four words. Runs with nothing but a connecting sign between them are a chain, and a chain is
//! searched for in pieces and as a whole: as `foo_bar.rs`, and as `src/foo_bar.rs`.

use std::ops::Range;

use super::chars::{CharKind, normalized};

/// The number of characters of a word that count. A longer one is mostly no word but encoded bytes.
const WORD_CHARS_MAX: usize = 64;

/// The number of bytes of an identifier that is searched for as a whole.
const WHOLE_BYTES_MAX: usize = 64;

/// The number of words in one chain; a longer chain is divided.
const CHAIN_WORDS_MAX: usize = 24;

/// A run in a text, by its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextRun<'t> {
    /// A word as it is written.
    Word(&'t str, Range<usize>),
    /// An identifier of several words, normalized.
    Whole(String, Range<usize>),
    /// A run of a script without spaces, as it is written.
    Unspaced(&'t str, Range<usize>),
}

/// Cuts a text into its runs. An identifier comes behind its words.
pub(super) fn for_each_run<'t>(text: &'t str, mut each: impl FnMut(TextRun<'t>)) {
    let mut chain = Chain { text, words: Vec::new() };
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = run_at(text, at);
        let run = text.get(at..end).unwrap_or_default();
        match kind {
            CharKind::Word => {
                if !chain.continues_at(at) {
                    chain.end(&mut each);
                }
                chain.words.push(at..end);
                each(TextRun::Word(first_chars(run), at..end));
            }
            CharKind::Unspaced => {
                chain.end(&mut each);
                each(TextRun::Unspaced(run, at..end));
            }
            CharKind::Ignored | CharKind::Gap => {}
        }
        at = end;
    }
    chain.end(&mut each);
}

/// Returns the kind and the end of the run that begins at `at`. Ignored characters belong to the run before them.
fn run_at(text: &str, at: usize) -> (CharKind, usize) {
    let mut chars = text.get(at..).unwrap_or_default().char_indices();
    let kind = chars.next().map_or(CharKind::Gap, |(_, c)| CharKind::of(c));
    let ends = |c: char| {
        let next = CharKind::of(c);
        next != kind && next != CharKind::Ignored
    };
    (kind, chars.find(|(_, c)| ends(*c)).map_or(text.len(), |(len, _)| at + len))
}

/// Returns the characters of a word that count.
pub(super) fn first_chars(run: &str) -> &str {
    if run.len() <= WORD_CHARS_MAX {
        return run;
    }
    let end = run.char_indices().nth(WORD_CHARS_MAX).map_or(run.len(), |(end, _)| end);
    run.get(..end).unwrap_or(run)
}

/// Words with nothing but a connecting sign between them.
struct Chain<'t> {
    text: &'t str,
    words: Vec<Range<usize>>,
}

impl<'t> Chain<'t> {
    fn continues_at(&self, at: usize) -> bool {
        let Some(last) = self.words.last() else { return true };
        let between = self.text.get(last.end..at).unwrap_or_default();
        self.words.len() < CHAIN_WORDS_MAX && is_connection(between)
    }

    /// Ends the chain, and emits the identifiers in it.
    fn end(&mut self, each: &mut impl FnMut(TextRun<'t>)) {
        if let [only] = self.words.as_slice() {
            self.emit_language_name(only.clone(), each);
        } else if self.words.len() > 1 {
            self.emit_wholes(each);
        }
        self.words.clear();
    }

    /// Emits `c++`, `c#` and the like, whose signs are part of the name.
    fn emit_language_name(&self, word: Range<usize>, each: &mut impl FnMut(TextRun<'t>)) {
        let after = self.text.get(word.end..).unwrap_or_default();
        let Some(sign) = ["++", "#"].into_iter().find(|sign| after.starts_with(sign)) else {
            return;
        };
        let ends = after.get(sign.len()..).and_then(|rest| rest.chars().next());
        if word.len() == 1 && ends.is_none_or(|c| CharKind::of(c) == CharKind::Gap) {
            let name = self.text.get(word.clone()).unwrap_or_default();
            each(TextRun::Whole(
                (normalized(name) + sign).into_owned(),
                word.start..word.end + sign.len(),
            ));
        }
    }

    fn emit_wholes(&self, each: &mut impl FnMut(TextRun<'t>)) {
        let scheme = self.between(0) == "://";
        let words = self.words.get(usize::from(scheme)..).unwrap_or_default();
        let first = usize::from(scheme);
        let mut segment = first;
        let mut segments = 0;
        for word in first..self.words.len() {
            if word + 1 == self.words.len() || divides(self.between(word)) {
                self.emit_whole(segment..word + 1, each);
                segment = word + 1;
                segments += 1;
            }
        }
        if segments > 1 && !words.is_empty() {
            self.emit_whole(first..self.words.len(), each);
        }
    }

    /// Returns the signs behind a word of the chain.
    fn between(&self, word: usize) -> &'t str {
        let next = self.words.get(word + 1).map(|next| next.start);
        let end = self.words.get(word).map(|word| word.end);
        end.zip(next).and_then(|(end, next)| self.text.get(end..next)).unwrap_or_default()
    }

    fn emit_whole(&self, words: Range<usize>, each: &mut impl FnMut(TextRun<'t>)) {
        let (Some(first), Some(last)) =
            (self.words.get(words.start), self.words.get(words.end - 1))
        else {
            return;
        };
        let span = first.start..last.end;
        if words.len() < 2 || span.len() > WHOLE_BYTES_MAX || self.is_prose(words.clone()) {
            return;
        }
        let mut whole = String::with_capacity(span.len());
        for word in words.clone() {
            let written = self.words.get(word).and_then(|word| self.text.get(word.clone()));
            whole.push_str(&normalized(written.unwrap_or_default()));
            if word + 1 < words.end {
                whole.push_str(if self.between(word) == "," { "" } else { self.between(word) });
            }
        }
        each(TextRun::Whole(without_version_mark(whole), span));
    }

    /// Whether words are connected as in prose: `well-known`, `and/or`, `10,20a`.
    fn is_prose(&self, words: Range<usize>) -> bool {
        let written = |word: usize| {
            self.words.get(word).and_then(|w| self.text.get(w.clone())).unwrap_or_default()
        };
        let digits = |word: usize| written(word).bytes().all(|b| b.is_ascii_digit());
        let mut signs = (words.start..words.end - 1).map(|word| (word, self.between(word)));
        if signs.clone().any(|(word, sign)| sign == "," && !(digits(word) && digits(word + 1))) {
            return true;
        }
        let has_digit = words.clone().any(|word| written(word).bytes().any(|b| b.is_ascii_digit()));
        !has_digit && signs.all(|(_, sign)| sign == "-" || (sign == "/" && words.len() == 2))
    }
}

/// Whether signs between two words connect them.
fn is_connection(between: &str) -> bool {
    let connects = |c: char| "_-./\\:@#=&?~%+,".contains(c);
    let mut chars = between.chars();
    let one = chars.next().is_some_and(connects) && chars.next().is_none();
    one || matches!(between, "::" | "://" | ":\\" | "->")
}

/// Whether signs divide an identifier into parts that have names of their own, as those of a path do.
fn divides(between: &str) -> bool {
    !matches!(between, "_" | "-" | "." | ",")
}

/// Returns a version without its `v`: `v1.2.3` and `1.2.3` are one.
fn without_version_mark(whole: String) -> String {
    let rest =
        whole.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    rest.map(str::to_owned).unwrap_or(whole)
}

/// Returns the words of a name in camel case, as they are written; none if it is one word.
pub(super) fn camel_words(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    if !name.is_ascii() || !bytes.windows(2).any(|pair| is_boundary(pair[0], pair[1], b'a')) {
        return Vec::new();
    }
    let mut words = Vec::new();
    let mut start = 0;
    for at in 1..bytes.len() {
        let after = bytes.get(at + 1).copied().unwrap_or(b'A');
        if is_boundary(bytes[at - 1], bytes[at], after) {
            words.push(&name[start..at]);
            start = at;
        }
    }
    words.push(&name[start..]);
    if words.len() > 1 { words } else { Vec::new() }
}

/// Whether a word of a camel-case name begins between two letters: `foo|Bar`, `HTTP|Server`.
fn is_boundary(before: u8, here: u8, after: u8) -> bool {
    let lower = before.is_ascii_lowercase() || before.is_ascii_digit();
    let last_capital = before.is_ascii_uppercase() && after.is_ascii_lowercase();
    here.is_ascii_uppercase() && (lower || last_capital)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wholes(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_run(text, |run| {
            if let TextRun::Whole(whole, _) = run {
                found.push(whole);
            }
        });
        found
    }

    #[test]
    fn identifiers_are_found_as_wholes() {
        for (text, expected) in [
            ("in src/foo_bar.rs, line 3", vec!["foo_bar.rs", "src/foo_bar.rs"]),
            ("see CVE-2024-1234.", vec!["cve-2024-1234"]),
            ("release v1.2.3", vec!["1.2.3"]),
            ("https://example.com/a/b?x=1", vec!["example.com", "example.com/a/b?x=1"]),
            ("mail jo.doe@example.org now", vec!["jo.doe", "example.org", "jo.doe@example.org"]),
            ("std::fs::read", vec!["std::fs::read"]),
            ("C:\\Temp\\a.txt", vec!["a.txt", "c:\\temp\\a.txt"]),
            ("1,000 at 9:30", vec!["1000", "9:30"]),
            ("C++ and C#, not ab# c", vec!["c++", "c#"]),
            ("a well-known and/or thing, so.", vec![]),
        ] {
            assert_eq!(wholes(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_in_camel_case_has_words() {
        assert_eq!(camel_words("fooBarBaz"), ["foo", "Bar", "Baz"]);
        assert_eq!(camel_words("HTTPServer2Go"), ["HTTP", "Server2", "Go"]);
        for one in ["Plain", "ALLCAPS", "lower", "größeA", "X", ""] {
            assert!(camel_words(one).is_empty(), "{one}");
        }
    }

    #[test]
    fn a_run_ends_where_the_script_changes_and_joiners_do_not_end_it() {
        let mut runs = Vec::new();
        for_each_run("用API部署\u{0}a\u{200d}b", |run| runs.push(run));
        assert_eq!(
            runs,
            [
                TextRun::Unspaced("用", 0..3),
                TextRun::Word("API", 3..6),
                TextRun::Unspaced("部署", 6..12),
                TextRun::Word("a\u{200d}b", 13..18),
            ]
        );
    }
}
