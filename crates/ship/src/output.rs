//! Printing, to people and programs that may go away.

use std::io::Write;

use ship_message::json::Json;
use ship_store::Timestamp;

use crate::failure::Failure;
use crate::style::Style;

/// Prints a line on standard output.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Prints a JSON value on a line of its own.
pub(crate) fn json(value: &Json) -> Result<(), Failure> {
    line(&value.to_string())
}

/// Prints without a newline, at once.
pub(crate) fn part(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Tells the person something that does not stop the command, on standard error.
pub(crate) fn warning(text: &str) {
    // Nobody is left to be told when standard error is gone.
    let _ = writeln!(std::io::stderr(), "{} {}", Style::of_stderr().dim("warning:"), visible(text));
}

/// A time in milliseconds, as people read it.
pub(crate) fn moment(millis: f64) -> String {
    let text = Timestamp::from_millis(millis as i64).to_string();
    // Without the milliseconds: `2026-02-05 09:30:00 UTC`.
    let (seconds, _) = text.split_once('.').unwrap_or((&text, ""));
    format!("{} UTC", seconds.replace('T', " "))
}

/// What is not printable in a terminal, made visible: text that people and models wrote must not move the
/// cursor or change the title.
pub(crate) fn visible(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}
