//! Two processes that ask one provider in one chat: each has its own answer, and does not wait for the other's.

use ship_testkit::llm::{Format, Gate, Speech};

use crate::harness::talk;
use crate::world::{World, error_line};

fn said(text: &str) -> Speech {
    Speech::text(text).without_usage()
}

fn world() -> World {
    World::with(Format::OpenAi, r#""retries": 0, "window": 100000"#)
}

#[test]
fn the_first_of_two_sends_ends_with_its_own_answer() {
    let (world, first, second) = (world(), Gate::shut(), Gate::shut());
    world.server.then(first.hold(said("One."))).then(second.hold(said("Two.")));
    let one = world.ship.start(&["send", "First?"]);
    world.wait_for(1);
    let mut two = world.ship.start(&["send", "Second?"]);
    // Its message is accepted when it waits.
    assert_eq!(error_line(&mut two), "(“First?” is answered first; `ship history` shows it)\n");
    first.open();
    assert_eq!(one.ended().text(), "One.\n", "while the other answer is held back");
    second.open();
    assert_eq!(two.ended().text(), "Two.\n");
    let wanted =
        [("user", "First?"), ("assistant", "One."), ("user", "Second?"), ("assistant", "Two.")];
    assert_eq!(world.ship.said(), talk(&wanted));
    world.assert_sound();
}

#[test]
fn a_message_whose_sender_is_gone_is_answered_by_the_process_at_work() {
    let (world, first) = (world(), Gate::shut());
    world.server.then(first.hold(said("One."))).then(said("Two."));
    let one = world.ship.start(&["send", "First?"]);
    world.wait_for(1);
    let mut two = world.ship.start(&["send", "Second?"]);
    let _ = error_line(&mut two);
    two.kill();
    first.open();
    assert_eq!(one.ended().text(), "One.\n");
    assert_eq!(world.told(), ["One.", "Two."]);
    world.assert_sound();
}

#[test]
fn a_chat_shows_its_own_answers_and_not_those_of_a_send_beside_it() {
    let (world, first) = (world(), Gate::shut());
    world.server.then(first.hold(said("One."))).then(said("Two."));
    let mut chat = world.ship.terminal(60, &["chat"]);
    chat.until("> ");
    chat.types("First?\r");
    world.wait_for(1);
    let mut send = world.ship.start(&["send", "Second?"]);
    let _ = error_line(&mut send);
    first.open();
    chat.until("One.");
    assert_eq!(send.ended().text(), "Two.\n");
    chat.until("> ");
    let screen = chat.screen();
    let at = screen.iter().position(|line| line == "> First?").expect("the question");
    assert_eq!(screen[at..], ["> First?", "One.", ">"], "{screen:#?}");
    chat.leave();
}
