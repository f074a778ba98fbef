//! Aligns the rows of a table.
//!
//! The width of a column is known when the last row has arrived, so a table is held back until it ends. A table that
//! is too wide for the terminal has cells of several lines; one with words that are wider still is shown as it came.

use super::inline::{self, Sgr, StyledText};
use super::wrap::{Wrap, may_break};
use crate::table;

/// The number of rows after which a table is shown although it goes on.
const ROWS_MAX: usize = 300;

/// The text between two columns.
const GAP: &str = " │ ";

/// The rows of a table that are not shown yet.
#[derive(Default)]
pub(super) struct Rows {
    lines: Vec<String>,
    /// Whether the rows are no table: the line below the first is missing.
    is_plain: bool,
}

impl Rows {
    /// Adds a row. Returns whether the rows must be shown now.
    pub(super) fn push(&mut self, line: String) -> bool {
        self.lines.push(line);
        self.is_plain |= self.lines.len() == 2 && alignments(&self.lines[1]).is_none();
        self.is_plain || self.lines.len() >= ROWS_MAX
    }

    /// Takes the rows, as lines for a terminal of this width.
    pub(super) fn take(&mut self, width: usize, is_styled: bool) -> Vec<String> {
        let lines = std::mem::take(&mut self.lines);
        let table = lines.get(1).and_then(|second| alignments(second)).filter(|_| !self.is_plain);
        table.and_then(|sides| render(&lines, &sides, width, is_styled)).unwrap_or(lines)
    }

    /// Notes that another line has ended the rows.
    pub(super) fn end(&mut self) {
        self.is_plain = false;
    }
}

/// The side at which the cells of a column stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellAlignment {
    Left,
    Middle,
    Right,
}

/// A cell: its styled text.
type Cell = Vec<StyledText>;

/// Returns the sides of the columns if the line is the one below a table's head.
fn alignments(line: &str) -> Option<Vec<CellAlignment>> {
    let side = |cell: String| {
        let (starts, ends) = (cell.starts_with(':'), cell.ends_with(':'));
        let dashes = cell.trim_matches(':');
        (!dashes.is_empty() && dashes.chars().all(|c| c == '-')).then_some(match (starts, ends) {
            (true, true) => CellAlignment::Middle,
            (false, true) => CellAlignment::Right,
            _ => CellAlignment::Left,
        })
    };
    cells(line).into_iter().map(side).collect()
}

/// Divides a row into its cells. A bar behind a backslash belongs to its cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').filter(|line| !line.ends_with('\\')).unwrap_or(line);
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let mut is_escaped = false;
    for c in line.chars() {
        match c {
            '|' if is_escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
        is_escaped = c == '\\';
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Renders a table; `None` if it cannot be made as narrow as the terminal.
fn render(
    lines: &[String],
    sides: &[CellAlignment],
    width: usize,
    is_styled: bool,
) -> Option<Vec<String>> {
    let body = lines.iter().enumerate().filter(|(at, _)| *at != 1);
    let rows: Vec<Vec<Cell>> = body
        .map(|(at, line)| cells(line).iter().map(|cell| styled(cell, at == 0, is_styled)).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max()?;
    let widths = column_widths(&rows, columns, width)?;
    let mut out = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        out.extend(row_lines(row, &widths, sides, is_styled));
        if at == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            out.push(rules.join("─┼─"));
        }
    }
    Some(out)
}

fn styled(cell: &str, is_head: bool, is_styled: bool) -> Cell {
    let chars: Vec<char> = cell.chars().collect();
    if !is_styled {
        let tokens = inline::plain_tokens(&chars, Sgr::default());
        return tokens.into_iter().flat_map(|token| token.pieces).collect();
    }
    let pieces = inline::tokenize(&chars, None, Sgr::default());
    let pieces = pieces.into_iter().flat_map(|token| token.pieces);
    let embolden = |piece: StyledText| {
        let sgr = Sgr { bold: piece.sgr.bold || is_head, ..piece.sgr };
        StyledText { sgr, ..piece }
    };
    pieces.map(embolden).collect()
}

/// Returns the widths of the columns: as wide as their cells, or narrower where the terminal is, and never narrower
/// than a word.
fn column_widths(rows: &[Vec<Cell>], columns: usize, width: usize) -> Option<Vec<usize>> {
    let of_column = |at: usize, measure: fn(&Cell) -> usize| {
        rows.iter().filter_map(|row| row.get(at)).map(measure).max().unwrap_or_default().max(1)
    };
    let mut widths: Vec<usize> = (0..columns).map(|at| of_column(at, cell_width)).collect();
    let least: Vec<usize> = (0..columns).map(|at| of_column(at, longest_word)).collect();
    let room = width.checked_sub(table::width(GAP) * (columns - 1))?;
    if least.iter().sum::<usize>() > room {
        return None;
    }
    while widths.iter().sum::<usize>() > room {
        let shrinkable = (0..columns).filter(|at| widths[*at] > least[*at]);
        let widest = shrinkable.max_by_key(|at| widths[*at])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

fn cell_text(cell: &Cell) -> String {
    cell.iter().map(|piece| piece.text.as_str()).collect()
}

fn cell_width(cell: &Cell) -> usize {
    table::width(&cell_text(cell))
}

fn longest_word(cell: &Cell) -> usize {
    let chars: Vec<char> = cell_text(cell).chars().collect();
    let words = chars.chunk_by(|before, after| !may_break(*before, *after));
    let width = |word: &[char]| table::width(word.iter().collect::<String>().trim_end());
    words.map(width).max().unwrap_or_default()
}

/// Returns the lines of one row.
fn row_lines(
    row: &[Cell],
    widths: &[usize],
    sides: &[CellAlignment],
    is_styled: bool,
) -> Vec<String> {
    let wrapped: Vec<Vec<String>> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| row.get(at).map_or(Vec::new(), |cell| wrap(cell, *width, is_styled)))
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or_default();
    let line = |nth: usize| {
        let cells = widths.iter().enumerate().map(|(at, width)| {
            let text = wrapped[at].get(nth).map_or("", String::as_str);
            let side = sides.get(at).copied().unwrap_or(CellAlignment::Left);
            pad(text, *width, side)
        });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

fn wrap(cell: &Cell, width: usize, is_styled: bool) -> Vec<String> {
    let (mut wrap, mut out) = (Wrap::new(width, is_styled), String::new());
    wrap.push_words(cell, &mut out);
    wrap.end_styles(&mut out);
    out.split('\n').map(str::to_owned).collect()
}

fn pad(text: &str, width: usize, side: CellAlignment) -> String {
    let room = width.saturating_sub(table::width(&table::without_styles(text)));
    let before = match side {
        CellAlignment::Left => 0,
        CellAlignment::Middle => room / 2,
        CellAlignment::Right => room,
    };
    format!("{}{text}{}", " ".repeat(before), " ".repeat(room - before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize, text: &str) -> String {
        let mut rows = Rows::default();
        for line in text.lines() {
            rows.push(line.to_owned());
        }
        rows.take(width, false).join("\n")
    }

    #[test]
    fn columns_are_as_wide_as_their_cells_and_stand_at_their_side() {
        assert_eq!(
            shown(80, "| Name | Count |\n|:---|---:|\n| 深い | 7 |\n| a\\|b | 1234567 |"),
            "Name │   Count\n─────┼────────\n深い │       7\na|b  │ 1234567"
        );
        assert_eq!(
            shown(80, "|a|b|\n|-|:-:|\n|1|two|\n|x|y|z|"),
            "a │  b  │\n──┼─────┼──\n1 │ two │\nx │  y  │ z"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_has_cells_of_several_lines() {
        assert_eq!(
            shown(20, "| A | B |\n|---|---|\n| one two three | four five six |"),
            "A         │ B\n──────────┼─────────\none two   │ four\nthree     │ five six"
        );
        let wide = "| A | B |\n|---|---|\n| onetwothree | fourfivesix |";
        assert_eq!(shown(20, wide), wide, "words are not broken");
    }

    #[test]
    fn rows_without_a_line_below_the_first_are_no_table() {
        for text in ["| a |", "| a | b |\n| c | d |", "|\n|", "||| \n| - x |"] {
            assert_eq!(shown(80, text), text);
        }
    }
}
