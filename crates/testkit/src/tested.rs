//! Proves that tables of tests are complete: everything that a program offers has a row, and each row names tests whose
//! sources drive it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Something that a program offers, and the words that its tests must say.
#[derive(Debug)]
pub struct Offer {
    /// The name of its row.
    pub name: String,
    /// Each of these is a word in the source of one of its tests.
    pub words: Vec<String>,
    /// The words of each of these are said together: in one list of arguments, or on one line that is typed.
    pub together: Vec<Vec<String>>,
}

/// A row: the name of an offer, and the tests that drive it, as `folder::file::function`.
pub type TestedBy = (&'static str, &'static [&'static str]);

/// Compares what is offered with the rows of a table. `tests` is the folder of the tests.
///
/// # Panics
/// When an offer has no row, a row is about nothing that is offered or names no test, or the tests of a row lack a word.
pub fn assert_all_tested(offers: &[Offer], rows: &[TestedBy], tests: &Path) {
    let mut bodies = BTreeMap::new();
    gather(tests, "", &mut bodies);
    let mut problems = Vec::new();
    for Offer { name, words, together } in offers {
        let named: Vec<&str> =
            rows.iter().filter(|row| row.0 == name).flat_map(|row| row.1).copied().collect();
        let source: String =
            named.iter().filter_map(|test| bodies.get(*test)).map(String::as_str).collect();
        if named.is_empty() {
            problems.push(format!("`{name}` has no test"));
            continue;
        }
        let lacking = words.iter().filter(|word| !has_word(&source, word));
        problems.extend(lacking.map(|word| format!("no test of `{name}` says `{word}`")));
        let pieces: Vec<&str> = argument_lists(&source).chain(typed_lines(&source)).collect();
        let is_said = |set: &&Vec<String>| {
            pieces.iter().any(|piece| set.iter().all(|word| has_word(piece, word)))
        };
        let apart = together.iter().filter(|set| !is_said(set));
        problems.extend(apart.map(|set| format!("no test of `{name}` says {set:?} together")));
    }
    let offered: BTreeSet<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
    for (name, named) in rows {
        if !offered.contains(name) {
            problems.push(format!("the row `{name}` is about nothing that is offered"));
        }
        let unknown = named.iter().filter(|test| !bodies.contains_key(**test));
        problems.extend(unknown.map(|test| format!("`{name}` names no test: {test}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Collects the source of each test below a folder.
fn gather(folder: &Path, prefix: &str, bodies: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of tests") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        if path.is_dir() {
            gather(&path, &format!("{prefix}{name}::"), bodies);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let source = fs::read_to_string(&path).expect("a source");
            let tests = tests_of(&source);
            bodies.extend(tests.map(|(test, body)| (format!("{prefix}{name}::{test}"), body)));
        }
    }
}

/// The tests of a source with their code, without those that are ignored.
fn tests_of(source: &str) -> impl Iterator<Item = (String, String)> {
    source.match_indices("#[test]\n").filter_map(|(at, attribute)| {
        let item = &source[at + attribute.len()..];
        let (attributes, rest) = item.split_once("fn ")?;
        let above = source[..at].lines().rev().take_while(|line| line.trim().starts_with("#["));
        if above.chain(attributes.lines()).any(|line| line.contains("ignore")) {
            return None;
        }
        let (function, _) = rest.split_once('(')?;
        let body = item.split("\n}\n").next().unwrap_or(item);
        let body: Vec<&str> = body.lines().map(without_comment).collect();
        Some((function.to_owned(), body.join("\n")))
    })
}

/// A line of code without its comment, which has a blank on both sides of its slashes, unlike an address in a text.
fn without_comment(line: &str) -> &str {
    match line.trim_start().starts_with("// ") {
        true => "",
        false => line.split(" // ").next().unwrap_or(line),
    }
}

/// The lists in a source, up to a list or an index in them.
fn argument_lists(source: &str) -> impl Iterator<Item = &str> {
    source.split('[').skip(1).filter_map(|rest| rest.split(']').next())
}

/// The lines in the texts of a source, and the code between the texts.
fn typed_lines(source: &str) -> impl Iterator<Item = &str> {
    source.split('"').flat_map(|text| text.split("\\n"))
}

/// Whether a text has a word that is no part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let belongs = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().filter(|_| word.starts_with(belongs));
        let behind = text[at + word.len()..].chars().next().filter(|_| word.ends_with(belongs));
        !before.is_some_and(belongs) && !behind.is_some_and(belongs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_ignored_counts_for_nothing_and_neither_does_a_comment() {
        let source = "#[test]\nfn one() {\n    // --last\n    run(&[\"a\", \"//b\"]); // --ledger\n}\n\n\
                      #[test]\n#[ignore = \"slow\"]\nfn two() {\n}\n\n#[ignore]\n#[test]\nfn three() {\n}\n";
        let tests: Vec<(String, String)> = tests_of(source).collect();
        assert_eq!(tests.len(), 1, "{tests:?}");
        assert_eq!(tests[0].0, "one");
        let (one, comments) = (&tests[0].1, ["--last", "--ledger"]);
        assert!(has_word(one, "//b") && !comments.iter().any(|word| has_word(one, word)), "{one}");
    }

    #[test]
    fn words_in_two_lists_or_on_two_lines_are_apart() {
        let source = r#"run(&[&["send", "-f"], &["undo"]].concat()); say("/new a\n/fork --to b")"#;
        let is_said = |words: &[&str]| {
            let mut pieces = argument_lists(source).chain(typed_lines(source));
            pieces.any(|piece| words.iter().all(|word| has_word(piece, word)))
        };
        assert!(is_said(&["\"send\"", "-f"]) && is_said(&["/fork", "--to"]));
        assert!(!is_said(&["\"undo\"", "-f"]) && !is_said(&["/new", "--to"]));
    }

    #[test]
    fn a_word_stands_by_itself() {
        let text = r#"run(&["--last", "-f"]); says("/retry\r"); code(), 130"#;
        for word in ["--last", "-f", "/retry", "130"] {
            assert!(has_word(text, word), "{word}");
        }
        for word in ["--las", "last", "/ret", "30", "--"] {
            assert!(!has_word(text, word), "{word}");
        }
    }
}
