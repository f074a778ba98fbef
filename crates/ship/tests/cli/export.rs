//! `ship export`, and what is imported again.

use crate::harness::{TestShip, text};

/// A file of each format with something to import, in its publicly known shape.
const CLAUDE_CODE: &str = include_str!("../../../agent/tests/fixtures/claude-code.jsonl");
const OPENAI: &str = include_str!("../../../agent/tests/fixtures/openai.json");

/// A fresh project into which a file was imported.
fn with_import(format: &str, file: &str) -> TestShip {
    let ship = TestShip::new().file("file", file);
    let done = ship.run(&["import", "--format", format, "file"]);
    assert_eq!(done.code(), 0, "{format}: {}", done.err());
    ship
}

fn export(ship: &TestShip, format: &str) -> String {
    let exported = ship.run(&["export", "--format", format]);
    assert_eq!(exported.code(), 0, "{format}: {}", exported.err());
    exported.out()
}

#[test]
fn what_was_said_is_exported_in_each_format() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "soup?"]).text();
    let answer = text(&ship.run(&["history", "--last", "1", "--json"]).json(), "id");
    let uimessage = ship.run(&["export", "--format", "uimessage"]).out();
    assert_eq!(uimessage, ship.run(&["history", "--json"]).out());
    let entries = export(&ship, "entries");
    assert!(entries.contains(&format!(r#"{{"id":"{answer}","ts":""#)), "{entries}");
    assert!(entries.contains(r#""type":"msg","role":"user""#), "{entries}");
    let openai = export(&ship, "openai");
    assert!(openai.starts_with(r#"{"role":"user","content":"soup?"}"#), "{openai}");
    let markdown = export(&ship, "markdown");
    assert!(markdown.contains("\nsoup?\n") && markdown.contains("## Assistant"), "{markdown}");
}

#[test]
fn a_context_all_of_them_and_the_messages_around_one_are_chosen() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the trip"]).text();
    let _ = ship.run(&["context", "new", "Dinner"]).text();
    let _ = ship.run(&["send", "soup?"]).text();
    let lines = |arguments: &[&str]| {
        let exported = ship.run(&[&["export", "--format", "openai"], arguments].concat());
        assert_eq!(exported.code(), 0, "{}", exported.err());
        exported.out().lines().count()
    };
    assert_eq!((lines(&[]), lines(&["--context", "trip"])), (2, 2));
    assert_eq!(ship.run(&["export", "--format", "openai", "--all"]).out().lines().count(), 4);
    let first = ship.run(&["history", "--json"]).json_lines().remove(0);
    assert_eq!(lines(&["--around", &text(&first, "id")]), 4);
    assert_eq!(lines(&["--context", "trip", "--around", &text(&first, "id")]), 2);
    let refused = ship.run(&["export", "--format", "openai", "--around", "nothing"]);
    assert!(refused.code() == 1 && refused.err().contains("nothing"), "{}", refused.err());
    assert_eq!(ship.run(&["export", "--format", "openai", "--context", "pluto"]).code(), 1);
    assert_eq!(ship.run(&["export", "--format", "openai", "--chat", "none"]).code(), 1);
}

#[test]
fn an_export_that_is_imported_again_is_the_same() {
    for (format, file) in [("claude-code", CLAUDE_CODE), ("openai", OPENAI)] {
        let ship = with_import(format, file);
        for again in ["uimessage", "entries", "openai"] {
            let exported = export(&ship, again);
            let other = with_import(again, &exported);
            assert_eq!(export(&other, again), exported, "{format} as {again}");
        }
        // The entries hold all that the messages do.
        let other = with_import("entries", &export(&ship, "entries"));
        let texts = |ship: &TestShip| {
            let messages = ship.run(&["export", "--format", "uimessage"]).json_lines();
            let parts = messages.iter().map(|it| it.get("parts").unwrap().to_string());
            parts.collect::<Vec<_>>()
        };
        assert_eq!(texts(&other), texts(&ship), "{format}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_told_by_kind() {
    let ship = with_import("claude-code", CLAUDE_CODE);
    let exported = ship.run(&["export", "--format", "openai"]);
    assert!(exported.err().contains("1 × reasoning"), "{}", exported.err());
    assert!(exported.err().contains("× data-imported"), "{}", exported.err());
    let exported = ship.run(&["export", "--format", "uimessage"]);
    assert_eq!(exported.err(), "");
    assert!(!exported.out().contains("is being continued"), "no summary");
}
