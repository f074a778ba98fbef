//! An answer that says nothing. The tests of the agent have streams and answers that are odd and yet allowed.

use ship_testkit::llm::{Format, faults};

use crate::world::{World, assert_says};

#[test]
fn an_answer_that_says_nothing_is_told_as_such() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::empty_answer());
    let sentence = world.sentence("Well?");
    assert_says(&sentence, &["The model gave an empty answer.", "Ask again"]);
    world.assert_goes_on();
}
