//! Prints to people and programs, either of which may go away.

use std::io::Write;

use ship_agent::ContextName;
use ship_message::json::{Json, Object};
use ship_store::Timestamp;

use crate::failure::{Failure, ReportedProblem};
use crate::style::Style;
use crate::table;

/// Prints a line on standard output.
pub(crate) fn print_line(text: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Prints a JSON value on a line of its own.
pub(crate) fn print_json(value: &Json) -> Result<(), Failure> {
    print_line(&value.to_string())
}

/// Prints without a newline, and flushes.
pub(crate) fn print_part(text: &str) -> Result<(), Failure> {
    print_unflushed(text)?;
    Ok(flush()?)
}

/// Prints a text that comes with others, which are flushed together.
pub(crate) fn print_unflushed(text: &str) -> Result<(), Failure> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Flushes what was printed.
pub(crate) fn flush() -> std::io::Result<()> {
    std::io::stdout().flush()
}

/// Prints a warning that does not stop the command, on standard error.
pub(crate) fn print_warning(text: &str) {
    let line = format!("{} {}", Style::of_stderr().dim("warning:"), escape_unprintable(text));
    // If standard error is gone, there is no reader to inform.
    let _ = writeln!(std::io::stderr(), "{}", table::wrap_on_stderr(&line, 9));
}

/// Prints a line on standard error.
pub(crate) fn print_on_stderr(text: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stderr(), "{text}")?)
}

/// Prints a progress note on standard error.
pub(crate) fn print_notice(text: &str) {
    let line = table::wrap_on_stderr(&format!("({})", escape_unprintable(text)), 1);
    let _ = writeln!(std::io::stderr(), "{}", Style::of_stderr().dim(&line));
}

/// Prints a failure: JSON on standard output, or text on standard error.
pub(crate) fn print_failure(failure: &Failure, json: bool) {
    // If the stream is gone, there is no reader to inform.
    if !json || print_failure_json(failure).is_err() {
        let _ = print_failure_text(failure);
    }
}

fn print_failure_json(failure: &Failure) -> std::io::Result<()> {
    let lines = |texts: Vec<&str>| texts.join("\n");
    let hints: Vec<&str> =
        failure.problems.iter().filter_map(|problem| problem.hint.as_deref()).collect();
    let mut error = Object::from([("code", failure.code)]);
    error.set(
        "message",
        lines(failure.problems.iter().map(|problem| problem.message.as_str()).collect()),
    );
    let hint = if hints.is_empty() { Json::Null } else { lines(hints).into() };
    error.set("hint", hint);
    if !failure.offered.is_empty() {
        let named = |context: &ContextName| {
            let fields =
                [("contextId", context.context.as_str()), ("title", context.title.as_str())];
            Json::Object(Object::from(fields))
        };
        error.set("offered", failure.offered.iter().map(named).collect::<Vec<_>>());
    }
    let mut printed = failure.answer.as_deref().cloned().unwrap_or_default();
    printed.set("error", error);
    writeln!(std::io::stdout(), "{}", Json::Object(printed))
}

fn print_failure_text(failure: &Failure) -> std::io::Result<()> {
    let style = Style::of_stderr();
    let mut out = std::io::stderr();
    for ReportedProblem { message, hint } in &failure.problems {
        let line = format!("{} {}", style.red("ship:"), escape_unprintable(message));
        writeln!(out, "{}", table::wrap_on_stderr(&line, 6))?;
        for ContextName { context, title } in &failure.offered {
            let line = format!("  {context}  {}", escape_unprintable(title));
            writeln!(out, "{}", table::wrap_on_stderr(&line, 4))?;
        }
        if let Some(hint) = hint {
            let line = format!("{} {}", style.dim("hint:"), escape_unprintable(hint));
            writeln!(out, "{}", table::wrap_on_stderr(&line, 6))?;
        }
    }
    Ok(())
}

/// Formats a time for people, in local time: `2026-02-05 09:30:00 CET`.
pub(crate) fn format_time(time: Timestamp) -> String {
    format_local_time(time, "%Y-%m-%d %H:%M:%S %Z")
}

/// Formats a time in the reader's time zone; in UTC where none is known.
pub(crate) fn format_local_time(time: Timestamp, format: &str) -> String {
    let Ok(time) = jiff::Timestamp::from_millisecond(time.millis()) else { return "?".to_owned() };
    let zone = jiff::tz::TimeZone::try_system().unwrap_or(jiff::tz::TimeZone::UTC);
    time.to_zoned(zone).strftime(format).to_string()
}

/// The time of something that was less than a minute ago.
pub(crate) const JUST_NOW: &str = "just now";

/// Says how long ago something was, in the largest unit: `2 hours ago`.
pub(crate) fn time_ago(now: Timestamp, time: Timestamp) -> String {
    let count = |count: i64, unit: &str| match count {
        1 => format!("1 {unit} ago"),
        count => format!("{count} {unit}s ago"),
    };
    match (now.millis() - time.millis()) / 60_000 {
        ..=0 => JUST_NOW.to_owned(),
        minutes @ 1..60 => count(minutes, "minute"),
        minutes @ 60..1_440 => count(minutes / 60, "hour"),
        minutes => count(minutes / 1_440, "day"),
    }
}

/// Quotes a word for a shell.
pub(crate) fn quote_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Escapes characters that are not printable in a terminal: text of people and models must not move the cursor,
/// change the title, or turn the direction of the text beside it.
pub(crate) fn escape_unprintable(text: &str) -> String {
    escape_chars(text, |c| c.is_control() || turns_direction(c))
}

/// Shows a text of several lines on one line.
pub(crate) fn on_one_line(text: &str) -> String {
    escape_unprintable(text).replace('\n', " ⏎ ").replace('\t', " ")
}

/// Escapes every character that the eye cannot see, for text that a person must approve.
pub(crate) fn escape_unseen(text: &str) -> String {
    escape_chars(text, |c| c.is_control() || turns_direction(c) || is_unseen(c))
}

fn escape_chars(text: &str, hide: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if hide(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Whether a character turns the direction of a text, or breaks a line invisibly.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character takes no room and has no meaning.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_take_it_apart() {
        for (word, expected) in
            [("terminal:a-b", "terminal:a-b"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(quote_for_shell(word), expected);
        }
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
            let now = Timestamp::from_millis(seconds * 1_000);
            assert_eq!(time_ago(now, Timestamp::from_millis(0)), told);
        }
    }

    #[test]
    fn what_turns_a_text_is_shown_as_what_it_is() {
        let turned = "rm \u{202e}gnp.txt\u{202c}\u{2066}x\u{1b}[2J";
        let shown = "rm \\u{202e}gnp.txt\\u{202c}\\u{2066}x\\u{1b}[2J";
        assert_eq!(escape_unprintable(turned), shown);
        assert_eq!(escape_unprintable("深い\t👩\u{200d}👧\nשלום"), "深い\t👩\u{200d}👧\nשלום");
        assert_eq!(escape_unseen("a\u{200b}b\u{e0041}"), "a\\u{200b}b\\u{e0041}");
    }
}
