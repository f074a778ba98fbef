//! Requests that are longer than the model takes and cannot be made shorter: told with the sizes, no loop, and
//! nothing is lost.

use ship_testkit::llm::overflow::{LOOK_ALIKES, Place, WORDINGS, Wording};
use ship_testkit::llm::{Answer, Format, Rules};

use crate::world::{World, assert_says, both, strict};

/// What the person is told, whoever said it and however.
const TOLD: &str = "the request is longer than the model takes";

fn is_said(wording: &&Wording) -> bool {
    matches!(wording.place, Place::Body(_) | Place::Amazon(..) | Place::Event)
}

#[test]
fn an_overflow_in_a_body_or_in_a_stream_is_told_and_is_not_tried_again() {
    let [in_body, in_stream] = [Place::Body(400), Place::Event]
        .map(|place| WORDINGS.iter().find(|wording| wording.place == place).unwrap());
    both(|format| {
        for wording in [in_body, in_stream] {
            let world = World::with(format, r#""retries": 5"#);
            world.server.otherwise(wording.answer());
            let sentence = world.sentence(wording.name);
            // What a provider claims to have counted is believed, so message, system or tools may be called too long.
            let is_told = sentence.contains(TOLD) || sentence.contains("; the model takes ");
            assert!(is_told && sentence.ends_with("What you wrote is kept."), "{sentence}");
            assert!((1..=3).contains(&world.asked()), "{}: no loop", wording.name);
            world.server.otherwise(Answer::echo());
            world.assert_goes_on();
        }
    });
}

#[test]
fn the_sizes_are_logged_as_far_as_the_provider_knows_them() {
    let cases = [
        ("openai", r#""promptTokens":9001,"completionTokens":null,"limitTokens":8192"#),
        ("anthropic", r#""promptTokens":200251,"completionTokens":null,"limitTokens":200000"#),
        ("llama-cpp", r#""promptTokens":9001,"completionTokens":null,"limitTokens":4096"#),
        ("groq", r#""promptTokens":null,"completionTokens":null,"limitTokens":null"#),
    ];
    both(|format| {
        for (name, sizes) in cases {
            let world = World::new(format);
            world.server.then(ship_testkit::llm::overflow::named(name));
            let _ = world.send("Too long?");
            let log = world.ship.contents(".ship/logs");
            let line = log.lines().find(|line| line.contains(r#""kind":"overflow""#)).unwrap();
            for piece in [sizes, r#""level":"warn""#, "terminal:main", "req_"] {
                assert!(line.contains(piece), "{piece} is not in {line}");
            }
        }
    });
}

#[test]
fn what_only_looks_like_an_overflow_is_told_as_what_it_is() {
    let world = World::new(Format::OpenAi);
    for wording in LOOK_ALIKES.iter().filter(is_said) {
        world.server.then(wording.answer());
        let ran = world.send(wording.name);
        assert!(!ran.out().contains(TOLD), "{}: {}", wording.name, ran.out());
    }
    world.assert_goes_on();
}

#[test]
fn a_chat_that_no_longer_fits_says_so_each_time_and_keeps_every_word() {
    both(|format| {
        let world = World::new(format);
        world.server.set_rules(Rules { window: Some(3000), ..strict() });
        world.server.otherwise(Answer::text("All is well."));
        let long = "much ado about nothing ".repeat(1000);
        for asked in 1..=2 {
            let sentence = world.sentence(&long);
            let told = "the model takes 2250 with room for an answer";
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
    });
}

/// Some say it only by how they stop. Then there is no sentence of theirs to quote, but also no loop.
#[test]
fn an_overflow_that_only_the_end_of_an_answer_tells_is_no_loop() {
    both(|format| {
        let world = World::with(format, r#""retries": 5"#);
        let unsaid = WORDINGS.iter().filter(|wording| !is_said(wording));
        for (at, wording) in unsaid.enumerate() {
            world.server.then(wording.answer());
            let ran = world.send(wording.name);
            let read = ran.out() + &ran.err();
            assert!(!read.trim().is_empty(), "{}: the person reads something", wording.name);
            assert_eq!(world.asked(), at + 1, "{}", wording.name);
        }
        world.assert_goes_on();
    });
}
