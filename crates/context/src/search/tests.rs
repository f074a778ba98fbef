//! Whole searches: from messages to hits.

use proptest::prelude::*;
use ship_message::Role;
use ship_record::Timestamp;

use super::*;

const HOUR: i64 = 60 * 60 * 1000;

/// One message of a small chat.
struct Said<'a> {
    name: &'a str,
    hour: i64,
    text: &'a str,
}

fn said<'a>(name: &'a str, hour: i64, text: &'a str) -> Said<'a> {
    Said { name, hour, text }
}

/// Adds a message. `user` and `assistant` are roles, other names are names.
fn add(
    index: &mut ChatIndex,
    said: &Said<'_>,
    question: Option<&SearchQuestion>,
    reader: &mut TermReader,
) {
    let role = if said.name == "assistant" { Role::Assistant } else { Role::User };
    let name = (!matches!(said.name, "user" | "assistant")).then(|| said.name.to_owned());
    let message = MessageToIndex {
        texts: &[(said.text, 1)],
        participant: &Participant { name, role },
        ts: Some(Timestamp::from_millis(said.hour * HOUR)),
        asks: said.text.ends_with('?'),
        begins_context: false,
    };
    match question {
        Some(question) => index.add_for(question, &message, reader),
        None => index.add(&message, reader),
    }
}

fn index_of(messages: &[Said<'_>]) -> ChatIndex {
    let mut reader = TermReader::new();
    let mut index = ChatIndex::new();
    for message in messages {
        add(&mut index, message, None, &mut reader);
    }
    index
}

fn ask(index: &ChatIndex, question: &str) -> Vec<SearchHit> {
    let mut reader = TermReader::new();
    let question = SearchQuestion::read(question, index.participants(), &mut reader);
    rank(&question, index, SearchSignals::default(), 100, |_| true).unwrap()
}

fn found(messages: &[Said<'_>], question: &str) -> Vec<u32> {
    ask(&index_of(messages), question).iter().map(|hit| hit.message).collect()
}

#[test]
fn a_message_is_found_by_its_words_before_its_neighbours_and_no_other_session_is() {
    let chat = [
        said("Ann", 0, "Good morning"),
        said("Bob", 0, "The boat needs paint"),
        said("Ann", 0, "Certainly"),
        said("Bob", 90, "Something else"),
    ];
    assert_eq!(found(&chat, "painting a boat"), [1, 2, 0]);
    assert!(found(&chat, "zebra").is_empty() && found(&chat, "").is_empty());
}

#[test]
fn an_answer_of_a_person_is_found_by_its_question_and_a_reply_of_an_assistant_is_not() {
    let score_of_answer = |name: &str| {
        let chat = [
            said("user", 0, "Which colour has the boat?"),
            said(name, 0, "Blue"),
            said("user", 90, "No"),
        ];
        let hits = ask(&index_of(&chat), "colour");
        hits.iter().find(|hit| hit.message == 1).unwrap().score
    };
    assert!(score_of_answer("Bob") > score_of_answer("assistant"));
    assert_eq!(score_of_answer("Bob"), score_of_answer("user"));
}

#[test]
fn a_named_author_and_a_named_date_come_first() {
    let may = Timestamp::parse("2023-05-08T10:00:00.000Z").unwrap().millis() / HOUR;
    let chat = [
        said("Ann", 0, "I adopted a cat"),
        said("Bob", 90, "I adopted a cat"),
        said("Bob", may, "I adopted a cat"),
    ];
    assert_eq!(found(&chat, "Who adopted a cat?"), [0, 1, 2]);
    assert_eq!(found(&chat, "When did Bob adopt a cat?"), [1, 2, 0]);
    assert_eq!(found(&chat, "What did Ann adopt in May 2023?"), [2, 0, 1]);
}

#[test]
fn a_relative_is_found_behind_the_word_itself() {
    let chat = [
        said("user", 0, "The painter came"),
        said("user", 90, "The paint came"),
        said("user", 180, "Plane"),
    ];
    assert_eq!(found(&chat, "paint"), [1, 0]);
}

#[test]
fn what_is_searched_for_is_found_in_any_script_and_as_an_identifier() {
    let chat = [
        said("user", 0, "我们在周五部署数据库"),
        said("user", 90, "明日の会議は東京駅の近くです"),
        said("user", 180, "내일 회의는 서울역 근처에서 합니다"),
        said("user", 270, "see src/search/score_table.rs, fooBarBaz and CVE-2024-1234"),
        said("user", 360, "Release v1.2.3 costs 1,200 EUR, mail jo@example.org"),
        said("user", 450, "Die Schlüssel liegen in der Küche und nicht im Flur"),
        said("user", 540, "Завтра мы поедем на дачу, возьми книги"),
        said("user", 630, "火锅"),
        said("user", 720, "CVE-2024-9999 and score_list.rs"),
    ];
    for (question, message) in [
        ("部署", 0),
        ("什么时候部署？", 0),
        ("会議はどこですか", 1),
        ("회의 어디서 해요?", 2),
        ("서울역", 2),
        ("score_table.rs", 3),
        ("src/search/score_table", 3),
        ("bar baz", 3),
        ("CVE-2024-1234", 3),
        ("cve-2024-9999", 8),
        ("1.2.3", 4),
        ("1200", 4),
        ("jo@example.org", 4),
        ("Wo ist der Schlüssel?", 5),
        ("schlussel", 5),
        ("книга", 6),
        ("火", 7),
    ] {
        assert_eq!(found(&chat, question).first(), Some(&message), "{question}");
    }
}

#[test]
fn of_equals_the_older_one_comes_first_and_a_limit_cuts_the_rest() {
    let chat: Vec<Said<'_>> = (0..50).map(|n| said("user", n * 90, "the same words")).collect();
    let index = index_of(&chat);
    let all: Vec<u32> = (0..50).collect();
    let mut reader = TermReader::new();
    let question = SearchQuestion::read("same words", index.participants(), &mut reader);
    for limit in [0, 1, 7, 50, 99] {
        let hits = rank(&question, &index, SearchSignals::default(), limit, |_| true).unwrap();
        let numbers: Vec<u32> = hits.iter().map(|hit| hit.message).collect();
        assert_eq!(numbers, all[..limit.min(50)], "{limit}");
    }
    let odd = rank(&question, &index, SearchSignals::default(), 2, |n| n % 2 == 1).unwrap();
    assert_eq!(odd.iter().map(|hit| hit.message).collect::<Vec<_>>(), [1, 3]);
}

/// Texts that are hard on a reader give no more terms than they have characters, and no long ones.
#[test]
fn a_hostile_text_has_terms_in_proportion() {
    const LENGTH: usize = 300_000;
    let distinct: String = (0..100_000).map(|n| format!("w{n:x} ")).collect();
    let texts = [
        "a".repeat(LENGTH),
        "あ".repeat(LENGTH),
        "\u{0}".repeat(LENGTH),
        "\u{202e}a".repeat(LENGTH),
        "e\u{301}".repeat(LENGTH),
        "e".to_owned() + &"\u{301}".repeat(LENGTH),
        "'".repeat(LENGTH),
        "a.".repeat(LENGTH),
        "aB".repeat(LENGTH),
        "/a_b".repeat(LENGTH),
        "\u{fdfa}".repeat(LENGTH),
        distinct,
    ];
    for text in texts {
        let (mut terms, mut bytes) = (0, 0);
        TermReader::new().read(&text, |term| {
            terms += 1;
            bytes += term.len();
            assert!(term.len() <= 256, "{} bytes", term.len());
        });
        let beginning: String = text.chars().take(4).collect();
        assert!(terms <= text.len() && bytes <= 12 * text.len(), "{beginning}: {terms}, {bytes}");
    }
}

fn texts() -> impl Strategy<Value = Vec<(usize, i64, String)>> {
    let word = prop::sample::select(vec![
        "boat",
        "boats",
        "boating",
        "paint",
        "painted",
        "painter",
        "the",
        "went",
        "部署",
        "数据库",
        "火锅",
        "会議は",
        "서울에서",
        "foo_bar.rs",
        "foo_bar",
        "fooBar",
        "v1.2",
        "2023-05-08",
        "May",
        "Ann's",
        "我",
        "?",
        "книги",
    ]);
    let text = prop::collection::vec(word, 0..9).prop_map(|words| words.join(" "));
    prop::collection::vec((0usize..4, 0i64..9, text), 0..24)
}

fn messages(drawn: &[(usize, i64, String)]) -> Vec<Said<'_>> {
    let mut hour = 0;
    let mut said = Vec::new();
    for (name, hours, text) in drawn {
        hour += hours * 2;
        said.push(Said { name: ["user", "assistant", "Ann", "小明"][*name], hour, text });
    }
    said
}

proptest! {
    #[test]
    fn a_scan_gives_the_same_hits_as_an_index(drawn in texts(), asked in texts()) {
        let messages = messages(&drawn);
        let index = index_of(&messages);
        for (_, _, question) in asked.iter().take(4) {
            let mut reader = TermReader::new();
            let wanted = SearchQuestion::read(question, &[], &mut reader);
            let mut scan = ChatIndex::new();
            for message in &messages {
                add(&mut scan, message, Some(&wanted), &mut reader);
            }
            prop_assert_eq!(ask(&index, question), ask(&scan, question), "{}", question);
        }
    }

    #[test]
    fn postings_that_were_stored_and_read_again_grow_as_if_they_never_had_been(
        drawn in texts(),
        divided_at in 0usize..24,
    ) {
        let messages = messages(&drawn);
        let (first, _) = messages.split_at(divided_at.min(messages.len()));
        let whole = index_of(&messages);
        for (term, postings) in index_of(first).terms() {
            let mut read = PostingList::decode(&postings.encode()).unwrap();
            prop_assert_eq!(&read, postings);
            whole.postings(term, &mut |posting| {
                for _ in 0..posting.count {
                    if posting.message as usize >= first.len() {
                        read.add(posting.message);
                    }
                }
            }).unwrap();
            let (_, expected) = whole.terms().find(|(other, _)| *other == term).unwrap();
            prop_assert_eq!(&read, expected);
        }
    }

    #[test]
    fn every_message_with_a_word_that_says_something_is_found_by_its_own_words(drawn in texts()) {
        let messages = messages(&drawn);
        let index = index_of(&messages);
        for (nth, message) in messages.iter().enumerate() {
            let mut has_term = false;
            TermReader::new().read(message.text, |_| has_term = true);
            let is_found = ask(&index, message.text).iter().any(|hit| hit.message as usize == nth);
            prop_assert!(is_found || !has_term, "{:?}", message.text);
        }
    }
}
