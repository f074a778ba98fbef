//! Text in columns, for whatever width the terminal has.
//!
//! A Chinese character takes two columns, so lengths in characters would not line up.

use terminal_size::{Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces behind it, up to `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The beginning of a text that fits `columns`, with an ellipsis when that is not all of it.
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

/// The columns of the terminal on standard output. Programs that read our output get whole lines.
pub(crate) fn columns() -> usize {
    terminal_size_of(std::io::stdout()).map_or(usize::MAX, |(Width(columns), _)| columns.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(pad("你好", 6), "你好  ");
        assert_eq!(fit("你好世界", 8), "你好世界");
        assert_eq!(fit("你好世界", 7), "你好世…");
        assert_eq!(fit("你好世界", 6), "你好…");
        assert_eq!(fit("hello", 4), "hel…");
    }
}
