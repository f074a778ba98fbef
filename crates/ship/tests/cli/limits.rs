//! Limits that the system sets: an error for each, and never a signal or a panic.

use ship_testkit::terminal::Terminal;

use std::process::Command;

use crate::harness::{Ran, TestShip, echo, text};

/// Runs a command under a limit of the shell's `ulimit`.
fn limited(ship: &TestShip, limit: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("/bin/sh");
    command.args([
        "-c",
        &format!("ulimit {limit}; exec \"$0\" \"$@\""),
        env!("CARGO_BIN_EXE_ship"),
    ]);
    command.args(arguments).current_dir(ship.root()).env_clear().env("HOME", ship.home());
    Ran(command.output().expect("a shell"))
}

#[test]
fn a_write_over_the_limit_on_the_size_of_files_is_an_error_and_the_chat_goes_on() {
    let ship = TestShip::new();
    let long = "long ".repeat(10_000);
    let error = limited(&ship, "-f 16", &["send", "--json", &long]).error();
    assert_eq!(text(&error, "code"), "storage_full");
    assert!(text(&error, "hint").contains("`ulimit -f`"), "{error}");

    assert_eq!(ship.run(&["send", "short"]).text(), format!("{}\n", echo("short")));
    let _ = ship.run(&["verify"]).text();
}

#[test]
fn a_message_that_cannot_be_written_comes_back_to_the_prompt_and_the_chat_goes_on() {
    let ship = TestShip::new();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", r#"ulimit -f 16; exec "$0" chat"#, env!("CARGO_BIN_EXE_ship")]);
    shell.current_dir(ship.root()).env_clear().env("HOME", ship.home());
    let mut terminal = Terminal::open(shell, 80);
    terminal.until("> ");
    terminal.types(&format!("{}end\r", "long ".repeat(2_000)));
    terminal.until("`ulimit -f`");
    terminal.until("long end");
    terminal.types("\u{3}");
    terminal.until("Ctrl-D leaves.");
    terminal.until("> ");
    terminal.types("short\r");
    terminal.until("You said:");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(ship.said().first().map(|(_, text)| text.as_str()), Some("short"));
}

#[test]
fn a_project_that_does_not_fit_the_limit_on_the_size_of_files_is_an_error() {
    let ship = TestShip::new();
    let error = limited(&ship, "-f 0", &["init", "--json"]).error();
    assert_eq!(text(&error, "code"), "storage_full");
}

#[test]
fn few_open_files_are_an_error_or_enough() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "before"]).text();
    let mut refused = 0;
    for files in 4..28 {
        for arguments in
            [&["send", "hello"][..], &["chat"], &["verify"], &["chats"], &["history"], &["init"]]
        {
            let ran = limited(&ship, &format!("-n {files}"), arguments);
            assert!(!ran.err().contains("panicked"), "{files} {arguments:?}: {}", ran.err());
            if ran.code() == 1 {
                refused += 1;
                assert!(ran.err().contains("`ulimit -n"), "{files} {arguments:?}: {}", ran.err());
            } else {
                let _ = ran.text();
            }
        }
    }
    assert!(refused > 0, "no limit was too low");
}

#[test]
fn a_chat_key_of_blanks_is_refused() {
    let ship = TestShip::new();
    for key in [" ", "  \u{a0}\u{3000}"] {
        let error = ship.run(&["send", "--json", "--chat", key, "hello"]).error();
        assert_eq!(text(&error, "code"), "chat_key", "{key:?}");
    }
    assert_eq!(ship.run(&["chats"]).text(), "No chats yet. Begin one with: ship chat\n");
}
