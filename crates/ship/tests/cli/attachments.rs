//! Files that go with a message: named behind an `@`, or by a flag.

use ship_message::json::Json;

use crate::harness::{TestShip, text};

/// The beginning of a picture, which is enough to know it.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000";

fn ship() -> TestShip {
    let ship = TestShip::new().file("notes.txt", "one\ntwo\n").file("my plan.md", "soup\n");
    std::fs::write(ship.root().join("a.png"), PNG).expect("it is there");
    std::fs::write(ship.root().join("b.zip"), b"PK\x03\x04\xff\xfe").expect("it is there");
    ship
}

/// The parts of the first message: texts, and names of files with their types.
fn parts(ship: &TestShip) -> Vec<String> {
    let messages = ship.run(&["history", "--json"]).json_lines();
    let parts = messages[0].get("parts").and_then(Json::as_array).expect("it is there");
    let part = |part: &Json| match part.get("filename") {
        None => text(part, "text"),
        Some(name) => {
            format!("{} {}", name.as_str().expect("it is there"), text(part, "mediaType"))
        }
    };
    parts.iter().map(part).collect()
}

#[test]
fn files_are_attached_by_a_flag_and_by_an_at_sign() {
    let ship = ship().file("empty.txt", "");
    let said = "compare @notes.txt, (@\"my plan.md\") and @notes.txt";
    let ran = ship.run(&["send", "-f", "a.png", "--file", "empty.txt", said]);
    assert_eq!(ran.code(), 0);
    let told = "(attached notes.txt, 8 bytes; my plan.md, 5 bytes; a.png, 12 bytes; empty.txt, which is empty)";
    assert!(ran.err().contains(told), "{}", ran.err());
    let notes = "<file name=\"notes.txt\">\none\ntwo\n</file>";
    let plan = "<file name=\"my plan.md\">\nsoup\n</file>";
    let empty = "<file name=\"empty.txt\">\n\n</file>";
    assert_eq!(parts(&ship), [said, notes, plan, "a.png image/png", empty]);
    assert!(ship.run(&["history"]).text().contains("[file a.png]"));
    assert!(ship.run(&["history", "--ledger"]).text().contains("[4 files]"));
}

#[test]
fn a_word_that_names_no_file_is_text_and_so_is_all_that_is_piped() {
    let ship = ship();
    let said = "ask @anna, me@notes.txt or @@";
    let _ = ship.piped(&["send", said], "@notes.txt\n").text();
    assert_eq!(parts(&ship), [format!("{said}\n\n@notes.txt\n")]);
    let piped = TestShip::new().file("notes.txt", "one\n");
    let _ = piped.piped(&["chat"], "@notes.txt\n").text();
    assert_eq!(parts(&piped), ["@notes.txt"]);
    let stdin = TestShip::new().file("notes.txt", "one\n");
    let _ = stdin.piped(&["send", "-"], "@notes.txt").text();
    assert_eq!(parts(&stdin), ["@notes.txt"]);
}

#[test]
fn a_file_that_no_model_reads_is_refused_and_nothing_is_sent() {
    let ship = ship();
    ship.write("ship.json", "{ \"limits\": { \"messageBytes\": 100 } }");
    ship.write("long.txt", &"x".repeat(101));
    for (arguments, reason) in [
        (&["send", "--json", "-f", "b.zip", "look"][..], "neither text in UTF-8 nor a PNG"),
        (&["send", "--json", "look at @b.zip"], "neither text in UTF-8 nor a PNG"),
        (&["send", "--json", "-f", "missing.txt", "look"], "missing.txt cannot be read"),
        (&["send", "--json", "-f", ".", "look"], ". is a folder"),
        (&["send", "--json", "-f", "-", "look"], "there is no file named -"),
        (&["send", "--json", "@long.txt"], "longer than a message may be (100 bytes)"),
    ] {
        let error = ship.run(arguments).error();
        let message = text(&error, "message");
        assert!(message.contains(reason) && message.ends_with("nothing was sent"), "{message}");
        assert_eq!(text(&error, "code"), "refused");
    }
    assert_eq!(ship.said(), []);
}

#[test]
fn in_a_chat_tab_completes_a_path_and_its_file_is_attached() {
    let ship = ship();
    let mut terminal = ship.terminal(80, &["chat"]);
    terminal.until("> ");
    terminal.types("read @my\t");
    terminal.until("@my\\ plan.md");
    terminal.types("\r");
    terminal.until("(attached my plan.md, 5 bytes)");
    terminal.until("You said:");
    terminal.until("> ");
    terminal.types("and @b.zip\r");
    terminal.until("nothing was sent");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(parts(&ship), ["read @my\\ plan.md", "<file name=\"my plan.md\">\nsoup\n</file>"]);
    assert_eq!(ship.said().len(), 2);
}

#[test]
fn files_that_are_too_long_together_are_not_told_to_be_attached() {
    let ship = TestShip::with_settings("{ \"limits\": { \"messageBytes\": 100 } }");
    let ship = ship.file("a.txt", &"a".repeat(60)).file("b.txt", &"b".repeat(60));
    let mut terminal = ship.terminal(80, &["chat"]);
    terminal.until("> ");
    terminal.types("compare @a.txt @b.txt\r");
    let told = terminal.until("> ");
    assert!(told.contains("limits.messageBytes") && !told.contains("(attached"), "{told}");
    terminal.leave();
}

#[test]
fn the_offline_model_and_inspect_tell_the_words_and_name_the_files() {
    let ship = ship();
    let answer = ship.run(&["send", "-f", "a.png", "compare @notes.txt"]).text();
    let told = "You said: compare @notes.txt (attached: notes.txt, a.png)\n";
    assert!(answer.ends_with(told), "{answer}");
    let pieces = ship.run(&["inspect"]).text();
    let row = pieces.lines().find(|line| line.contains("user "));
    assert!(
        row.is_some_and(|row| row.ends_with("compare @notes.txt [notes.txt] [a.png]")),
        "{pieces}"
    );
}

#[test]
fn a_path_that_names_no_file_and_a_folder_are_told_and_a_word_is_not() {
    let ship = ship().file("src/main.rs", "");
    let said = "see @src/mian.rs, @~/x, @notes.tex. and @src, not @anna or @v1.2 or me@x.org";
    let told = [
        "(@src/mian.rs names no file; sent as text)",
        "(@~/x names no file; sent as text)",
        "(@notes.tex names no file; sent as text)",
        "(@src is a folder; sent as text, name a file to attach it)",
    ];
    let ran = ship.run(&["send", said]);
    let notes: Vec<String> =
        ran.err().lines().filter(|line| line.contains('@')).map(str::to_owned).collect();
    assert_eq!((ran.code(), notes), (0, told.map(str::to_owned).to_vec()));
    let mut terminal = ship.terminal(60, &["chat", said]);
    for note in told {
        terminal.until(note);
    }
    terminal.until("> ");
    terminal.leave();
    assert_eq!(ship.piped(&["chat"], format!("{said}\n")).err(), "", "a program means no files");
}

#[test]
fn a_file_that_fills_much_of_the_window_is_told_with_its_tokens() {
    let ship = TestShip::with_settings(r#"{ "llm": { "window": 40000 } }"#);
    for (size, told) in
        [(40_000, "(attached a.txt, 40 KB)"), (50_000, "50 KB, about 13000 tokens)")]
    {
        ship.write("a.txt", &"x".repeat(size));
        let ran = ship.run(&["send", "-f", "a.txt", "what is this?"]);
        assert!(ran.err().contains(told), "{}", ran.err());
    }
}
