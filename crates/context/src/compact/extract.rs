//! A summary without a model: the last rung, which cannot fail.
//!
//! It keeps what the summary before it said, as far as there is room, and then how each message began, the
//! newest first: people before the assistant, because what they said cannot be made again.

use ship_message::{Role, UiMessage, UiPart};

use super::transcript::shortened;

/// How much of a message is worth a line.
const LINE_CHARS_MAX: usize = 160;
/// How many calls of one message are named.
const CALLS_MAX: usize = 5;

/// Sums messages up in at most `room` tokens, with all headings as far as they fit.
pub fn extract(
    previous: Option<&str>,
    messages: &[&UiMessage],
    room: u64,
    count: &dyn Fn(&str) -> u64,
) -> String {
    let mut facts = String::new();
    let mut left = room.saturating_sub(count(&frame("")));
    if let Some(previous) = previous {
        let kept = within(&lines_of(previous), left / 2, count);
        left = left.saturating_sub(count(&kept));
        facts.push_str(&kept);
    }
    let mut said = Vec::new();
    for role in [Role::User, Role::Assistant] {
        for (at, message) in messages.iter().enumerate().rev().filter(|(_, m)| m.role() == role) {
            let Some(line) = line(message) else { continue };
            let tokens = count(&line) + 1;
            if tokens > left {
                break;
            }
            left -= tokens;
            said.push((at, line));
        }
    }
    said.sort_by_key(|(at, _)| *at);
    for (_, line) in said {
        facts.push_str(&line);
        facts.push('\n');
    }
    let whole = frame(facts.trim_end());
    if count(&whole) <= room { whole } else { within(&whole, room, count) }
}

fn frame(facts: &str) -> String {
    let facts = if facts.is_empty() { "- (nothing)" } else { facts };
    format!(
        "## Facts\n{facts}\n\n## Preferences\n- (nothing)\n\n## Decisions\n- (nothing)\n\n## Open items\n- (nothing)"
    )
}

/// The lines of an earlier summary that say something.
fn lines_of(summary: &str) -> String {
    let says =
        |line: &&str| !line.trim().is_empty() && !line.starts_with('#') && *line != "- (nothing)";
    summary.lines().filter(says).map(|line| format!("{line}\n")).collect()
}

fn line(message: &UiMessage) -> Option<String> {
    let who = match message.role() {
        Role::User => "The person",
        Role::Assistant => "The assistant",
        Role::System | Role::Unknown => return None,
    };
    let text = message.text();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    match first {
        Some(first) => Some(format!("- {who} said: {}", shortened(first, LINE_CHARS_MAX))),
        None => Some(format!("- {who} called {}", calls(message)?)),
    }
}

/// The tools that a message without a text has called: the first few, and how many more.
fn calls(message: &UiMessage) -> Option<String> {
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

/// As many whole lines, from the first, as fit; of the first one as much as fits.
fn within(text: &str, room: u64, count: &dyn Fn(&str) -> u64) -> String {
    let mut kept = String::new();
    let mut left = room;
    for line in text.lines() {
        let tokens = count(line) + 1;
        if tokens > left {
            break;
        }
        left -= tokens;
        kept.push_str(line);
        kept.push('\n');
    }
    if kept.is_empty() && room > 0 {
        // A token is at least a byte.
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
    fn a_message_that_only_calls_tools_is_told_too() {
        let call = |at: usize| UiPart::Tool(ToolPart::new("look", format!("c{at}"), Json::Null));
        let called = UiMessage::new("a", Role::Assistant, (0..8).map(call).collect());
        let text = extract(None, &[&called], 1_000, &count);
        let line = "- The assistant called look, look, look, look, look and 3 more";
        assert!(text.contains(line), "{text}");
    }
}
