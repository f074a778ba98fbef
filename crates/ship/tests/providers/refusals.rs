//! Refusals that no second try cures, on the screen. The tests of the agent have all of them.

use ship_testkit::llm::{Answer, faults};

use crate::harness::{message_text, text};
use crate::world::{World, assert_clean, assert_says, both, planted};

#[test]
fn a_program_reads_the_same_sentence_from_the_error_and_from_the_message() {
    both(|format| {
        let world = World::with(format, r#""retries": 5"#);
        world.server.then(planted(faults::invalid_key()));
        let ran = world.ship.run(&["send", "--json", "Are you there?"]);
        let error = ran.error();
        assert_eq!(text(&error, "code"), "failed");
        let sentence = text(&error, "message");
        assert_says(&sentence, &["`llm.apiKey`", "What you wrote is kept."]);
        assert_clean("what is printed", &ran.out());
        assert_eq!(ran.err(), "", "all is said in the error");
        let message = world.last_message();
        assert_eq!(message_text(&message), sentence);
        assert_eq!(text(message.get("metadata").expect("metadata"), "error"), sentence);
        world.assert_goes_on();
    });
}

#[test]
fn in_a_chat_the_sentence_is_shown_once_and_the_chat_goes_on() {
    both(|format| {
        let world = World::new(format);
        world.server.then(planted(faults::model_not_found()));
        world.server.then(Answer::text("Here I am."));
        let out = world.ship.piped(&["chat"], "Are you there?\nAnd now?\n").out();
        assert_eq!(out.matches("I could not answer").count(), 1, "{out}");
        assert_says(&out, &["Correct `llm.model`", "What you wrote is kept.", "Here I am."]);
        assert_clean("the screen", &out);
        world.assert_goes_on();
    });
}
