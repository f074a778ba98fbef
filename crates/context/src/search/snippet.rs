//! The part of a text that shows best why it was found.

use std::ops::Range;

use super::question::SearchQuestion;
use super::terms::TermReader;

/// The characters before the first mark of a snippet.
const LEAD: usize = 24;

/// The marks that are looked at; more tell nothing new.
const MARKS_MAX: usize = 2_000;

/// A part of a text, with the places of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSnippet {
    /// The part, with `…` where the text goes on.
    pub text: String,
    /// The places in it, in characters, each with its end.
    pub marks: Vec<Range<usize>>,
}

/// Returns the part of a text with most different terms of a question, the first among equals.
pub fn snippet(
    text: &str,
    question: &SearchQuestion,
    chars_max: usize,
    reader: &mut TermReader,
) -> SearchSnippet {
    let found = found_terms(text, question, reader);
    let start = best_start(&found, chars_max);
    let from = start.saturating_sub(LEAD.min(chars_max / 4));
    let total = text.chars().count();
    let from = from.min(total.saturating_sub(chars_max));
    let to = total.min(from + chars_max);
    let lead = if from > 0 { "…" } else { "" };
    let tail = if to < total { "…" } else { "" };
    let part: String = text.chars().skip(from).take(to - from).collect();
    let shift = |at: usize| at - from + lead.chars().count();
    let mut marks: Vec<Range<usize>> = Vec::new();
    for (_, place) in found.iter().filter(|(_, place)| from <= place.start && place.end <= to) {
        let mark = shift(place.start)..shift(place.end);
        match marks.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => marks.push(mark),
        }
    }
    SearchSnippet { text: format!("{lead}{part}{tail}"), marks }
}

/// Finds the terms of a question in a text, with their places in characters.
fn found_terms(
    text: &str,
    question: &SearchQuestion,
    reader: &mut TermReader,
) -> Vec<(String, Range<usize>)> {
    let mut bytes: Vec<(String, Range<usize>)> = Vec::new();
    reader.for_each_term(text, |found| {
        if bytes.len() < MARKS_MAX && question.matches(found.term) {
            bytes.push((found.term.to_owned(), found.span));
        }
    });
    bytes.sort_by_key(|(_, span)| (span.start, span.end));
    // The spans are in the order of their beginnings, so the text is counted once.
    let mut at = (0, 0);
    let mut chars_before = |byte: usize| {
        let chars = at.1 + text.get(at.0..byte).unwrap_or_default().chars().count();
        at = (byte, chars);
        chars
    };
    let starts: Vec<usize> = bytes.iter().map(|(_, span)| chars_before(span.start)).collect();
    let places = bytes.into_iter().zip(starts).map(|((term, span), start)| {
        let len = text.get(span).unwrap_or_default().chars().count();
        (term, start..start + len)
    });
    places.collect()
}

/// Returns where the part with most different terms begins.
fn best_start(found: &[(String, Range<usize>)], chars_max: usize) -> usize {
    let mut best = (0, 0);
    for (nth, (_, first)) in found.iter().enumerate() {
        let end = first.start + chars_max.saturating_sub(LEAD.min(chars_max / 4));
        let within = found.iter().skip(nth).take(64).take_while(|(_, place)| place.end <= end);
        let mut terms: Vec<&str> = within.map(|(term, _)| term.as_str()).collect();
        terms.sort_unstable();
        terms.dedup();
        if terms.len() > best.0 {
            best = (terms.len(), first.start);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str, question: &str, chars_max: usize) -> SearchSnippet {
        let mut reader = TermReader::new();
        let question = SearchQuestion::read(question, &[], &mut reader);
        snippet(text, &question, chars_max, &mut reader)
    }

    fn marked(snippet: &SearchSnippet) -> Vec<String> {
        let chars: Vec<char> = snippet.text.chars().collect();
        snippet.marks.iter().map(|mark| chars[mark.clone()].iter().collect()).collect()
    }

    #[test]
    fn a_snippet_shows_where_most_of_the_question_stands() {
        let text = format!(
            "A cat. {} The cat painted the fence, blue. {}",
            "x ".repeat(90),
            "y ".repeat(90)
        );
        let found = of(&text, "Which fences were painted by cats?", 60);
        assert_eq!(marked(&found), ["cat", "painted", "fence"]);
        assert!(found.text.starts_with('…') && found.text.ends_with('…'), "{found:?}");
        assert!(found.text.chars().count() <= 62);
    }

    #[test]
    fn marks_count_characters_and_neighbours_are_joined() {
        let found = of("用部署脚本，Größe in src/foo_bar.rs", "部署脚本 grosse foo_bar.rs", 100);
        assert_eq!(marked(&found), ["部署脚本", "Größe", "foo_bar.rs"]);
    }

    #[test]
    fn a_text_without_the_terms_shows_its_beginning() {
        let found = of("One two three four", "zebra", 8);
        assert_eq!((found.text.as_str(), found.marks.len()), ("One two …", 0));
    }

    proptest! {
        #[test]
        fn marks_are_in_order_and_inside_the_snippet(
            text in "[a-c部署ｶﾞ\u{202e}. ]{0,80}",
            question in "[a-c部署ガ ]{0,12}",
            chars_max in 0usize..50,
        ) {
            let found = of(&text, &question, chars_max);
            let chars = found.text.chars().count();
            prop_assert!(chars <= chars_max + 2);
            let mut last = 0;
            for mark in &found.marks {
                prop_assert!(last <= mark.start && mark.start < mark.end && mark.end <= chars);
                last = mark.end;
            }
        }
    }
}
