//! Makes a summary without a model: the last method, which cannot fail.
//!
//! It keeps the text of the summary before it, and then the beginning of each message. People's messages come
//! before the assistant's, because their words cannot be produced again.
//!
//! If the lines do not fit, they are thinned out. Half of the room is for the newest lines, and the other
//! half for a sample of all others. The digests of their texts decide which lines are in the sample, the
//! lowest first. So a repeated extract of an extract leaves a fair sample of everything that was ever said,
//! and not only the beginning.

use std::collections::HashSet;

use ship_message::{Role, UiMessage, UiPart};
use ship_record::without_notices;

use super::summary::IDENTIFIERS;
use super::transcript::shortened;
use crate::shown_references::is_reference;

/// The number of characters of a message that make a line.
const LINE_CHARS_MAX: usize = 160;
/// The number of calls of one message that are named.
const CALLS_MAX: usize = 5;

/// Summarises messages in at most `room` tokens, with all headings as far as they fit.
pub fn extract(
    previous: Option<&str>,
    messages: &[&UiMessage],
    room: u64,
    count: &dyn Fn(&str) -> u64,
) -> String {
    let room_left = room.saturating_sub(count(&with_headings("")));
    let mut lines: Vec<ExtractLine> =
        messages.iter().filter_map(|message| extract_line(message)).collect();
    // The lines of a summary are worth as much as messages, and get the room that a few messages leave.
    let mut earlier = previous.map(summary_lines).unwrap_or_default();
    if !earlier.is_empty() {
        let free = room_left.saturating_sub(tokens_up_to(&lines, room_left / 2, count));
        drop_lines(&mut earlier, free, count);
    }
    drop_lines(
        &mut lines,
        room_left.saturating_sub(tokens_up_to(&earlier, room_left, count)),
        count,
    );
    let facts: Vec<&str> = earlier.iter().chain(&lines).map(|line| line.text.as_str()).collect();
    let whole = with_headings(&facts.join("\n"));
    if count(&whole) <= room { whole } else { first_lines_within(&whole, room, count) }
}

fn with_headings(facts: &str) -> String {
    let facts = if facts.is_empty() { "- (nothing)" } else { facts };
    format!(
        "## Facts\n{facts}\n\n## Preferences\n- (nothing)\n\n## Decisions\n- (nothing)\n\n## Open items\n- (nothing)"
    )
}

/// A line of an extract.
#[derive(Clone, Debug)]
struct ExtractLine {
    text: String,
    /// Whether it is dropped first: the assistant can say it again, or it is said elsewhere.
    is_droppable: bool,
}

/// The beginning of a line about what the assistant did.
const ASSISTANT: &str = "- The assistant ";

/// Returns the lines of an earlier summary that have content.
fn summary_lines(summary: &str) -> Vec<ExtractLine> {
    let mut lines = Vec::new();
    let mut is_identifier = false;
    for line in summary.lines() {
        if line.starts_with('#') {
            is_identifier = line == IDENTIFIERS;
        } else if !line.trim().is_empty() && line != "- (nothing)" {
            let gives_way = is_identifier || line.starts_with(ASSISTANT);
            lines.push(ExtractLine { text: line.to_owned(), is_droppable: gives_way });
        }
    }
    lines
}

/// Returns the tokens of lines, or `enough` if they take more.
fn tokens_up_to(lines: &[ExtractLine], enough: u64, count: &dyn Fn(&str) -> u64) -> u64 {
    let mut tokens = 0;
    for line in lines {
        // One more for the line break.
        tokens += count(&line.text) + 1;
        if tokens > enough {
            return enough;
        }
    }
    tokens
}

/// Drops as many lines as necessary for the others to fit.
fn drop_lines(lines: &mut Vec<ExtractLine>, room: u64, count: &dyn Fn(&str) -> u64) {
    let mut keeps = vec![false; lines.len()];
    let mut room_left = room;
    for gives_way in [false, true] {
        let mut places: Vec<usize> =
            (0..lines.len()).rev().filter(|at| lines[*at].is_droppable == gives_way).collect();
        let mut all = keeps.clone();
        let rest = keep_until_full(lines, &places, room_left, &mut all, count);
        if places.iter().all(|at| all[*at]) {
            (keeps, room_left) = (all, rest);
            continue;
        }
        let for_newest = room_left / 2;
        room_left -= for_newest - keep_until_full(lines, &places, for_newest, &mut keeps, count);
        // Repeated lines add nothing to the sample.
        let mut texts = HashSet::new();
        places.retain(|at| texts.insert(lines[*at].text.as_str()) && !keeps[*at]);
        places.sort_by_cached_key(|at| digest(&lines[*at].text));
        keep_until_full(lines, &places, room_left, &mut keeps, count);
        break;
    }
    let mut keeps = keeps.into_iter();
    lines.retain(|_| keeps.next() == Some(true));
}

/// Returns a stable number that is unrelated to the meaning and the time of a text.
fn digest(text: &str) -> u64 {
    // This is FNV-1a, with its bits mixed once more, because the texts are very similar.
    let fnv = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (fnv ^ (fnv >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Keeps the lines at these indexes, from the first, until one does not fit. Returns the room that is left.
fn keep_until_full(
    lines: &[ExtractLine],
    places: &[usize],
    room: u64,
    keeps: &mut [bool],
    count: &dyn Fn(&str) -> u64,
) -> u64 {
    let mut room_left = room;
    for at in places {
        match room_left.checked_sub(count(&lines[*at].text) + 1) {
            Some(rest) => room_left = rest,
            None => break,
        }
        keeps[*at] = true;
    }
    room_left
}

fn extract_line(message: &UiMessage) -> Option<ExtractLine> {
    let text = extract_text(message)?;
    let gives_way = text.starts_with(ASSISTANT);
    Some(ExtractLine { text, is_droppable: gives_way })
}

fn extract_text(message: &UiMessage) -> Option<String> {
    // A reference was not said here, and its first line says nothing about it.
    if is_reference(message) {
        return None;
    }
    let author = match message.role() {
        Role::User => "The person",
        Role::Assistant => "The assistant",
        Role::System | Role::Unknown => return None,
    };
    let said = without_notices(message);
    let texts = said
        .parts()
        .iter()
        .filter_map(|part| if let UiPart::Text(text) = part { Some(text.text()) } else { None });
    let first = texts.flat_map(str::lines).map(str::trim).find(|line| !line.is_empty());
    match first {
        Some(first) => Some(format!("- {author} said: {}", shortened(first, LINE_CHARS_MAX))),
        None => Some(format!("- {author} called {}", list_calls(message)?)),
    }
}

/// Lists the tools that a message without text has called: the first few, and the number of the others.
fn list_calls(message: &UiMessage) -> Option<String> {
    let names: Vec<&str> = message
        .parts()
        .iter()
        .filter_map(|part| {
            let UiPart::Tool(tool) = part else { return None };
            tool.name()
        })
        .collect();
    let more = names.len().saturating_sub(CALLS_MAX);
    let first = names.get(..names.len() - more)?.join(", ");
    match (first.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(first),
        (false, more) => Some(format!("{first} and {more} more")),
    }
}

/// Returns as many whole lines as fit, from the first; if even that does not fit, its beginning.
fn first_lines_within(text: &str, room: u64, count: &dyn Fn(&str) -> u64) -> String {
    let mut kept = String::new();
    let mut room_left = room;
    for line in text.lines() {
        let tokens = count(line) + 1;
        if tokens > room_left {
            break;
        }
        room_left -= tokens;
        kept.push_str(line);
        kept.push('\n');
    }
    if kept.is_empty() && room > 0 {
        // A token has at least one byte.
        let bytes =
            text.floor_char_boundary(usize::try_from(room).unwrap_or(usize::MAX).min(text.len()));
        kept.push_str(&text[..bytes]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use ship_message::ToolPart;
    use ship_message::json::Json;

    use super::*;

    fn count(text: &str) -> u64 {
        text.len() as u64 / 4 + 1
    }

    fn said(role: Role, text: &str) -> UiMessage {
        UiMessage::new(text, role, vec![UiPart::text(text)])
    }

    #[test]
    fn it_keeps_the_newest_and_what_people_said_in_order() {
        let messages = [
            said(Role::User, "first"),
            said(Role::Assistant, "answer one"),
            said(Role::User, "second\nwith more"),
            said(Role::Assistant, "answer two"),
        ];
        let list: Vec<&UiMessage> = messages.iter().collect();
        let text = extract(Some("## Facts\n- the ship is blue"), &list, 1_000, &count);
        assert_eq!(
            text,
            "## Facts\n- the ship is blue\n- The person said: first\n- The assistant said: answer one\n\
             - The person said: second\n- The assistant said: answer two\n\n## Preferences\n- (nothing)\n\n\
             ## Decisions\n- (nothing)\n\n## Open items\n- (nothing)"
        );
    }

    #[test]
    fn it_fits_whatever_room_there_is() {
        let messages: Vec<UiMessage> =
            (0..500).map(|i| said(Role::User, &format!("{i} {}", "long ".repeat(300)))).collect();
        let list: Vec<&UiMessage> = messages.iter().collect();
        let previous = "- old\n".repeat(1_000);
        for room in [0, 1, 5, 40, 100, 2_000] {
            let text = extract(Some(&previous), &list, room, &count);
            assert!(count(&text) <= room.max(1), "{room}: {}", count(&text));
        }
        let newest = extract(None, &list, 200, &count);
        assert!(newest.contains("499 long") && !newest.contains("- The person said: 1 long"));
    }

    #[test]
    fn an_extract_of_extracts_keeps_the_newest_and_an_even_trace_of_all_the_others() {
        let mut summary: Option<String> = None;
        for round in 0..24 {
            let text = |at: usize| format!("{:03} {}", round * 12 + at, "blue sails ".repeat(5));
            let messages: Vec<UiMessage> = (0..12).map(|at| said(Role::User, &text(at))).collect();
            let list: Vec<&UiMessage> = messages.iter().collect();
            summary = Some(extract(summary.as_deref(), &list, 1_000, &count));
        }
        let summary = summary.unwrap();
        let places: Vec<usize> = summary
            .lines()
            .filter_map(|line| line.strip_prefix("- The person said: ")?[..3].parse().ok())
            .collect();
        assert!(places.is_sorted(), "{places:?}");
        assert!(places.ends_with(&(276..288).collect::<Vec<_>>()), "{places:?}");
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).chain(places.first().copied());
        assert!(gaps.max().unwrap() < 90, "{places:?}");
        let old = places.iter().filter(|place| **place < 144).count();
        assert!((3..places.len() / 2).contains(&old), "{places:?}");
    }

    #[test]
    fn neither_a_reference_nor_a_notice_is_something_that_was_said() {
        let mut reference = said(Role::Assistant, "以下是历史归档 context");
        reference.set_metadata(Json::parse(r#"{"kind":"reference"}"#).unwrap());
        let notice = ship_record::NoticeKind::Cut.part("(My answer was cut off here.)");
        let cut = UiMessage::new("a", Role::Assistant, vec![UiPart::text("Half"), notice]);
        let text = extract(None, &[&reference, &cut], 1_000, &count);
        assert!(!text.contains("以下是") && !text.contains("cut off"), "{text}");
        assert!(text.contains("Half"), "{text}");
    }

    #[test]
    fn a_message_that_only_calls_tools_is_told_too() {
        let call = |at: usize| UiPart::Tool(ToolPart::new("look", format!("c{at}"), Json::Null));
        let called = UiMessage::new("a", Role::Assistant, (0..8).map(call).collect());
        let text = extract(None, &[&called], 1_000, &count);
        let line = "- The assistant called look, look, look, look, look and 3 more";
        assert!(text.contains(line), "{text}");
    }
}
