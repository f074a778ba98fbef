//! Overflows that a provider does not name, and failures that only look like one.

use ship_testkit::llm::Format;
use ship_testkit::llm::overflow::{LOOK_ALIKES, Place, WORDINGS, Wording};

use super::world::{BOTH, World};

fn is_said(wording: &&Wording) -> bool {
    matches!(wording.place, Place::Body(_) | Place::Amazon(..) | Place::Event)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_looks_like_an_overflow_is_told_as_what_it_is() {
    let world = World::new(Format::OpenAi);
    for wording in LOOK_ALIKES.iter().filter(is_said) {
        world.server.then(wording.answer());
        let told = world.told(wording.name).await;
        let told_as_overflow = told.contains("the request is too long for the model");
        assert!(!told_as_overflow, "{}: {told}", wording.name);
    }
    world.assert_goes_on().await;
}

/// Some say only by how they stop that a request was too long. Then there is no sentence of theirs to quote, but also
/// no loop.
#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_that_only_the_end_of_an_answer_tells_is_no_loop() {
    for format in BOTH {
        let world = World::with(format, |settings| settings.retries = 5);
        let unsaid = WORDINGS.iter().filter(|wording| !is_said(wording));
        for (at, wording) in unsaid.enumerate() {
            world.server.then(wording.answer());
            let told = world.told(wording.name).await;
            assert!(!told.is_empty(), "{}: the person reads something", wording.name);
            assert_eq!(world.asked(), at + 1, "{}", wording.name);
        }
        world.assert_goes_on().await;
    }
}
