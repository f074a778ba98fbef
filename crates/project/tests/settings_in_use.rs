//! Every setting is obeyed by some part of the program, or is known to have no effect.
//!
//! A setting without an effect has a field that no other module can read, so the compiler keeps that list honest. The
//! other half is looked up in the sources: the field of every other setting is read somewhere. A name that several
//! structs share, such as `mode`, may be found in the wrong place.

use std::fs;
use std::path::Path;

/// Returns the fields of the catalogue that other modules can read, with their keys.
fn readable_fields() -> Vec<(String, String)> {
    let catalogue = include_str!("../src/settings.rs");
    let row = |line: &str| {
        let (key, rest) = line.trim().strip_prefix('"')?.split_once("\" pub ")?;
        Some((rest.split_once(':')?.0.to_owned(), key.to_owned()))
    };
    catalogue.lines().filter_map(row).collect()
}

/// Returns the sources of the program without tests, and without the code that handles all settings alike.
fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let handles_all = ["settings", "load", "edit", "init"]
            .iter()
            .any(|name| path.ends_with(format!("project/src/{name}")));
        if path.is_dir() && !handles_all {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            found.push_str(text.split("#[cfg(test)]").next().unwrap_or_default());
        }
    }
}

#[test]
fn every_setting_with_an_effect_is_read_somewhere() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut program = String::new();
    for name in ["agent", "context", "project", "provider", "ship", "store"] {
        sources(&crates.join(name).join("src"), &mut program);
    }
    let code: Vec<&str> =
        program.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let is_read = |field: &str| {
        let access = format!(".{field}");
        code.iter().any(|line| {
            line.match_indices(&access).any(|(at, _)| {
                let after = line[at + access.len()..].chars().next();
                !after.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '(')
            })
        })
    };
    let fields = readable_fields();
    assert!(fields.len() > 30, "the catalogue is found: {fields:?}");
    let unread: Vec<_> = fields.iter().filter(|(field, _)| !is_read(field)).collect();
    assert!(
        unread.is_empty(),
        "nothing reads these; without `pub` they have no effect: {unread:?}"
    );
    assert!(!is_read("no_such_setting") && is_read("connect_ms"));
}
