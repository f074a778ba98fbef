//! `ship send` at a terminal: the answer is shown as it comes, and everything once.

use ship_testkit::llm::{Answer, Format, Gate, Kind, Piece, Speech, Stop, faults};

use crate::world::{World, both};

fn world(format: Format, retries: u32) -> World {
    World::with(format, &format!(r#""retries": {retries}, "window": 100000"#))
}

/// How often each piece is on the screen of `ship send`, which ends with this code.
fn counts(world: &World, code: i32, pieces: &[&str]) -> (Vec<usize>, Vec<String>) {
    let mut terminal = world.ship.terminal(100, &["send", "Tell me."]);
    assert_eq!(terminal.exit_code(), code, "{:#?}", terminal.screen());
    let screen = terminal.screen();
    let joined = screen.join(" ");
    (pieces.iter().map(|piece| joined.matches(piece).count()).collect(), screen)
}

#[test]
fn the_first_words_are_there_before_the_last_ones() {
    let (world, gate) = (world(Format::OpenAi, 0), Gate::shut());
    let pieces = [Piece::Text("First some words.".to_owned()), Piece::call("skills_list", "{}")];
    world.server.then(gate.hold_before(Kind::Finish, Speech::new(pieces).without_usage()));
    world.server.then(Speech::text("**Last.**").without_usage());
    let mut terminal = world.ship.terminal(100, &["send", "Tell me."]);
    terminal.until("First some");
    gate.open();
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(terminal.screen(), ["First some words.", "Last."]);
}

#[test]
fn a_delivered_text_and_the_answer_are_each_shown_once() {
    let world = world(Format::OpenAi, 0);
    let send = Piece::call("chat_send", r#"{"text":"Delivered."}"#);
    world.server.then(Speech::new([Piece::Text("On it.".to_owned()), send]).without_usage());
    world.server.then(Speech::text("Done.").without_usage());
    let (_, screen) = counts(&world, 0, &[]);
    assert_eq!(screen, ["On it.", "Delivered.", "Done."]);
}

#[test]
fn what_a_failed_or_cut_answer_says_last_is_told_once_as_a_failure() {
    let world = world(Format::OpenAi, 0);
    world.server.then(faults::reset_mid_text());
    let (found, screen) = counts(&world, 1, &["Here is the first", "I had to stop here", "ship:"]);
    assert_eq!(found, [1, 1, 1], "{screen:#?}");
    world.server.then(Speech::text("Half of").stop(Stop::Length));
    let (found, screen) = counts(&world, 1, &["Half of", "was cut off here", "ship:"]);
    assert_eq!(found, [1, 1, 1], "{screen:#?}");
    world.server.then(faults::server_error());
    let (found, screen) = counts(&world, 1, &["I could not answer", "ship:"]);
    assert_eq!(found, [1, 1], "{screen:#?}");
}

#[test]
fn an_answer_that_breaks_again_and_again_is_shown_once() {
    both(|format| {
        let world = world(format, 4);
        let half = "Here is the first half of an answer,";
        for command in ["send", "chat"] {
            for _ in 0..3 {
                world.server.then(faults::reset_mid_text());
            }
            let whole = format!("{half} and here is the second.");
            world.server.then(Speech::text(whole).without_usage());
            let words = ["Tell", "me."];
            let mut terminal = world.ship.terminal(100, &[&[command][..], &words].concat());
            terminal.until("the second.");
            if command == "chat" {
                terminal.until("> ");
                terminal.types("\u{4}");
            }
            assert_eq!(terminal.exit_code(), 0);
            let screen = terminal.screen();
            let at = screen.iter().position(|line| line == half).expect("the first half");
            let rest = ["(the connection broke; asking again)", " and here is the second."];
            assert_eq!(screen[at + 1..at + 3], rest, "{screen:#?}");
        }
    });
}

#[test]
fn a_stopped_answer_keeps_what_was_shown_and_shows_it_once() {
    let world = world(Format::OpenAi, 0);
    world.server.then(faults::stall_mid_text());
    let mut terminal = world.ship.terminal(100, &["send", "Tell me."]);
    terminal.until("Here is the");
    terminal.interrupt();
    terminal.until("stopped; your message and what was said are kept");
    assert_eq!(terminal.exit_code(), 130);
    assert_eq!(terminal.screen().join(" ").matches("Here is the").count(), 1);
    world.server.then(Answer::text("Gladly."));
    assert_eq!(world.answer("Go on."), "Gladly.");
}
