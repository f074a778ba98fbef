//! Parses `.env`: one `NAME=value` on each line.
//!
//! A line may have `export` before the name, quotes around the value, and a comment after it. Single quotes keep
//! everything as it stands. Double quotes allow `\n`, `\r`, `\t`, `\"`, `\\` and `\$`. A quoted value may run over
//! several lines, as a private key does. Nothing is substituted.

/// A variable that the file sets.
#[derive(Debug, PartialEq)]
pub(crate) struct DotEnvLine {
    pub(crate) name: String,
    pub(crate) value: String,
    /// The number of its first line, counted from 1.
    pub(crate) number: usize,
}

/// The problem with a line. The line itself is not shown, because it may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DotEnvProblem {
    /// The line has no `=`.
    #[error("this line is not `NAME=value`")]
    NoEquals,
    /// The text before the `=` cannot be a name.
    #[error("the text before `=` is not a valid variable name")]
    BadName,
    /// The quote is never closed.
    #[error("this quote is never closed")]
    OpenQuote,
    /// The closing quote is followed by more than a comment.
    #[error("this value has text after its closing quote")]
    BehindQuote,
}

/// Returns the variables in order, or every problem of the file.
pub(crate) fn parse(text: &str) -> Result<Vec<DotEnvLine>, Vec<(usize, DotEnvProblem)>> {
    let mut lines = Vec::new();
    let mut problems = Vec::new();
    let mut rest = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut number = 1;
    while !rest.is_empty() {
        let (line, after) = read_statement(rest);
        match line {
            Ok(Some((name, value))) => lines.push(DotEnvLine { name, value, number }),
            Ok(None) => {}
            Err(problem) => problems.push((number, problem)),
        }
        number += rest[..rest.len() - after.len()].matches('\n').count();
        rest = after;
    }
    if problems.is_empty() { Ok(lines) } else { Err(problems) }
}

type DotEnvStatement = Result<Option<(String, String)>, DotEnvProblem>;

/// Reads one statement. Returns it with the rest of the text.
fn read_statement(text: &str) -> (DotEnvStatement, &str) {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let content = line.trim();
    if content.is_empty() || content.starts_with('#') {
        return (Ok(None), after);
    }
    let Some((before, value)) = line.split_once('=') else {
        return (Err(DotEnvProblem::NoEquals), after);
    };
    let name = before.trim();
    let name = name.strip_prefix("export").filter(|n| n.starts_with([' ', '\t'])).unwrap_or(name);
    let name = name.trim();
    if !is_name(name) {
        return (Err(DotEnvProblem::BadName), after);
    }
    let value = value.trim_start_matches([' ', '\t']);
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return (Ok(Some((name.to_owned(), unquoted_value(value).to_owned()))), after);
    };
    // A quoted value may continue after the end of this line.
    let begin = line.len() - value.len();
    match quoted_value(&text[begin + 1..], quote) {
        Some((value, rest)) => {
            let (behind, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let behind = behind.trim();
            match behind.is_empty() || behind.starts_with('#') {
                true => (Ok(Some((name.to_owned(), value))), after),
                false => (Err(DotEnvProblem::BehindQuote), after),
            }
        }
        None => (Err(DotEnvProblem::OpenQuote), after),
    }
}

/// Whether a text can be the name of a variable.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns a value without quotes, which ends with the line or before a comment.
fn unquoted_value(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    let comment = [" #", "\t#"].iter().filter_map(|mark| value.find(mark)).min();
    value[..comment.unwrap_or(value.len())].trim()
}

/// Reads up to the closing quote; `None` if there is none.
fn quoted_value(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((value, &text[at + 1..])),
            '\\' if quote == '"' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                c @ ('"' | '\\' | '$') => value.push(c),
                // Other sequences stay as they stand, as in a Windows path or a regular expression.
                c => value.extend(['\\', c]),
            },
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_usual_way_to_set_a_variable_is_read() {
        for (text, value) in [
            ("A=b", "b"),
            ("A = b ", "b"),
            ("export A=b", "b"),
            ("export\tA=b", "b"),
            ("  A=b", "b"),
            ("A=", ""),
            ("A=b # comment", "b"),
            ("A=b#no comment", "b#no comment"),
            ("A=# comment", ""),
            ("A=\"b # c\" # comment", "b # c"),
            ("A='b \\n \"c\"'", "b \\n \"c\""),
            ("A=\"line\\nnext\\t\\\"x\\\" \\\\ \\$HOME \\d\"", "line\nnext\t\"x\" \\ $HOME \\d"),
            ("A=\"one\ntwo\"", "one\ntwo"),
            ("A=b=c", "b=c"),
            ("A=${B}", "${B}"),
            ("A=密码", "密码"),
            ("A=b\r\n", "b"),
            ("\u{FEFF}A=b", "b"),
        ] {
            let lines = parse(text).expect(text);
            assert_eq!(
                lines,
                [DotEnvLine { name: "A".into(), value: value.into(), number: 1 }],
                "{text:?}"
            );
        }
        assert_eq!(parse("# only\n\n   \n"), Ok(vec![]));
        assert_eq!(parse("exporter=1").unwrap()[0].name, "exporter");
    }

    #[test]
    fn lines_are_counted_through_values_of_several_lines() {
        let text = "# first\nKEY=\"-----BEGIN\nabc\n-----END\"\n\nexport NEXT=1\n";
        let numbers: Vec<_> =
            parse(text).unwrap().into_iter().map(|l| (l.name, l.number)).collect();
        assert_eq!(numbers, [("KEY".to_owned(), 2), ("NEXT".to_owned(), 6)]);
    }

    #[test]
    fn every_bad_line_is_named_and_none_is_shown() {
        let text = "A=1\nsk-secret-in-the-wrong-place\n1A=x\nB=\"x\" y\n=x\nC='open\nD=1\n";
        use DotEnvProblem::{BadName, BehindQuote, NoEquals, OpenQuote};
        let expected =
            vec![(2, NoEquals), (3, BadName), (4, BehindQuote), (5, BadName), (6, OpenQuote)];
        assert_eq!(parse(text), Err(expected));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(\\PC|[=\"'#\\\\\n\r ]|export |A=){0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_value_in_double_quotes_reads_back(value in "[a-z\"\\\\\n$# 'é]{0,20}") {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            let lines = parse(&format!("X=1\nA=\"{escaped}\"\nB=2")).unwrap();
            prop_assert_eq!(&lines[1].value, &value);
            prop_assert_eq!(&lines[2].value, "2");
        }
    }
}
