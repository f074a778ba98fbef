//! Answers that break off, on the screen. The tests of the agent have every way in which one does.

use ship_testkit::llm::{Format, faults};

use crate::world::{World, assert_says, both};

#[test]
fn an_answer_that_breaks_off_is_kept_with_the_reason_behind_it() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::reset_mid_text());
    let told = world.sentence("Tell me.");
    assert!(told.starts_with("Here"), "what was said comes first: {told}");
    assert_says(&told, &["\nI had to stop here: the answer from openai broke off: "]);
    assert!(told.ends_with("Everything so far is kept; tell me to go on."), "{told}");
    world.assert_goes_on();
}

#[test]
fn in_a_chat_what_was_said_the_notice_and_the_sentence_are_lines_of_their_own() {
    both(|format| {
        let world = World::with(format, r#""retries": 1"#);
        world.server.then(faults::reset_mid_text()).then(faults::reset_mid_text());
        let out = world.ship.piped(&["chat"], "Tell me.\n").out();
        let lines: Vec<&str> = out.lines().filter(|line| !line.is_empty()).collect();
        let said = "Here is the first half of an answer,";
        assert_eq!(lines.len(), 4, "{out}");
        assert_eq!((lines[0], lines[2]), (said, said));
        assert_eq!(lines[1], "[The answer broke off; asking the model to continue.]");
        assert!(lines[3].starts_with("I had to stop here: the answer from "), "{out}");
        world.assert_goes_on();
    });
}
