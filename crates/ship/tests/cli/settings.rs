//! `ship config`, and files that say what cannot be meant.

use crate::harness::{TestShip, keys, text};

#[test]
fn config_gives_each_value_and_where_it_came_from() {
    let ship = TestShip::with_settings("{\n  \"start\": { \"port\": 8080 }\n}\n");
    let json = ship.run(&["config", "--json"]).json();
    let port = json.get("start.port").unwrap();
    assert_eq!(keys(port), ["value", "source"]);
    assert_eq!(port.to_string(), r#"{"value":8080,"source":"ship.json line 2"}"#);
    let host = json.get("start.host").unwrap();
    assert_eq!(host.to_string(), r#"{"value":"127.0.0.1","source":"default"}"#);
    let plain = ship.run(&["config"]).text();
    let line = plain.lines().find(|line| line.starts_with("start.port ")).unwrap();
    assert!(line.contains(" 8080 ") && line.ends_with("ship.json line 2"), "{line}");
}

#[test]
fn a_bad_file_is_an_error_with_line_and_remedy() {
    for (settings, place, hint) in [
        (
            "{\n  \"start\": { \"port\": \"x\" }\n}",
            "ship.json:2: `start.port` must be",
            "set `start.port`",
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
fn a_provider_that_is_not_there_is_said_plainly() {
    let ship = TestShip::with_settings("{ \"llm\": { \"provider\": \"openai\" } }");
    let complaint = ship.run(&["send", "hello"]).complaint();
    assert!(complaint.contains("`llm.provider` is \"openai\""), "{complaint}");
    assert!(!ship.root().join(".ship").exists(), "nothing was begun");
}
