//! Finds the files that a text names, as in `compare @a.txt with @"my notes.txt"`.

/// A path behind an `@`, in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The place of the `@`.
    pub(crate) start: usize,
    /// The path without quotes and backslashes.
    pub(crate) path: String,
    /// Whether it is in quotes.
    pub(crate) is_quoted: bool,
}

/// Returns all words that begin with `@`. An `@` within a word, as in an email address, names nothing.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest_start = 0;
    for (start, c) in text.char_indices() {
        let opens = before.is_whitespace() || matches!(before, '(' | '[' | '{');
        if c == '@' && opens && start >= rest_start {
            let (path, is_quoted, bytes) = read_path(&text[start + 1..]);
            rest_start = start + 1 + bytes;
            if !path.is_empty() {
                found.push(Mention { start, path, is_quoted });
            }
        }
        before = c;
    }
    found
}

/// Reads a path: up to its closing quote, or up to a space without a backslash. Returns its length in the text, too.
fn read_path(text: &str) -> (String, bool, usize) {
    if let Some(quoted) = text.strip_prefix('"')
        && let Some(end) = quoted.find(['"', '\n'])
        && quoted[end..].starts_with('"')
    {
        return (quoted[..end].to_owned(), true, end + 2);
    }
    let mut path = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => path.extend(chars.next().map(|(_, escaped)| escaped)),
            c if c.is_whitespace() => return (path, false, at),
            c => path.push(c),
        }
    }
    (path, false, text.len())
}

/// Returns the path as it is written behind an `@`.
pub(crate) fn escape_path(path: &str) -> String {
    path.replace('\\', "\\\\").replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_behind_an_at_sign_is_a_path_and_an_address_is_not() {
        for (text, expected) in [
            ("look at @a.txt and @b/c.rs", &["a.txt", "b/c.rs"][..]),
            ("@a.txt", &["a.txt"]),
            ("(@a.txt)", &["a.txt)"]),
            ("@\"my notes.txt\", please", &["my notes.txt"]),
            ("@my\\ notes.txt please", &["my notes.txt"]),
            ("@\"open and @b", &["\"open", "b"]),
            ("@数据.txt\nnext", &["数据.txt"]),
            ("mail me@example.com or a@b", &[]),
            ("@ alone, and @", &[]),
            ("@@ -1 +1 @@", &["@", "@"]),
            ("@a\\", &["a"]),
        ] {
            let found: Vec<String> = mentions(text).into_iter().map(|it| it.path).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn an_escaped_path_is_read_as_it_was() {
        for path in ["a b.txt", "c:\\d", "plain"] {
            assert_eq!(mentions(&format!("@{} end", escape_path(path)))[0].path, path);
        }
    }
}
