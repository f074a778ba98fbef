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
    let json = ["--json", "--chat", "terminal:other"];
    for flags in [&["--ledger"][..], &["--last", "1"], &["--last=1", "--ledger"]] {
        let before = ship.run(&[&json[..], flags, &["history"]].concat()).text();
        assert_eq!(
            before,
            ship.run(&[&json[..], &["history"], flags].concat()).text(),
            "{flags:?}"
        );
    }
    let chat = ["--chat", "terminal:other"];
    let listed = ship.run(&[&chat[..], &["--requests", "inspect", "--json"]].concat());
    let id = text(&listed.json_lines()[0], "id");
    let before = ship.run(&[&chat[..], &["--request", &id, "--raw", "inspect"]].concat()).text();
    let after = ship.run(&[&["inspect", "--raw", "--request", &id], &chat[..]].concat()).text();
    assert!(before == after && before.contains("hello"), "{before}");
    let unknown = ship.run(&["--request", "none", "logs"]).complaint();
    assert!(unknown.contains("the logs have no request `none`"), "{unknown}");
    let unknown = ship.run(&["logs", "--request", "none", "--json"]).error();
    assert_eq!(text(&unknown, "code"), "no_request");
}

#[test]
fn of_many_requests_only_the_last_are_listed_when_asked_for() {
    let ship = TestShip::new();
    for said in ["one", "two", "three"] {
        let _ = ship.run(&["send", said]).text();
    }
    let ids = |last: &[&str]| -> Vec<String> {
        let listed = ship.run(&[&["inspect", "--requests", "--json"], last].concat());
        listed.json_lines().iter().map(|request| text(request, "id")).collect()
    };
    let all = ids(&[]);
    assert_eq!(all.len(), 3);
    assert_eq!(ids(&["--last", "2"]), all[1..]);
    let last = ship.run(&["inspect", "--requests", "--last", "1"]).text();
    let is_listed = |id: &&String| last.contains(*id);
    assert_eq!(all.iter().filter(is_listed).collect::<Vec<_>>(), [&all[2]], "{last}");
}

#[test]
fn usage_that_cannot_be_meant_ends_with_2_and_says_where_to_look() {
    let ship = TestShip::new();
    for arguments in [
        &["--jsn", "chats"][..],
        &["frob"],
        &["send"],
        &["history", "--last", "x"],
        &["--last", "1", "chats"],
    ] {
        let ran = ship.run(arguments);
        assert_eq!(ran.code(), 2, "{arguments:?}");
        assert!(ran.err().contains("--help"), "{}", ran.err());
        assert_eq!(ran.out(), "");
    }
    let first = ship.run(&[]).complaint_with(2);
    assert!(first.lines().count() <= 10 && first.contains("`ship --help` lists all"), "{first}");
    assert!(first.lines().all(|line| line.len() < 60), "{first}");
    assert!(ship.run(&["--jsn", "chats"]).err().contains("--json"), "the nearest option is named");
    assert_eq!(ship.run(&["--help"]).code(), 0);
    assert_eq!(ship.run(&["help"]).text(), ship.run(&["--help"]).text());
    assert_eq!(ship.run(&["help", "send"]).text(), ship.run(&["send", "--help"]).text());
    assert!(ship.run(&["--version"]).text().starts_with("ship "));
}

#[test]
fn a_flag_or_a_number_that_a_command_does_not_use_is_refused() {
    let ship = TestShip::new().env("SHIP_CHAT", "other");
    assert_eq!(ship.run(&["verify"]).code(), 0, "a variable concerns all commands");
    let whole = "it must be a whole number";
    for (arguments, sentence) in [
        (&["verify", "--chat", "nope"][..], "`ship verify` does not use '--chat'; leave it out"),
        (&["--model", "foo", "chats"], "`ship chats` does not use '--model'; leave it out"),
        (&["context", "list", "--model", "foo"], "`ship context` does not use '--model'"),
        (&["man", "--json"], "`ship man` does not use '--json'"),
        (&["inspect", "--last", "3"], "'--last' needs '--requests'"),
        (&["--last", "3", "inspect"], "'--last' needs '--requests'"),
        (&["context", "list", "--limit", "999"], "it must be a whole number from 1 to 200"),
        (&["history", "--last", "x"], whole),
        (&["--last", "-1", "history"], "unexpected argument"),
        (&["inspect", "--requests", "--last", "x"], whole),
    ] {
        let complaint = ship.run(arguments).complaint_with(2);
        assert!(complaint.contains(sentence), "{arguments:?}: {complaint}");
        assert!(!complaint.contains("digit"), "{complaint}");
    }
    let listed = ship.run(&["--requests", "inspect", "--last", "3"]).text();
    assert_eq!(listed, "No requests yet.\n");
}

#[test]
fn only_a_close_command_is_offered_for_a_mistyped_one() {
    let ship = TestShip::new();
    for far in ["list", "version", "prompt"] {
        let complaint = ship.run(&[far]).complaint_with(2);
        assert!(!complaint.contains("tip:"), "{complaint}");
    }
    for (words, meant) in
        [(&["histroy"][..], "'history'"), (&["snd"], "'send'"), (&["context", "lst"], "'list'")]
    {
        let complaint = ship.run(words).complaint_with(2);
        assert!(complaint.contains("tip:") && complaint.contains(meant), "{complaint}");
    }
}

#[test]
fn the_logs_of_one_chat_leave_out_the_others() {
    let ship = TestShip::new();
    for chat in ["main", "terminal:other"] {
        let _ = ship.run(&["send", "hello", "--chat", chat]).text();
    }
    let keys = |arguments: &[&str]| -> std::collections::BTreeSet<String> {
        let lines = ship.run(&[&["logs", "--json"], arguments].concat()).json_lines();
        lines.iter().map(|line| text(line, "chatKey")).collect()
    };
    assert_eq!(keys(&[]).len(), 2);
    assert_eq!(keys(&["--chat", "other"]), ["terminal:other".to_owned()].into());
    let error = ship.run(&["logs", "--chat", "none", "--json"]).error();
    assert_eq!(text(&error, "message"), "the logs have no line about `none`");
}

#[test]
fn the_help_tells_exit_codes_the_pager_and_everything_that_undo_takes_back() {
    let help = |arguments: &[&str]| TestShip::new().run(&[arguments, &["--help"]].concat()).text();
    assert!(
        help(&[]).contains(
            "\n  129 the terminal was closed, 130 stopped with Ctrl-C, 143 ended by SIGTERM\n"
        ),
        "{}",
        help(&[])
    );
    assert!(help(&["history"]).contains("$PAGER"), "{}", help(&["history"]));
    for operation in ["new", "load", "clear", "fork", "rewind", "rename", "checkpoint", "recall"] {
        assert!(help(&["undo"]).contains(operation), "{operation}: {}", help(&["undo"]));
    }
}

#[test]
fn an_error_is_words_on_stderr_or_json_on_stdout_and_ends_with_1() {
    let ship = TestShip::new();
    let plain = ship.run(&["history", "--chat", "other"]);
    assert_eq!(
        plain.complaint(),
        "ship: there is no chat `other`\nhint: `ship chats` lists them\n"
    );
    assert_eq!(plain.out(), "");

    let error = ship.run(&["history", "--json", "--chat", "other"]).error();
    assert_eq!(text(&error, "code"), "no_chat");
    assert_eq!(text(&error, "message"), "there is no chat `other`");
    assert_eq!(text(&error, "hint"), "`ship chats` lists them");
}

#[test]
fn before_anything_is_said_the_history_is_empty_and_nothing_is_wrong() {
    let ship = TestShip::new();
    assert_eq!(ship.run(&["history"]).text(), "Nothing was said yet.\n");
    assert_eq!(ship.run(&["history", "--json"]).text(), "");
    let _ = ship.run(&["send", "hello"]).text();
    assert_eq!(ship.run(&["history", "--last", "0"]).text(), "");
    assert!(ship.run(&["--last", "1", "history"]).text().starts_with("assistant "));
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
    assert!(plain.starts_with("terminal:main  2 messages  20"), "{plain}");
}

#[test]
fn chats_are_listed_in_columns_and_the_one_used_last_comes_first() {
    let ship = TestShip::new();
    for chat in ["a", "terminal:a-long-name"] {
        let _ = ship.run(&["send", "hello", "--chat", chat]).text();
    }
    for _ in 0..4 {
        let _ = ship.run(&["send", "hello", "--chat", "a"]).text();
    }
    let plain = ship.run(&["chats"]).text();
    let lines: Vec<&str> = plain.lines().collect();
    assert!(lines[0].starts_with("a                     10 messages  20"), "{plain}");
    assert!(lines[1].starts_with("terminal:a-long-name   2 messages  20"), "{plain}");
    let _ = ship.run(&["send", "hello", "--chat", "terminal:a-long-name"]).text();
    let plain = ship.run(&["chats"]).text();
    assert!(plain.starts_with("terminal:a-long-name   4 messages  20"), "{plain}");
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
        let error = ship.run(&["--json", &format!("--chat={key}"), "history"]).error();
        assert_eq!(text(&error, "code"), "chat_key", "{key:?}");
        assert!(!text(&error, "hint").is_empty(), "{error}");
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
fn history_goes_on_into_sealed_logs_and_shows_each_message_once() {
    let ship = TestShip::new();
    let long = "x".repeat(40_000);
    for text in ["one", &long, "three"] {
        let _ = ship.run(&["send", text]).text();
    }
    ship.seal(1);
    let _ = ship.run(&["send", "four"]).text();
    ship.seal(2);
    let said: Vec<String> = ship.said().into_iter().map(|(_, text)| text).collect();
    let expected: Vec<String> = ["one", &long, "three", "four"]
        .into_iter()
        .flat_map(|text| [text.to_owned(), echo(text)])
        .collect();
    assert_eq!(said, expected);
    let last = ship.run(&["history", "--json", "--last", "3"]).json_lines();
    assert_eq!(last.iter().map(message_text).collect::<Vec<_>>(), expected[5..]);
}

#[test]
fn inspect_gives_every_piece_and_sums_that_add_up() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "hello"]).text();
    let json = ship.run(&["inspect", "--json"]).json();
    assert_eq!(keys(&json), ["system", "messages", "tools", "tokens", "stable", "warning"]);
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
        "\nContext  c_20",
        ", by first message\n",
        "Model    offline",
        "\nSystem ",
        "\nTools ",
        "\nMessages ",
        "  user       hello\n",
        "  default role ",
        &format!("\nTotal {total} tokens, compacted above 12000\n"),
    ] {
        assert!(plain.contains(piece), "{piece:?} is not in\n{plain}");
    }
    assert!(!plain.contains("Agent.md"), "there is no such file: {plain}");
    ship.write("Agent.md", "Be brief.");
    assert!(ship.run(&["inspect"]).text().contains("  Agent.md "));
}

#[test]
fn send_json_prints_the_final_message_and_a_dash_reads_the_text_from_a_pipe() {
    let ship = TestShip::new();
    let message = ship.piped(&["send", "--json", "-"], "from a pipe\n").json();
    let fields = ["id", "role", "parts", "metadata", "text", "model", "usage"];
    assert_eq!(keys(&message), fields);
    assert_eq!(text(&message, "text"), echo("from a pipe"));
    assert_eq!(text(&message, "model"), "offline");
    assert!(message.get("usage").is_some_and(Json::is_null), "it reports none: {message}");
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

#[test]
fn times_are_on_the_clock_of_the_reader() {
    let ship = TestShip::new().env("TZ", "JST-9");
    let _ = ship.run(&["send", "hello"]).text();
    let history = ship.run(&["history", "--last", "1"]).text();
    assert!(history.lines().next().unwrap().ends_with(" JST"), "{history}");
    let nowhere = TestShip::new().env("TZ", "no/such place");
    let _ = nowhere.run(&["send", "hello"]).text();
    let history = nowhere.run(&["history", "--last", "1"]).text();
    assert!(history.lines().next().unwrap().ends_with(" UTC"), "{history}");
}

#[test]
fn a_context_is_compacted_looked_at_before_and_taken_back() {
    let ship = TestShip::with_settings(r#"{"context":{"history":{"keepLastMessages":2}}}"#);
    let nothing = "Nothing to compact: the last 2 messages stay, and a summary of older ones would save nothing.\n";
    assert_eq!(ship.run(&["compact"]).text(), nothing);
    for text in ["the ship is blue", "sail to /srv/port", "and rest"] {
        let at_length = format!("{text}. {}", "The sails are white. ".repeat(20));
        let _ = ship.run(&["send", &at_length]).text();
    }
    let before = ship.run(&["inspect", "--json"]).json();
    let plan = ship.run(&["compact", "--dry-run"]).text();
    assert!(plan.starts_with("4 messages would become a summary, and 2 would stay."), "{plan}");

    let done = ship.run(&["compact"]).text();
    assert!(
        done.starts_with("4 messages became an extract, because no model wrote a usable summary: "),
        "{done}"
    );
    let messages = array(&ship.run(&["inspect", "--json"]).json(), "messages").to_vec();
    assert_eq!(messages.len(), 3);
    let summary = message_text(&messages[0]);
    for piece in ["## Facts", "the ship is blue", "## Open items", "/srv/port"] {
        assert!(summary.contains(piece), "{piece} is not in {summary}");
    }
    assert_eq!(
        ship.said().len(),
        6,
        "the history has every original, and the summary was never said"
    );
    assert_eq!(ship.run(&["verify"]).text(), "1 chat, nothing wrong.\n");

    let undone = ship.run(&["compact", "--undo"]).text();
    assert!(undone.starts_with("4 messages are back, before what was said since."), "{undone}");
    let after = ship.run(&["inspect", "--json"]).json();
    assert_eq!(array(&after, "messages"), array(&before, "messages"));
    let again = ship.run(&["compact", "--undo", "--json"]).error();
    assert_eq!(text(&again, "code"), "not_done");
    let again = ship.run(&["compact", "--undo"]).complaint();
    assert_eq!(again, "ship: there is no compaction to undo\n");
    assert_eq!(ship.run(&["compact", "--undo", "--dry-run"]).code(), 2);
}

#[test]
fn a_few_short_messages_are_not_compacted_to_more_than_they_are() {
    let ship = TestShip::with_settings(r#"{"context":{"history":{"keepLastMessages":2}}}"#);
    for text in ["one", "two", "three"] {
        let _ = ship.run(&["send", text]).text();
    }
    let told = ship.run(&["compact"]).text();
    assert!(told.starts_with("Nothing to compact: the last 2 messages stay, and"), "{told}");
}
