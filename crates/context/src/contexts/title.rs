//! Makes the title of a context: a few words on one line.

use std::borrow::Borrow;

use ship_message::UiMessage;
use ship_record::Timestamp;

use super::plain_text::{is_cjk, without_marks};
use super::utterance::{Speaker, Utterance, iter_utterances, spoken_messages};

/// The maximal width of a title; a Chinese character takes two columns.
const COLUMNS_MAX: usize = 60;

/// The number of copies whose titles differ for certain.
const COPIES_MAX: u32 = 1000;

/// The beginnings of the notes in the titles of branches.
const BRANCH_NOTES: [&str; 4] = ["copy", "back at ", "rewound", "asked again"];

/// Cleans a title that was given; `None` if it is empty.
pub fn clean_title(given: &str) -> Option<String> {
    plain_lines(given).next().map(|line| cut_to_width(&line)).filter(|title| !title.is_empty())
}

/// Makes the title of a branch, which an operation made at a checkpoint or elsewhere: the title of its origin, and a
/// note that says what the branch is. The note is never cut off, and a branch of a branch has one. Copies are numbered
/// where a copy is copied or the title `is_taken`, so that their titles differ.
pub fn branch_title(
    origin: &str,
    operation: &str,
    checkpoint: Option<&str>,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let is_branch = |(_, note): &(&str, &str)| BRANCH_NOTES.iter().any(|it| note.starts_with(it));
    let noted = origin.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    let noted = noted.filter(is_branch);
    let title = noted.map_or(origin, |(title, _)| title);
    let with_note =
        |note: &str| format!("{} ({note})", cut_to(title, COLUMNS_MAX - columns(note) - 3));
    let place = checkpoint.map(|name| format!("‘{}’", cut_to(name, COLUMNS_MAX / 3)));
    match (operation, place) {
        ("rewind", Some(place)) => with_note(&format!("back at {place}")),
        ("rewind", None) => with_note("rewound"),
        ("retry", _) => with_note("asked again"),
        (_, place) => {
            let copied = noted.and_then(|(_, note)| copy_number(note)).filter(|_| place.is_none());
            let place = place.map(|place| format!(" up to {place}")).unwrap_or_default();
            let numbered = |number: u32| match number {
                1 => with_note(&format!("copy{place}")),
                number => with_note(&format!("copy {number}{place}")),
            };
            let first = copied.unwrap_or(0).saturating_add(1);
            let free =
                (first..first.saturating_add(COPIES_MAX)).find(|it| !is_taken(&numbered(*it)));
            numbered(free.unwrap_or(first))
        }
    }
}

/// Returns the number of a copy from its note, in which the first one has none.
fn copy_number(note: &str) -> Option<u32> {
    match note.strip_prefix("copy")? {
        "" => Some(1),
        number => number.strip_prefix(' ')?.parse().ok(),
    }
}

/// Returns a title without the note that a question was asked again or taken back. Where no other context has the rest
/// of the title, the note tells nothing.
pub fn without_branch_note(title: &str) -> &str {
    let notes = [" (asked again)", " (rewound)"];
    notes.iter().find_map(|note| title.strip_suffix(note)).unwrap_or(title)
}

/// Makes a title from messages: what the person said first, or else the first message, or else the day.
pub fn title_of_utterances(utterances: &[Utterance], created_at: Timestamp) -> String {
    make_title(utterances.iter(), created_at)
}

/// Makes a title from messages; `None` if none of them has text. Only as many are read as it takes.
pub fn title_of_messages<M: Borrow<UiMessage>>(
    messages: &[M],
    created_at: Timestamp,
) -> Option<String> {
    let spoken = spoken_messages(messages);
    let utterances = iter_utterances(&spoken, created_at);
    utterances.clone().next().map(|_| make_title(utterances, created_at))
}

fn make_title<T: Borrow<Utterance>>(
    utterances: impl Iterator<Item = T> + Clone,
    created_at: Timestamp,
) -> String {
    let questions = || utterances.clone().filter(|turn| turn.borrow().speaker == Speaker::User);
    let first_line = |utterances: &mut dyn Iterator<Item = T>, also_commands: bool| {
        utterances
            .flat_map(|turn| plain_lines(&turn.borrow().text).collect::<Vec<_>>())
            .find(|line| also_commands || !is_command(line))
            .map(|line| cut_to_width(first_sentence(&line)))
            .filter(|title| !title.is_empty())
    };
    first_line(&mut questions(), false)
        .or_else(|| first_line(&mut questions(), true))
        .or_else(|| first_line(&mut utterances.clone(), true))
        .unwrap_or_else(|| {
            let day: String = created_at.to_string().chars().take(10).collect();
            format!("Context of {day}")
        })
}

/// Returns the lines of a text with content, without Markdown. Code between fences does not count.
fn plain_lines(text: &str) -> impl Iterator<Item = String> {
    let mut in_code = false;
    text.lines().filter_map(move |line| {
        let is_fence = is_fence(line);
        in_code ^= is_fence;
        let plain = without_marks(line);
        let says_something =
            plain.chars().any(char::is_alphanumeric) || plain.chars().any(is_emoji);
        (!is_fence && !in_code && says_something).then_some(plain)
    })
}

/// Whether a line is a fence. One that closes on the same line is inline code.
fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    let opens = |mark: &str| line.strip_prefix(mark).is_some_and(|rest| !rest.contains(mark));
    opens("```") || opens("~~~")
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a line is a command: `/context new` is for the program, but `/etc/hosts is broken` is for the agent.
fn is_command(line: &str) -> bool {
    let word = line.split(' ').next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-')
    })
}

/// Returns the first sentence. A dot inside a word does not end it.
fn first_sentence(line: &str) -> &str {
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => next.is_none_or(|next| next == ' '),
            _ => false,
        };
        // "1. " and "e. g. " are too short to be sentences.
        if ends && line[..at].chars().filter(|c| c.is_alphanumeric()).count() > 3 {
            let keeps_mark = matches!(c, '?' | '？' | '!' | '！');
            return &line[..if keeps_mark { at + c.len_utf8() } else { at }];
        }
    }
    line
}

fn cut_to_width(line: &str) -> String {
    cut_to(line, COLUMNS_MAX)
}

/// Cuts a line to a width, between words if it has them.
fn cut_to(line: &str, columns_max: usize) -> String {
    let line = line.trim();
    if columns(line) <= columns_max {
        return line.to_owned();
    }
    let mut cut = String::new();
    let mut width = 0;
    for c in line.chars() {
        width += columns_of(c);
        if width >= columns_max {
            break;
        }
        cut.push(c);
    }
    // A word is dropped only if most of the title is left.
    if let Some((before, last)) = cut.rsplit_once(' ')
        && columns(before) > columns_max / 2
        && !last.chars().any(is_cjk)
    {
        cut = before.to_owned();
    }
    format!("{}…", cut.trim_end())
}

fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    if is_cjk(c) || is_emoji(c) || matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff60}') {
        2
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn title(texts: &[&str]) -> String {
        let ts = Timestamp::from_millis(1_770_286_500_123);
        let turn = |text: &&str| Utterance { ts, speaker: Speaker::User, text: (*text).to_owned() };
        title_of_utterances(&texts.iter().map(turn).collect::<Vec<_>>(), ts)
    }

    #[test]
    fn a_title_is_the_first_thing_that_a_person_asked_for() {
        for (texts, expected) in [
            (&["Fix the login page. It is broken since Monday.", "And?"][..], "Fix the login page"),
            (&["hi", "Fix the login page."], "hi"),
            (&["帮我修复跨轮 context 保持的问题。然后发布。"], "帮我修复跨轮 context 保持的问题"),
            (&["```\nlet x = 1;\n```\n## Why does **this** fail?"], "Why does this fail?"),
            (&["/context new", "/etc/hosts is broken"], "/etc/hosts is broken"),
            (&["Look at src/main.rs v1.2 please"], "Look at src/main.rs v1.2 please"),
            (&["hi"], "hi"),
            (&["```\ncode only\n```"], "Context of 2026-02-05"),
            (&["", " \u{0}\n"], "Context of 2026-02-05"),
            (&["👍"], "👍"),
            (&[], "Context of 2026-02-05"),
        ] {
            assert_eq!(title(texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_paragraph_is_no_title() {
        let english = title(&[&"word ".repeat(100)]);
        assert_eq!(english, format!("{}…", "word ".repeat(11).trim_end()));
        let chinese = title(&[&"汉".repeat(100)]);
        assert_eq!(chinese, format!("{}…", "汉".repeat(29)));
    }

    #[test]
    fn a_given_title_is_put_on_one_line() {
        assert_eq!(clean_title("  # The\tplan\nand more"), Some("The plan".to_owned()));
        assert_eq!(clean_title(" \n "), None);
    }

    #[test]
    fn the_title_of_a_branch_says_what_it_is_however_long_its_origin_is_called() {
        for (origin, operation, checkpoint, expected) in [
            ("Dinner", "fork", None, "Dinner (copy)"),
            ("Dinner (copy)", "fork", None, "Dinner (copy 2)"),
            ("Dinner (copy 2)", "fork", None, "Dinner (copy 3)"),
            ("Dinner (copy up to ‘late’)", "fork", None, "Dinner (copy)"),
            ("Dinner (copy)", "rewind", Some("early"), "Dinner (back at ‘early’)"),
            ("Dinner (back at “early”)", "fork", Some("late"), "Dinner (copy up to ‘late’)"),
            ("Dinner (for two)", "rewind", None, "Dinner (for two) (rewound)"),
            ("Dinner (rewound)", "retry", None, "Dinner (asked again)"),
        ] {
            assert_eq!(branch_title(origin, operation, checkpoint, |_| false), expected);
        }
        let long = branch_title(&"汉".repeat(40), "rewind", Some(&"x".repeat(80)), |_| false);
        assert!(columns(&long) <= COLUMNS_MAX && long.contains("… (back at ‘xxx"), "{long}");
    }

    #[test]
    fn two_copies_of_one_origin_have_different_titles() {
        let taken = ["Dinner (copy)", "Dinner (copy up to ‘late’)", "Dinner (copy 2)"];
        let is_taken = |title: &str| taken.contains(&title);
        assert_eq!(branch_title("Dinner", "fork", None, is_taken), "Dinner (copy 3)");
        let late = branch_title("Dinner", "fork", Some("late"), is_taken);
        assert_eq!(late, "Dinner (copy 2 up to ‘late’)");
        assert_eq!(branch_title("Dinner (copy)", "fork", None, |_| true), "Dinner (copy 2)");
    }

    proptest! {
        #[test]
        fn every_title_is_short_and_plain_and_there_is_one(texts in prop::collection::vec("(?s).{0,90}", 0..4)) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let title = title(&texts);
            prop_assert!(!title.trim().is_empty());
            prop_assert!(columns(&title) <= COLUMNS_MAX, "{title:?}");
            let odd = |c: char| c.is_control() || c == '`' || c == '\u{2028}';
            prop_assert!(!title.contains(odd), "{title:?}");
        }
    }
}
