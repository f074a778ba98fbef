//! The hint at earlier messages: one line beside a message of the person that says how many messages out of the model's
//! sight are about the same, and of when they are (`context.recall.hint`). Nothing is fetched: the model can search.

use std::collections::BTreeSet;

use ship_message::UiMessage;
use ship_store::{Chat, Timestamp, View};

use super::Engine;
use crate::search::{MessageHit, SearchQuery};

/// The number of hits that are looked at.
const HITS: usize = 20;

/// The different words of a message that stand in a strong hit at least. One word alone stands in many messages that are
/// about something else.
const STRONG: usize = 2;

impl Engine {
    /// Returns the hint for the newest of the messages that come into a context; `None` if the setting is off or no hit
    /// is strong. A chat that cannot be searched gives no hint, because no run should fail by it.
    pub(crate) async fn recall_hint(
        &self,
        chat: &dyn Chat,
        view: &View,
        messages: &[UiMessage],
    ) -> Option<String> {
        let newest = messages.last().filter(|_| self.rules.recall_hint)?;
        let query = SearchQuery { limit: HITS, ..SearchQuery::new(newest.text()) };
        let found = self.search_in(chat, &query).await.ok()?;
        let seen: BTreeSet<&str> =
            view.messages().chain(messages).filter_map(UiMessage::id).collect();
        let is_strong = |hit: &&MessageHit| {
            !seen.contains(hit.message_id.as_str()) && words_in_common(hit) >= STRONG
        };
        let strong: Vec<&MessageHit> = found.hits.iter().filter(is_strong).collect();
        line(&strong)
    }
}

/// Returns the number of different words of the question that a hit shows. In a script without spaces, two characters
/// count as a word.
fn words_in_common(hit: &MessageHit) -> usize {
    let chars: Vec<char> = hit.snippet.chars().collect();
    let piece = |mark: &std::ops::Range<usize>| -> String {
        chars.get(mark.clone()).unwrap_or_default().iter().flat_map(|c| c.to_lowercase()).collect()
    };
    let pieces: BTreeSet<String> = hit.marks.iter().map(piece).collect();
    let words = |piece: &String| {
        let wide = piece.chars().filter(|c| ('\u{2e80}'..='\u{d7ff}').contains(c)).count();
        (wide / 2).max(1)
    };
    pieces.iter().map(words).sum()
}

fn line(strong: &[&MessageHit]) -> Option<String> {
    let times: Vec<Timestamp> = strong.iter().filter_map(|hit| hit.ts).collect();
    let day = |ts: &Timestamp| ts.to_string().chars().take(10).collect::<String>();
    let count = (!strong.is_empty()).then_some(strong.len())?;
    let when = match (times.iter().min().map(day), times.iter().max().map(day)) {
        (Some(first), Some(last)) if first == last => format!(", of {first}"),
        (Some(first), Some(last)) => format!(", of {first} to {last}"),
        _ => String::new(),
    };
    Some(format!("Earlier messages about this, not in view: {count}{when}"))
}

#[cfg(test)]
mod tests {
    use ship_message::Role;

    use super::*;
    use crate::search::HitPlace;

    fn hit(snippet: &str, marks: &[(usize, usize)], millis: Option<i64>) -> MessageHit {
        let chat: ship_store::ChatKey = "api:a".parse().unwrap();
        MessageHit {
            message_id: "u_1".to_owned(),
            chat: chat.clone(),
            origin: chat,
            context: None,
            place: HitPlace::Context,
            role: Role::User,
            ts: millis.map(Timestamp::from_millis),
            score: 1.0,
            snippet: snippet.to_owned(),
            marks: marks.iter().map(|(from, to)| *from..*to).collect(),
        }
    }

    #[test]
    fn the_same_word_twice_is_one_and_two_characters_of_chinese_are_one() {
        for (snippet, marks, expected) in [
            ("Port of the port", &[(0, 4), (12, 16)][..], 1),
            ("port of the harbour", &[(0, 4), (12, 19)], 2),
            ("数据库迁移", &[(0, 5)], 2),
            ("数据", &[(0, 2)], 1),
            ("nothing", &[], 0),
        ] {
            assert_eq!(words_in_common(&hit(snippet, marks, None)), expected, "{snippet}");
        }
    }

    #[test]
    fn a_hint_says_how_many_and_of_when() {
        const DAY: i64 = 86_400_000;
        let [old, new, undated] = [Some(0), Some(2 * DAY), None].map(|at| hit("", &[], at));
        for (hits, expected) in [
            (&[][..], None),
            (&[&undated][..], Some("1")),
            (&[&old, &undated], Some("2, of 1970-01-01")),
            (&[&new, &old], Some("2, of 1970-01-01 to 1970-01-03")),
        ] {
            let expected =
                expected.map(|end| format!("Earlier messages about this, not in view: {end}"));
            assert_eq!(line(hits), expected);
        }
    }
}
