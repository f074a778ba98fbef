//! `ship config`, and files that say what cannot be meant.

use crate::harness::{Ran, TestShip, echo, keys, text};

#[test]
fn config_gives_each_value_and_where_it_came_from() {
    let ship = TestShip::with_settings("{\n  \"start\": { \"port\": 8080 }\n}\n");
    let json = ship.run(&["config", "--json"]).json();
    let port = json.get("start.port").unwrap();
    assert_eq!(keys(port), ["value", "source"]);
    assert_eq!(port.to_string(), r#"{"value":8080,"source":"ship.json:2"}"#);
    let host = json.get("start.host").unwrap();
    assert_eq!(host.to_string(), r#"{"value":"127.0.0.1","source":"default"}"#);
    let plain = ship.run(&["config"]).text();
    let line = plain.lines().find(|line| line.starts_with("start.port ")).unwrap();
    assert!(line.contains(" 8080 ") && line.ends_with("ship.json:2"), "{line}");
}

#[test]
fn a_bad_file_is_an_error_with_line_and_remedy() {
    for (settings, place, hint) in [
        (
            "{\n  \"start\": { \"port\": \"x\" }\n}",
            "ship.json:2: `start.port` must be",
            "remove the line to use the default",
        ),
        ("{\n  \"start\": {,\n}", "ship.json:2:", "missing comma, quote or bracket"),
    ] {
        let ship = TestShip::with_settings(settings);
        for command in ["chat", "config", "chats", "logs"] {
            let complaint = ship.run(&[command]).complaint();
            assert!(complaint.contains(place), "{complaint}");
            assert!(complaint.contains("\nhint: ") && complaint.contains(hint), "{complaint}");
        }
        let error = ship.run(&["send", "hello", "--json"]).error();
        assert_eq!(text(&error, "code"), "config");
    }
}

#[test]
fn an_unknown_key_is_a_warning_with_the_nearest_name() {
    let ship = TestShip::with_settings("{ \"start\": { \"prot\": 1 } }");
    let ran = ship.run(&["config", "--json"]);
    assert!(ran.json().as_object().is_some(), "standard output stays clean");
    let warning = ran.err();
    assert!(warning.starts_with("warning: ") && warning.contains("start.port"), "{warning}");
}

#[test]
fn each_of_several_mistakes_has_its_hint() {
    let ship = TestShip::with_settings("{\n\"start\": { \"port\": \"x\" },\n\"durability\": 3\n}");
    let complaint = ship.run(&["chats"]).complaint();
    let lines: Vec<&str> = complaint.lines().collect();
    assert_eq!(lines.len(), 4, "{complaint}");
    assert!(lines[0].starts_with("ship: ") && lines[0].contains("ship.json:2: `start.port`"));
    assert!(lines[1].starts_with("hint: remove the line"), "{complaint}");
    assert!(lines[2].starts_with("ship: ") && lines[2].contains("ship.json:3: `durability`"));
    assert!(lines[3].starts_with("hint: remove the line"), "{complaint}");
    let hints = text(&ship.run(&["chats", "--json"]).error(), "hint");
    assert_eq!(hints.lines().count(), 2, "{hints}");
}

#[test]
fn a_text_that_cannot_be_used_is_told_and_stops_nothing() {
    let ship = TestShip::new();
    std::fs::create_dir_all(ship.root().join("ship.json")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", ship.root().join("Agent.md")).unwrap();
    std::fs::create_dir_all(ship.root().join(".ship/profile/Primary.md")).unwrap();
    let memory = ship.root().join(".ship/chat/terminal%3Amain/memory/Primary.md");
    std::fs::create_dir_all(memory).unwrap();
    for arguments in [&["send", "hello"][..], &["inspect"], &["chat"]] {
        let ran = ship.run(arguments);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let told = ran.err();
        assert_eq!(told.lines().filter(|line| line.starts_with("warning: ")).count(), 4, "{told}");
        for piece in [
            "ship.json is a folder",
            "Agent.md is a link out of the project",
            "profile/Primary.md",
            "memory/Primary.md",
        ] {
            assert!(told.contains(piece), "{piece} is not in {told}");
        }
    }
    assert_eq!(ship.run(&["chats"]).err().lines().count(), 1, "only who needs them is told");
}

#[test]
fn a_folder_that_is_gone_and_a_log_that_may_not_be_read_are_told_with_a_remedy() {
    let ship = TestShip::new();
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" chats"]);
    command.arg(env!("CARGO_BIN_EXE_ship")).current_dir(ship.root());
    let output = command.env_clear().env("HOME", ship.home()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told.contains("the current folder cannot be used") && told.contains("hint: "),
        "{told}"
    );

    std::fs::create_dir_all(ship.root().join(".ship")).unwrap();
    std::os::unix::fs::symlink("logs", ship.root().join(".ship/logs")).unwrap();
    let told = ship.run(&["logs"]).complaint();
    assert!(told.contains(".ship/logs cannot be read: ") && told.contains("hint: "), "{told}");
}

#[test]
fn a_provider_without_its_key_or_model_is_said_plainly() {
    let ship = TestShip::with_settings("{ \"llm\": { \"provider\": \"openai\" } }");
    let complaint = ship.run(&["send", "hello"]).complaint();
    assert!(complaint.contains("has no key; put OPENAI_API_KEY=… into .env"), "{complaint}");
    assert!(!ship.root().join(".ship").exists(), "nothing was begun");

    let ship = TestShip::with_settings(
        r#"{ "llm": { "provider": "openai", "baseUrl": "http://127.0.0.1:1/v1" } }"#,
    );
    let complaint = ship.run(&["send", "hello"]).complaint();
    assert!(complaint.contains("`llm.baseUrl` is set, but `llm.model` is not"), "{complaint}");
}

#[test]
fn a_text_larger_than_the_budget_is_warned_of_once_by_every_command_that_asks_the_model() {
    let settings = r#"{ "context": { "history": { "maxInputTokensApprox": 1000 } } }"#;
    let ship = TestShip::with_settings(settings).file("Agent.md", &"Be brief. ".repeat(4_000));
    let warned = |ran: &Ran| {
        let told = ran.err().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.starts_with("warning: the system ("), "{told}");
        assert!(told.contains("maxInputTokensApprox"), "{told}");
        told.matches("warning:").count()
    };
    let sent = ship.run(&["send", "hello"]);
    assert_eq!((sent.text(), warned(&sent)), (format!("{}\n", echo("hello")), 1));
    let talked = ship.piped(&["chat"], "one\ntwo\n/compact\n");
    assert!(talked.text().contains(&echo("two")), "{}", talked.out());
    assert_eq!(warned(&talked), 1);
    let compacted = ship.run(&["compact", "--json"]);
    assert_eq!(keys(&compacted.json()), ["compacted"]);
    assert_eq!(warned(&compacted), 1);
}

#[test]
fn user_wide_settings_count_below_those_of_the_project() {
    let ship = TestShip::with_settings(r#"{ "llm": { "retries": 2 } }"#);
    let user = ship.home().join(".config/ship/ship.json");
    std::fs::create_dir_all(user.parent().expect("a folder")).expect("a folder");
    std::fs::write(user, r#"{ "llm": { "retries": 1, "maxTokens": 77 } }"#).expect("a file");
    let config = ship.run(&["config", "--json"]).json();
    let shown = |key: &str| config.get(key).map(ToString::to_string).unwrap_or_default();
    assert_eq!(shown("llm.retries"), r#"{"value":2,"source":"ship.json:1"}"#);
    assert_eq!(shown("llm.maxTokens"), r#"{"value":77,"source":"user-wide ship.json:1"}"#);
    let plain = ship.run(&["config"]).text();
    assert!(plain.contains("user-wide ship.json:1\n"), "{plain}");

    let elsewhere = ship.root().join("xdg");
    let ship = ship.file("xdg/ship/ship.json", "{ 1 }");
    let ship = ship.env("XDG_CONFIG_HOME", elsewhere.to_str().expect("a path"));
    let complaint = ship.run(&["config"]).complaint();
    assert!(complaint.contains("/project/xdg/ship/ship.json:1:3: "), "{complaint}");
    let ship = ship.env("XDG_CONFIG_HOME", "xdg");
    assert!(ship.run(&["config"]).text().contains("user-wide"), "a relative folder does not count");
}
