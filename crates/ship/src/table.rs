//! Arranges text in columns for the width of the terminal.
//!
//! A Chinese character takes two columns, so lengths in characters would not line up.

use std::os::fd::AsFd;

use terminal_size::{Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::pager::is_paged;

/// Returns the number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Pads a text with spaces up to `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Puts a text behind a name of this width, in a column that begins two spaces after `columns`. A longer name has a line
/// of its own.
pub(crate) fn in_columns(name: &str, name_width: usize, columns: usize, text: &str) -> String {
    let indent = " ".repeat(columns.saturating_sub(name_width));
    if name_width <= columns {
        return format!("{name}{indent}  {text}");
    }
    format!("{name}\n{}  {text}", " ".repeat(columns))
}

/// Returns the part of a text that fits `columns`, with an ellipsis if it was cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fits = |c: &char| {
        let needs = c.width().unwrap_or_default();
        let fits = needs <= room;
        room = room.saturating_sub(needs);
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Returns the end of a text that fits `columns`, with an ellipsis if it was cut.
pub(crate) fn fit_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        let Some(rest) = room.checked_sub(c.width().unwrap_or_default()) else { break };
        (room, start) = (rest, at);
    }
    format!("…{}", &text[start..])
}

/// Breaks a text between words at the width of the terminal; further lines begin with `indent` spaces.
pub(crate) fn wrap_text(text: &str, indent: usize) -> String {
    wrap(text, indent, columns())
}

/// Breaks each line of a text in the same way.
pub(crate) fn wrap_lines(text: &str) -> String {
    text.split('\n').map(|line| wrap_text(line, 0)).collect::<Vec<_>>().join("\n")
}

/// Breaks a text in the same way for standard error.
pub(crate) fn wrap_on_stderr(text: &str, indent: usize) -> String {
    wrap(text, indent, columns_of_stderr())
}

/// Breaks a text in the same way at a width that is known.
pub(crate) fn wrap(text: &str, indent: usize, columns: usize) -> String {
    if columns == usize::MAX {
        return text.to_owned();
    }
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split_inclusive(' ') {
        let needs = width(&without_styles(word.trim_end()));
        if column > indent && needs > 0 && column.saturating_add(needs) > columns {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        }
        out.push_str(word);
        column += width(&without_styles(word));
    }
    out
}

/// Removes the styles from a text.
pub(crate) fn without_styles(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.split_once('m').map_or("", |(_, rest)| rest))
}

/// Returns the columns of the terminal on standard output. Other programs get whole lines.
pub(crate) fn columns() -> usize {
    if is_paged() { columns_of_stderr() } else { columns_of(std::io::stdout()) }
}

/// Returns the columns of the terminal on standard error.
pub(crate) fn columns_of_stderr() -> usize {
    columns_of(std::io::stderr())
}

fn columns_of(stream: impl AsFd) -> usize {
    terminal_size_of(stream).map_or(usize::MAX, |(Width(columns), _)| columns.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_the_next_line_under_what_they_belong_to() {
        let text = "  \x1b[36m/help     \x1b[0m this list of all";
        assert_eq!(wrap(text, 4, 20), "  \x1b[36m/help     \x1b[0m this\n    list of all");
        assert_eq!(wrap(text, 4, 80), text);
    }

    #[test]
    fn a_name_that_is_too_long_does_not_move_the_column() {
        assert_eq!(in_columns("one", 3, 5, "text"), "one    text");
        assert_eq!(in_columns("eleven", 6, 5, "text"), "eleven\n       text");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(pad("你好", 6), "你好  ");
        assert_eq!(fit("你好世界", 8), "你好世界");
        assert_eq!(fit("你好世界", 7), "你好世…");
        assert_eq!(fit("你好世界", 6), "你好…");
        assert_eq!(fit("hello", 4), "hel…");
        assert_eq!(fit_end("你好世界", 8), "你好世界");
        assert_eq!(fit_end("你好世界", 6), "…世界");
        assert_eq!(fit_end("hello", 4), "…llo");
    }
}
