//! The codes of errors that programs read, each from the real program.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use ship_testkit::shim::{Fault, shim};
use ship_testkit::terminal::Terminal;

use crate::harness::{Ran, TestShip, text};

fn code_of(ran: &Ran) -> String {
    text(&ran.error(), "code")
}

fn chat_file(ship: &TestShip, name: &str) -> PathBuf {
    ship.root().join(".ship/chat/terminal%3Amain").join(name)
}

#[test]
fn settings_that_cannot_work_have_a_code_each() {
    for (settings, code) in [
        (r#"{ "llm": { "provider": "openai" } }"#, "no_key"),
        (
            r#"{ "llm": { "provider": "openai", "model": "m", "baseUrl": "ftp://x/y" } }"#,
            "base_url",
        ),
        (r#"{ "llm": { "provider": "openai", "baseUrl": "http://127.0.0.1:9" } }"#, "no_model"),
        (r#"{ "llm": { "retries": "many" } }"#, "config"),
        (r#"{ "llm": { "provider": "openai", "model": "m", "apiKey": "a\nb" } }"#, "key"),
    ] {
        let ship = TestShip::with_settings(settings);
        assert_eq!(code_of(&ship.run(&["send", "--json", "hello"])), code, "{settings}");
    }
    let ship = TestShip::new().file("file", "");
    assert_eq!(code_of(&ship.run(&["init", "--json", "file"])), "init");
}

#[test]
fn files_of_a_chat_that_cannot_be_used_have_a_code_each() {
    let change = |from: &str, to: &str| {
        let ship = TestShip::new();
        let _ = ship.run(&["send", "one"]).text();
        let about = chat_file(&ship, "chat.json");
        let changed = std::fs::read_to_string(&about).expect("a file").replace(from, to);
        std::fs::write(about, changed).expect("a file");
        code_of(&ship.run(&["send", "--json", "two"]))
    };
    assert_eq!(change("\"v\":1,", "\"v\":2,"), "storage_newer_format");
    assert_eq!(change("\"v\":1,", "\"v\":1,\"minReader\":9,"), "storage_reader_too_old");

    let ship = TestShip::new();
    let _ = ship.run(&["send", "--chat", "one", "hello"]).text();
    let chats = ship.root().join(".ship/chat");
    std::fs::rename(chats.join("one"), chats.join("two")).expect("a folder");
    let ran = ship.run(&["send", "--json", "--chat", "two", "hello"]);
    assert_eq!(code_of(&ran), "storage_other_chat");

    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    let log = chat_file(&ship, "conversations/history.jsonl");
    std::fs::remove_file(&log).expect("a file");
    std::fs::create_dir(&log).expect("a folder");
    assert_eq!(code_of(&ship.run(&["history", "--json"])), "storage_not_plain");
}

#[test]
fn logs_that_cannot_be_read_are_told_by_their_code() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    let logs = ship.root().join(".ship/logs");
    std::fs::remove_dir_all(&logs).expect("a folder");
    std::os::unix::fs::symlink("logs", &logs).expect("a link to itself");
    let error = ship.run(&["logs", "--json"]).error();
    assert_eq!(text(&error, "code"), "logs");
    assert!(text(&error, "message").contains("/.ship/logs cannot be read: "), "{error}");
}

#[test]
fn calls_of_the_system_that_fail_have_a_code_each() {
    let Some(shim) = shim() else { return };
    for (what, only, code) in [
        ("eio-forever", "", "storage_io"),
        ("enospc-forever", "", "storage_full"),
        ("erofs-forever", "", "storage_readonly"),
        ("eperm-forever", "", "storage_denied"),
        ("emfile-forever", "openat", "storage_open_files"),
        ("no-epoll", "", "system"),
    ] {
        let ship = TestShip::new();
        let _ = ship.run(&["send", "one"]).text();
        let mut command = ship.command(&["send", "--json", "two"]);
        let fault = Fault { what, at: 1, only, ..Fault::default() };
        let ran = Ran(fault.put_into(&mut command, shim).output().expect("the program"));
        assert_eq!(code_of(&ran), code, "{what}");
    }
}

#[test]
fn too_few_open_files_have_a_code() {
    let ship = TestShip::new();
    let mut shell = Command::new("/bin/sh");
    let script = "ulimit -n 10; exec \"$0\" send --json hello";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_ship")]).current_dir(ship.root()).env_clear();
    assert_eq!(code_of(&Ran(shell.output().expect("a shell"))), "open_files");
}

#[test]
fn a_context_for_which_no_model_has_room_has_the_code_of_runs() {
    let ship = TestShip::with_settings(r#"{ "llm": { "window": 3000 } }"#);
    ship.write("Agent.md", &"Be kind and helpful. ".repeat(2_000));
    let _ = ship.run(&["send", "hello"]).complaint();
    let error = ship.run(&["compact", "--json"]).error();
    assert_eq!(text(&error, "code"), "run");
    assert!(text(&error, "message").starts_with("the system blocks alone take about"), "{error}");
}

#[test]
fn output_that_cannot_be_written_is_told_where_errors_are() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "one"]).text();
    for arguments in [&["history"][..], &["history", "--json"]] {
        let full = File::options().write(true).open("/dev/full").expect("a full device");
        let ran = Ran(ship.command(arguments).stdout(full).output().expect("the program"));
        // The code stands in the JSON, which went the same way.
        let told = ran.complaint();
        assert!(told.starts_with("ship: cannot write the output: No space left"), "{told}");
    }
}

#[test]
fn an_editor_that_cannot_be_started_has_a_code() {
    let ship = TestShip::new().env("EDITOR", "/no/such/editor");
    let mut chat = ship.terminal(200, &["chat", "--json"]);
    chat.until("> ");
    chat.types("/edit\r");
    assert!(chat.until("hint").contains(r#""code":"editor""#));
    chat.until("> ");
    chat.leave();
}

#[test]
fn a_terminal_that_cannot_be_read_ends_a_chat_with_its_code() {
    let ship = TestShip::new();
    let mut shell = Command::new("/bin/sh");
    // Its input is the terminal, but only to be written.
    let script = "exec \"$0\" chat --json 0>\"$(tty)\" >out.json";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_ship")]).current_dir(ship.root());
    shell.env_clear().env("HOME", ship.home()).env("PATH", "/usr/bin:/bin");
    let mut terminal = Terminal::open(shell, 80);
    assert_eq!(terminal.exit_code(), 1);
    let printed = std::fs::read_to_string(ship.root().join("out.json")).expect("a file");
    assert!(printed.contains(r#"{"error":{"code":"terminal","message":"the terminal cannot"#));
}
