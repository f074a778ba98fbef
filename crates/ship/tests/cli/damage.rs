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
    assert_eq!(keys(problem), ["file", "offset", "kind", "message", "remedy", "known"]);
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
            assert!(!told.contains("ship verify"), "{told}");
            assert!(text(problem, "file").contains("terminal%3Abad"), "{problem}");
        }
    }
}

/// The folder of the chat that is meant when none is named.
fn chat_folder(ship: &TestShip) -> std::path::PathBuf {
    ship.root().join(".ship/chat/terminal%3Amain")
}

fn flip(path: &std::path::Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_flipped_byte_costs_its_line_and_repair_makes_it_known() {
    let ship = TestShip::new();
    for text in ["apples", "pears", "plums"] {
        let _ = ship.run(&["send", text]).text();
    }
    flip(&chat_folder(&ship).join("messages/history.jsonl"), "pears", "bears");
    let new = ship.run(&["context", "new", "--title", "Dinner"]);
    assert_eq!(new.code(), 0, "{}", new.err());
    assert!(new.err().contains("cannot be read as lines"), "{}", new.err());
    let back = ship.run(&["context", "load", "-"]);
    assert!(back.out().contains("One place of the log cannot be read"), "{}", back.out());
    assert_eq!(back.err(), "", "it was told before");
    let said: Vec<String> = ship.said().into_iter().map(|(_, text)| text).collect();
    assert!(said.iter().any(|text| text == "apples") && said.iter().any(|text| text == "plums"));
    let _ = ship.run(&["send", "cherries"]).text();

    assert_eq!(ship.run(&["verify"]).code(), 1);
    let planned = ship.run(&["repair", "--dry-run"]);
    assert_eq!(planned.code(), 0, "{}", planned.err());
    assert!(planned.out().contains("(would be known from now on)"), "{}", planned.out());
    assert_eq!(ship.run(&["verify"]).code(), 1, "a dry run changes nothing");
    let repaired = ship.run(&["repair"]);
    assert_eq!(repaired.code(), 0, "{}", repaired.err());
    assert!(
        repaired.out().ends_with("0 healed, 1 marked as known, 0 left.\n"),
        "{}",
        repaired.out()
    );
    let verified = ship.run(&["verify"]);
    assert_eq!(verified.code(), 0);
    assert!(verified.out().ends_with("1 problem, known.\n"), "{}", verified.out());
    let json = ship.run(&["verify", "--json"]).json();
    assert_eq!(array(&json, "problems")[0].get("known"), Some(&Json::Bool(true)));
}

#[test]
fn a_question_whose_line_is_damaged_is_not_answered_again() {
    let ship = TestShip::new();
    for text in ["apples", "pears"] {
        let _ = ship.run(&["send", text]).text();
    }
    flip(
        &chat_folder(&ship).join("messages/history.jsonl"),
        "\"text\":\"pears",
        "\"text\":\"bears",
    );
    assert!(ship.run(&["send", "plums"]).text().contains("plums"));
    let ledger = ship.run(&["history", "--ledger"]).text();
    assert_eq!(ledger.matches("You said: pears").count(), 1, "{ledger}");
    let history = ship.run(&["history"]).text();
    assert_eq!(history.matches("You said: pears").count(), 1, "{history}");
    assert!(ship.run(&["send", "figs"]).text().contains("figs"));
    assert_eq!(ship.run(&["history", "--ledger"]).text().matches("You said: pears").count(), 1);
}

#[test]
fn a_damaged_live_log_is_replaced_by_a_whole_one_when_it_is_repaired() {
    let ship = TestShip::new();
    for text in ["apples", "pears"] {
        let _ = ship.run(&["send", text]).text();
    }
    let live = chat_folder(&ship).join("messages/history.jsonl");
    flip(&live, "apples", "opples");
    let _ = ship.run(&["repair"]).text();
    assert!(!std::fs::read_to_string(&live).unwrap().contains("opples"));
    assert_eq!(ship.run(&["verify"]).code(), 0);
    let _ = ship.run(&["send", "plums"]).text();
    assert_eq!(ship.run(&["verify"]).code(), 0);
    assert_eq!(ship.run(&["repair"]).text(), "Nothing to repair.\n");
}

/// The name of an injury, and how a file gets it.
type Injury = (&'static str, fn(&std::path::Path));

#[test]
fn a_file_that_is_gone_empty_or_half_written_stops_no_message() {
    let files = [
        "chat.json",
        "messages/history.jsonl",
        "conversations/history.jsonl",
        "messages/run.jsonl",
        "messages/requests.jsonl",
    ];
    let injuries: [Injury; 3] = [
        ("deleted", |path| std::fs::remove_file(path).unwrap()),
        ("emptied", |path| std::fs::write(path, "").unwrap()),
        ("cut", |path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..20]).unwrap();
        }),
    ];
    for file in files {
        for (name, injure) in injuries {
            let ship = TestShip::new();
            let _ = ship.run(&["send", "hello"]).text();
            injure(&chat_folder(&ship).join(file));
            for command in [&["history"][..], &["chats"], &["inspect"], &["context", "list"]] {
                let ran = ship.run(command);
                let told = ran.err();
                assert!(ran.code() == 0 || told.contains("ship repair"), "{file} {name}: {told}");
            }
            let sent = ship.run(&["send", "again"]);
            assert_eq!(sent.code(), 0, "{file} {name}: {}", sent.err());
            assert!(sent.out().contains("again"), "{file} {name}: {}", sent.out());
            let repaired = ship.run(&["repair"]);
            assert_eq!(repaired.code(), 0, "{file} {name}: {} {}", repaired.out(), repaired.err());
            let verified = ship.run(&["verify"]);
            assert_eq!(verified.code(), 0, "{file} {name}: {}", verified.out());
        }
    }
}

#[test]
fn repair_heals_what_refused_a_command() {
    for file in ["chat.json", "messages/history.jsonl", "conversations/history.jsonl"] {
        let ship = TestShip::new();
        let _ = ship.run(&["send", "hello"]).text();
        std::fs::write(chat_folder(&ship).join(file), "").unwrap();
        let repaired = ship.run(&["repair", "--json"]);
        assert_eq!(repaired.code(), 0, "{file}: {}", repaired.out());
        let json = repaired.json();
        assert_eq!(keys(&json), ["ok", "dryRun", "found", "left"]);
        assert_eq!(text(&array(&json, "found")[0], "repair"), "heals", "{json}");
        assert_eq!(ship.run(&["verify"]).code(), 0, "{file}");
        assert_eq!(ship.run(&["history"]).code(), 0, "{file}");
    }
}

#[test]
fn send_prints_its_own_answer_behind_a_ledger_that_was_restored_from_an_older_copy() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    let ledger = ship.root().join(".ship/chat/terminal%3Amain/conversations/history.jsonl");
    let older = std::fs::read(&ledger).unwrap();
    let _ = ship.run(&["send", "two"]).text();
    let _ = ship.run(&["send", "three"]).text();
    std::fs::write(&ledger, older).unwrap();

    let ran = ship.run(&["verify"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.out().contains("the ledger ends at entry 3"), "{}", ran.out());
    let answer = ship.run(&["send", "four"]).text();
    assert!(answer.contains("four") && !answer.contains("two"), "{answer}");
    let ran = ship.run(&["verify"]);
    assert!(ran.out().contains("the entries 4 to 6 before it are missing"), "{}", ran.out());
}

#[test]
fn entries_that_a_lost_ledger_had_are_named_until_a_repair_makes_them_known() {
    let ship = TestShip::new();
    for text in ["apples", "pears"] {
        let _ = ship.run(&["send", text]).text();
    }
    std::fs::remove_file(chat_folder(&ship).join("conversations/history.jsonl")).unwrap();
    assert!(ship.run(&["send", "plums"]).text().contains("plums"));
    let verified = ship.run(&["verify"]);
    assert_eq!(verified.code(), 1, "{}", verified.out());
    assert!(verified.out().contains("before it are missing"), "{}", verified.out());
    let _ = ship.run(&["repair"]).text();
    assert_eq!(ship.run(&["verify"]).code(), 0, "{}", ship.run(&["verify"]).out());
    assert!(ship.run(&["send", "figs"]).text().contains("figs"));
    assert_eq!(ship.run(&["verify"]).code(), 0, "{}", ship.run(&["verify"]).out());
}

#[test]
fn an_undo_after_a_repair_takes_back_the_last_operation_and_not_the_repair() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "alpha"]).text();
    let _ = ship.run(&["context", "new", "--title", "Two"]).text();
    let _ = ship.run(&["send", "beta"]).text();
    let _ = ship.run(&["context", "load", "alpha"]).text();
    let _ = ship.run(&["send", "gamma"]).text();
    flip(&chat_folder(&ship).join("messages/history.jsonl"), "You said: gamma", "You said: gamna");
    let _ = ship.run(&["repair"]).text();
    let _ = ship.run(&["send", "delta"]).text();
    let undone = ship.run(&["undo"]).text();
    assert!(undone.starts_with("Undid `ship context load`: now in “Two”."), "{undone}");
}
