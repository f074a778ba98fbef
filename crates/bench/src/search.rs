//! Searching: how much of the evidence is found, what each signal adds, and what it costs.
//!
//! Recall is the share of a question's evidence among the first hits, as a mean over the questions. The costs are of
//! 100,000 messages of 600 bytes in five languages, whose words are as unequally frequent as those of real languages.

mod appends;
mod hostile;
mod stored_chats;

use std::hint::black_box;
use std::io;
use std::path::Path;

use ship_context::search::{
    ChatIndex, MessageToIndex, Participant, PostingSource, SearchQuestion, SearchSignals,
    TermReader, rank,
};
use ship_message::Role;
use ship_record::Timestamp;
use ship_testkit::random::Random;
use ship_testkit::search_sets::{SearchSet, SetMessage, search_sets};

use crate::processor::{process_time, time_of};
use crate::report::{Report, Want};

const MESSAGES: usize = 100_000;
const MESSAGE_BYTES: usize = 600;
const QUESTIONS: usize = 120;

/// The words of each language.
const VOCABULARY: usize = 20_000;

/// Measures recall and costs. `folder` is on a disk.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    recall(report);
    costs(report);
    let place = tempfile::tempdir_in(folder)?;
    hostile::bench(report)?;
    appends::bench(&place.path().join("appends"), report)?;
    stored_chats::bench(place.path(), report)
}

fn recall(report: &mut Report) {
    report.section("Search: recall of the evidence, in percent");
    for (name, signals) in signal_sets() {
        let figures: Vec<String> = search_sets()
            .iter()
            .map(|set| {
                let [one, five, ten] = [1, 5, 10].map(|limit| recall_at(set, limit, signals));
                format!("{} {one:.1} / {five:.1} / {ten:.1}", set.name)
            })
            .collect();
        report.note(&format!("{name:<22} at 1 / 5 / 10: {}", figures.join(", ")));
    }
    for set in search_sets() {
        let ten = recall_at(&set, 10, SearchSignals::default());
        report.ratio(&format!("{}, the first ten hits", set.name), ten, Want::AtLeast(95.0));
    }
}

/// Returns all signals, and all but each.
fn signal_sets() -> [(&'static str, SearchSignals); 8] {
    let all = SearchSignals::default();
    [
        ("all signals", all),
        ("without neighbours", SearchSignals { neighbours: false, ..all }),
        ("without answers", SearchSignals { answers: false, ..all }),
        ("without sessions", SearchSignals { sessions: false, ..all }),
        ("without authors", SearchSignals { authors: false, ..all }),
        ("without dates", SearchSignals { dates: false, ..all }),
        ("without relatives", SearchSignals { relatives: false, ..all }),
        (
            "words alone",
            SearchSignals {
                neighbours: false,
                answers: false,
                sessions: false,
                authors: false,
                dates: false,
                relatives: false,
            },
        ),
    ]
}

fn recall_at(set: &SearchSet, limit: usize, signals: SearchSignals) -> f64 {
    let mut reader = TermReader::new();
    let index = index_of(set, &mut reader);
    let found = set.questions.iter().map(|asked| {
        let question = SearchQuestion::read(asked.text, index.participants(), &mut reader);
        let Ok(hits) = rank(&question, &index, signals, limit, |_| true);
        let is_found = |number: &&u32| hits.iter().any(|hit| hit.message == **number);
        asked.evidence.iter().filter(is_found).count() as f64 / asked.evidence.len() as f64
    });
    100.0 * found.sum::<f64>() / set.questions.len() as f64
}

fn index_of(set: &SearchSet, reader: &mut TermReader) -> ChatIndex {
    let mut index = ChatIndex::new();
    for SetMessage { author, time, text } in &set.messages {
        let role = if *author == "assistant" { Role::Assistant } else { Role::User };
        let name = (!matches!(*author, "user" | "assistant")).then(|| (*author).to_owned());
        let message = MessageToIndex {
            texts: &[(text, 1)],
            participant: &Participant { name, role },
            ts: Timestamp::parse(time),
            asks: text.contains(['?', '？']),
            begins_context: false,
        };
        index.add(&message, reader);
    }
    index
}

fn costs(report: &mut Report) {
    report.section("Search: 100,000 messages of 600 bytes in five languages");
    let corpus = Corpus::new();
    let mut reader = TermReader::new();
    let mut index = ChatIndex::new();
    let mut texts = Vec::new();
    let mut random = Random::new(2);
    for _ in 0..MESSAGES {
        texts.push(corpus.text(&mut random, MESSAGE_BYTES));
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    let begin = process_time();
    fill(&mut index, &texts, &mut reader);
    let seconds = (process_time() - begin).as_secs_f64();
    report.ratio("seconds of reading and indexing them", seconds, Want::AtMost(20.0));
    report.ratio(
        "bytes of postings, by those of the text",
        {
            index.terms().map(|(_, postings)| postings.encode().len()).sum::<usize>() as f64
                / bytes as f64
        },
        Want::AtMost(0.4),
    );
    let terms = bytes_of_terms(&index) as f64 / bytes as f64;
    report.note(&format!(
        "and {terms:.3} for the terms, each without what it shares with the one before"
    ));
    let mut times: Vec<f64> = (0..QUESTIONS)
        .map(|_| {
            let asked = corpus.question(&mut random);
            1e3 * time_of(|| ask(&asked, &index, &mut reader))
        })
        .collect();
    times.sort_by(f64::total_cmp);
    report.ratio("milliseconds of a question, the median", times[QUESTIONS / 2], Want::AtMost(8.0));
    report.ratio("and the 99th percentile", times[QUESTIONS * 99 / 100], Want::AtMost(30.0));
    let asked = corpus.question(&mut random);
    let begin = process_time();
    scan(&asked, &texts, &mut reader);
    let seconds = (process_time() - begin).as_secs_f64();
    report.note(&format!("{:.0} milliseconds of a scan in memory", 1e3 * seconds));
}

fn bytes_of_terms(index: &ChatIndex) -> usize {
    let mut before = "";
    let mut bytes = 0;
    for (term, _) in index.terms() {
        let shared = term.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
        bytes += 1 + term.len() - shared;
        before = term;
    }
    bytes
}

fn ask(asked: &str, index: &ChatIndex, reader: &mut TermReader) {
    let question = SearchQuestion::read(asked, index.participants(), reader);
    let Ok(hits) = rank(&question, index, SearchSignals::default(), 10, |_| true);
    black_box(hits);
}

fn fill(index: &mut ChatIndex, texts: &[String], reader: &mut TermReader) {
    for (nth, text) in texts.iter().enumerate() {
        let author = participant(nth);
        index.add(&to_index(nth, &[(text, 1)], &author), reader);
    }
}

fn scan(asked: &str, texts: &[String], reader: &mut TermReader) {
    let wanted = SearchQuestion::read(asked, &[], reader);
    let mut index = ChatIndex::new();
    for (nth, text) in texts.iter().enumerate() {
        let author = participant(nth);
        index.add_for(&wanted, &to_index(nth, &[(text, 1)], &author), reader);
    }
    ask(asked, &index, reader);
}

fn participant(nth: usize) -> Participant {
    Participant {
        name: None,
        role: if nth.is_multiple_of(2) { Role::User } else { Role::Assistant },
    }
}

/// A message every two minutes, with a night behind every fortieth.
fn to_index<'m>(
    nth: usize,
    texts: &'m [(&'m str, u32)],
    participant: &'m Participant,
) -> MessageToIndex<'m> {
    let minutes = nth as i64 * 2 + nth as i64 / 40 * 600;
    let ts = Some(Timestamp::from_millis(1_600_000_000_000 + minutes * 60_000));
    MessageToIndex { texts, participant, ts, asks: nth.is_multiple_of(4), begins_context: false }
}

/// Words of five languages, the frequent ones first.
struct Corpus {
    languages: Vec<(Vec<String>, &'static str)>,
}

impl Corpus {
    fn new() -> Self {
        let mut random = Random::new(1);
        let latin: Vec<char> = ('a'..='z').collect();
        let cyrillic: Vec<char> = ('а'..='я').collect();
        let han: Vec<char> = ('\u{4e00}'..='\u{5a00}').collect();
        let kana: Vec<char> = ('あ'..='ん').chain('\u{4e00}'..='\u{5200}').collect();
        let hangul: Vec<char> = ('가'..='깋').collect();
        let mut words = |letters: &[char], least: usize, more: usize| {
            let mut word = || {
                let len = least + random.below(more);
                (0..len).map(|_| *random.one(letters)).collect::<String>()
            };
            (0..VOCABULARY).map(|_| word()).collect::<Vec<String>>()
        };
        Self {
            languages: vec![
                (words(&latin, 3, 7), " "),
                (words(&han, 1, 3), ""),
                (words(&kana, 1, 4), ""),
                (words(&hangul, 2, 3), " "),
                (words(&cyrillic, 3, 7), " "),
            ],
        }
    }

    fn text(&self, random: &mut Random, bytes: usize) -> String {
        let (words, space) = random.one(&self.languages);
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(word(words, random));
            text.push_str(if random.below(12) == 0 { ", " } else { space });
        }
        text
    }

    fn question(&self, random: &mut Random) -> String {
        let (words, space) = random.one(&self.languages);
        let asked: Vec<&str> = (0..3 + random.below(6)).map(|_| word(words, random)).collect();
        asked.join(space)
    }
}

/// Returns a word; one that stands twice as far back comes half as often.
fn word<'w>(words: &'w [String], random: &mut Random) -> &'w str {
    let exponent = random.below(1_000_000) as f64 / 1e6;
    let rank = (words.len() as f64).powf(exponent) as usize - 1;
    words.get(rank).map_or("", String::as_str)
}
