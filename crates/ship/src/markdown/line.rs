//! Determines the kind of a line by its beginning.

use super::code::CodeStyle;

/// An open code block, described by the mark that closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    len: usize,
    /// The colours of its code, if the language is known.
    pub(super) style: Option<CodeStyle>,
}

/// The white space at the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Indent {
    pub(super) chars: usize,
    pub(super) columns: usize,
}

/// The kind of a line. `chars` is the length of the marks that only say so.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begin {
    Text {
        indent: Indent,
    },
    Heading {
        level: usize,
        chars: usize,
    },
    /// An item of a list, with the mark that is shown.
    Item {
        indent: Indent,
        mark: String,
        chars: usize,
    },
    Quote {
        chars: usize,
    },
    /// A horizontal line.
    Rule,
    /// A row of a table.
    Row,
    /// A line inside a code block.
    Code,
    /// The first or last line of a code block, with the block that is open after it.
    Fence(Option<Fence>),
}

/// Determines the kind of a line from the part that has arrived; `None` while several kinds are possible.
pub(super) fn line_kind(line: &[char], is_whole: bool, open: Option<Fence>) -> Option<Begin> {
    let chars = line.iter().take_while(|c| matches!(c, ' ' | '\t')).count();
    let columns = line[..chars].iter().map(|c| if *c == '\t' { 4 } else { 1 }).sum();
    let (indent, rest) = (Indent { chars, columns }, &line[chars..]);
    let text = Some(Begin::Text { indent });
    if let Some(fence) = open {
        return code_line(rest, is_whole, fence);
    }
    let Some(&first) = rest.first() else { return text.filter(|_| is_whole) };
    let run = rest.iter().take_while(|c| **c == first).count();
    // More of the same mark may follow.
    if run == rest.len() && !is_whole && "`~#-+*_>".contains(first) {
        return None;
    }
    let is_spaced = rest.get(run).is_none_or(|c| *c == ' ');
    match first {
        '`' | '~' if run >= 3 => begin_fence(rest, run, is_whole, indent),
        '#' if run <= 6 && is_spaced && run < rest.len() => {
            Some(Begin::Heading { level: run, chars: chars + run + count_space(&rest[run..]) })
        }
        '-' | '*' | '_' if run >= 3 && run == rest.len() => Some(Begin::Rule),
        '-' | '+' | '*' if run == 1 && is_spaced => Some(Begin::Item {
            indent,
            mark: "• ".to_owned(),
            chars: chars + 1 + count_space(&rest[1..]),
        }),
        '>' => Some(Begin::Quote { chars: chars + 1 + usize::from(rest.get(1) == Some(&' ')) }),
        '|' => Some(Begin::Row),
        '0'..='9' => parse_number(rest, is_whole, indent),
        _ => text,
    }
}

/// Counts the one space after a mark; further spaces belong to the text.
fn count_space(rest: &[char]) -> usize {
    usize::from(rest.first() == Some(&' '))
}

/// Inside a code block, every line except its end is code.
fn code_line(rest: &[char], is_whole: bool, fence: Fence) -> Option<Begin> {
    let run = rest.iter().take_while(|c| **c == fence.mark).count();
    let may_close = rest[run..].iter().all(|c| c.is_whitespace());
    match (may_close, is_whole) {
        (true, false) => None,
        (true, true) if run >= fence.len => Some(Begin::Fence(None)),
        _ => Some(Begin::Code),
    }
}

/// Begins a code block, unless the mark is inline code.
fn begin_fence(rest: &[char], len: usize, is_whole: bool, indent: Indent) -> Option<Begin> {
    let mark = rest[0];
    if mark == '`' && rest[len..].contains(&'`') {
        return Some(Begin::Text { indent });
    }
    let language: String = rest[len..].iter().skip_while(|c| c.is_whitespace()).collect();
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    let style = CodeStyle::of_language(language.trim());
    is_whole.then_some(Begin::Fence(Some(Fence { mark, len, style })))
}

/// Parses `1. ` or `1) ` and keeps the number.
fn parse_number(rest: &[char], is_whole: bool, indent: Indent) -> Option<Begin> {
    let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
    match (rest.get(digits), rest.get(digits + 1)) {
        // ')'), Some(' ')) if digits <= 9 => { | CommonMark has the same limit: a longer number is text.
        (Some('.' | ')'), Some(' ')) if digits <= 9 => {
            let mark = rest[..digits + 2].iter().collect();
            Some(Begin::Item { indent, mark, chars: indent.chars + digits + 2 })
        }
        (None, _) | (Some('.' | ')'), None) if !is_whole && digits <= 9 => None,
        _ => Some(Begin::Text { indent }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, is_whole: bool) -> Option<Begin> {
        line_kind(&line.chars().collect::<Vec<_>>(), is_whole, None)
    }

    #[test]
    fn a_line_is_told_as_soon_as_it_can_be_only_one_thing() {
        for open in ["", "#", "##", "-", "*", "**", "1", "12.", "`", "```", "```rust", "   ", ">"] {
            assert_eq!(of(open, false), None, "{open:?}");
            assert!(of(open, true).is_some(), "{open:?}");
        }
        for told in ["a", "# ", "#a", "- ", "**b", "1a", "12. ", "`a", "```a`", "   a", "> ", "|"] {
            assert_eq!(of(told, false), of(told, true), "{told:?}");
            assert!(of(told, false).is_some(), "{told:?}");
        }
    }

    #[test]
    fn a_code_block_ends_with_its_own_mark_wherever_that_stands() {
        let Some(Begin::Fence(open)) = of("  ````rs", true) else { panic!() };
        let of = |line: &str| line_kind(&line.chars().collect::<Vec<_>>(), true, open);
        assert_eq!(of("```"), Some(Begin::Code));
        assert_eq!(of("~~~~"), Some(Begin::Code));
        assert_eq!(of("```` no"), Some(Begin::Code));
        assert_eq!(of("# code"), Some(Begin::Code));
        assert_eq!(of("    ```` "), Some(Begin::Fence(None)));
    }
}
