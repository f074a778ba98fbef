//! Ctrl-C while an answer comes in: what was said is kept, and marked as interrupted.

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Piece, Speech, faults};

use crate::harness::{message_text, text};
use crate::world::{World, assert_says, both, error_line, wait};

#[track_caller]
fn assert_interrupted(message: &Json) {
    let metadata = message.get("metadata").expect("a message has metadata");
    assert_eq!(metadata.get("interrupted").and_then(Json::as_bool), Some(true), "{message}");
}

#[test]
fn ctrl_c_in_a_send_keeps_what_was_said() {
    both(|format| {
        let world = World::new(format);
        // A send shows nothing before the end; the second request tells that the words have come.
        let words = Piece::Text("Here is the first half.".to_owned());
        world.server.then(Speech::new([words, Piece::call("skills_list", "{}")]));
        world.server.then(faults::no_answer());
        let send = world.ship.start(&["send", "Tell me."]);
        world.wait_for(2);
        let ran = send.interrupt();
        assert_says(&ran.complaint(), &["ship: stopped; your message and what was said are kept"]);
        let last = world.last_message();
        assert_eq!(message_text(&last), "Here is the first half.");
        assert_eq!(ran.out().trim_end(), message_text(&last));
        assert_interrupted(&last);
        assert!(wait(world.server.wait_until_over(2))[1].hung_up);
        world.assert_goes_on();
    });
}

#[test]
fn ctrl_c_in_a_chat_keeps_what_was_said_and_the_chat_goes_on() {
    both(|format| {
        let world = World::new(format);
        world.server.then(faults::stall_mid_text());
        world.server.then(Answer::text("Gladly."));
        let mut chat = world.ship.start(&["chat"]);
        chat.say("Tell me.");
        chat.until("Here is the");
        chat.press_ctrl_c();
        chat.until("(stopped; what was said is kept)\n");
        assert_interrupted(&world.last_message());
        chat.say("Go on.");
        chat.until("Gladly.");
        chat.finish();
        world.assert_goes_on();
    });
}

#[test]
fn ctrl_c_before_anything_was_said_leaves_a_chat_that_goes_on() {
    both(|format| {
        let world = World::new(format);
        world.server.then(faults::no_answer());
        let send = world.ship.start(&["send", "Tell me."]);
        world.wait_for(1);
        let ran = send.interrupt();
        assert_eq!(ran.out(), "", "nothing was said");
        let told = "ship: stopped before anything was said; your message is kept\nhint: ";
        assert_says(&ran.complaint(), &[told]);
        assert_interrupted(&world.last_message());
        assert!(wait(world.server.wait_until_over(1))[0].hung_up);
        world.assert_goes_on();
    });
}

#[test]
fn a_program_learns_from_the_error_that_an_answer_was_stopped() {
    both(|format| {
        let world = World::new(format);
        world.server.then(Answer::call("chat_send", r#"{"text":"Hello."}"#));
        world.server.then(faults::no_answer());
        let send = world.ship.start(&["send", "--json", "Tell me."]);
        world.wait_for(2);
        let error = send.interrupt().error();
        assert_eq!(text(&error, "code"), "stopped");
        assert_eq!(text(&error, "message"), "stopped; your message and what was said are kept");
        assert_eq!(world.sent_by_tool(), ["Hello."]);
        assert_interrupted(&world.last_message());
        assert!(wait(world.server.wait_until_over(2))[1].hung_up);
        world.assert_goes_on();
    });
}

#[test]
fn ctrl_c_ends_a_wait_for_the_next_try() {
    both(|format| {
        let world = World::with(format, r#""retries": 3"#);
        world.server.then(faults::rate_limited_seconds(100));
        let mut send = world.ship.start(&["send", "Tell me."]);
        assert_says(&error_line(&mut send), &["(retrying in 10", " s (429))"]);
        assert_eq!(send.interrupt().code(), 1);
        assert_interrupted(&world.last_message());
        assert_eq!(world.asked(), 1);
        world.assert_goes_on();
    });
}
