//! The ways in which newcomers write a message on the command line.

use crate::harness::{TestShip, echo};

/// What the person said.
fn questions(ship: &TestShip) -> Vec<String> {
    ship.said().into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

#[test]
fn words_without_quotes_are_one_message_and_a_pipe_alone_is_one_too() {
    let ship = TestShip::new().file("notes.txt", "one\n");
    let words = ship.run(&["send", "hello", "wide", "world"]).text();
    assert_eq!(words, format!("{}\n", echo("hello wide world")));
    let _ = ship.piped(&["send"], "from a pipe").text();
    let _ = ship.piped(&["send", "-f", "notes.txt"], "about a file").text();
    let asked = questions(&ship);
    assert_eq!(asked[..2], ["hello wide world", "from a pipe"]);
    assert!(asked[2].starts_with("about a file<file name="), "{asked:?}");
}

#[test]
fn a_message_without_a_text_is_refused_with_the_command_to_write() {
    let ship = TestShip::new().file("my notes.txt", "one\n");
    for (arguments, advice) in [
        (&["send"][..], "ship send 'hello'"),
        (&["send", "-f", "my notes.txt"], "ship send -f 'my notes.txt' 'what is this about?'"),
        (&["send", "-m", "hello you"], "the text needs no flag: ship send 'hello you'"),
        (&["send", "--message", "hi"], "the text needs no flag: ship send hi"),
    ] {
        let ran = ship.run(arguments);
        let told = ran.complaint_with(2);
        assert!(told.contains(advice) && told.contains("Usage: ship send"), "{told}");
        assert_eq!(ran.out(), "");
    }
    for arguments in [&["send", ""][..], &["send", "", "-f", "my notes.txt"]] {
        assert!(ship.run(arguments).complaint().contains("there is nothing to send"));
    }
    assert!(ship.piped(&["send"], "\n").complaint().contains("there is nothing to send"));
    assert!(!ship.root().join(".ship").exists());
}

#[test]
fn a_chat_begins_with_the_words_behind_it() {
    let ship = TestShip::new();
    let mut terminal = ship.terminal(80, &["chat", "hello", "you"]);
    terminal.until("You said:");
    terminal.until("> ");
    assert!(terminal.screen().contains(&"> hello you".to_owned()), "{:?}", terminal.screen());
    terminal.types("\u{1b}[A\r");
    terminal.until("You said:");
    terminal.until("> ");
    terminal.leave();
    let piped = ship.piped(&["chat", "first"], "second\n").text();
    assert_eq!(piped, format!("{}\n{}\n", echo("first"), echo("second")));
    let _ = ship.piped(&["chat", "/context", "new"], "").text();
    assert_eq!(questions(&ship), ["hello you", "hello you", "first", "second"]);
}
