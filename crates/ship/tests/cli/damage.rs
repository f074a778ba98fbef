//! Chats that are damaged: what is told of them, and of the others.

use ship_message::json::Json;

use crate::harness::{TestShip, array, keys, text};

#[test]
fn verify_is_content_with_a_whole_chat_and_names_damage() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "hello"]).text();
    assert_eq!(ship.run(&["verify"]).text(), "1 chat, nothing wrong.\n");
    assert_eq!(ship.run(&["verify", "--json"]).text(), "{\"ok\":true,\"problems\":[]}\n");

    let log = ship.root().join(".ship/chat/terminal%3Amain/messages/history.jsonl");
    let damaged = std::fs::read_to_string(&log).unwrap().replacen("hello", "hullo", 1);
    std::fs::write(&log, damaged).unwrap();
    let ran = ship.run(&["verify", "--json"]);
    assert_eq!(ran.code(), 1);
    let json = Json::parse(ran.out().trim_end()).unwrap();
    assert_eq!(keys(&json), ["ok", "problems"]);
    let problem = &array(&json, "problems")[0];
    assert_eq!(keys(problem), ["file", "offset", "kind", "message", "remedy"]);
    let plain = ship.run(&["verify"]);
    assert_eq!(plain.code(), 1);
    assert!(plain.out().contains("hint: "), "{}", plain.out());
}

/// A project with a whole chat, and one whose log is something else.
fn with_a_bad_chat(spoil: impl FnOnce(&std::path::Path)) -> TestShip {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "hello"]).text();
    let _ = ship.run(&["--chat", "terminal:bad", "send", "hello"]).text();
    spoil(&ship.root().join(".ship/chat/terminal%3Abad/messages/history.jsonl"));
    ship
}

#[test]
fn one_bad_chat_hides_no_other() {
    let spoils: [fn(&std::path::Path); 2] = [
        |log| std::fs::write(log, "").unwrap(),
        |log| {
            std::fs::remove_file(log).unwrap();
            std::fs::create_dir(log).unwrap();
        },
    ];
    for spoil in spoils {
        let ship = with_a_bad_chat(spoil);
        let ran = ship.run(&["chats", "--json"]);
        let json = ran.json();
        let chats = array(&json, "chats").iter().map(|row| text(row, "chatKey"));
        assert_eq!(chats.collect::<Vec<_>>(), ["terminal:bad", "terminal:main"]);
        assert!(!text(&array(&json, "chats")[0], "problem").is_empty(), "{json}");
        assert!(ran.err().starts_with("warning: chat `terminal:bad`: "), "{}", ran.err());
        let plain = ship.run(&["chats"]).text();
        assert!(plain.contains("terminal:bad   cannot be read; see `ship verify`\n"), "{plain}");
        assert!(plain.contains("terminal:main  2 messages"), "{plain}");

        let ran = ship.run(&["verify", "--json"]);
        assert_eq!(ran.code(), 1);
        let json = Json::parse(ran.out().trim_end()).unwrap();
        assert_eq!(keys(&json), ["ok", "problems"]);
        for problem in array(&json, "problems") {
            let told = format!("{} {}", text(problem, "message"), text(problem, "remedy"));
            assert!(!told.contains("ship verify") && !told.contains("ship repair"), "{told}");
            assert!(text(problem, "file").contains("terminal%3Abad"), "{problem}");
        }
    }
}
