//! `ship config get`, `set` and `unset`.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{TestShip, keys, text};

const MINE: &str = "// mine
{
  \"llm\": { // the model
    \"retries\": 2, // patient
  },
}
";

fn ship_json(ship: &TestShip) -> String {
    std::fs::read_to_string(ship.root().join("ship.json")).unwrap()
}

#[test]
fn a_setting_is_changed_and_the_rest_of_the_file_stays() {
    let ship = TestShip::with_settings(MINE);
    let told = ship.run(&["config", "set", "llm.retries", "7"]).text();
    assert_eq!(told, format!("`llm.retries` is set in {}/ship.json\n", ship.root().display()));
    assert_eq!(ship_json(&ship), MINE.replace('2', "7"));
    assert_eq!(ship.run(&["config", "get", "llm.retries"]).text(), "7\n");

    let json = ship.run(&["config", "set", "durability", "flush", "--json"]).json();
    assert_eq!(text(&json, "value"), "flush");
    assert_eq!(text(&json, "source"), "ship.json:6");
    let list = ["config", "set", "tools.approval", r#"["deploy"]"#];
    let _ = ship.run(&list).text();
    assert_eq!(ship.run(&["config", "get", "tools.approval"]).text(), "[\"deploy\"]\n");
    assert_eq!(ship.run(&["config", "get", "durability"]).text(), "flush\n");

    let told = ship.run(&["config", "unset", "durability"]).text();
    assert!(told.starts_with("`durability` is removed from "), "{told}");
    assert_eq!(ship.run(&["config", "get", "durability"]).text(), "sync\n");
    let again = ship.run(&["config", "unset", "durability", "--json"]).error();
    assert!(text(&again, "message").starts_with("`durability` is not set in "), "{again}");
    assert!(ship_json(&ship).starts_with("// mine\n{\n  \"llm\": { // the model\n"));
}

#[test]
fn what_the_reader_would_refuse_is_not_written() {
    let ship = TestShip::with_settings(MINE);
    for (arguments, message, hint) in [
        (
            &["set", "llm.retries", "-1"][..],
            "`llm.retries` must be a whole number from 0 to 100, but is -1",
            "",
        ),
        (&["set", "durability", "often"], "`durability` must be", ""),
        (
            &["set", "llm.modle", "x"],
            "there is no setting `llm.modle`",
            "did you mean `llm.model`?",
        ),
        (&["set", "llm", "5"], "`llm` is a group of settings", "`ship config llm` lists them"),
        (
            &["unset", "context.history"],
            "`context.history` is a group",
            "`ship config context.history`",
        ),
        (&["get", "llm.modle"], "there is no setting `llm.modle`", "did you mean `llm.model`?"),
        (&["unset", "frob"], "there is no setting `frob`", "`ship config` lists all settings"),
        (&["get", "llm.model"], "`llm.model` is not set", ""),
        (&["set", "llm.baseUrl", "https://${HOST}"], "uses the variable HOST", "put HOST=…"),
        (
            &["set", "llm.apiKey", "sk-0123456789"],
            "`llm.apiKey` is a secret",
            "put NAME=… into .env",
        ),
        (
            &["set", "--user", "start.port", "1"],
            "can only be set for one project",
            "leave out --user",
        ),
    ] {
        let error = ship.run(&[&["config", "--json"], arguments].concat()).error();
        assert_eq!(text(&error, "code"), "config");
        assert!(text(&error, "message").contains(message), "{error}");
        assert!(!text(&error, "message").contains("ship.json:"), "no line is to blame: {error}");
        assert!(text(&error, "hint").starts_with(hint), "{error}");
        assert!(!error.to_string().contains("0123456789"), "{error}");
    }
    assert_eq!(ship_json(&ship), MINE);
    assert_eq!(ship.contents("").matches("ship.json").count(), 1, "no draft is left");
    assert!(!ship.home().join(".config").exists());
}

#[test]
fn what_people_type_to_see_settings_shows_them_or_names_the_command() {
    let ship = TestShip::with_settings(MINE);
    let all = ship.run(&["config"]).text();
    assert_eq!(ship.run(&["config", "list"]).text(), all);
    assert_eq!(ship.run(&["config", "llm.retries"]).text(), "2\n");

    let group = ship.run(&["config", "get", "llm"]).text();
    assert!(group.lines().all(|line| line.starts_with("llm.")), "{group}");
    assert!(group.contains("llm.retries") && group.contains("llm.price.input"), "{group}");
    assert_eq!(ship.run(&["config", "llm"]).text(), group);
    let json = ship.run(&["config", "get", "llm.price", "--json"]).json();
    assert_eq!(keys(&json).len(), 3, "{json}");

    for (words, hint) in [
        (&["llm.retries", "7"][..], "`ship config set llm.retries VALUE` changes this setting"),
        (&["gte"], "did you mean `ship config get`?"),
        (&["frobnicate"], "`ship config --help` lists the commands"),
    ] {
        let error = ship.run(&[&["config", "--json"], words].concat()).error_with(2);
        assert_eq!(text(&error, "hint"), hint);
    }
}

#[test]
fn a_wrong_value_can_be_mended_while_others_are_wrong() {
    let ship =
        TestShip::with_settings("{ \"durability\": 3, \"limits\": { \"messageBytes\": 0 } }");
    let _ = ship.run(&["config", "set", "durability", "sync"]).text();
    let left = ship.run(&["config"]).complaint();
    assert!(left.contains("`limits.messageBytes`") && !left.contains("`durability`"), "{left}");
    let _ = ship.run(&["config", "set", "limits.messageBytes", "10"]).text();
    assert_eq!(ship.run(&["config", "get", "limits.messageBytes"]).text(), "10\n");

    ship.write("ship.json", "{ \"llm\": ");
    let complaint = ship.run(&["config", "set", "durability", "sync"]).complaint();
    assert!(complaint.contains("ship.json:1:"), "{complaint}");
    assert_eq!(ship_json(&ship), "{ \"llm\": ");
}

#[test]
fn user_wide_settings_have_a_file_of_their_own_and_a_project_may_override_them() {
    let ship = TestShip::with_settings(MINE);
    let told = ship.run(&["config", "set", "--user", "llm.apiKey", "sk-0123456789"]).text();
    let file = ship.home().join(".config/ship/ship.json");
    assert_eq!(told, format!("`llm.apiKey` is set in {}\n", file.display()));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let ran = ship.run(&["config", "set", "--user", "llm.retries", "9"]);
    assert!(ran.text().starts_with("`llm.retries` is set in "));
    assert_eq!(ran.err(), "warning: here it stays 2, set by ship.json:4\n");
    let _ = ship.run(&["config", "unset", "llm.retries"]).text();
    assert_eq!(ship.run(&["config", "get", "llm.retries"]).text(), "9\n");
}

#[test]
fn a_link_and_the_permissions_of_a_file_stay() {
    let ship = TestShip::new().file("shared.json", MINE);
    let shared = ship.root().join("shared.json");
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("shared.json", ship.root().join("ship.json")).unwrap();
    let _ = ship.run(&["config", "set", "llm.retries", "7"]).text();
    assert!(ship.root().join("ship.json").is_symlink());
    assert_eq!(std::fs::read_to_string(&shared).unwrap(), MINE.replace('2', "7"));
    assert_eq!(shared.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}
