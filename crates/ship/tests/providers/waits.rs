//! A provider that asks for patience: it gets it, up to a point, and the person is told.

use std::time::{Duration, Instant};

use ship_testkit::llm::{Answer, Format, faults};

use crate::world::{BOTH, World, assert_says, both, planted, with_header};

/// How long the server was left alone between its first two requests.
fn pause(world: &World) -> Duration {
    let requests = world.server.requests();
    assert_eq!(requests.len(), 2, "one try, and one more");
    assert_eq!(requests[0].body, requests[1].body, "the same request, byte for byte");
    requests[1].at.duration_since(requests[0].at)
}

/// A date is meant by the clock of whoever sends it, and this one's is far from ours.
fn until_a_second_later() -> Answer {
    let limited = faults::rate_limited_until("Wed, 21 Oct 2020 07:28:01 GMT");
    with_header(limited, "date", "Wed, 21 Oct 2020 07:28:00 GMT")
}

#[test]
fn a_wait_that_the_provider_asks_for_is_kept() {
    let asked: [(fn() -> Answer, u64); 4] = [
        (|| faults::rate_limited_seconds(1), 1000),
        (|| faults::rate_limited_millis(700), 700),
        (|| with_header(faults::overloaded(), "retry-after", "1"), 1000),
        (until_a_second_later, 1000),
    ];
    std::thread::scope(|scope| {
        for (format, (answer, millis)) in BOTH.into_iter().flat_map(|f| asked.map(|a| (f, a))) {
            scope.spawn(move || {
                let world = World::with(format, r#""retries": 2"#);
                world.server.then(answer()).then(Answer::text("Here I am."));
                assert_eq!(world.answer("Are you there?"), "Here I am.");
                let pause = pause(&world);
                assert!(pause >= Duration::from_millis(millis), "{pause:?} of {millis} ms");
                world.assert_goes_on();
            });
        }
    });
}

#[test]
fn a_long_wait_is_told_while_it_lasts_and_a_short_one_is_not() {
    both(|format| {
        let world = World::with(format, r#""retries": 2, "window": 100000"#);
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
    });
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

#[test]
fn a_wait_that_is_too_long_is_not_begun_and_the_person_learns_how_long() {
    both(|format| {
        let world = World::with(format, r#""retries": 5"#);
        world.server.then(planted(faults::rate_limited_seconds(3600)));
        let began = Instant::now();
        let sentence = world.sentence("Are you there?");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert_says(&sentence, &["asks to wait 3600 s", "Try again in 3600 s.", "is kept."]);
        assert_eq!(world.asked(), 1);
        world.assert_goes_on();
    });
}

#[test]
fn a_provider_that_says_whether_to_try_again_is_believed() {
    both(|format| {
        let world = World::with(format, r#""retries": 3"#);
        world.server.then(faults::server_error_with_retry(false));
        let sentence = world.sentence("Are you there?");
        assert_says(&sentence, &["after 1 attempt", "is kept."]);
        assert_eq!(world.asked(), 1);
        world.server.then(faults::server_error_with_retry(true));
        world.server.then(Answer::text("Here I am."));
        assert_eq!(world.answer("And now?"), "Here I am.");
        assert_eq!(world.asked(), 3);
        world.assert_goes_on();
    });
}
