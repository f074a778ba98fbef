//! What each command prints, for people and for programs.

use ship_message::json::Json;

use crate::harness::{TestShip, array, echo, keys, message_text, number, text};

#[test]
fn a_project_without_any_file_answers() {
    let ship = TestShip::new();
    assert_eq!(ship.run(&["send", "hello"]).text(), format!("{}\n", echo("hello")));
    assert_eq!(std::fs::read_dir(ship.home()).unwrap().count(), 0, "the home folder is not ours");
}

#[test]
fn flags_stand_before_or_after_the_command() {
    let ship = TestShip::new();
    let _ = ship.run(&["--chat", "terminal:other", "send", "hello"]).text();
    let before = ship.run(&["--json", "--chat", "terminal:other", "history"]).text();
    let after = ship.run(&["history", "--chat", "terminal:other", "--json"]).text();
    assert_eq!(before, after);
    assert_eq!(before.lines().count(), 2);
}

#[test]
fn usage_that_cannot_be_meant_ends_with_2_and_says_where_to_look() {
    let ship = TestShip::new();
    for arguments in [&["--jsn", "chats"][..], &["frob"], &["send"], &["history", "--last", "x"]] {
        let ran = ship.run(arguments);
        assert_eq!(ran.code(), 2, "{arguments:?}");
        assert!(ran.err().contains("--help"), "{}", ran.err());
        assert_eq!(ran.out(), "");
    }
    assert!(ship.run(&["--jsn", "chats"]).err().contains("--json"), "the nearest option is named");
    assert_eq!(ship.run(&["--help"]).code(), 0);
    assert!(ship.run(&["--version"]).text().starts_with("ship "));
}

#[test]
fn an_error_is_words_on_stderr_or_json_on_stdout_and_ends_with_1() {
    let ship = TestShip::new();
    let plain = ship.run(&["history"]);
    assert_eq!(
        plain.complaint(),
        "ship: there is no chat `terminal:main`\nhint: `ship chats` lists them\n"
    );
    assert_eq!(plain.out(), "");

    let error = ship.run(&["history", "--json"]).error();
    assert_eq!(text(&error, "code"), "no_chat");
    assert_eq!(text(&error, "message"), "there is no chat `terminal:main`");
    assert_eq!(text(&error, "hint"), "`ship chats` lists them");
}

#[test]
fn chats_lists_each_chat_with_its_key_verbatim() {
    let ship = TestShip::new();
    assert_eq!(ship.run(&["chats"]).text(), "No chats yet. Begin one with: ship chat\n");
    assert_eq!(ship.run(&["chats", "--json"]).text(), "{\"chats\":[]}\n");

    let _ = ship.run(&["send", "hello"]).text();
    let json = ship.run(&["chats", "--json"]).json();
    let [row] = array(&json, "chats") else { panic!("{json}") };
    let expected =
        ["chatKey", "channel", "contextId", "title", "messageCount", "queued", "updatedAt"];
    assert_eq!(keys(row), expected);
    assert_eq!(text(row, "chatKey"), "terminal:main");
    assert_eq!(text(row, "channel"), "terminal");
    assert!(text(row, "contextId").starts_with("c_"));
    assert_eq!((number(row, "messageCount"), number(row, "queued")), (2, 0));
    assert!(number(row, "updatedAt") > 1_600_000_000_000, "milliseconds");
    let plain = ship.run(&["chats"]).text();
    assert!(plain.starts_with("terminal:main  2 messages, 20"), "{plain}");
}

#[test]
fn awkward_chat_keys_are_chats_like_any_other() {
    let ship = TestShip::new();
    let long = "x".repeat(600);
    let known = ["telegram-chat--100123-topic-7", "api:chat:a/b c%2F..", "房间", " spaced ", &long];
    for key in known {
        let _ = ship.run(&[&format!("--chat={key}"), "send", "hello"]).text();
        let history = ship.run(&["history", "--json", &format!("--chat={key}")]).json_lines();
        let metadata = history[0].get("metadata").unwrap();
        assert_eq!(text(metadata, "chatKey"), key);
    }
    let chats = ship.run(&["chats", "--json"]).json();
    let mut found: Vec<String> =
        array(&chats, "chats").iter().map(|row| text(row, "chatKey")).collect();
    found.sort();
    let mut expected = known.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(found, expected);

    for key in ["", ".", "..", "a\nb", "a\u{1b}[2J", &"x".repeat(1001)] {
        let ran = ship.run(&[&format!("--chat={key}"), "send", "hello"]);
        assert!(!ran.complaint().contains('\u{1b}'), "{key:?}");
        let error = ship.run(&["--json", &format!("--chat={key}"), "chats"]).error();
        assert_eq!(text(&error, "code"), "chat_key", "{key:?}");
    }
}

#[test]
fn history_prints_ui_messages_oldest_first_and_the_last_20_unless_told() {
    let ship = TestShip::new().env("USER", "ana");
    let lines: String = (1..=12).map(|number| format!("message {number}\n")).collect();
    let _ = ship.piped(&["chat"], lines).text();

    let all = ship.run(&["history", "--json"]).json_lines();
    assert_eq!(all.len(), 20);
    assert_eq!(keys(&all[0]), ["id", "role", "parts", "metadata"]);
    assert_eq!(message_text(&all[18]), "message 12");
    assert_eq!(message_text(&all[19]), echo("message 12"));
    let last = ship.run(&["history", "--json", "--last", "3"]).json_lines();
    assert_eq!(last, all[17..]);

    let plain = ship.run(&["history", "--last", "2"]).text();
    let lines: Vec<&str> = plain.lines().collect();
    assert!(lines[0].starts_with("ana 20") && lines[0].ends_with(" UTC"), "{plain}");
    assert_eq!((lines[1], lines[2]), ("message 12", ""));
    assert!(lines[3].starts_with("assistant 20"), "{plain}");
}

#[test]
fn the_ledger_tells_what_came_in_and_went_out() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "two\nlines"]).text();
    let lines = ship.run(&["history", "--ledger", "--json"]).json_lines();
    let shown: Vec<(String, String)> =
        lines.iter().map(|line| (text(line, "role"), text(line, "text"))).collect();
    assert_eq!(shown[0], ("user".to_owned(), "two\nlines".to_owned()));
    assert_eq!(shown[1], ("assistant".to_owned(), echo("two\nlines")));
    let plain = ship.run(&["history", "--ledger"]).text();
    assert!(plain.contains("  user      two\n                 lines\n"), "{plain}");
}

#[test]
fn inspect_gives_every_piece_and_sums_that_add_up() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "hello"]).text();
    let json = ship.run(&["inspect", "--json"]).json();
    assert_eq!(keys(&json), ["system", "messages", "tools", "tokens"]);
    let system = array(&json, "system");
    assert_eq!(keys(&system[0]), ["name", "tokens", "text"]);
    let tokens = json.get("tokens").unwrap();
    assert_eq!(keys(tokens), ["system", "tools", "messages", "total", "budget", "window"]);
    let sum: u64 = system.iter().map(|block| number(block, "tokens")).sum();
    assert_eq!(sum, number(tokens, "system"));
    let total = ["system", "tools", "messages"].map(|key| number(tokens, key)).iter().sum::<u64>();
    assert_eq!(total, number(tokens, "total"));
    assert_eq!(number(tokens, "budget"), 12_000);

    let plain = ship.run(&["inspect"]).text();
    for piece in [
        "Project  ",
        "Chat     terminal:main\n",
        "Model    offline",
        "\nSystem ",
        "\nTools ",
        "\nMessages ",
        "  user       hello\n",
        &format!("\nTotal {total} tokens"),
    ] {
        assert!(plain.contains(piece), "{piece:?} is not in\n{plain}");
    }
}

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

#[test]
fn send_json_prints_the_final_message_and_a_dash_reads_the_text_from_a_pipe() {
    let ship = TestShip::new();
    let message = ship.piped(&["send", "--json", "-"], "from a pipe\n").json();
    assert_eq!(keys(&message), ["id", "role", "parts", "metadata"]);
    assert_eq!(text(&message, "role"), "assistant");
    assert_eq!(message_text(&message), echo("from a pipe"));
    assert_eq!(ship.said()[0].1, "from a pipe\n", "what was piped is kept byte for byte");

    assert_eq!(
        ship.run(&["send", "  "]).complaint(),
        "ship: there is nothing to send\nhint: ship send 'hello'\n"
    );
    assert_eq!(text(&ship.run(&["send", "-", "--json"]).error(), "code"), "empty");
}

#[test]
fn a_project_elsewhere_is_named_by_its_folder() {
    let ship = TestShip::new();
    std::fs::create_dir(ship.root().join("other")).unwrap();
    let _ = ship.run(&["--project", "other", "send", "hello"]).text();
    assert!(ship.root().join("other/.ship/chat").is_dir());
    assert!(!ship.root().join(".ship").exists());
    let error = ship.run(&["chats", "--json", "--project", "nowhere"]).error();
    assert_eq!(text(&error, "code"), "no_project");
}

#[test]
fn what_moves_the_cursor_is_printed_as_what_it_is() {
    let ship = TestShip::new();
    let hostile = "red \u{1b}[31m title \u{1b}]0;x\u{7} back\r\u{8} c1 \u{9b}2J";
    let answer = ship.run(&["send", hostile]).text();
    let printed = [
        answer,
        ship.run(&["history"]).text(),
        ship.run(&["inspect"]).text(),
        ship.run(&["history", "--ledger"]).text(),
        ship.run(&["logs"]).text(),
        ship.piped(&["chat"], format!("{hostile}\n")).text(),
    ];
    for text in printed {
        // JSON has a way of its own to write it.
        let shown = ["\\u{1b}[31m", "\\u001b[31m"].iter().any(|escaped| text.contains(escaped));
        assert!(shown, "{text}");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
    assert_eq!(ship.said()[0].1, hostile, "it is stored as it was said");
}
