//! Keys that are pressed while an answer comes.

use std::process::Command;

use ship_testkit::llm::{Answer, Format, Gate, Kind, Piece, Speech};
use ship_testkit::summary::SUMMARY;
use ship_testkit::terminal::Terminal;

use crate::world::{World, wait};

const SHIP: &str = env!("CARGO_BIN_EXE_ship");

fn said(text: &str) -> Speech {
    Speech::text(text).without_usage()
}

fn two_halves(first: &str, second: &str) -> Speech {
    let halves = [first, second].map(|half| Piece::Text(half.to_owned()));
    Speech::new(halves).without_usage()
}

fn world() -> World {
    World::with(Format::OpenAi, r#""window": 100000"#)
}

/// Opens a chat that waits for the answer to its first message.
fn waiting_chat(world: &World) -> Terminal {
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("Tell me.\r");
    terminal.until("waiting for model-of-tests");
    terminal
}

/// The lines on the screen behind the first prompt.
fn after_prompt(terminal: &Terminal) -> Vec<String> {
    let lines = terminal.screen();
    let at = lines.iter().position(|line| line.starts_with('>')).expect("a prompt");
    lines[at..].to_vec()
}

/// What the person said.
fn questions(world: &World) -> Vec<String> {
    let said = world.ship.said().into_iter();
    said.filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

#[test]
fn a_message_and_a_draft_are_shown_beside_the_answer_and_come_to_the_next_prompts() {
    let (world, gate) = (world(), Gate::shut());
    world.server.then(gate.hold(said("First.")));
    world.server.then(said("Second."));
    world.server.then(said("Third."));
    let mut terminal = waiting_chat(&world);
    terminal.types("typed ahead\r");
    terminal.until("(queued: typed ahead)");
    terminal.types("and haf\u{7f}l");
    terminal.until(" (1 queued) > and hal");
    gate.open();
    terminal.until("Second.");
    terminal.until("\u{1b}[K> and hal");
    let expected = ["> Tell me.", "First.", "> typed ahead", "Second.", "> and hal"];
    assert_eq!(after_prompt(&terminal), expected);
    terminal.types("f\r");
    terminal.until("Third.");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(questions(&world), ["Tell me.", "typed ahead", "and half"]);
}

#[test]
fn ctrl_c_brings_everything_that_was_typed_back_to_the_prompt() {
    let (world, gate) = (world(), Gate::shut());
    world.server.then(gate.hold(said("Too late.")));
    world.server.then(said("Aye."));
    let mut terminal = waiting_chat(&world);
    for line in ["one", "two", "/model"] {
        terminal.types(&format!("{line}\r"));
        terminal.until(&format!(": {line})"));
    }
    terminal.types("hal");
    terminal.until(" (3 queued) > hal");
    world.wait_for(1);
    terminal.interrupt();
    terminal.until("(stopped)");
    // The server counts the tokens of its first request before it looks what to answer.
    wait(world.server.wait_until_over(1));
    terminal.until("> one\r\ntwo");
    terminal.types("!\r");
    terminal.until("Aye.");
    // A command stays one: each has a prompt of its own.
    terminal.until("\u{1b}[K> /model");
    terminal.types("\r");
    terminal.until("model-of-tests of openai");
    terminal.until("\u{1b}[K> hal");
    let screen = after_prompt(&terminal);
    assert_eq!(screen[1..5], ["(stopped)", "> one", "two!", "Aye."], "{screen:#?}");
    terminal.types("\u{3}");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(questions(&world), ["Tell me.", "one\ntwo!"]);
}

#[test]
fn a_paste_during_an_answer_is_one_message_with_and_without_marks() {
    for paste in
        ["\u{1b}[200~one\rtwo\r\rthree\u{1b}[201~", "one\rtwo\r\rthree", "one\rtwo\r\rthree\r"]
    {
        let (world, gate) = (world(), Gate::shut());
        world.server.then(gate.hold(said("First.")));
        world.server.then(said("Second."));
        let mut terminal = waiting_chat(&world);
        terminal.types(paste);
        terminal.until("one ⏎ two ⏎  ⏎ three");
        gate.open();
        terminal.until("First.");
        terminal.until("> one\r\ntwo\r\n\r\nthree");
        if !paste.ends_with('\r') {
            terminal.types("\r");
        }
        terminal.until("Second.");
        terminal.until("> ");
        terminal.leave();
        assert_eq!(questions(&world), ["Tell me.", "one\ntwo\n\nthree"], "{paste:?}");
    }
}

#[test]
fn what_is_queued_is_shown_below_an_answer_and_never_in_it() {
    let (world, gate) = (world(), Gate::shut());
    let pieces = [Piece::Text("It begins".to_owned()), Piece::call("skills_list", "{}")];
    world.server.then(gate.hold_before(Kind::Call, Speech::new(pieces).without_usage()));
    let second = Gate::shut();
    world.server.then(second.hold(said("The end.")));
    world.server.then(said("Aye."));
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("Tell me.\r");
    terminal.until("It");
    terminal.types("and then?\r");
    terminal.until("(queued: and then?)");
    gate.open();
    terminal.until("[skills_list]");
    terminal.until("(queued: and then?)");
    second.open();
    terminal.until("Aye.");
    terminal.until("> ");
    let screen = after_prompt(&terminal);
    let expected =
        ["> Tell me.", "It begins", "[skills_list]", "The end.", "> and then?", "Aye.", ">"];
    assert_eq!(screen, expected);
    terminal.leave();
}

#[test]
fn what_was_queued_when_the_chat_ended_comes_back_to_its_next_prompts() {
    type End = fn(Terminal);
    let ends: [(End, &str); 3] = [
        (drop, "> one\r\ntwo"),
        (|terminal| ended(terminal, Terminal::terminate, 143), "> one\r\ntwo\r\nhal"),
        (|terminal| ended(terminal, Terminal::hang_up, 129), "> one\r\ntwo\r\nhal"),
    ];
    for (end, expected) in ends {
        let (world, gate) = (world(), Gate::shut());
        world.server.then(gate.hold(said("Too late.")));
        let mut terminal = waiting_chat(&world);
        for line in ["one", "two"] {
            terminal.types(&format!("{line}\r"));
            terminal.until(&format!(": {line})"));
        }
        terminal.types("hal");
        terminal.until(" (2 queued) > hal");
        end(terminal);
        gate.open();
        world.server.then(said("First."));
        world.server.then(said("Aye."));
        let mut again = world.ship.terminal(60, &["chat"]);
        again.until("(what you typed when the chat ended comes to the prompt)");
        again.until("First.");
        again.until(expected);
        again.types("!\r");
        again.until("Aye.");
        again.until("> ");
        again.leave();
        let typed = format!("{}!", expected.replace("\r\n", "\n").replace("> ", ""));
        assert_eq!(questions(&world), ["Tell me.".to_owned(), typed]);
        let left = world.ship.root().join(".ship/typed").read_dir().expect("a folder").count();
        assert_eq!(left, 0, "what was sent is not kept beside the chat");
    }
}

#[test]
fn what_is_at_the_prompt_when_the_window_closes_comes_back() {
    let world = world();
    world.server.then(said("Aye."));
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("Tell me.\r");
    terminal.until("Aye.");
    terminal.until("> ");
    terminal.types("half a li");
    terminal.until("half a li");
    terminal.types("ne");
    terminal.until("ne");
    ended(terminal, Terminal::hang_up, 129);
    let mut again = world.ship.terminal(60, &["chat"]);
    again.until("> half a line");
    // The same holds for what came back, and what is given up is gone.
    ended(again, Terminal::terminate, 143);
    let mut again = world.ship.terminal(60, &["chat"]);
    again.until("> half a line");
    again.types("\u{3}");
    again.until("Ctrl-D leaves.");
    again.until("> ");
    again.types("\u{1b}[A");
    again.until("half a line");
    again.types("\u{3}");
    again.until("> ");
    again.leave();
    let mut last = world.ship.terminal(60, &["chat"]);
    let greeting = last.until("> ");
    assert!(!greeting.contains("comes to the prompt"), "{greeting}");
    last.leave();
}

#[test]
fn what_came_back_outlives_another_kill_during_an_answer() {
    let (world, gate, second) = (world(), Gate::shut(), Gate::shut());
    world.server.then(gate.hold(said("Too late.")));
    world.server.then(second.hold(said("Too late again.")));
    let mut terminal = waiting_chat(&world);
    for line in ["one", "two"] {
        terminal.types(&format!("{line}\r"));
        terminal.until(&format!(": {line})"));
    }
    drop(terminal);
    gate.open();
    let mut again = world.ship.terminal(60, &["chat"]);
    again.until("> one ⏎ two");
    again.until("> one ⏎ two");
    drop(again);
    second.open();
    world.server.then(said("First."));
    let mut last = world.ship.terminal(60, &["chat"]);
    last.until("First.");
    last.until("> one\r\ntwo");
    last.types("\u{3}");
    last.until("> ");
    last.leave();
    assert_eq!(questions(&world), ["Tell me."]);
}

#[test]
fn what_is_in_the_chat_is_not_offered_again_after_a_kill() {
    let (world, gate) = (world(), Gate::shut());
    world.server.then(gate.hold(said("Too late.")));
    drop(waiting_chat(&world));
    gate.open();
    // The process was killed before it took its message out of the file.
    let left = r#"{"chat":"terminal:main","ts":1,"texts":["Tell me.","two"]}"#;
    let typed = world.ship.root().join(".ship/typed");
    std::fs::create_dir_all(&typed).unwrap();
    std::fs::write(typed.join("00.jsonl"), format!("{left}\n")).unwrap();
    world.server.then(said("First."));
    world.server.then(said("Second."));
    let mut again = world.ship.terminal(60, &["chat"]);
    again.until("First.");
    again.until("\u{1b}[K> two");
    again.types("\r");
    again.until("Second.");
    again.until("> ");
    again.leave();
    assert_eq!(questions(&world), ["Tell me.", "two"]);
}

#[test]
fn what_waits_behind_a_question_outlives_the_process() {
    let others = r#", "tools": { "approval": ["chat_send"] }"#;
    let (world, gate) = (World::of(Format::OpenAi, r#""window": 100000"#, others), Gate::shut());
    let call = [Piece::call("chat_send", r#"{"text":"the parcel"}"#)];
    world.server.then(gate.hold(Speech::new(call).without_usage()));
    let mut terminal = waiting_chat(&world);
    terminal.types("precious\r");
    terminal.until("(queued: precious)");
    gate.open();
    terminal.until("Allow it? [y/N] ");
    ended(terminal, Terminal::terminate, 143);
    let mut killed = world.ship.terminal(60, &["chat"]);
    killed.until("Allow it? [y/N] ");
    drop(killed);
    let mut again = world.ship.terminal(60, &["chat"]);
    again.until("Allow it? [y/N] ");
    again.types("half");
    again.until("half");
    ended(again, Terminal::hang_up, 129);
    let mut again = world.ship.terminal(60, &["chat"]);
    again.until("Allow it? [y/N] ");
    // An answer that is left open holds the rest back, too.
    again.types("/later\r");
    again.until("It waits; /answer asks again");
    again.until("half\r\nprecious");
    again.types("\u{3}");
    again.until("> ");
    again.leave();
    assert_eq!(questions(&world), ["Tell me."]);
}

#[test]
fn a_long_paste_during_an_answer_holds_nothing_up() {
    let (world, gate) = (world(), Gate::shut());
    world.server.then(gate.hold(said("First.")));
    world.server.then(said("Second."));
    let mut terminal = waiting_chat(&world);
    let words = "a long paste ".repeat(4_000);
    terminal.types(&format!("\u{1b}[200~{words}\u{1b}[201~end"));
    terminal.until("paste end");
    terminal.types("\r");
    terminal.until("(queued: a long paste");
    gate.open();
    terminal.until("Second.");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(questions(&world), ["Tell me.".to_owned(), format!("{words}end")]);
}

#[test]
fn a_process_that_was_stopped_goes_on_with_its_terminal_as_before() {
    let (world, gate) = (world(), Gate::shut());
    world.server.then(gate.hold(said("First.")));
    world.server.then(said("Second."));
    let mut terminal = waiting_chat(&world);
    terminal.stop_and_continue();
    terminal.types("typed ");
    terminal.until(" > typed");
    gate.open();
    terminal.until("First.");
    terminal.until("\u{1b}[K> typed ");
    terminal.stop_and_continue();
    terminal.until("(back)");
    terminal.until("> typed ");
    terminal.types("ahead\r");
    terminal.until("Second.");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(questions(&world), ["Tell me.", "typed ahead"]);
}

/// Ends a chat with a signal.
fn ended(mut terminal: Terminal, signal: fn(&Terminal), code: i32) {
    signal(&terminal);
    terminal.until("(ended by a signal; `ship chat` comes back here)");
    assert_eq!(terminal.exit_code(), code);
}

#[test]
fn a_stall_and_what_is_typed_are_shown_below_a_line_that_then_goes_on() {
    let (world, gate) = (world(), Gate::shut());
    world
        .server
        .then(gate.hold_before_last(Kind::Text, two_halves("# One half ", "and the other.")));
    world.server.then(said("Aye."));
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("Tell me.\r");
    terminal.until(" the");
    // An answer that stalls inside a line says so below it.
    terminal.until(" writing · 2 s");
    terminal.types("and th");
    terminal.until(" > and th");
    let screen = after_prompt(&terminal);
    assert_eq!(screen[1], "One half and the", "{screen:#?}");
    assert!(screen[2].ends_with(" > and th") && screen.len() == 3, "{screen:#?}");
    terminal.types("en?\r");
    terminal.until("(queued: and then?)");
    gate.open();
    terminal.until("Aye.");
    terminal.until("> ");
    let screen = after_prompt(&terminal);
    assert_eq!(screen, ["> Tell me.", "One half and the other.", "> and then?", "Aye.", ">"]);
    terminal.leave();
}

#[test]
fn keys_that_are_pressed_during_a_send_are_not_in_its_answer_and_come_to_the_shell() {
    let (world, gate) = (world(), Gate::shut());
    world.server.then(gate.hold_before_last(Kind::Text, two_halves("One half ", "and the other.")));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#""$0" send 'Tell me.'; read line; echo "Read: $line.""#, SHIP]);
    shell.current_dir(world.ship.root()).env_clear().env("HOME", world.ship.home());
    let mut terminal = Terminal::open(shell, 60);
    terminal.until(" the");
    terminal.types("echo hello\n");
    gate.open();
    terminal.until("Read: echo hello.");
    let screen = terminal.screen();
    assert_eq!(screen, ["One half and the other.", "Read: echo hello."]);
}

#[test]
fn a_line_that_was_typed_before_a_question_does_not_answer_it() {
    let others = r#", "tools": { "approval": ["chat_send"] }"#;
    let (world, gate) = (World::of(Format::OpenAi, r#""window": 100000"#, others), Gate::shut());
    let call = [Piece::call("chat_send", r#"{"text":"the parcel"}"#)];
    world.server.then(gate.hold(Speech::new(call).without_usage()));
    world.server.then(Answer::text("As you like."));
    world.server.then(Answer::text("Yes what?"));
    let mut terminal = waiting_chat(&world);
    terminal.types("y\r");
    terminal.until("(queued: y)");
    terminal.types("dra");
    terminal.until(" (1 queued) > dra");
    gate.open();
    terminal.until("Allow it? [y/N] ");
    terminal.types("n\r");
    terminal.until("Not allowed; the agent is told.");
    terminal.until(" like.");
    terminal.until("> y");
    terminal.until(" what?");
    terminal.until("\u{1b}[K> dra");
    terminal.types("ft\u{3}");
    terminal.until("Ctrl-D leaves.");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(world.sent_by_tool(), [""; 0], "the tool did not run");
    assert_eq!(questions(&world), ["Tell me.", "y"]);
}

/// Opens a chat whose person waits for a summary.
fn compacting_chat(world: &World, gate: &Gate) -> Terminal {
    for text in ["one", "two", "three"] {
        world.server.then(said("Aye."));
        assert_eq!(world.answer(&format!("{text} {}", "the ship sails ".repeat(20))), "Aye.");
    }
    world.server.then(gate.hold(Speech::text(SUMMARY)));
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("/compact\r");
    terminal.until("making room");
    terminal
}

fn world_that_keeps_two() -> World {
    let others = r#", "context": { "history": { "keepLastMessages": 2 } }"#;
    World::of(Format::OpenAi, r#""retries": 0, "window": 8000"#, others)
}

#[test]
fn lines_that_are_typed_during_a_compaction_wait_each_by_itself_and_so_does_a_draft() {
    let (world, gate) = (world_that_keeps_two(), Gate::shut());
    let mut terminal = compacting_chat(&world, &gate);
    for line in ["and then?", "/model"] {
        terminal.types(&format!("{line}\r"));
        terminal.until(&format!(": {line})"));
    }
    terminal.types("hal");
    terminal.until(" (2 queued) > hal");
    world.server.then(said("Land."));
    gate.open();
    terminal.until("became a summary");
    terminal.until("Undo it with: /compact undo");
    terminal.until("> and then?");
    terminal.until("Land.");
    terminal.until("> /model");
    terminal.until("> hal");
    terminal.types("\u{3}");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(questions(&world)[3..], ["and then?"]);
}

#[test]
fn ctrl_c_in_a_compaction_brings_the_lines_back_to_the_prompt() {
    let (world, gate) = (world_that_keeps_two(), Gate::shut());
    let mut terminal = compacting_chat(&world, &gate);
    terminal.types("and then?\r");
    terminal.until("(queued: and then?)");
    terminal.interrupt();
    terminal.until("nothing is lost");
    terminal.until("/compact starts again");
    terminal.until("> and then?");
    terminal.types("\u{3}");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(questions(&world).len(), 3);
}
