//! Renders Markdown on a terminal while it is being written.
//!
//! An answer comes in pieces that may end anywhere, and printed text cannot be withdrawn. So a word is shown when
//! it is complete. A mark such as `**` is held back until its other half arrives, which makes it a style, or until
//! the line ends, which makes it text. A line of code is shown when it is complete, and a table when it ends. Headings,
//! lists, quotes, tables, code blocks, bold, italics, inline code and links are rendered; everything else is text. Lines
//! break between words at the width of the terminal, except in code, which people copy.
//!
//! Output that is not a terminal gets the text unchanged.

mod code;
mod inline;
mod line;
mod rows;
mod wrap;

use crate::pager::is_read_at_terminal;
use crate::style::Style;
use crate::table;
use inline::{Colour, Sgr, StyledText, Token};
use line::{Begin, Fence};
use rows::Rows;
use wrap::{Wrap, may_break};

/// The number of characters after which a mark without its other half is no longer held back.
const HELD_CHARS_MAX: usize = 1000;

/// Renders a text piece by piece.
pub(crate) struct Markdown {
    look: LineStyle,
    wrap: Wrap,
    /// The part of the line that is not shown yet, and the character before it.
    held: Vec<char>,
    before: Option<char>,
    place: LinePlace,
    fence: Option<Fence>,
    rows: Rows,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineStyle {
    /// The text is unchanged.
    Verbatim,
    /// Lines have a width, and marks stay as they are.
    Plain,
    /// Lines have a width, and marks become styles.
    Styled,
}

/// The position within a line.
#[derive(Clone, Copy)]
enum LinePlace {
    /// The beginning of the line, whose kind is not known yet.
    Start,
    /// Text with this style.
    Text(Sgr),
    /// Text that is shown unchanged.
    AsItIs(Sgr),
    /// Code with colours, which needs the whole line.
    Code,
    /// A row of a table, which is shown with the others.
    Row,
}

impl Markdown {
    /// Makes a renderer for standard output.
    pub(crate) fn of_stdout() -> Self {
        let look = match (is_read_at_terminal(), Style::of_stdout().is_coloured()) {
            (false, _) => LineStyle::Verbatim,
            (true, false) => LineStyle::Plain,
            (true, true) => LineStyle::Styled,
        };
        Self::new(look, table::columns())
    }

    fn new(look: LineStyle, width: usize) -> Self {
        let wrap = Wrap::new(width, look == LineStyle::Styled);
        let (held, before, place, fence) = (Vec::new(), None, LinePlace::Start, None);
        Self { look, wrap, held, before, place, fence, rows: Rows::default() }
    }

    /// Breaks further lines at this width, because that of the terminal has changed.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.wrap.set_width(width);
    }

    /// Returns the text to print after the next piece.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        if self.look == LineStyle::Verbatim {
            return piece.to_owned();
        }
        let mut out = String::new();
        for c in piece.chars() {
            if c == '\n' {
                self.end_line(&mut out);
                continue;
            }
            self.held.push(c);
            if self.held.len() > HELD_CHARS_MAX {
                self.show(ShowLimit::Settled, &mut out);
                if self.held.len() > HELD_CHARS_MAX {
                    self.end_table_before_long_row(&mut out);
                    self.show(ShowLimit::End, &mut out);
                }
            }
        }
        self.show(ShowLimit::Settled, &mut out);
        out
    }

    /// Returns the text to print at the end. The next piece begins a new text.
    pub(crate) fn end(&mut self) -> String {
        let mut out = String::new();
        self.show(ShowLimit::End, &mut out);
        if matches!(self.place, LinePlace::Row) {
            let row = self.held.drain(..).collect();
            self.rows.push(row);
            self.show_rows(&mut out);
            // The last row had no end of its line yet.
            out.truncate(out.trim_end_matches('\n').len());
        }
        self.wrap.end_styles(&mut out);
        let width = self.wrap.width();
        *self = Self::new(self.look, width);
        out
    }

    /// Renders a whole text.
    pub(crate) fn render(mut self, text: &str) -> String {
        let mut out = self.push(text);
        out.push_str(&self.end());
        out
    }

    fn end_line(&mut self, out: &mut String) {
        self.show(ShowLimit::End, out);
        if matches!(self.place, LinePlace::Row) {
            let row = self.held.drain(..).collect();
            if self.rows.push(row) {
                self.show_rows(out);
            }
        } else {
            self.wrap.newline(out);
        }
        (self.place, self.before) = (LinePlace::Start, None);
    }

    /// Shows the rows of a table that has ended.
    fn show_rows(&mut self, out: &mut String) {
        let is_styled = self.look == LineStyle::Styled;
        for line in self.rows.take(self.wrap.width(), is_styled) {
            out.push_str(&line);
            out.push('\n');
        }
    }

    /// Shows a table whose next row is too long to be held back; that row is text.
    fn end_table_before_long_row(&mut self, out: &mut String) {
        if matches!(self.place, LinePlace::Row) {
            self.show_rows(out);
            self.rows.end();
            self.place = LinePlace::AsItIs(Sgr::default());
        }
    }

    /// Shows the held text as far as its meaning is certain.
    fn show(&mut self, limit: ShowLimit, out: &mut String) {
        if matches!(self.place, LinePlace::Start) && !self.begin_line(limit, out) {
            return;
        }
        match self.place {
            LinePlace::Start | LinePlace::Row => {}
            LinePlace::Code if limit == ShowLimit::Settled => {}
            LinePlace::Code => {
                let line: Vec<char> = self.held.drain(..).collect();
                let style = self.fence.as_mut().and_then(|fence| fence.style.as_mut());
                for piece in style.map(|style| style.pieces(&line)).unwrap_or_default() {
                    self.wrap.verbatim(&piece.text, piece.sgr, out);
                }
            }
            LinePlace::AsItIs(sgr) => {
                let text: String = self.held.drain(..).collect();
                self.wrap.verbatim(&text, sgr, out);
            }
            LinePlace::Text(sgr) => self.show_text(sgr, limit, out),
        }
    }

    /// Determines the kind of the line. Returns false if that is not certain yet.
    fn begin_line(&mut self, limit: ShowLimit, out: &mut String) -> bool {
        let is_whole = limit == ShowLimit::End;
        let Some(begin) = line::line_kind(&self.held, is_whole, self.fence) else { return false };
        if begin != Begin::Row {
            self.show_rows(out);
            self.rows.end();
        }
        let (place, taken) = match begin {
            Begin::Text { indent } => {
                let spaces = " ".repeat(indent.columns);
                self.wrap.begin(&spaces, spaces.clone(), indent.columns, out);
                (LinePlace::Text(Sgr::default()), indent.chars)
            }
            // Without styles, only its marks show that it is a heading.
            Begin::Heading { .. } if self.look == LineStyle::Plain => {
                (LinePlace::Text(Sgr::default()), 0)
            }
            Begin::Heading { level, chars } => {
                let sgr = Sgr { bold: true, underlined: level == 1, ..Sgr::default() };
                (LinePlace::Text(sgr), chars)
            }
            Begin::Item { indent, mark, chars } => {
                let columns = indent.columns + table::width(&mark);
                let shown = format!("{}{mark}", " ".repeat(indent.columns));
                self.wrap.begin(&shown, " ".repeat(columns), columns, out);
                (LinePlace::Text(Sgr::default()), chars)
            }
            Begin::Quote { chars } => {
                self.wrap.begin("│ ", "│ ".to_owned(), 2, out);
                (LinePlace::Text(Sgr { italic: true, ..Sgr::default() }), chars)
            }
            Begin::Rule => {
                let columns = self.wrap.width().min(40);
                self.wrap.begin(&"─".repeat(columns), String::new(), columns, out);
                (LinePlace::Text(Sgr::default()), self.held.len())
            }
            Begin::Row => (LinePlace::Row, 0),
            Begin::Code if self.fence.is_some_and(|fence| fence.style.is_some()) => {
                (LinePlace::Code, 0)
            }
            Begin::Code => (LinePlace::AsItIs(Sgr { colour: Colour::Code, ..Sgr::default() }), 0),
            Begin::Fence(fence) => {
                self.fence = fence;
                (LinePlace::AsItIs(Sgr { dim: true, ..Sgr::default() }), 0)
            }
        };
        self.before = None;
        self.held.drain(..taken);
        self.place = place;
        true
    }

    /// Shows the words that are complete and whose marks are certain.
    fn show_text(&mut self, sgr: Sgr, limit: ShowLimit, out: &mut String) {
        let tokens = match self.look {
            LineStyle::Styled => inline::tokenize(&self.held, self.before, sgr),
            LineStyle::Plain | LineStyle::Verbatim => inline::plain_tokens(&self.held, sgr),
        };
        let cut = match limit {
            ShowLimit::Settled => last_break(&tokens, &self.held),
            ShowLimit::End => self.held.len(),
        };
        self.wrap.push_words(&first_chars(tokens, cut), out);
        self.before = self.held.drain(..cut).next_back().or(self.before);
    }
}

/// Returns the last possible line break before an open mark, where both sides are known.
fn last_break(tokens: &[Token], line: &[char]) -> usize {
    let may_cut = |at: &usize| *at < line.len() && may_break(line[*at - 1], line[*at]);
    let (mut last, mut end) = (0, 0);
    for token in tokens.iter().take_while(|token| !token.open) {
        // A token with marks is shown whole or not at all.
        let first = if token.plain { end + 1 } else { end + token.chars };
        end += token.chars;
        last = (first..=end).rev().find(may_cut).unwrap_or(last);
    }
    last
}

/// Returns the styled text of the first characters of a line.
fn first_chars(tokens: Vec<Token>, mut count: usize) -> Vec<StyledText> {
    let mut pieces = Vec::new();
    for token in tokens {
        if token.chars <= count {
            pieces.extend(token.pieces);
        } else {
            let cut = |piece: StyledText| StyledText {
                text: piece.text.chars().take(count).collect(),
                ..piece
            };
            pieces.extend(token.pieces.into_iter().map(cut));
            break;
        }
        count -= token.chars;
    }
    pieces
}

/// The end of the part of a line that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShowLimit {
    /// As far as no later text can change it.
    Settled,
    /// To the end of the line.
    End,
}

#[cfg(test)]
mod tests;
