//! Ctrl-C while an answer comes in: what was said is kept, and marked as interrupted.

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Format, Piece, Speech, faults};

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
        assert_says(
            &ran.complaint_with(130),
            &["ship: stopped; your message and what was said are kept"],
        );
        let last = world.last_message();
        assert_eq!(message_text(&last), "Here is the first half.");
        assert_eq!(ran.out().trim_end(), message_text(&last));
        assert_interrupted(&last);
        assert!(wait(world.server.wait_until_over(2))[1].hung_up);
        world.assert_goes_on();
    });
}

#[test]
fn a_send_that_is_terminated_says_what_is_kept_and_ends_its_line() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::no_answer());
    let send = world.ship.start(&["send", "Tell me."]);
    world.wait_for(1);
    send.signal("TERM");
    let ran = send.ended();
    assert_says(&ran.complaint_with(143), &["ship: ended by SIGTERM; your message is kept"]);

    let world = World::new(Format::OpenAi);
    world.server.then(faults::stall_mid_text());
    let mut terminal = world.ship.terminal(80, &["send", "Tell me."]);
    terminal.until("Here is the");
    terminal.terminate();
    assert_eq!(terminal.exit_code(), 143);
    let screen = terminal.screen();
    let at = screen.iter().position(|line| line.starts_with("Here is the")).expect("the words");
    assert_eq!(screen[at + 1], "ship: ended by SIGTERM; your message is kept", "{screen:#?}");
    assert_eq!(world.ship.said(), [("user".to_owned(), "Tell me.".to_owned())]);
}

#[test]
fn ctrl_c_in_a_chat_keeps_what_was_said_and_the_chat_goes_on() {
    both(|format| {
        let world = World::new(format);
        world.server.then(faults::stall_mid_text());
        world.server.then(Answer::text("Gladly."));
        let mut chat = world.ship.terminal(80, &["chat"]);
        chat.until("> ");
        chat.types("Tell me.\r");
        chat.until("Here is the");
        chat.interrupt();
        chat.until("(stopped; what was said is kept)");
        assert_interrupted(&world.last_message());
        chat.until("> ");
        chat.types("Go on.\r");
        chat.until("Gladly.");
        chat.until("> ");
        chat.leave();
        world.assert_goes_on();
    });
}

#[test]
fn ctrl_c_ends_a_chat_from_a_pipe_with_130_and_keeps_what_was_said() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::stall_mid_text());
    let mut chat = world.ship.start(&["chat"]);
    chat.say("Tell me.");
    chat.say("This is never asked.");
    chat.until("Here is the");
    let ran = chat.interrupt();
    assert_eq!(ran.code(), 130, "{}", ran.err());
    assert!(ran.out().ends_with("\n(stopped; what was said is kept)\n"), "{}", ran.out());
    assert_interrupted(&world.last_message());
    assert_eq!(world.asked(), 1);

    world.server.then(Answer::text("Here I am."));
    let mut chat = world.ship.start(&["chat"]);
    chat.say("And now?");
    chat.until("Here I am.\n");
    assert_eq!(chat.interrupt().code(), 130, "also while it waits for a line");
}

#[test]
fn ctrl_c_ends_a_compaction_with_130_and_everything_is_as_before() {
    let others = r#", "context": { "history": { "keepLastMessages": 2 } }"#;
    let world = World::of(Format::OpenAi, r#""retries": 0, "window": 8000"#, others);
    world.server.otherwise(Answer::text("Aye."));
    for nth in 0..3 {
        assert_eq!(world.answer(&format!("{nth} {}", "the ship sails ".repeat(20))), "Aye.");
    }
    world.server.then(faults::no_answer());
    let compact = world.ship.start(&["compact"]);
    world.wait_for(4);
    let told = compact.interrupt().complaint_with(130);
    assert_eq!(told.lines().last(), Some("hint: `ship compact` starts again"), "{told}");
    assert_eq!(world.ship.said().len(), 6);
    let undo = world.ship.run(&["compact", "--undo"]).err();
    assert!(undo.contains("no compaction"), "{undo}");
    world.assert_goes_on();
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
        assert_says(&ran.complaint_with(130), &[told]);
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
        let error = send.interrupt().error_with(130);
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
        assert_eq!(send.interrupt().code(), 130);
        assert_interrupted(&world.last_message());
        assert_eq!(world.asked(), 1);
        world.assert_goes_on();
    });
}

#[test]
fn ctrl_c_while_an_earlier_question_is_answered_asks_nothing_more() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::no_answer());
    let killed = world.ship.start(&["send", "Tell me."]);
    world.wait_for(1);
    killed.kill();
    world.server.then(faults::no_answer());
    let send = world.ship.start(&["send", "And this?"]);
    world.wait_for(2);
    let ran = send.interrupt();
    assert_eq!(ran.code(), 130, "{}", ran.err());
    assert_eq!(world.asked(), 2);
    assert!(world.ship.run(&["history"]).text().contains("And this?"));
    world.server.then(Answer::text("Here I am."));
    assert_eq!(world.answer("And now?"), "Here I am.", "it answers both");
}
