//! Every example in every help text works.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Ran, TestShip, text};

/// Returns the help of `ship` and of every command below it, with its words.
fn helps(ship: &TestShip, words: &[String]) -> Vec<(Vec<String>, String)> {
    let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let help = ship.run(&arguments).text();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")).filter(|l| !l.starts_with(' '));
    let names = names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help");
    let below: Vec<_> =
        names.flat_map(|name| helps(ship, &[words, &[name.to_owned()]].concat())).collect();
    [vec![(words.to_vec(), help)], below].concat()
}

/// Returns the examples of a help text, without the remarks that follow after two spaces.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !["Examples:", "Example:"].contains(line)).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    lines.map(|line| line.trim_start().split("  ").next().unwrap().to_owned()).collect()
}

/// Makes a project in which every example has what it names.
fn prepared() -> TestShip {
    let settings =
        r#"{ "llm": { "maxTokens": 2000 }, "context": { "history": { "keepLastMessages": 2 } } }"#;
    let ship = TestShip::with_settings(settings);
    let long = "the database plan has many steps, and this one names each of them. ".repeat(20);
    let run = |arguments: &[&str]| ship.run(arguments).text();
    for _ in 0..4 {
        run(&["send", &long]);
    }
    run(&["context", "rename", "database plan"]);
    run(&["context", "new", "--title", "Dinner"]);
    for _ in 0..4 {
        run(&["send", &long]);
    }
    run(&["compact"]);
    run(&["checkpoint", "before the rewrite"]);
    run(&["send", "and now?"]);
    run(&["config", "set", "--user", "llm.retries", "2"]);
    for name in ["CHANGELOG.md", "notes.txt", "question.txt"] {
        ship.write(name, "What is new?");
    }
    for (name, text) in [
        ("session.jsonl", include_str!("../../../agent/tests/fixtures/claude-code.jsonl")),
        ("messages.json", include_str!("../../../agent/tests/fixtures/openai.json")),
        ("conversations.json", include_str!("../../../agent/tests/fixtures/chatgpt.json")),
    ] {
        ship.write(name, text);
    }
    std::fs::write(ship.root().join("screen.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    for name in ["git", "man"] {
        let path = tools(&ship).join(name);
        ship.write(&format!("tools/{name}"), "#!/bin/sh\necho '+ a line'\nexec cat >/dev/null\n");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    ship
}

/// Copies the project and the home, so that no example changes anything for the next.
fn copy(ship: &TestShip) -> TestShip {
    let copy = TestShip::new();
    for (from, to) in [(ship.root(), copy.root()), (ship.home(), copy.home())] {
        let copied = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
        assert!(copied.success());
    }
    copy
}

/// Stand-ins for programs that need not be installed.
fn tools(ship: &TestShip) -> PathBuf {
    ship.root().join("tools")
}

/// Puts ids that exist in the place of those that stand for any.
fn with_known_ids(ship: &TestShip, example: &str) -> String {
    let first = |arguments: &[&str], key| {
        let lines = ship.run(arguments).json_lines();
        let object = lines[0].get("items").and_then(|items| items.as_array()?.first());
        text(object.unwrap_or(&lines[0]), key)
    };
    [
        ("q_0123456789abcdef", &["inspect", "--requests", "--json"][..], "id"),
        ("req_0123456789abcdef", &["logs", "--json"], "requestId"),
        ("c_20260205_4f1c22d09a7e", &["context", "list", "--json"], "contextId"),
        // The model does not see it, so it can be recalled.
        ("u_17", &["history", "--json", "--last", "200"], "id"),
    ]
    .into_iter()
    .filter(|(any, ..)| example.split([' ', '`']).any(|word| word == *any))
    .fold(example.to_owned(), |example, (any, arguments, key)| {
        example.replace(any, &first(arguments, key))
    })
}

fn run_in_shell(ship: &TestShip, line: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_ship")).parent().unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", tools(ship).display(), program.display());
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", line]).current_dir(ship.root()).env_clear();
    command.env("PATH", path).env("HOME", ship.home()).stdin(std::process::Stdio::null());
    Ran(command.output().unwrap())
}

#[test]
fn every_example_in_every_help_text_works() {
    let ship = prepared();
    let mut count = 0;
    for (words, help) in helps(&ship, &[]) {
        for example in examples(&help) {
            // It would go on for ever; `ship logs` without it prints the same lines.
            let line = with_known_ids(&ship, &example.replace(" --follow", ""));
            let ran = run_in_shell(&copy(&ship), &line);
            assert_eq!(ran.code(), 0, "{words:?}: {line}\n{}{}", ran.out(), ran.err());
            count += 1;
        }
    }
    assert!(count > 40, "only {count} examples were found");
}

#[test]
fn help_offers_a_command_only_what_it_obeys() {
    let ship = TestShip::new();
    for (words, help) in helps(&ship, &[]) {
        let of_project = ["chats", "config", "init", "repair", "verify"];
        let of_neither = ["completions", "man"];
        let first = words.first().map(String::as_str).unwrap_or_default();
        let has = |flag: &str| help.contains(&format!("--{flag}"));
        assert_eq!(
            has("chat "),
            !of_project.contains(&first) && !of_neither.contains(&first),
            "{help}"
        );
        assert_eq!(has("project "), !of_neither.contains(&first), "{help}");
        assert_eq!(has("json "), !of_neither.contains(&first), "{help}");
    }
}
