//! Reads the lines between `---` and `---` as people write them.
//!
//! They should be YAML, and often are not: a description with a colon is the most common mistake. We need three
//! flat fields, so we read only the forms that fields of skills have: a line, quotes, a block of lines (`|` or
//! `>`), a list in brackets or with dashes. Other values are skipped. There are no references to expand, so the
//! result is never larger than the file.

use ship_record::{Explain, Explanation};

/// A text divided into front matter and body.
#[derive(Debug, PartialEq)]
pub(super) struct Parts<'a> {
    /// The lines of the front matter, if there is one.
    pub(super) front: Option<Vec<&'a str>>,
    /// The text after the front matter.
    pub(super) body: &'a str,
}

/// The reason why a front matter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.explain())]
pub(super) enum FrontMatterError {
    Open,
    NotAField { line: usize },
}

impl Explain for FrontMatterError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Open => Explanation::new("its front matter begins with `---` and never ends")
                .with_remedy("close it with another line `---`"),
            Self::NotAField { line } => Explanation::new(format!(
                "line {line} of SKILL.md, in the front matter, is no `key: value`"
            ))
            .with_remedy("mend it"),
        }
    }
}

/// Divides a text with `\n` line ends into front matter and body.
pub(super) fn split(text: &str) -> Result<Parts<'_>, FrontMatterError> {
    let begin = text.trim_start();
    let Some((first, rest)) = begin.split_once('\n') else {
        return Ok(Parts { front: None, body: text });
    };
    if first.trim_end() != "---" {
        return Ok(Parts { front: None, body: text });
    }
    let mut front = Vec::new();
    let mut after = rest;
    while !after.is_empty() {
        let (line, next) = after.split_once('\n').unwrap_or((after, ""));
        if matches!(line.trim_end(), "---" | "...") {
            return Ok(Parts { front: Some(front), body: next });
        }
        front.push(line);
        after = next;
    }
    Err(FrontMatterError::Open)
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FrontMatterField {
    Text(String),
    List(Vec<String>),
}

/// Reads the fields in order, with names in lower case. `first_line` is the number of their first line in the file.
pub(super) fn read_fields(
    lines: &[&str],
    first_line: usize,
) -> Result<Vec<(String, FrontMatterField)>, FrontMatterError> {
    let mut fields = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let field = line.split_once(':').filter(|(name, _)| is_field_name(name));
        let Some((name, value)) = field else {
            return Err(FrontMatterError::NotAField { line: first_line + at - 1 });
        };
        let below = lines[at..].iter().take_while(|line| continues_field(line)).count();
        fields.push((name.trim().to_lowercase(), read_field(value.trim(), &lines[at..at + below])));
        at += below;
    }
    Ok(fields)
}

fn is_field_name(name: &str) -> bool {
    let name = name.trim_end().trim_matches(['"', '\'']);
    !name.is_empty() && !name.starts_with(char::is_whitespace) && !name.starts_with('-')
}

/// Whether a line continues the field before it: it is indented, empty, or an item or the end of a list.
fn continues_field(line: &str) -> bool {
    line.starts_with([' ', '\t', ']'])
        || line.trim().is_empty()
        || line.starts_with("- ")
        || line == "-"
}

fn read_field(value: &str, below: &[&str]) -> FrontMatterField {
    let is_block = |mark: char| {
        value.strip_prefix(mark).is_some_and(|rest| {
            let rest = rest.split(" #").next().unwrap_or_default();
            rest.trim().chars().all(|c| matches!(c, '+' | '-' | '0'..='9'))
        })
    };
    if is_block('|') {
        return FrontMatterField::Text(block_lines(below).join("\n").trim().to_owned());
    }
    if is_block('>') {
        return FrontMatterField::Text(join_folded_lines(&block_lines(below)));
    }
    let first_below = below.iter().map(|line| line.trim()).find(|line| !line.is_empty());
    if value.is_empty() && first_below.is_some_and(|line| line.starts_with('-')) {
        let items = below.iter().filter_map(|line| line.trim().strip_prefix('-'));
        return FrontMatterField::List(
            items.map(plain_value).filter(|item| !item.is_empty()).collect(),
        );
    }
    let whole =
        join_folded_lines(&std::iter::once(value).chain(below.iter().copied()).collect::<Vec<_>>());
    match whole.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']')) {
        Some(items) => {
            let items = split_list(items, |c| c == ',');
            FrontMatterField::List(
                items
                    .iter()
                    .map(|item| plain_value(item))
                    .filter(|item| !item.is_empty())
                    .collect(),
            )
        }
        None => FrontMatterField::Text(plain_value(&whole)),
    }
}

/// Returns the lines of a block without their common indentation.
fn block_lines<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let common = filled.map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect()
}

/// Joins lines into one, with a break for each empty line.
fn join_folded_lines(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines.iter().map(|line| line.trim()) {
        match line {
            "" if !text.is_empty() && !text.ends_with('\n') => text.push('\n'),
            "" => {}
            _ => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text.trim().to_owned()
}

/// Returns a value without its quotes or the comment after it. A quote that is never closed counts as a letter.
fn plain_value(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote).and_then(|rest| quoted_text(rest, quote)) {
            return inside;
        }
    }
    let value = match value.find(" # ") {
        Some(comment) => &value[..comment],
        None => value,
    };
    match value.trim() {
        "~" | "null" => String::new(),
        text => text.to_owned(),
    }
}

/// Returns the text before the closing quote; `None` if there is none, or if more than a comment follows it.
fn quoted_text(text: &str, quote: char) -> Option<String> {
    let mut inside = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quote == '"' => match chars.next()? {
                'n' => inside.push('\n'),
                't' => inside.push('\t'),
                c => inside.push(c),
            },
            '\'' if quote == '\'' && chars.as_str().starts_with('\'') => {
                chars.next();
                inside.push('\'');
            }
            _ if c == quote => {
                let rest = chars.as_str().trim();
                return (rest.is_empty() || rest.starts_with('#')).then_some(inside);
            }
            _ => inside.push(c),
        }
    }
    None
}

/// Divides a text at separators, except inside parentheses or double quotes.
pub(super) fn split_list(text: &str, separates: impl Fn(char) -> bool) -> Vec<String> {
    let mut items = vec![String::new()];
    let (mut depth, mut quoted) = (0_usize, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !quoted && separates(c) {
            items.push(String::new());
        } else if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items
}
