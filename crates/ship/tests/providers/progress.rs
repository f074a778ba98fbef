//! What a person at a terminal sees while nothing is said: one line that tells what is going on, and leaves no trace.

use std::process::Stdio;

use ship_testkit::llm::{Answer, Format, Gate, Kind, Piece, Speech, faults};
use ship_testkit::summary::SUMMARY;
use ship_testkit::terminal::Terminal;

use crate::world::{World, wait};

/// The frames of the spinner.
const SPINNER: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/// A provider that is asked again, with a window that needs no warning.
fn world(format: Format) -> World {
    World::with(format, r#""retries": 2, "window": 100000"#)
}

/// An answer without a line about its cost.
fn said(text: &str) -> Speech {
    Speech::text(text).without_usage()
}

/// Whether a line of the screen is the line of the activity.
fn is_activity(line: &str) -> bool {
    line.chars().next().is_some_and(|first| SPINNER.contains(first))
}

/// The lines on the screen behind the first prompt.
fn after_prompt(terminal: &Terminal) -> Vec<String> {
    let lines = terminal.screen();
    let at = lines.iter().position(|line| line.starts_with('>')).expect("a prompt");
    lines[at..].to_vec()
}

#[test]
fn the_wait_for_the_first_word_is_shown_with_its_time_and_leaves_no_trace() {
    let (world, gate) = (world(Format::OpenAi), Gate::shut());
    world.server.then(gate.hold(said("Here I am.")));
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("Tell me.\r");
    let shown = terminal.until("waiting for model-of-tests · 1 s\u{1b}[0m");
    assert!(shown.contains("\r\u{1b}[2K\u{1b}[2m⠙ waiting for model-of-tests"), "{shown:?}");
    gate.open();
    terminal.until("Here I am.");
    terminal.until("> ");
    assert_eq!(after_prompt(&terminal), ["> Tell me.", "Here I am.", ">"]);
    terminal.leave();
}

#[test]
fn thoughts_are_not_shown_but_that_the_model_thinks() {
    let (world, gate) = (world(Format::OpenAi), Gate::shut());
    let pieces = [Piece::Reasoning("Who asks?".to_owned()), Piece::Text("I am.".to_owned())];
    world.server.then(gate.hold_before(Kind::Text, Speech::new(pieces).without_usage()));
    let mut terminal = world.ship.terminal(20, &["send", "Tell me."]);
    terminal.until(" thinking");
    let lines = terminal.screen();
    assert!(lines.len() == 1 && is_activity(&lines[0]), "{lines:?}");
    gate.open();
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(terminal.screen(), ["I am."]);
}

#[test]
fn in_a_narrow_terminal_the_line_is_cut_and_stays_one_line() {
    let (world, gate) = (world(Format::OpenAi), Gate::shut());
    world.server.then(gate.hold(said("Here I am.")));
    let mut terminal = world.ship.terminal(20, &["send", "Tell me."]);
    terminal.until(" waiting fo… · 1 s\u{1b}[0m");
    assert_eq!(terminal.screen().len(), 1, "{:?}", terminal.screen());
    gate.open();
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(terminal.screen(), ["Here I am."]);
}

#[test]
fn a_wait_for_the_next_try_takes_the_place_of_the_line_and_goes_with_it() {
    let world = world(Format::OpenAi);
    for command in [&["send", "Are you there?"][..], &["chat"]] {
        world.server.then(faults::rate_limited_millis(1100));
        world.server.then(said("Here I am."));
        let mut terminal = world.ship.terminal(60, command);
        if command == ["chat"] {
            terminal.until("> ");
            terminal.types("Are you there?\r");
        }
        terminal.until(" retrying in 2 s (429)");
        terminal.until("Here I am.");
        if command == ["chat"] {
            terminal.until("> ");
            assert_eq!(after_prompt(&terminal), ["> Are you there?", "Here I am.", ">"]);
            terminal.leave();
        } else {
            assert_eq!(terminal.exit_code(), 0);
            assert_eq!(terminal.screen(), ["Here I am."]);
        }
    }
}

#[test]
fn the_line_is_on_the_terminal_and_not_in_a_file_beside_it() {
    let (world, gate) = (world(Format::OpenAi), Gate::shut());
    world.server.then(gate.hold(said("Here I am.")));
    let path = world.ship.root().join("answer.txt");
    let file = Stdio::from(std::fs::File::create(&path).expect("a file can be made"));
    let command = world.ship.command(&["send", "Tell me."]);
    let mut terminal = Terminal::open_with_stdout(command, 60, file);
    terminal.until("waiting for model-of-tests");
    gate.open();
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(terminal.screen(), [""; 0]);
    assert_eq!(std::fs::read_to_string(path).ok().as_deref(), Some("Here I am.\n"));
}

#[test]
fn a_terminal_without_colours_has_the_line_and_one_that_cannot_erase_has_none() {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let world = world(Format::OpenAi);
        let world = world.env(name, value);
        world.server.then(faults::rate_limited_millis(1100));
        world.server.then(said("Here I am."));
        let mut terminal = world.ship.terminal(60, &["send", "Tell me."]);
        let shown = terminal.all();
        assert!(!shown.contains("\u{1b}[2m"), "no colours: {shown:?}");
        if name == "TERM" {
            assert_eq!(shown, "(retrying in 2 s (429))\r\nHere I am.\r\n");
        } else {
            assert!(shown.contains(" retrying in 2 s (429)"), "{shown:?}");
            assert_eq!(terminal.screen(), ["Here I am."]);
        }
    }
}

#[test]
fn ctrl_c_takes_the_line_away_and_the_chat_goes_on() {
    let (world, gate) = (world(Format::OpenAi), Gate::shut());
    world.server.then(gate.hold(said("Too late.")));
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("Tell me.\r");
    terminal.until("waiting for model-of-tests");
    world.wait_for(1);
    terminal.interrupt();
    terminal.until("(stopped)");
    terminal.until("> ");
    let told = ["> Tell me.", "(stopped)", ">"];
    assert_eq!(after_prompt(&terminal), told);
    terminal.leave();
    // The server counts the tokens of its first request before it looks what to answer.
    wait(world.server.wait_until_over(1));
    world.assert_goes_on();
}

#[test]
fn a_compaction_shows_that_room_is_made_and_then_only_what_came_of_it() {
    let gate = Gate::shut();
    let others = r#", "context": { "history": { "keepLastMessages": 2 } }"#;
    let world = World::of(Format::OpenAi, r#""retries": 0, "window": 8000"#, others);
    for nth in 0..4 {
        world.server.then(Answer::text("Aye."));
        assert_eq!(world.answer(&format!("{nth} {}", "the ship sails ".repeat(20))), "Aye.");
    }
    world.server.then(gate.hold(Speech::text(SUMMARY)));
    let mut terminal = world.ship.terminal(60, &["compact"]);
    terminal.until(" making room: summarising 6 older messages");
    gate.open();
    assert_eq!(terminal.exit_code(), 0);
    let lines = terminal.screen();
    let told = lines.join(" ");
    assert!(told.starts_with("6 messages became a summary: "), "{lines:?}");
    assert!(told.contains(" tokens before, about "), "lines break between words: {lines:?}");
    assert!(told.ends_with(" now. Undo it with: ship compact --undo"), "{lines:?}");
}
