//! Writes colours to terminals that show them.

use std::io::IsTerminal;

use crate::pager::is_read_at_terminal;

/// The style of the output: with colours or without.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
}

impl Style {
    pub(crate) fn of_stdout() -> Self {
        Self { coloured: is_read_at_terminal() && wants_colour() }
    }

    pub(crate) fn of_stderr() -> Self {
        Self { coloured: std::io::stderr().is_terminal() && wants_colour() }
    }

    /// Returns the style without colours.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { coloured: false }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    pub(crate) fn is_coloured(self) -> bool {
        self.coloured
    }
}

/// Whether colours are wanted, by <https://no-color.org>, and the terminal can show them.
fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb_terminal()
}

/// Whether the terminal can neither show colours nor move its cursor.
pub(crate) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
