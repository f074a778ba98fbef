//! Turns a word into the term by which it is found.

use std::collections::HashMap;

use super::accents::without_accents;
use super::chars::normalized;
use super::irregular::base_form;
use super::languages::{FunctionWords, Language};
use super::runs::first_chars;

/// The number of stems that are remembered of each language.
const REMEMBERED: usize = 65_536;

/// The longest word whose stem is remembered; longer ones hardly come again.
const REMEMBERED_BYTES: usize = 24;

/// Makes terms of words, and remembers those of frequent words: a chat says the same words over and over.
#[derive(Debug, Default)]
pub(super) struct Stems {
    function_words: FunctionWords,
    /// By language; a word that says nothing has no term.
    remembered: [HashMap<Box<str>, Option<Box<str>>>; Language::COUNT],
}

impl Stems {
    /// Tells the language of a text.
    pub(super) fn language_of(&self, text: &str) -> Language {
        self.function_words.language_of(text)
    }

    /// Calls with the term of a word as it is written in a text of a language, unless the word says nothing.
    pub(super) fn with_term(&mut self, word: &str, text: Language, call: impl FnOnce(&str)) {
        let word = normalized(word);
        // Some letters become many.
        let word = first_chars(&word);
        if word.len() > REMEMBERED_BYTES {
            if let Some(term) = self.make_term(word, text) {
                call(&term);
            }
            return;
        }
        if let Some(known) = self.remembered[text as usize].get(word) {
            if let Some(term) = known {
                call(term);
            }
            return;
        }
        let term = self.make_term(word, text).map(String::into_boxed_str);
        if let Some(term) = &term {
            call(term);
        }
        let remembered = &mut self.remembered[text as usize];
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(Box::from(word), term);
    }

    /// Returns the term of a normalized word; `None` if the word says nothing.
    fn make_term(&self, word: &str, text: Language) -> Option<String> {
        let word = word.trim_matches('\'');
        let word = word.strip_suffix("'s").unwrap_or(word);
        let word = word.replace('\'', "");
        if word.is_empty() {
            return None;
        }
        let language = Language::of_word(&word, text);
        if language.is_some_and(|language| self.function_words.has(&word, language)) {
            return None;
        }
        if let Some(number) = ordinal(&word) {
            return Some(number.to_owned());
        }
        Some(match language {
            Some(Language::English) => english_stem(&without_accents(&word)),
            Some(language) => without_accents(&language.stemmer().stem(&word)).into_owned(),
            None => word,
        })
    }
}

fn english_stem(word: &str) -> String {
    let base = base_form(word).unwrap_or(word);
    if base.is_ascii() {
        Language::English.stemmer().stem(base).into_owned()
    } else {
        base.to_owned()
    }
}

/// Returns the number of `8th`.
fn ordinal(word: &str) -> Option<&str> {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end))?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(word: &str, language: Language) -> Option<String> {
        let mut stems = Stems::default();
        let mut terms = Vec::new();
        for _ in 0..2 {
            stems.with_term(word, language, |term| terms.push(term.to_owned()));
        }
        assert_eq!(terms.first(), terms.get(1), "a remembered stem is the same");
        terms.pop()
    }

    /// An index holds these stems, so a change of one makes older indexes useless: see the form of the index.
    #[test]
    fn forms_of_one_word_have_one_term() {
        for (language, words, stem) in [
            (Language::English, ["painted", "Painting's", "paints"], "paint"),
            (Language::English, ["went", "going", "goes"], "go"),
            (Language::English, ["children", "child's", "child"], "child"),
            (Language::English, ["café", "cafes", "CAFE\u{301}"], "cafe"),
            (Language::English, ["8th", "8", "'8'"], "8"),
            (Language::German, ["Häuser", "Hauses", "Haus"], "haus"),
            (Language::French, ["maisons", "maison", "MAISON"], "maison"),
            (Language::Spanish, ["libros", "libro", "LIBRO"], "libr"),
            (Language::English, ["книги", "книгу", "Книга"], "книг"),
            (Language::English, ["σπίτια", "σπιτι", "ΣΠΙΤΙ"], "σπιτ"),
        ] {
            for word in words {
                assert_eq!(term(word, language).as_deref(), Some(stem), "{word}");
            }
        }
    }

    #[test]
    fn words_that_say_nothing_have_no_term() {
        for (language, word) in [
            (Language::English, "The"),
            (Language::English, "what's"),
            (Language::German, "die"),
            (Language::English, "где"),
            (Language::English, "''"),
        ] {
            assert_eq!(term(word, language), None, "{word}");
        }
        assert_eq!(term("die", Language::English).as_deref(), Some("die"));
    }
}
