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
    for Offer { name, words } in offers {
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
            for item in source.split("#[test]\n").skip(1) {
                let Some((_, rest)) = item.split_once("fn ") else { continue };
                let Some((function, _)) = rest.split_once('(') else { continue };
                let body = item.split("\n}\n").next().unwrap_or(item);
                bodies.insert(format!("{prefix}{name}::{function}"), body.to_owned());
            }
        }
    }
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
