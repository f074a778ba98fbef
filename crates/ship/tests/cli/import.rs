//! `ship import` from the outside: files on disk, what a person reads, and what a program gets.

use ship_message::json::Json;

use crate::harness::{TestShip, array, text};

const TALK: &str = r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"soup?"}]}
{"id":"m2","role":"assistant","parts":[{"type":"text","text":"leek"}]}
"#;

#[test]
fn a_file_is_looked_at_and_becomes_a_context() {
    let ship = TestShip::new().file("talk.jsonl", TALK);
    let import = ["import", "--format", "uimessage", "talk.jsonl", "--title", "Dinner"];
    let told = ship
        .run(&["import", "--format", "uimessage", "talk.jsonl", "--title", "Dinner", "--dry-run"])
        .text();
    assert!(
        told.contains("“Dinner”") && told.contains("would be the active context: 2 messages"),
        "{told}"
    );
    assert!(!ship.root().join(".ship").exists(), "a dry run writes nothing");
    let done = ship.run(&import).text();
    assert!(done.contains("is the active context now: 2 messages"), "{done}");
    assert!(ship.run(&["history"]).text().contains("leek"));
    assert!(ship.run(&import).text().contains("is there already"));
    let _ = ship.run(&["send", "and fish?"]).text();
    ship.write(
        "other.json",
        r#"{"messages":[{"role":"user","content":"trip?"},{"role":"assistant","content":"Rome"}]}"#,
    );
    let other = ["import", "--format", "openai", "other.json", "--json", "--title", "Trip"];
    let report = ship.run(&other).json();
    let context = &array(&report, "contexts")[0];
    assert_eq!(
        (text(context, "fate"), text(context, "title")),
        ("new".to_owned(), "Trip".to_owned())
    );
    assert_eq!(context.get("active").and_then(Json::as_bool), Some(false));
    assert!(ship.run(&["context", "list"]).text().contains("Trip"));
    let _ = ship.run(&["context", "load", "trip"]).text();
    assert!(ship.run(&["context", "show"]).text().contains("Rome"));
}

#[test]
fn what_comes_through_a_pipe_is_imported_and_leaves_no_file() {
    for file in ["-", "/dev/stdin"] {
        let ship = TestShip::new();
        let import = ["import", "--format", "uimessage", file];
        let told = ship.piped(&[&import[..], &["--dry-run"]].concat(), TALK).text();
        assert!(told.contains("2 messages"), "{file}: {told}");
        assert!(!ship.root().join(".ship").exists(), "{file}: a dry run leaves nothing");
        let done = ship.piped(&import, TALK).text();
        assert!(done.contains("is the active context now: 2 messages"), "{file}: {done}");
        assert!(ship.run(&["history"]).text().contains("leek"), "{file}");
        let left = std::fs::read_dir(ship.root().join(".ship")).unwrap();
        let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        let is_copy = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("import");
        assert!(!names.iter().any(is_copy), "{names:?}");
        let bad = ship.piped(&import, "{");
        assert_eq!(bad.code(), 1, "{file}: {}", bad.err());
    }
}

#[test]
fn what_was_imported_is_found_by_a_search() {
    let ship = TestShip::new().file("talk.jsonl", TALK);
    let _ = ship.run(&["send", "the weather is fine"]).text();
    let _ = ship.run(&["import", "--format", "uimessage", "talk.jsonl"]).text();
    let found = ship.run(&["search", "leek", "--json"]).json();
    let hit = &array(&found, "hits")[0];
    assert_eq!((text(hit, "messageId"), text(hit, "where")), ("m2".into(), "context".into()));
    let listed = ship.run(&["context", "list", "--json"]).json();
    assert_eq!(text(hit, "contextId"), text(&array(&listed, "items")[0], "contextId"));
    let shown = ship.run(&["context", "recall", "--around", "m2"]).text();
    assert!(shown.contains("user: soup?") && shown.contains("#m2 "), "{shown}");
}

#[test]
fn each_format_of_the_help_is_read() {
    let entries =
        r#"{"id":"m1","ts":"2026-01-28T10:00:00Z","type":"msg","role":"user","content":"soup?"}"#;
    let openai = r#"{"role":"user","content":"soup?"}"#;
    let claude_code = r#"{"type":"user","uuid":"u1","message":{"role":"user","content":"soup?"}}"#;
    let codex = r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"soup?"}]}}"#;
    let chatgpt = r#"[{"mapping":{"a":{"message":{"id":"a","author":{"role":"user"},"content":{"content_type":"text","parts":["soup?"]}}}}}]"#;
    for (format, file) in [
        ("uimessage", TALK),
        ("entries", entries),
        ("openai", openai),
        ("claude-code", claude_code),
        ("codex", codex),
        ("chatgpt", chatgpt),
    ] {
        let ship = TestShip::new().file("file", file);
        let done = ship.run(&["import", "--format", format, "file"]);
        assert_eq!(done.code(), 0, "{format}: {}", done.err());
        assert!(ship.run(&["history"]).text().contains("soup?"), "{format}");
    }
}

#[test]
fn what_cannot_be_imported_is_an_error_with_a_code() {
    let ship = TestShip::new().file("bad.jsonl", &format!("{TALK}{{\"id\"\n"));
    let import = ["import", "--format", "uimessage", "bad.jsonl"];
    let refused = ship.run(&import);
    assert_eq!(refused.code(), 1);
    assert!(refused.err().contains("line 3: not JSON"), "{}", refused.err());
    assert!(refused.err().contains("--skip-bad"), "{}", refused.err());
    let code =
        |arguments: &[&str]| text(&ship.run(&[arguments, &["--json"]].concat()).error(), "code");
    assert_eq!(code(&import), "import");
    assert_eq!(code(&["import", "--format", "openai", "missing"]), "import");
    assert_eq!(code(&["import", "--format", "openai", "."]), "import");
    let skipping = ["import", "--format", "uimessage", "bad.jsonl", "--skip-bad"];
    assert!(ship.run(&skipping).text().contains("2 messages"));
    assert_eq!(ship.run(&["import", "bad.jsonl"]).code(), 2, "a format is needed");
}
