//! Parses the marks inside a line: bold, italics, code and links.
//!
//! No character is lost. A mark counts only if its other half exists and both stand where people put them:
//! `src/**/*.rs`, `5 ** 2`, `f(**kwargs)` and `snake_case_name` stay text. This is stricter than CommonMark, which
//! takes `/*.rs and lib/` between two globs for bold text. It is more lenient in Chinese, where CommonMark wants
//! spaces that people do not write.

/// A text and its style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StyledText {
    pub(super) text: String,
    pub(super) sgr: Sgr,
}

/// The style of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sgr {
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underlined: bool,
    pub(super) colour: Colour,
}

/// The colour of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Colour {
    /// The terminal's own.
    #[default]
    None,
    Code,
    /// A text in code, or a line that was added.
    Text,
    Number,
    /// A line that was removed.
    Removed,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Code => "36",
            Self::Text => "32",
            Self::Number => "33",
            Self::Removed => "31",
        }
    }
}

impl Sgr {
    /// Returns the properties that both styles have.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            bold: self.bold && other.bold,
            dim: self.dim && other.dim,
            italic: self.italic && other.italic,
            underlined: self.underlined && other.underlined,
            colour: if self.colour == other.colour { self.colour } else { Colour::None },
        }
    }

    /// Returns the escape sequence that sets exactly this style.
    pub(super) fn codes(self) -> String {
        let codes = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underlined, "4"),
            (self.colour != Colour::None, self.colour.code()),
        ];
        let mut text = "\x1b[0".to_owned();
        for (_, code) in codes.iter().filter(|(is_set, _)| *is_set) {
            text.push(';');
            text.push_str(code);
        }
        text.push('m');
        text
    }
}

/// A stretch of a line: its length in characters, and the styled text for it.
pub(super) struct Token {
    pub(super) chars: usize,
    pub(super) pieces: Vec<StyledText>,
    /// Whether later text may still change its meaning.
    pub(super) open: bool,
    /// Whether it is shown unchanged.
    pub(super) plain: bool,
}

/// Divides a line into tokens. `before` is the character before it, and `sgr` is its style without any mark. An
/// open token begins with a mark whose other half is missing or would be the last character.
pub(super) fn tokenize(line: &[char], before: Option<char>, sgr: Sgr) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let previous = at.checked_sub(1).map(|at| line[at]).or(before);
        let token = parse_mark(rest, previous, sgr).unwrap_or_else(|open| Token {
            chars: run_len(rest),
            pieces: vec![text(&rest[..run_len(rest)], sgr)],
            open,
            plain: true,
        });
        at += token.chars;
        tokens.push(token);
    }
    tokens
}

/// Returns a line without any marks as one token.
pub(super) fn plain_tokens(line: &[char], sgr: Sgr) -> Vec<Token> {
    vec![Token { chars: line.len(), pieces: vec![text(line, sgr)], open: false, plain: true }]
}

fn text(chars: &[char], sgr: Sgr) -> StyledText {
    StyledText { text: chars.iter().collect(), sgr }
}

/// Returns the number of characters that belong together: a run of one mark, which counts as one (`**` is not `*`
/// twice), or all characters up to the next mark.
fn run_len(rest: &[char]) -> usize {
    match rest[0] {
        mark @ ('*' | '_' | '`') => rest.iter().take_while(|c| **c == mark).count(),
        _ => 1 + rest[1..].iter().take_while(|c| !"*_`[!\\".contains(**c)).count(),
    }
}

/// Returns the token that a mark begins here; otherwise whether it could still become one.
fn parse_mark(rest: &[char], before: Option<char>, sgr: Sgr) -> Result<Token, bool> {
    match rest[0] {
        '`' => parse_code(rest, sgr),
        '*' | '_' => parse_emphasis(rest, before, sgr),
        '[' => parse_link(rest, sgr),
        '!' if rest.get(1).is_none_or(|c| *c == '[') => parse_image(rest, sgr),
        '\\' => parse_escape(rest, sgr),
        _ => Err(false),
    }
}

/// Parses an escaped mark. A backslash before any other character is text.
fn parse_escape(rest: &[char], sgr: Sgr) -> Result<Token, bool> {
    match rest.get(1) {
        Some('*' | '_' | '`') => Ok(Token {
            chars: 2,
            pieces: vec![text(&rest[1..2], sgr)],
            open: rest.len() == 2,
            plain: false,
        }),
        next => Err(next.is_none()),
    }
}

/// Parses code, which ends with as many backticks as it began with.
fn parse_code(rest: &[char], sgr: Sgr) -> Result<Token, bool> {
    let marks = run_len(rest);
    let mut at = marks;
    while at < rest.len() {
        let run = run_len(&rest[at..]);
        if rest[at] == '`' && run == marks {
            let inside = &rest[marks..at];
            // The spaces only separate a backtick of the code from those around it.
            let inside = match inside {
                [' ', middle @ .., ' '] if middle.contains(&'`') => middle,
                _ => inside,
            };
            let pieces = vec![text(inside, Sgr { colour: Colour::Code, ..sgr })];
            return Ok(Token {
                chars: at + marks,
                pieces,
                open: at + marks == rest.len(),
                plain: false,
            });
        }
        at += if rest[at] == '`' { run } else { 1 };
    }
    Err(true)
}

fn parse_emphasis(rest: &[char], before: Option<char>, sgr: Sgr) -> Result<Token, bool> {
    let (mark, marks) = (rest[0], run_len(rest));
    let inside = match (mark, marks) {
        ('*', 1) | ('_', 1) if !sgr.italic => Sgr { italic: true, ..sgr },
        ('*', 2) if !sgr.bold => Sgr { bold: true, ..sgr },
        ('*', 3) if !sgr.bold && !sgr.italic => Sgr { bold: true, italic: true, ..sgr },
        // `__init__` is a name and not bold text.
        _ => return Err(marks == rest.len()),
    };
    let Some(first) = rest.get(marks) else { return Err(may_open_behind(mark, before)) };
    if !may_open_behind(mark, before) || !may_open_before(mark, marks, *first) {
        return Err(false);
    }
    let mut at = marks;
    while at < rest.len() {
        let run = run_len(&rest[at..]);
        match rest[at] {
            // Marks inside code belong to the code.
            '`' => at += parse_code(&rest[at..], sgr).map_or(run, |token| token.chars),
            '\\' => at += 2,
            c if c == mark
                && run == marks
                && may_close(mark, &rest[marks..at], rest.get(at + run)) =>
            {
                let inner = tokenize(&rest[marks..at], Some(mark), inside);
                let pieces = inner.into_iter().flat_map(|token| token.pieces).collect();
                return Ok(Token {
                    chars: at + run,
                    pieces,
                    open: at + run == rest.len(),
                    plain: false,
                });
            }
            _ => at += run,
        }
    }
    Err(true)
}

/// Whether a mark may open after this character: a space, an opening bracket or quote, or a script without spaces,
/// but not a letter, a number or a path.
fn may_open_behind(mark: char, before: Option<char>) -> bool {
    before.is_none_or(|c| {
        c.is_whitespace()
            || "([{\"'“‘（「『【《—–-*_>:：，。、；！？".contains(c)
            || (mark == '*' && !c.is_ascii() && c.is_alphanumeric())
    })
}

fn may_open_before(mark: char, marks: usize, first: char) -> bool {
    match (mark, marks) {
        // `*.rs` is not italic text, and neither is a line of single `*`.
        ('*', 1) | ('_', _) => {
            first.is_alphanumeric() || "([{\"'“‘（「『【《`*_#$@".contains(first)
        }
        _ => !first.is_whitespace(),
    }
}

/// Whether a mark may close here, judged by the characters on both sides.
fn may_close(mark: char, inside: &[char], after: Option<&char>) -> bool {
    let Some(last) = inside.last() else { return false };
    if last.is_whitespace() || "([{/“‘（「『【《".contains(*last) {
        return false;
    }
    match after {
        Some(c) if mark == '_' => !c.is_alphanumeric(),
        // `**API**s` is one word, but `**kwargs and 2**3` is not.
        Some(c) if c.is_ascii_alphanumeric() => {
            last.is_alphanumeric() && !inside.iter().any(|c| c.is_whitespace())
        }
        Some('/') => false,
        _ => true,
    }
}

/// Parses `[text](address)`, which is shown as the underlined text followed by the address.
fn parse_link(rest: &[char], sgr: Sgr) -> Result<Token, bool> {
    let Some(close) = closing_bracket(rest, '[', ']') else { return Err(true) };
    match rest.get(close + 1) {
        None => return Err(true),
        Some('(') => {}
        Some(_) => return Err(false),
    }
    let Some(end) = closing_bracket(&rest[close + 1..], '(', ')') else { return Err(true) };
    let (name, address) = (&rest[1..close], &rest[close + 2..close + 1 + end]);
    if name.is_empty() || address.is_empty() || sgr.underlined {
        return Err(false);
    }
    let look = Sgr { underlined: true, ..sgr };
    let inner = tokenize(name, Some('['), look);
    let mut pieces: Vec<StyledText> = inner.into_iter().flat_map(|token| token.pieces).collect();
    if name != address {
        let address: String = address.iter().collect();
        pieces.push(StyledText { text: format!(" ({address})"), sgr: Sgr { dim: true, ..sgr } });
    }
    let chars = close + 2 + end;
    Ok(Token { chars, pieces, open: chars == rest.len(), plain: false })
}

/// Parses an image, of which only the description and the address can be shown.
fn parse_image(rest: &[char], sgr: Sgr) -> Result<Token, bool> {
    if rest.len() == 1 {
        return Err(true);
    }
    parse_link(&rest[1..], sgr).map(|token| Token { chars: token.chars + 1, ..token })
}

/// Returns the index of the bracket that closes the first one.
fn closing_bracket(rest: &[char], open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in rest.iter().enumerate() {
        if *c == open {
            depth += 1;
        } else if *c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}
