//! Requests that are longer than the model takes and cannot be made shorter: told with the sizes, no loop, and
//! nothing is lost.

use ship_testkit::llm::overflow::{Place, WORDINGS};
use ship_testkit::llm::{Answer, Format, Rules};

use crate::world::{World, assert_says, strict};

/// What the person is told, whoever said it and however.
const TOLD: &str = "the request is too long for the model";

#[test]
fn an_overflow_in_a_body_or_in_a_stream_is_told_and_is_not_tried_again() {
    for place in [Place::Body(400), Place::Event] {
        let wording = WORDINGS.iter().find(|wording| wording.place == place).unwrap();
        let world = World::with(Format::OpenAi, r#""retries": 5"#);
        world.server.otherwise(wording.answer());
        let sentence = world.sentence(wording.name);
        // What a provider claims to have counted is believed, so message, system or tools may be called too long.
        let is_told = sentence.contains(TOLD) || sentence.contains("; the limit is ");
        assert!(is_told && sentence.ends_with("What you wrote is kept."), "{sentence}");
        assert!((1..=3).contains(&world.asked()), "{}: no loop", wording.name);
        world.server.otherwise(Answer::echo());
        world.assert_goes_on();
    }
}

#[test]
fn the_sizes_are_logged_as_far_as_the_provider_knows_them() {
    let cases = [
        ("openai", r#""promptTokens":9001,"completionTokens":null,"limitTokens":8192"#),
        ("anthropic", r#""promptTokens":200251,"completionTokens":null,"limitTokens":200000"#),
        ("llama-cpp", r#""promptTokens":9001,"completionTokens":null,"limitTokens":4096"#),
        ("groq", r#""promptTokens":null,"completionTokens":null,"limitTokens":null"#),
    ];
    for (name, sizes) in cases {
        let world = World::new(Format::OpenAi);
        world.server.then(ship_testkit::llm::overflow::named(name));
        let _ = world.send("Too long?");
        let log = world.ship.contents(".ship/logs");
        let line = log.lines().find(|line| line.contains(r#""kind":"overflow""#)).unwrap();
        for piece in [sizes, r#""level":"warn""#, "terminal:main", "req_"] {
            assert!(line.contains(piece), "{piece} is not in {line}");
        }
    }
}

#[test]
fn a_chat_that_no_longer_fits_says_so_each_time_and_keeps_every_word() {
    let world = World::new(Format::OpenAi);
    world.server.set_rules(Rules { window: Some(3000), ..strict() });
    world.server.otherwise(Answer::text("All is well."));
    let long = "much ado about nothing ".repeat(1000);
    for asked in 1..=2 {
        let sentence = world.sentence(&long);
        let told = "the limit is 2250, to leave room for an answer";
        assert_says(&sentence, &["your message alone takes about", told, "is kept."]);
        assert_eq!(world.asked(), asked, "one request for one message");
    }
    assert_eq!(world.last_request().refused, Some("window"));
    let said = world.ship.said();
    assert_eq!((said.len(), &said[0].1, &said[2].1), (4, &long, &long));
    // With a model that takes more, everything is still there.
    world.server.set_rules(strict());
    assert_eq!(world.answer("And now?"), "All is well.");
    let body = String::from_utf8_lossy(&world.last_request().body).into_owned();
    assert_eq!(body.matches(long.trim_end()).count(), 2);
}
