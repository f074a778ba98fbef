//! A provider that asks for patience: the person is told. The tests of the provider show how long it gets it.

use ship_testkit::llm::{Answer, Format, faults};

use crate::world::{World, assert_says, planted};

#[test]
fn a_long_wait_is_told_while_it_lasts_and_a_short_one_is_not() {
    let world = World::with(Format::OpenAi, r#""retries": 2, "window": 100000"#);
    world.server.then(planted(faults::rate_limited_millis(1100)));
    world.server.then(Answer::text("Here I am."));
    let ran = world.send("Are you there?");
    assert_eq!(ran.text(), "Here I am.\n");
    assert_eq!(ran.err(), "(retrying in 2 s (429))\n");

    world.server.then(planted(faults::rate_limited_millis(1)));
    world.server.then(Answer::text("Here I am again."));
    let ran = world.send("Are you still there?");
    assert_eq!(ran.text(), "Here I am again.\n");
    assert_eq!(ran.err(), "");
    world.assert_goes_on();
}

#[test]
fn in_a_chat_the_wait_is_shown_beside_the_answer_and_not_kept() {
    let world = World::with(Format::OpenAi, r#""retries": 2"#);
    world.server.then(planted(faults::rate_limited_millis(1100)));
    world.server.then(Answer::text("Here I am."));
    let ran = world.ship.piped(&["chat"], "Are you there?\n");
    assert_says(&ran.text(), &["Here I am."]);
    assert_says(&ran.err(), &["(retrying in 2 s (429))"]);
    assert_eq!(world.ship.said()[1].1, "Here I am.");
    world.assert_goes_on();
}
