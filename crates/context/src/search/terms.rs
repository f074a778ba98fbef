//! The terms of a message.

use std::ops::Range;

use super::chars::normalized;
use super::languages::Language;
use super::pairs::for_each_pair;
use super::runs::{TextRun, camel_words, for_each_run};
use super::stems::Stems;

/// A term in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextTerm<'a> {
    /// The term, as an index holds it.
    pub(super) term: &'a str,
    /// The bytes of the text that it stands for.
    pub(super) span: Range<usize>,
    /// How much it adds to the length of the text.
    pub(super) length: f32,
}

/// Cuts texts into terms. It only remembers stems, so every reader gives the same terms.
#[derive(Debug, Default)]
pub struct TermReader {
    pub(super) stems: Stems,
}

impl TermReader {
    /// Makes a reader that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls with each term of a message's text, and returns the length of the text: its words, and half of its pairs.
    pub fn read(&mut self, text: &str, mut each: impl FnMut(&str)) -> f32 {
        let mut length = 0.0;
        self.for_each_term(text, |found| {
            length += found.length;
            each(found.term);
        });
        length
    }

    /// Calls with each term of a message's text and its place.
    pub(super) fn for_each_term(&mut self, text: &str, mut each: impl FnMut(TextTerm<'_>)) {
        let language = self.stems.language_of(text);
        for_each_run(text, |run| match run {
            TextRun::Word(word, span) => self.read_word(word, span, language, &mut each),
            TextRun::Whole(whole, span) => each(TextTerm { term: &whole, span, length: 0.0 }),
            TextRun::Unspaced(run, span) => read_unspaced(run, span, &mut each),
        });
    }

    /// Calls with the term of a word, and with those of the words in a name of camel case.
    fn read_word(
        &mut self,
        word: &str,
        span: Range<usize>,
        language: Language,
        each: &mut impl FnMut(TextTerm<'_>),
    ) {
        self.stems.with_term(word, language, |term| {
            each(TextTerm { term, span: span.clone(), length: 1.0 });
        });
        let mut start = span.start;
        for part in camel_words(word) {
            let span = start..start + part.len();
            start = span.end;
            if part.len() > 1 {
                self.stems.with_term(part, language, |term| {
                    each(TextTerm { term, span, length: 0.0 });
                });
            }
        }
    }
}

fn read_unspaced(run: &str, span: Range<usize>, each: &mut impl FnMut(TextTerm<'_>)) {
    let plain = normalized(run);
    // Normalizing may join characters; then a term stands for the whole run.
    let is_same = plain == run;
    let mut start = span.start;
    for_each_pair(&plain, |term, _| {
        let span = if is_same { start..start + term.len() } else { span.clone() };
        start += term.chars().next().map_or(0, char::len_utf8);
        each(TextTerm { term, span, length: 0.5 });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        TermReader::new().read(text, |term| found.push(term.to_owned()));
        found
    }

    #[test]
    fn a_text_of_several_scripts_has_the_terms_of_each() {
        assert_eq!(
            terms("The children went to 部署 fooBar in src/foo_bar.rs"),
            [
                "child",
                "go",
                "部署",
                "署",
                "foobar",
                "foo",
                "bar",
                "src",
                "foo",
                "bar",
                "rs",
                "foo_bar.rs",
                "src/foo_bar.rs"
            ]
        );
    }

    #[test]
    fn the_length_counts_words_and_half_of_the_pairs() {
        assert_eq!(TermReader::new().read("The cat sat, 部署 v1.2", |_| {}), 5.0);
    }
}
