//! Every command takes the options that its help lists. Each claim about what an option does has a test elsewhere or
//! below; several claims share a process. The tables in `arguments/tested_options.rs`, `slash/tested_commands.rs` and
//! `failure/tested_codes.rs` name a test for everything that the program offers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use ship_message::json::Json;

use crate::harness::{TestShip, array, text};

/// The commands with arguments that are valid in a chat in which something was said, in an order in which each can be
/// done. Those of a chat are marked.
const COMMANDS: [(&[&str], bool); 28] = [
    (&["send", "two"], true),
    (&["chats"], false),
    (&["history"], true),
    (&["search", "two"], true),
    (&["inspect"], true),
    (&["compact", "--dry-run"], true),
    (&["context", "list"], true),
    (&["context", "show"], true),
    (&["context", "new"], true),
    (&["context", "load", "-"], true),
    (&["checkpoint", "here"], true),
    (&["fork"], true),
    (&["rewind", "here"], true),
    (&["undo"], true),
    (&["context", "recall", "two"], true),
    (&["context", "rename", "Dinner"], true),
    (&["context", "clear"], true),
    (&["export", "--format", "markdown", "--all"], true),
    (&["import", "--format", "uimessage", "talk.jsonl"], true),
    (&["verify"], false),
    (&["repair"], false),
    (&["config"], false),
    (&["config", "list"], false),
    (&["config", "get", "llm.retries"], false),
    (&["config", "set", "llm.retries", "3"], false),
    (&["config", "unset", "llm.retries"], false),
    (&["logs"], true),
    (&["init"], false),
];

#[test]
fn every_command_can_be_given_a_project_a_chat_and_json() {
    let ship = TestShip::new().file("place/ship.json", "{}");
    let talk = r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"soup?"}]}"#;
    let ship = ship.file("talk.jsonl", talk);
    let _ = ship.run(&["send", "one", "--project", "place", "--chat", "work:1"]).text();
    for (command, has_chat) in COMMANDS {
        let chat: &[&str] = if has_chat { &["--chat", "work:1"] } else { &[] };
        let ran = ship.run(&[command, &["--project", "place", "--json"], chat].concat());
        assert_eq!(ran.code(), 0, "{command:?}: {}{}", ran.out(), ran.err());
        let lines = ran.json_lines();
        assert!(!lines.is_empty(), "{command:?} prints JSON");
        if !has_chat {
            let refused = ship.run(&[command, &["--chat", "x", "--json"]].concat());
            assert_eq!(refused.code(), 2, "{command:?}: {}", refused.err());
        }
    }
    let driven: BTreeSet<String> = COMMANDS.iter().map(|(words, _)| words[0].to_owned()).collect();
    let others = ["chat", "completions", "man", "help"].map(str::to_owned);
    assert_eq!(listed_commands(&ship), &driven | &BTreeSet::from(others), "none is forgotten");
    assert!(!ship.root().join(".ship").exists(), "all of it was in the other folder");
    assert!(ship.root().join("place/Agent.md").is_file(), "init writes there");
    let chats = ship.run(&["chats", "--json", "--project", "place"]).json();
    let keys: Vec<String> =
        array(&chats, "chats").iter().map(|chat| text(chat, "chatKey")).collect();
    assert_eq!(keys, ["work:1"]);
}

/// The commands that the help lists.
fn listed_commands(ship: &TestShip) -> BTreeSet<String> {
    let help = ship.run(&["--help"]).text();
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_short_flags_ask_for_help_and_the_version() {
    let ship = TestShip::new();
    for flags in [["-h", "--help"], ["help", "--help"], ["-V", "--version"]] {
        let shown = flags.map(|flag| ship.run(&[flag]).text());
        assert_eq!(shown[0], shown[1]);
    }
    assert!(ship.run(&["--version"]).text().starts_with("ship "));
    assert!(ship.run(&["-h"]).text().contains("Usage: ship"));
}

#[test]
fn the_modes_of_load_and_recall_are_those_of_the_help() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the database"]).text();
    let _ = ship.run(&["context", "new", "Dinner"]).text();
    let _ = ship.run(&["send", "soup?"]).text();
    let done = |arguments: &[&str]| text(&ship.run(arguments).json(), "operation");
    for mode in ["summary", "recent", "full"] {
        let recalled = ["context", "recall", "database", "--mode", mode, "--json"];
        assert_eq!(done(&recalled), "recall", "{mode}");
        let _ = ship.run(&["send", "and?"]).text();
    }
    assert_eq!(done(&["context", "load", "-", "--mode", "summary", "--json"]), "recall");
    let _ = ship.run(&["send", "and?"]).text();
    assert_eq!(done(&["context", "load", "-", "--mode", "reference", "--json"]), "recall");
    assert_eq!(done(&["context", "load", "-", "--mode", "switch", "--json"]), "load");
    assert_eq!(ship.run(&["context", "recall", "-", "--mode", "switch"]).code(), 2);
}

#[test]
fn the_commands_of_a_chat_do_what_those_of_the_shell_do() {
    let ship = TestShip::with_settings("{}");
    let _ = ship.run(&["send", "one"]).text();
    let same: [(&str, &[&str]); 6] = [
        ("/history 1", &["history", "--last", "1"]),
        ("/inspect", &["inspect"]),
        ("/compact --dry-run", &["compact", "--dry-run"]),
        ("/chats", &["chats"]),
        ("/config", &["config"]),
        ("/verify", &["verify"]),
    ];
    let lines = same.map(|(line, _)| format!("{line}\n")).concat();
    let expected = same.map(|(_, command)| ship.run(command).text()).concat();
    assert_eq!(ship.piped(&["chat"], lines).text(), expected);

    let lines = "/context new Dinner\nsoup?\n/context undo\n/fork --to terminal:try\n/quit\n";
    let out = ship.piped(&["chat"], lines).text();
    let out: Vec<&str> = out.lines().collect();
    assert!(out[0].starts_with("Now in “Dinner”. Left “one”"), "{out:#?}");
    assert!(out[2].starts_with("Now in “one”. Left “Dinner”"), "whatever was said since: {out:#?}");
    assert!(out[3].starts_with("Copied to the chat `terminal:try` as “one (copy)”"), "{out:#?}");
    assert_eq!(ship.run(&["history", "--chat", "try", "--json"]).json_lines().len(), 2);
}

#[test]
fn a_reason_is_kept_with_the_context_that_is_left() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    let _ = ship.run(&["context", "new", "--reason", "too messy"]).text();
    let reason = || text(&ship.run(&["context", "show", "-", "--json"]).json(), "archiveReason");
    assert_eq!(reason(), "too messy");
    let _ = ship.piped(&["chat"], "two\n/context new Soup --reason too late\n").text();
    assert_eq!(reason(), "too late");
}

#[test]
fn a_log_that_is_followed_shows_what_comes() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    for arguments in [&["logs", "--follow"], &["--follow", "logs"]] {
        follow(&ship, arguments);
    }
}

fn follow(ship: &TestShip, arguments: &[&str]) {
    let mut logs = ship.start(arguments);
    let is_seen = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Nothing tells when it has begun to look, so there is always something new.
        scope.spawn(|| {
            while !is_seen.load(Ordering::Relaxed) {
                let _ = ship.run(&["send", "two"]).text();
            }
        });
        let shown = logs.until("“two”");
        is_seen.store(true, Ordering::Relaxed);
        assert!(!shown.contains("“one”"), "it begins at the end: {shown}");
    });
    assert_eq!(logs.interrupt().code(), 130);
}

#[test]
fn a_setting_of_the_person_is_set_and_unset() {
    let ship = TestShip::new();
    let _ = ship.run(&["config", "set", "--user", "llm.retries", "2"]).text();
    let file = ship.home().join(".config/ship/ship.json");
    assert!(std::fs::read_to_string(&file).expect("a file").contains("\"retries\": 2"));
    let _ = ship.run(&["config", "unset", "--user", "llm.retries"]).text();
    assert!(!std::fs::read_to_string(&file).expect("a file").contains("retries"));
    assert_eq!(ship.run(&["config", "get", "llm.retries"]).text(), "4\n");
    let all = ship.run(&["config", "--json"]).json();
    for alias in ["list", "ls", "show"] {
        assert_eq!(all, ship.run(&["config", alias, "--json"]).json());
    }
    assert!(matches!(all, Json::Object(_) | Json::Array(_)));
}
