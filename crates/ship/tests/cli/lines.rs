//! Messages of several lines in `ship chat`, and keys that come before they are asked for.

use ship_testkit::terminal::Terminal;

use crate::harness::TestShip;

fn chat(ship: &TestShip) -> Terminal {
    let mut terminal = ship.terminal(80, &["chat"]);
    terminal.until("> ");
    terminal
}

/// What the person said.
fn questions(ship: &TestShip) -> Vec<String> {
    ship.said().into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

/// Waits for an answer, and for the prompt behind it.
fn until_answered(terminal: &mut Terminal) {
    terminal.until("You said:");
    terminal.until("> ");
}

#[test]
fn a_word_alone_leaves_or_shows_the_help_and_is_not_said() {
    for word in ["exit", "Quit", "/quit"] {
        let ship = TestShip::new();
        let mut terminal = chat(&ship);
        terminal.says("?");
        terminal.says("/");
        let help =
            terminal.screen().iter().filter(|line| line.contains("so do exit, /quit")).count();
        assert_eq!(help, 2, "{:#?}", terminal.screen());
        terminal.types(&format!("{word}\r"));
        terminal.until("(left; `ship chat` comes back here)");
        assert_eq!(terminal.exit_code(), 0);
        assert_eq!(questions(&ship), Vec::<String>::new());
    }
    let ship = TestShip::new();
    let _ = ship.piped(&["chat"], "exit\n?\n").text();
    assert_eq!(questions(&ship), ["exit", "?"], "a program says what it says");
}

#[test]
fn a_word_alone_leaves_or_shows_the_help_at_a_question_too() {
    let ship = TestShip::with_settings("{ \"tools\": { \"approval\": [\"chat_send\"] } }");
    let mut terminal = chat(&ship);
    terminal.types("/tool chat_send {\"text\":\"the parcel\"}\r");
    terminal.until("Allow it?");
    terminal.types("?\r");
    terminal.until("so do exit, /quit");
    terminal.until("Allow it?");
    terminal.types("exit\r");
    terminal.until("(left");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(questions(&ship).len(), 1);
}

#[test]
fn a_backslash_and_alt_enter_begin_a_new_line_and_up_brings_all_lines_back() {
    let ship = TestShip::new();
    let mut terminal = chat(&ship);
    terminal.types("one\\\r");
    terminal.until("> one\r\n");
    terminal.types("two\u{1b}\rthree\r");
    until_answered(&mut terminal);
    let screen = terminal.screen();
    let at = screen.iter().position(|line| line == "> one").expect("the message");
    assert_eq!(screen[at + 1..at + 3], ["two", "three"], "new lines look alike: {screen:#?}");
    terminal.types("C:\\\\\r");
    until_answered(&mut terminal);
    terminal.leave();
    let mut again = chat(&ship);
    again.types("\u{1b}[A\u{1b}[A\r");
    until_answered(&mut again);
    again.leave();
    assert_eq!(questions(&ship), ["one\ntwo\nthree", "C:\\\\", "one\ntwo\nthree"]);
}

#[test]
fn a_line_that_goes_on_can_be_ended_or_given_up() {
    let ship = TestShip::new();
    let mut terminal = chat(&ship);
    terminal.types("given up\\\r");
    terminal.until("> given up\r\n");
    terminal.types("\u{3}");
    terminal.until("> ");
    terminal.types("kept\\\r");
    terminal.until("> kept\r\n");
    terminal.types("\u{7f}\r");
    until_answered(&mut terminal);
    terminal.leave();
    assert_eq!(questions(&ship), ["kept"]);
}

#[test]
fn a_paste_is_one_message_with_its_lines() {
    let ship = TestShip::new();
    let mut terminal = chat(&ship);
    terminal.types("\u{1b}[200~one \\\n  two\n\nthree\u{1b}[201~\r");
    until_answered(&mut terminal);
    terminal.leave();
    assert_eq!(questions(&ship), ["one \\\n  two\n\nthree"]);
}

#[test]
fn the_lines_of_a_paste_without_marks_are_one_message_too() {
    let ship = TestShip::new();
    let mut terminal = chat(&ship);
    terminal.types("one\rtwo\r\rthree\r");
    until_answered(&mut terminal);
    terminal.types("four\rhalf");
    terminal.until("> four\r\nhalf");
    terminal.types(" a line\r");
    until_answered(&mut terminal);
    let long = (0..500).map(|nth| format!("line {nth}")).collect::<Vec<_>>();
    terminal.types(&format!("{}\r", long.join("\r")));
    terminal.until("You said:");
    terminal.until("line 499");
    terminal.until("> ");
    terminal.leave();
    let said = questions(&ship);
    assert_eq!(said[..2], ["one\ntwo\n\nthree", "four\nhalf a line"]);
    assert_eq!(said[2..].join("\n"), long.join("\n"), "nothing is lost or mixed");
}

#[test]
fn a_command_that_is_pasted_with_a_text_is_done_and_the_text_stays_typed() {
    for paste in ["/context list\rHello", "\u{1b}[200~/context list\nHello\u{1b}[201~\r"] {
        let ship = TestShip::new();
        let mut terminal = chat(&ship);
        terminal.types("First.\r");
        until_answered(&mut terminal);
        terminal.types(paste);
        if !paste.ends_with('\r') {
            terminal.until("> /context list\r\nHello");
            terminal.types("\r");
        }
        terminal.until("active");
        terminal.until("> Hello");
        terminal.types(" there.\r");
        until_answered(&mut terminal);
        terminal.leave();
        assert_eq!(questions(&ship), ["First.", "Hello there."], "{paste:?}");
    }
}

#[test]
fn after_a_chat_the_terminal_shows_what_is_typed_as_before() {
    let ship = TestShip::new();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "\"$0\" chat; /bin/stty -a", env!("CARGO_BIN_EXE_ship")]);
    shell.current_dir(ship.root()).env_clear().env("HOME", ship.home());
    let mut terminal = Terminal::open(shell, 80);
    terminal.until("> ");
    terminal.types("hello\r");
    until_answered(&mut terminal);
    terminal.types("\u{4}");
    let modes = terminal.all();
    for mode in [" echo ", " icanon ", " icrnl "] {
        assert!(modes.contains(mode), "{mode}: {modes}");
    }
}

#[test]
fn a_chat_that_is_terminated_leaves_the_terminal_as_it_was() {
    let ship = TestShip::new();
    let mut shell = std::process::Command::new("/bin/sh");
    let chat = r#"/bin/sh -c 'echo "pid $$."; exec "$0" chat' "$0"; echo "code $?"; /bin/stty -a"#;
    shell.args(["-c", chat, env!("CARGO_BIN_EXE_ship")]);
    shell.current_dir(ship.root()).env_clear().env("HOME", ship.home());
    let mut terminal = Terminal::open(shell, 80);
    terminal.until("pid ");
    let pid = terminal.until(".").trim_end_matches('.').parse().expect("a number");
    terminal.until("> ");
    terminal.types("half");
    terminal.until("half");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    let modes = terminal.all();
    assert!(modes.contains("code 143"), "{modes}");
    for mode in [" echo ", " icanon ", " icrnl ", "-noflsh"] {
        assert!(modes.contains(mode), "{mode}: {modes}");
    }
}

#[test]
fn an_edited_message_is_sent_as_it_was_saved_and_an_empty_one_is_not() {
    let ship = TestShip::new().file(
        "editor",
        "#!/bin/sh\nread -r line < \"$2\"\nprintf '%s\\nand more\\n' \"$line\" > \"$2\"\n",
    );
    let editor = format!("/bin/sh {}/editor --wait", ship.root().display());
    let ship = ship.env("EDITOR", &editor);
    let mut terminal = chat(&ship);
    terminal.types("/edit a beginning\r");
    until_answered(&mut terminal);
    terminal.leave();
    assert_eq!(questions(&ship), ["a beginning\nand more"]);

    for (editor, told) in [(": >", "nothing was sent"), ("false", "nothing was sent")] {
        let ship = TestShip::new().env("EDITOR", "vi").env("VISUAL", editor);
        let mut terminal = chat(&ship);
        terminal.types("/edit\r");
        terminal.until(told);
        terminal.until("> ");
        terminal.leave();
        assert_eq!(questions(&ship), Vec::<String>::new());
    }
}
