//! Finds the context that a query means: by its id, by the beginning of its id, as the last one, by its title, or by words.
//!
//! Words are searched for as in [`search`](crate::search): the ranker of messages ranks contexts, too. A word in the
//! title counts as if it stood there nine times, one in the summary three times. Among equals, the context that was
//! left last wins. If the ranker finds nothing, any part of a word that stands in a context counts.

use ship_message::Role;
use ship_record::ContextId;

use super::snapshot::Snapshot;
use crate::search::{
    ChatIndex, MessageToIndex, Participant, SearchQuestion, SearchSignals, TermReader, rank,
};

/// The number of contexts that are offered if the query is not clear.
const OFFERED: usize = 5;

/// The number of words of a query that are searched for as parts of other words.
const WORDS_MAX: usize = 64;

/// How often a word in the title, in the summary and in the rest counts.
const TIMES: [u32; 3] = [9, 3, 1];

/// Words that do not help to find a context.
const EMPTY_WORDS: [&str; 44] = [
    "the", "a", "an", "to", "of", "in", "on", "and", "or", "it", "is", "that", "this", "about",
    "back", "go", "return", "continue", "previous", "earlier", "before", "context", "we", "our",
    "my", "me", "i", "please", "with", "for", "from", "where", "were", "was", "which", "回到",
    "刚才", "那个", "这个", "上个", "继续", "之前", "一下", "我们",
];

/// A context that a query may mean.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The id of the context.
    pub context: &'a ContextId,
    /// The title of the context.
    pub title: &'a str,
    /// The summary of the context.
    pub summary: &'a str,
    /// The text of its messages.
    pub search_text: &'a str,
}

impl<'a> Candidate<'a> {
    /// Makes the candidate of a snapshot; `None` if the context was not left.
    pub fn from_snapshot(snapshot: &'a Snapshot) -> Option<Self> {
        snapshot.archived_at()?;
        Some(Self {
            context: snapshot.context(),
            title: snapshot.title(),
            summary: snapshot.summary(),
            search_text: snapshot.search_text(),
        })
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextMatch {
    /// The query means this context.
    One(ContextId),
    /// Several ids begin like this; these are the newest of them.
    Several(Vec<ContextId>),
    /// No context fits; these are the newest.
    None(Vec<ContextId>),
}

/// Finds the context that a query means. The one that was left last comes first in `among`.
pub fn find_context(query: &str, among: &[Candidate<'_>]) -> ContextMatch {
    let query = query.trim();
    let newest: Vec<&Candidate<'_>> = among.iter().collect();
    let one = |candidate: &&Candidate<'_>| ContextMatch::One(candidate.context.clone());
    let nothing = || ContextMatch::None(offered_contexts(newest.iter().copied()));
    if matches!(query, "last" | "-") {
        return newest.first().map_or_else(nothing, one);
    }
    if is_id(query) {
        if let Some(exact) = newest.iter().find(|other| other.context.as_str() == query) {
            return one(exact);
        }
        let fits = |other: &&&Candidate<'_>| other.context.as_str().starts_with(query);
        let fitting: Vec<&Candidate<'_>> = newest.iter().filter(fits).copied().collect();
        return match fitting.as_slice() {
            [] => nothing(),
            [only] => one(only),
            several => ContextMatch::Several(offered_contexts(several.iter().copied())),
        };
    }
    // A whole title means its context, however often its words stand in others.
    let key = search_key(query);
    if let Some(exact) = newest.iter().find(|other| search_key(other.title.trim()) == key) {
        return one(exact);
    }
    best_match(query, &newest).map_or_else(nothing, |found| ContextMatch::One(found.clone()))
}

/// Whether a query is an id or the beginning of one, and not a word.
fn is_id(query: &str) -> bool {
    let rest = query.strip_prefix("c_");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn offered_contexts<'a>(candidates: impl Iterator<Item = &'a Candidate<'a>>) -> Vec<ContextId> {
    candidates.take(OFFERED).map(|candidate| candidate.context.clone()).collect()
}

/// Returns the candidate that fits best, the first among equals; `None` if nothing fits.
fn best_match<'a>(query: &str, newest: &[&Candidate<'a>]) -> Option<&'a ContextId> {
    let query = without_empty_words(&search_key(query));
    let ranked = best_ranked(&query, newest);
    ranked.or_else(|| first_with_part(&query, newest)).map(|found| found.context)
}

/// Returns the best candidate as the ranker of messages sees them: each is a message of a context of its own.
fn best_ranked<'c, 'a>(query: &str, newest: &[&'c Candidate<'a>]) -> Option<&'c Candidate<'a>> {
    let mut reader = TermReader::new();
    let question = SearchQuestion::read(query, &[], &mut reader);
    let author = Participant { name: None, role: Role::User };
    let mut index = ChatIndex::new();
    for candidate in newest {
        let [title, summary, rest] = TIMES;
        let message = MessageToIndex {
            texts: &[
                (candidate.title, title),
                (candidate.summary, summary),
                (candidate.search_text, rest),
            ],
            participant: &author,
            ts: None,
            asks: false,
            begins_context: true,
        };
        index.add_for(&question, &message, &mut reader);
    }
    // A short context must not win by its length, so sessions do not count.
    let signals = SearchSignals { sessions: false, ..SearchSignals::default() };
    let Ok(hits) = rank(&question, &index, signals, 1, |_| true);
    newest.get(usize::try_from(hits.first()?.message).ok()?).copied()
}

/// Returns the first candidate that has most of the query's words as parts of words.
fn first_with_part<'c, 'a>(query: &str, newest: &[&'c Candidate<'a>]) -> Option<&'c Candidate<'a>> {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(WORDS_MAX).collect();
    let mut best: Option<(&Candidate<'_>, usize)> = None;
    for candidate in newest {
        let texts = [candidate.title, candidate.summary, candidate.search_text].map(search_key);
        let is_in = |word: &&&str| texts.iter().any(|text| text.contains(**word));
        let count = words.iter().filter(is_in).count();
        if count > best.map_or(0, |(_, count)| count) {
            best = Some((candidate, count));
        }
    }
    best.map(|(candidate, _)| candidate)
}

/// Leaves out the words that do not help, unless there are no others.
fn without_empty_words(query: &str) -> String {
    let (eastern, western): (Vec<&str>, Vec<&str>) =
        EMPTY_WORDS.into_iter().partition(|word| !word.is_ascii());
    let telling = eastern.into_iter().fold(query.to_owned(), |rest, word| rest.replace(word, " "));
    let words: Vec<&str> = telling.split(' ').filter(|word| !western.contains(word)).collect();
    let telling = words.join(" ");
    if telling.contains(char::is_alphanumeric) { telling } else { query.to_owned() }
}

/// Converts a text to lower case, and wide Latin letters to ordinary ones.
pub(super) fn search_key(text: &str) -> String {
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    };
    text.chars().map(narrow).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TITLES: [(&str, &str, &str); 7] = [
        ("c_20260201_aaa1", "Login page", "the database was slow"),
        ("c_20260201_aaa2", "数据库迁移方案", "我们决定先备份"),
        ("c_20260202_bbb1", "Dinner", "login was mentioned once"),
        ("c_20260203_ccc1", "Ｄｏｃｋｅｒ setup", "the usual"),
        ("c_20260203_ccc2", "Database backup", "nightly, of the database"),
        ("c_20260204_ddd1", "Trip", "c_20260201_aaa2 was better"),
        ("c_20260205_eee1", "晚饭吃什么", "火锅"),
    ];

    /// Searches among contexts, each of which was left later than the one before.
    fn found(query: &str) -> ContextMatch {
        let ids: Vec<ContextId> = TITLES.iter().map(|(id, ..)| id.parse().unwrap()).collect();
        let candidates: Vec<Candidate<'_>> = TITLES
            .iter()
            .zip(&ids)
            .rev()
            .map(|((_, title, text), context)| Candidate {
                context,
                title,
                summary: "",
                search_text: text,
            })
            .collect();
        find_context(query, &candidates)
    }

    fn one(id: &str) -> ContextMatch {
        ContextMatch::One(id.parse().unwrap())
    }

    fn all(ids: &[&str]) -> Vec<ContextId> {
        ids.iter().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn words_find_the_context_that_has_them_in_the_better_place() {
        for (query, id) in [
            ("back to the login", "c_20260201_aaa1"),
            ("回到刚才那个方案", "c_20260201_aaa2"),
            ("DATABASE", "c_20260203_ccc2"),
            ("docker", "c_20260203_ccc1"),
            ("晚饭", "c_20260205_eee1"),
            ("火", "c_20260205_eee1"),
            ("c_page", "c_20260201_aaa1"),
            ("nightly database thing", "c_20260203_ccc2"),
        ] {
            assert_eq!(found(query), one(id), "{query}");
        }
    }

    #[test]
    fn of_equals_the_one_left_later_is_meant() {
        assert_eq!(found("was"), one("c_20260204_ddd1"), "when there are no better words");
    }

    #[test]
    fn an_id_means_that_context_and_its_beginning_too_when_no_other_begins_so() {
        assert_eq!(found("c_20260201_aaa2"), one("c_20260201_aaa2"));
        assert_eq!(found(" c_20260202 "), one("c_20260202_bbb1"));
        let several = all(&["c_20260203_ccc2", "c_20260203_ccc1"]);
        assert_eq!(found("c_20260203"), ContextMatch::Several(several));
        assert!(
            matches!(found("c_20260209_zzz9"), ContextMatch::None(_)),
            "an id is not looked for as words"
        );
    }

    #[test]
    fn a_whole_title_means_its_context_and_not_one_that_has_more_of_it() {
        let ids = all(&["c_20260203_ccc2", "c_20260203_ccc1"]);
        let titled = |title, context| Candidate { context, title, summary: "", search_text: title };
        let copy = Candidate { search_text: "Dinner dinner", ..titled("Dinner (copy)", &ids[0]) };
        let among = [copy, titled("Dinner ", &ids[1])];
        for (query, expected) in [("dinner", &ids[1]), (" Dinner (copy)", &ids[0])] {
            assert_eq!(find_context(query, &among), ContextMatch::One(expected.clone()), "{query}");
        }
    }

    #[test]
    fn the_last_one_is_the_one_left_last() {
        assert_eq!(found("last"), one("c_20260205_eee1"));
        assert_eq!(found("-"), one("c_20260205_eee1"));
        assert_eq!(find_context("last", &[]), ContextMatch::None(Vec::new()));
    }

    #[test]
    fn when_none_fits_the_newest_five_are_offered() {
        let newest = all(&[
            "c_20260205_eee1",
            "c_20260204_ddd1",
            "c_20260203_ccc2",
            "c_20260203_ccc1",
            "c_20260202_bbb1",
        ]);
        for query in ["zebra", "", "???", "斑马"] {
            assert_eq!(found(query), ContextMatch::None(newest.clone()), "{query}");
        }
    }

    proptest! {
        #[test]
        fn any_query_finds_something_that_is_there_or_nothing(query in "(?s)(c_)?.{0,40}") {
            let known = |id: &ContextId| TITLES.iter().any(|(known, ..)| *known == id.as_str());
            let ids = match found(&query) {
                ContextMatch::One(id) => vec![id],
                ContextMatch::Several(ids) | ContextMatch::None(ids) => ids,
            };
            prop_assert!(ids.len() <= OFFERED && ids.iter().all(known));
        }
    }
}
