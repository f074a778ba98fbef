//! The recap of a chat that is opened again: its title, when it was left, and the last two exchanges.

use ship_context::contexts::{Speaker, Utterance};
use ship_store::Timestamp;

use crate::output;

/// The number of exchanges that are shown.
const EXCHANGES: usize = 2;

/// Returns the lines of the recap; none if nothing was answered yet.
pub(super) fn recap(title: &str, utterances: &[Utterance], now: Timestamp) -> Vec<String> {
    let Some(last) = utterances.iter().rposition(|it| it.speaker == Speaker::Assistant) else {
        return Vec::new();
    };
    let answered = &utterances[..=last];
    let questions = answered.iter().enumerate().filter(|(_, it)| it.speaker == Speaker::User);
    let first = questions.map(|(at, _)| at).rev().nth(EXCHANGES - 1).unwrap_or_default();
    let left = time_ago(now.millis() - answered[last].ts.millis());
    let mut lines = vec![format!("Left {left}: {}", output::escape_unprintable(title))];
    lines.extend(answered[first..].iter().filter_map(line));
    lines
}

/// Returns the beginning of an utterance on one line.
fn line(utterance: &Utterance) -> Option<String> {
    let first = utterance.text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let first = output::escape_unprintable(first);
    Some(match utterance.speaker {
        Speaker::User => format!("you: {first}"),
        Speaker::Assistant => format!("  {first}"),
    })
}

fn time_ago(millis: i64) -> String {
    let count = |count: i64, unit: &str| match count {
        1 => format!("1 {unit} ago"),
        count => format!("{count} {unit}s ago"),
    };
    match millis / 60_000 {
        ..=0 => "just now".to_owned(),
        minutes @ 1..60 => count(minutes, "minute"),
        minutes @ 60..1_440 => count(minutes / 60, "hour"),
        minutes => count(minutes / 1_440, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(speaker: Speaker, text: &str) -> Utterance {
        Utterance { ts: Timestamp::from_millis(1_000), speaker, text: text.to_owned() }
    }

    #[test]
    fn a_recap_has_the_last_two_exchanges_and_no_open_question() {
        use Speaker::{Assistant, User};
        let talk = [
            said(User, "one"),
            said(Assistant, "1"),
            said(User, "two\nand more"),
            said(Assistant, "\n  2\n22"),
            said(User, "three"),
            said(Assistant, "3"),
            said(User, "four"),
        ];
        let now = Timestamp::from_millis(1_000 + 2 * 3_600_000);
        assert_eq!(
            recap("Counting", &talk, now),
            ["Left 2 hours ago: Counting", "you: two", "  2", "you: three", "  3"]
        );
        assert_eq!(recap("Counting", &talk[..2], now).len(), 3);
        assert!(recap("Counting", &talk[..1], now).is_empty());
    }

    #[test]
    fn the_time_since_is_told_in_the_largest_unit() {
        for (seconds, told) in [
            (-5, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (7_199, "1 hour ago"),
            (90_000, "1 day ago"),
            (86_400 * 400, "400 days ago"),
        ] {
            assert_eq!(time_ago(seconds * 1_000), told);
        }
    }
}
