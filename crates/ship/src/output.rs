//! Printing, to people and programs that may go away.

use std::io::Write;

use ship_message::json::Json;

use crate::failure::Failure;

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
