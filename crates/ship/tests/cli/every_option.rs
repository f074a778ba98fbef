//! Every command takes the options that its help lists. Each claim about what an option does has a test elsewhere or
//! below; several claims share a process.

use std::sync::atomic::{AtomicBool, Ordering};

use ship_message::json::Json;

use crate::harness::{TestShip, array, text};

/// The commands with arguments that are valid in a chat in which something was said, in an order in which each can be
/// done. Those of a chat are marked.
const COMMANDS: [(&[&str], bool); 25] = [
    (&["send", "two"], true),
    (&["chats"], false),
    (&["history"], true),
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
    assert!(!ship.root().join(".ship").exists(), "all of it was in the other folder");
    assert!(ship.root().join("place/Agent.md").is_file(), "init writes there");
    let chats = ship.run(&["chats", "--json", "--project", "place"]).json();
    let keys: Vec<String> =
        array(&chats, "chats").iter().map(|chat| text(chat, "chatKey")).collect();
    assert_eq!(keys, ["work:1"]);
}

#[test]
fn the_commands_of_a_chat_do_what_those_of_the_shell_do() {
    let ship = TestShip::with_settings("{}");
    let _ = ship.run(&["send", "one"]).text();
    let same: [(&str, &[&str]); 5] = [
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
    let left = ship.run(&["context", "show", "-", "--json"]).json();
    assert_eq!(text(&left, "archiveReason"), "too messy");
}

#[test]
fn a_log_that_is_followed_shows_what_comes() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    let mut logs = ship.start(&["logs", "--follow"]);
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
    let all = ship.run(&["config", "list", "--json"]).json();
    assert_eq!(all, ship.run(&["config", "--json"]).json());
    assert!(matches!(all, Json::Object(_) | Json::Array(_)));
}
