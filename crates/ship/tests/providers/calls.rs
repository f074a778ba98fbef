//! Runs that do not come to an end. The tests of the agent have calls that are not what they should be.

use ship_testkit::llm::{Answer, Format, faults};

use crate::world::{World, assert_says};

#[test]
fn a_model_that_never_comes_to_an_end_is_ended() {
    let run = r#", "context": { "run": { "maxSteps": 5 } }"#;
    let world = World::of(Format::OpenAi, r#""retries": 0"#, run);
    world.server.otherwise(Answer::call("skills_list", "{}"));
    let sentence = world.sentence("Go.");
    assert_says(&sentence, &["I stopped after 5 steps", "`context.run.maxSteps`"]);
    assert_eq!(world.asked(), 5);
    world.assert_goes_on();
}

#[test]
fn the_end_of_a_run_does_not_wait_for_the_next_try() {
    let run = r#", "context": { "run": { "deadlineMs": 4000 } }"#;
    let world = World::of(Format::OpenAi, r#""retries": 5"#, run);
    world.server.then(faults::rate_limited_seconds(100));
    let sentence = world.sentence("Go.");
    assert_says(&sentence, &["longer than `context.run.deadlineMs` allows", "is kept."]);
    assert_eq!(world.asked(), 1);
    world.assert_goes_on();
}
