//! What a question asks for: terms, dates and authors.

use std::collections::{HashMap, HashSet};

use ship_message::Role;

use super::chars::{is_kana, normalized};
use super::dates::{NamedDate, named_dates};
use super::languages::Language;
use super::message_text::Participant;
use super::question_words::telling_pieces;
use super::runs::{TextRun, camel_words, for_each_run};
use super::terms::TermReader;

/// The number of characters of a question that are read.
const CHARS_MAX: usize = 4_000;

/// The number of terms of a question that are searched for.
const TERMS_MAX: usize = 64;

/// The fewest letters that two words must share at their beginning to be relatives.
const RELATED_LETTERS: usize = 4;

/// A question, prepared for searching.
#[derive(Clone, Debug)]
pub struct SearchQuestion {
    pub(super) terms: Vec<QuestionTerm>,
    pub(super) dates: Vec<NamedDate>,
    /// The numbers of the authors that the question is about.
    pub(super) authors: Vec<usize>,
    /// The characters that are searched for alone if the chat does not have their pair.
    characters: HashSet<char>,
    /// The first characters of all that can be asked for, in their order.
    beginnings: Vec<char>,
    is_cut: bool,
}

/// One thing that a question asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum QuestionTerm {
    /// A word, by its terms in the languages in which it may stand.
    Word(Vec<String>),
    /// An identifier as a whole.
    Whole(String),
    /// Two neighbouring characters.
    Pair(String),
    /// A character alone.
    Character(String),
}

impl QuestionTerm {
    fn forms(&self) -> &[String] {
        match self {
            Self::Word(forms) => forms,
            Self::Whole(form) | Self::Pair(form) | Self::Character(form) => {
                std::slice::from_ref(form)
            }
        }
    }
}

impl SearchQuestion {
    /// Reads a question about a chat with these participants.
    pub fn read(text: &str, participants: &[Participant], reader: &mut TermReader) -> Self {
        Self::read_terms(text, participants, TERMS_MAX, reader)
    }

    /// Reads a question before the participants are known. It asks for all that [`read`](Self::read) may ask for.
    pub fn read_widely(text: &str, reader: &mut TermReader) -> Self {
        Self::read_terms(text, &[], usize::MAX, reader)
    }

    fn read_terms(
        text: &str,
        participants: &[Participant],
        terms_max: usize,
        reader: &mut TermReader,
    ) -> Self {
        let end = text.char_indices().nth(CHARS_MAX).map(|(end, _)| end);
        let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
        let mut draft = QuestionDraft {
            names: names_of(participants),
            participants,
            language: reader.stems.language_of(text),
            has_kana: text.chars().any(is_kana),
            terms: Vec::new(),
            known: HashSet::new(),
            authors: Vec::new(),
            terms_max,
            is_cut: end.is_some(),
        };
        for_each_run(text, |run| draft.read_run(run, reader));
        // A question of names alone asks for the names, and one of words that say nothing for all of its characters.
        if draft.terms.is_empty() {
            draft.names.clear();
            for_each_run(text, |run| draft.read_run(run, reader));
        }
        if draft.terms.is_empty() {
            for_each_run(text, |run| draft.read_whole_run(run));
        }
        let characters = draft.characters(text);
        let words = draft.terms.iter().flat_map(QuestionTerm::forms);
        let beginnings = words.filter_map(|form| form.chars().next());
        let mut beginnings: Vec<char> = beginnings.chain(characters.iter().copied()).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        Self {
            beginnings,
            characters,
            terms: draft.terms,
            dates: named_dates(&text.nfkc_lowercase()),
            authors: draft.authors,
            is_cut: draft.is_cut,
        }
    }

    /// Whether the question was too long, so that only its beginning is searched for.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the question asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.dates.is_empty()
    }

    /// Whether the question can ask for a term, whatever else is in the chat.
    pub(super) fn may_use(&self, term: &str) -> bool {
        let Some(first) = term.chars().next() else { return false };
        // Most terms of a chat are refused by their first character.
        self.beginnings.binary_search(&first).is_ok()
            && (self.characters.contains(&first) || self.matches(term))
    }

    /// Whether a term of a message is one of the question, or a relative.
    pub(super) fn matches(&self, term: &str) -> bool {
        self.terms.iter().any(|asked| match asked {
            QuestionTerm::Word(forms) => {
                forms.iter().any(|form| form == term || are_related(form, term))
            }
            QuestionTerm::Whole(whole) => whole == term || is_longer_identifier(whole, term),
            QuestionTerm::Pair(pair) => pair == term,
            QuestionTerm::Character(character) => term.starts_with(character.as_str()),
        })
    }
}

/// Whether two terms are relatives: they share at least four letters at their beginning, and half of the longer one.
pub(super) fn are_related(term: &str, other: &str) -> bool {
    let shared = term.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = || term.chars().count().max(other.chars().count());
    shared >= RELATED_LETTERS && 2 * shared >= longer() && other.chars().all(char::is_alphabetic)
}

/// Returns the letters that all relatives of a word share with it; `None` if it is too short to have any.
pub(super) fn related_prefix(term: &str) -> Option<&str> {
    let (end, last) = term.char_indices().nth(RELATED_LETTERS - 1)?;
    let is_word = term.chars().all(char::is_alphabetic);
    is_word.then(|| term.get(..end + last.len_utf8()))?
}

/// Whether an identifier begins with another one, as `foo_bar.rs` does with `foo_bar`.
pub(super) fn is_longer_identifier(whole: &str, other: &str) -> bool {
    let rest = other.strip_prefix(whole);
    rest.is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric()))
}

/// A question that is being read.
struct QuestionDraft<'p> {
    /// The words of the names, each with the numbers of the participants.
    names: HashMap<String, Vec<usize>>,
    participants: &'p [Participant],
    language: Language,
    has_kana: bool,
    terms: Vec<QuestionTerm>,
    known: HashSet<QuestionTerm>,
    authors: Vec<usize>,
    terms_max: usize,
    is_cut: bool,
}

impl QuestionDraft<'_> {
    fn read_run(&mut self, run: TextRun<'_>, reader: &mut TermReader) {
        match run {
            TextRun::Word(word, _) => self.read_word(word, reader),
            TextRun::Whole(whole, _) => self.add(QuestionTerm::Whole(whole)),
            TextRun::Unspaced(run, _) => {
                let run = self.without_names(&normalized(run));
                if is_first_person(&run, self.has_kana) {
                    self.add_users();
                }
                for part in run.split(' ') {
                    for piece in telling_pieces(part, self.has_kana) {
                        self.add_pairs(&piece);
                    }
                }
            }
        }
    }

    /// Takes a run as it is, for a question that has only words that say nothing.
    fn read_whole_run(&mut self, run: TextRun<'_>) {
        if let TextRun::Unspaced(run, _) = run {
            self.add_pairs(&normalized(run));
        }
    }

    fn read_word(&mut self, word: &str, reader: &mut TermReader) {
        let plain = normalized(word);
        let name = plain.trim_matches('\'');
        let name = name.strip_suffix("'s").unwrap_or(name);
        if self.add_named(name) {
            return;
        }
        if says_i(name, self.language) {
            self.add_users();
        }
        for part in std::iter::once(word).chain(camel_words(word)) {
            let mut forms = Vec::new();
            for language in [self.language, Language::English] {
                // A word that says nothing in the question's language is not asked for in another one.
                if language == self.language || !forms.is_empty() {
                    reader.stems.with_term(part, language, |term| forms.push(term.to_owned()));
                }
            }
            forms.dedup();
            if !forms.is_empty() && (part.len() > 1 || part == word) {
                self.add(QuestionTerm::Word(forms));
            }
        }
    }

    /// Notes the authors with such a name.
    fn add_named(&mut self, name: &str) -> bool {
        let named = self.names.get(name).cloned().unwrap_or_default();
        self.add_authors(&named);
        !named.is_empty()
    }

    /// Cuts names out of a run without spaces, and notes their owners.
    fn without_names(&mut self, run: &str) -> String {
        let is_within = |name: &String| !name.is_ascii() && run.contains(name.as_str());
        let mut within: Vec<String> =
            self.names.keys().filter(|name| is_within(name)).cloned().collect();
        // A longer name may hold a shorter one.
        within.sort_by_key(|name| (std::cmp::Reverse(name.len()), name.clone()));
        let mut rest = run.to_owned();
        for name in
            within.iter().filter(|name| rest.contains(name.as_str())).cloned().collect::<Vec<_>>()
        {
            rest = rest.replace(&name, " ");
            self.add_named(&name);
        }
        rest
    }

    fn add_users(&mut self) {
        let users = self.participants.iter().enumerate().filter(|(_, it)| it.role == Role::User);
        let users: Vec<usize> = users.map(|(nth, _)| nth).collect();
        self.add_authors(&users);
    }

    fn add_authors(&mut self, authors: &[usize]) {
        for author in authors {
            if !self.authors.contains(author) {
                self.authors.push(*author);
            }
        }
    }

    fn add_pairs(&mut self, piece: &str) {
        let chars: Vec<char> = piece.chars().collect();
        match chars.as_slice() {
            [only] => self.add(QuestionTerm::Character(only.to_string())),
            several => {
                for pair in several.windows(2) {
                    self.add(QuestionTerm::Pair(pair.iter().collect()));
                }
            }
        }
    }

    /// Adds a term, once.
    fn add(&mut self, term: QuestionTerm) {
        if self.known.contains(&term) {
            return;
        }
        if self.terms.len() >= self.terms_max {
            self.is_cut = true;
            return;
        }
        self.known.insert(term.clone());
        self.terms.push(term);
    }

    /// Returns the characters without spaces of the question: a pair that no message has is searched for by them.
    fn characters(&self, text: &str) -> HashSet<char> {
        let mut characters = HashSet::new();
        for_each_run(text, |run| {
            if let TextRun::Unspaced(run, _) = run {
                characters.extend(normalized(run).chars());
            }
        });
        characters
    }
}

/// Returns the words of the participants' names. A role is no name: "user" is mostly another thing.
fn names_of(participants: &[Participant]) -> HashMap<String, Vec<usize>> {
    let mut names: HashMap<String, Vec<usize>> = HashMap::new();
    for (nth, participant) in participants.iter().enumerate() {
        for_each_run(participant.name.as_deref().unwrap_or_default(), |run| {
            if let TextRun::Word(word, _) | TextRun::Unspaced(word, _) = run {
                let name = normalized(word).into_owned();
                if name.chars().count() > 1 {
                    names.entry(name).or_default().push(nth);
                }
            }
        });
    }
    names
}

/// Whether a word means the author of the question.
fn says_i(word: &str, language: Language) -> bool {
    let words: &[&str] = match language {
        Language::English => &["i", "my", "me", "we", "our", "i'm", "i've", "i'd", "i'll"],
        Language::German => &["ich", "mein", "meine", "mir", "mich", "wir", "unser", "unsere"],
        Language::French => &["je", "j'ai", "mon", "ma", "mes", "nous", "notre", "moi"],
        Language::Spanish => &["yo", "mi", "mis", "me", "nosotros", "nuestro"],
        Language::Italian => &["io", "mio", "mia", "mi", "noi", "nostro"],
        Language::Portuguese => &["eu", "meu", "minha", "me", "nós", "nosso"],
        Language::Dutch => &["ik", "mijn", "mij", "wij", "we", "ons", "onze"],
        Language::Polish => &["ja", "mój", "moja", "mi", "my", "nasz"],
        Language::Swedish => &["jag", "min", "mitt", "mig", "vi", "vår"],
        Language::Turkish => &["ben", "benim", "bana", "biz", "bizim"],
        Language::Russian | Language::Greek | Language::Arabic | Language::Hindi => &[],
    };
    words.contains(&word) || matches!(word, "я" | "мой" | "моя" | "мне" | "меня" | "мы" | "наш")
}

/// Whether a run without spaces means the author of the question.
fn is_first_person(run: &str, has_kana: bool) -> bool {
    let korean = ["나", "내", "제", "나는", "내가", "제가", "저는", "우리", "우리가"];
    let japanese = ["私", "僕", "俺"];
    run.contains(['我', '咱'])
        || korean.contains(&run)
        || has_kana && japanese.iter().any(|word| run.contains(word))
}

/// The form of a whole question in which dates are read.
trait NfkcLowercase {
    fn nfkc_lowercase(&self) -> String;
}

impl NfkcLowercase for str {
    fn nfkc_lowercase(&self) -> String {
        use unicode_normalization::UnicodeNormalization;
        self.nfkc().flat_map(char::to_lowercase).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, names: &[&str]) -> SearchQuestion {
        let participant =
            |name: &&str| Participant { name: Some((*name).to_owned()), role: Role::User };
        let participants: Vec<Participant> = names.iter().map(participant).collect();
        SearchQuestion::read(text, &participants, &mut TermReader::new())
    }

    fn word(form: &str) -> QuestionTerm {
        QuestionTerm::Word(vec![form.to_owned()])
    }

    #[test]
    fn a_name_says_whose_words_are_meant_and_is_not_searched_for() {
        let question = read("What did Anna's cat eat?", &["Bob", "Anna Lee"]);
        assert_eq!(question.terms, [word("cat"), word("eat")]);
        assert_eq!(question.authors, [1]);
        let question = read("小明的猫叫什么", &["小明"]);
        assert_eq!(question.terms, [QuestionTerm::Pair("猫叫".to_owned())]);
        assert_eq!(question.authors, [0]);
    }

    #[test]
    fn the_first_person_means_the_users() {
        assert_eq!(read("where are my keys", &["Bob", "Eve"]).authors, [0, 1]);
        assert_eq!(read("我的猫", &["Bob"]).authors, [0]);
        assert!(read("where are the keys", &["Bob"]).authors.is_empty());
    }

    #[test]
    fn a_question_in_another_language_asks_for_both_stems_and_a_language_is_not_guessed() {
        let question = read("Wo ist der Schlüssel für die Wohnungen?", &[]);
        let both = QuestionTerm::Word(vec!["wohnung".to_owned(), "wohnungen".to_owned()]);
        assert!(question.terms.contains(&both), "{:?}", question.terms);
        assert_eq!(read("Wohnungen", &[]).terms, [word("wohnungen")]);
    }

    #[test]
    fn a_long_question_is_cut_and_says_so() {
        let long: String = (0..10_000).map(|n| format!("word{n} ")).collect();
        let question = read(&long, &[]);
        assert!(question.is_cut() && question.terms.len() == TERMS_MAX);
        assert!(!read("short", &[]).is_cut());
    }

    #[test]
    fn a_question_of_words_that_say_nothing_still_asks_for_its_characters() {
        assert_eq!(read("什么", &[]).terms, [QuestionTerm::Pair("什么".to_owned())]);
        assert!(read("who are you?", &[]).is_empty());
    }

    #[test]
    fn relatives_share_their_beginning() {
        assert!(are_related("paint", "painter"));
        assert!(!are_related("comp", "competition"), "less than half");
        assert!(!are_related("cat", "cats"), "too short");
        assert_eq!(related_prefix("größer"), Some("größ"));
        assert_eq!(related_prefix("utf8"), None);
        assert!(is_longer_identifier("foo_bar", "foo_bar.rs"));
        assert!(!is_longer_identifier("foo_bar", "foo_bars"));
    }
}
