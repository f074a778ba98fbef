//! Providers that are out of order, and answers that are none.

use ship_testkit::llm::{Answer, faults};

use super::world::{BOTH, World, assert_says, name};

/// A fault, and what the sentence says of it.
type Case = (fn() -> Answer, &'static str);

/// Faults that may pass, one of each kind; the tests of the HTTP client have the others.
const PASSING: &[Case] = &[
    (faults::server_error, "(500)"),
    (faults::reset_after_headers, "broke"),
    (faults::error_first, ""),
    (faults::empty_body, "nothing at all"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_that_may_pass_is_tried_again_with_the_same_body_and_then_told() {
    for format in BOTH {
        // Where the window is known to have room, a failure without a reason is not taken for one of the size.
        let world = World::with(format, |settings| {
            (settings.retries, settings.window) = (1, Some(100_000));
        });
        for (fault, piece) in PASSING {
            world.server.then(fault()).then(Answer::text("Here I am."));
            assert_eq!(world.answer("Are you there?").await, "Here I am.", "after {piece}");

            let before = world.asked();
            world.server.then(fault()).then(fault());
            let sentence = world.sentence("And now?").await;
            let requests = world.server.requests();
            assert_eq!(requests.len(), before + 2, "{sentence}");
            assert_eq!(requests[before].body, requests[before + 1].body);
            assert_says(&sentence, &["I could not answer: ", name(format), piece, "is kept."]);
        }
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_answer_is_told_as_such() {
    let cases: &[Case] = &[
        (faults::html_with_status_200, "an HTML page, not an answer"),
        (faults::empty_body, "nothing at all"),
    ];
    for format in BOTH {
        let world = World::new(format);
        for (fault, piece) in cases {
            world.server.then(fault());
            let sentence = world.sentence("Are you there?").await;
            assert_says(&sentence, &["`llm.baseUrl`", piece, "Set `llm.baseUrl`", "is kept."]);
        }
        world.assert_goes_on().await;
    }
}
