//! Markdown on a terminal, while it is being written.
//!
//! An answer comes in pieces that may end anywhere, so nothing can be laid out anew: marks are turned into
//! styles as they pass by. Bold, inline code, code blocks and headings are shown; everything else is text.

/// Styles a text as it comes.
pub(super) struct Markdown {
    coloured: bool,
    /// Marks that may go on with the next piece.
    held: String,
    line_start: bool,
    bold: bool,
    code: bool,
    block: bool,
    heading: bool,
}

impl Markdown {
    pub(super) fn new(coloured: bool) -> Self {
        Self {
            coloured,
            held: String::new(),
            line_start: true,
            bold: false,
            code: false,
            block: false,
            heading: false,
        }
    }

    /// Gives what to print for the next piece.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if !self.coloured {
            return piece.to_owned();
        }
        let mut out = String::new();
        for c in piece.chars() {
            let is_mark = match c {
                '*' | '`' => true,
                '#' => self.line_start,
                _ => false,
            };
            if is_mark && (self.held.is_empty() || self.held.ends_with(c)) {
                self.held.push(c);
                continue;
            }
            self.resolve(&mut out);
            if is_mark {
                self.held.push(c);
                continue;
            }
            if c == '\n' {
                self.end_line(&mut out);
            }
            out.push(c);
            self.line_start = c == '\n';
        }
        out
    }

    /// Gives what is left to print at the end of the text.
    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        self.resolve(&mut out);
        let styled = self.bold || self.code || self.block || self.heading;
        if self.coloured && styled {
            out.push_str("\x1b[0m");
        }
        *self = Self::new(self.coloured);
        out
    }

    /// Decides what the held marks mean, now that something else follows them.
    fn resolve(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        match held.as_str() {
            "" => return,
            "```" if self.line_start => {
                self.block = !self.block;
                out.push_str(&held);
                self.style(out);
            }
            _ if self.block => out.push_str(&held),
            "`" => {
                self.code = !self.code;
                self.style(out);
            }
            "**" if !self.code => {
                self.bold = !self.bold;
                self.style(out);
            }
            _ if held.starts_with('#') => {
                self.heading = true;
                self.style(out);
                out.push_str(&held);
            }
            _ => out.push_str(&held),
        }
        self.line_start = false;
    }

    fn end_line(&mut self, out: &mut String) {
        if self.heading || self.bold || self.code {
            (self.heading, self.bold, self.code) = (false, false, false);
            self.style(out);
        }
    }

    /// Sets the style that holds now.
    fn style(&self, out: &mut String) {
        out.push_str("\x1b[0m");
        if self.bold || self.heading {
            out.push_str("\x1b[1m");
        }
        if self.code || self.block {
            out.push_str("\x1b[36m");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&str]) -> String {
        let mut markdown = Markdown::new(true);
        let mut text: String = pieces.iter().map(|piece| markdown.push(piece)).collect();
        text.push_str(&markdown.end());
        text.replace("\x1b[0m", "⟨0⟩").replace("\x1b[1m", "⟨1⟩").replace("\x1b[36m", "⟨c⟩")
    }

    #[test]
    fn marks_become_styles_wherever_a_piece_ends() {
        let styled = "a ⟨0⟩⟨1⟩b⟨0⟩ ⟨0⟩⟨c⟩c⟨0⟩ d";
        assert_eq!(shown(&["a **b** `c` d"]), styled);
        assert_eq!(shown(&["a *", "*b*", "* `", "c` d"]), styled);
    }

    #[test]
    fn headings_and_code_blocks_are_shown_as_such() {
        assert_eq!(shown(&["# Head\ntext"]), "⟨0⟩⟨1⟩# Head⟨0⟩\ntext");
        assert_eq!(
            shown(&["```rs\nlet **x** = `y`;\n```\nz"]),
            "```⟨0⟩⟨c⟩rs\nlet **x** = `y`;\n```⟨0⟩\nz"
        );
    }

    #[test]
    fn what_is_no_mark_stays_text() {
        assert_eq!(shown(&["2 * 3 # four"]), "2 * 3 # four");
    }
}
