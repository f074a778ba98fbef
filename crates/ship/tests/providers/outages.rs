//! Providers that are out of order: errors, dead connections, silence, and answers that are none.

use std::time::{Duration, Instant};

use ship_testkit::llm::{Answer, Format, Frame, Kind, LlmServer, faults};

use crate::harness::TestShip;
use crate::world::{BOTH, KEY, World, assert_clean, assert_says, both, name, planted, settings_at};

/// A fault, and what the sentence says of it.
type Case = (fn() -> Answer, &'static str);

/// Faults that may pass, one of each kind; the tests of the HTTP client have the others.
const PASSING: &[Case] = &[
    (faults::server_error, "(500)"),
    (faults::reset_after_headers, "broke"),
    (faults::error_first, ""),
    (faults::empty_body, "nothing at all"),
];

fn each_is_tried_again(format: Format, faults: &[Case]) {
    // Where the window is known to have room, a failure without a reason is not taken for one of the size.
    let world = World::with(format, r#""retries": 1, "window": 100000"#);
    for (fault, piece) in faults {
        world.server.then(planted(fault())).then(Answer::text("Here I am."));
        assert_eq!(world.answer("Are you there?"), "Here I am.", "after {piece}");

        let before = world.asked();
        world.server.then(planted(fault())).then(planted(fault()));
        let sentence = world.sentence("And now?");
        let requests = world.server.requests();
        assert_eq!(requests.len(), before + 2, "{sentence}");
        assert_eq!(requests[before].body, requests[before + 1].body);
        assert_says(&sentence, &["I could not answer: ", name(format), piece, "is kept."]);
    }
    world.assert_goes_on();
}

#[test]
fn a_fault_that_may_pass_is_tried_again_with_the_same_body_and_then_told() {
    // Each try waits up to half a second, so they wait side by side.
    both(|format| {
        std::thread::scope(|scope| {
            for faults in PASSING.chunks(2) {
                scope.spawn(move || each_is_tried_again(format, faults));
            }
        });
    });
}

#[test]
fn a_closed_port_and_an_unknown_host_are_told_with_the_setting() {
    for (provider, url) in [
        ("openai", LlmServer::refused_url()),
        ("anthropic", LlmServer::refused_url()),
        ("openai", "http://no-such-host.invalid/v1".to_owned()),
    ] {
        let llm = r#""retries": 1, "connectMs": 2000"#;
        let ship = TestShip::with_settings(&settings_at(provider, &url, llm, ""));
        let ran = ship.run(&["send", "Are you there?"]);
        let told = ran.complaint();
        let pieces = ["did not answer after 2 attempts", "cannot connect to", "`llm.baseUrl`"];
        assert_says(&told, &pieces);
        assert_says(&told, &["Check the network", "What you wrote is kept."]);
        assert_eq!(ran.out(), "", "nothing was said");
        assert_clean("what is printed", &told);
        ship.write("ship.json", r#"{ "llm": { "provider": "offline" } }"#);
        assert_says(&ship.run(&["send", "And now?"]).text(), &["You said: And now?"]);
    }
}

#[test]
fn silence_ends_at_its_deadline_and_the_sentence_names_it() {
    let begin = "did not begin to answer within 0.4 s (`llm.firstByteMs`)";
    let cases: [(Case, &str); 3] = [
        ((faults::no_answer, begin), r#""firstByteMs": 400, "retries": 0"#),
        ((faults::headers_only, begin), r#""firstByteMs": 400, "retries": 0"#),
        ((faults::stall_mid_text, "in time (`llm.idleMs`)"), r#""idleMs": 300, "retries": 0"#),
    ];
    std::thread::scope(|scope| {
        for format in BOTH {
            for ((fault, piece), llm) in cases {
                scope.spawn(move || {
                    let world = World::with(format, llm);
                    world.server.then(fault());
                    let began = Instant::now();
                    let sentence = world.sentence("Are you there?");
                    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
                    assert_says(&sentence, &[piece, "What you wrote ", " is kept"]);
                    assert_eq!(world.asked(), 1);
                    let over = crate::world::wait(world.server.wait_until_over(1));
                    assert!(over[0].hung_up, "the connection is given up, too");
                    world.switch(format, r#""retries": 0"#);
                    world.assert_goes_on();
                });
            }
        }
    });
}

#[test]
fn what_is_no_answer_is_told_as_such() {
    let cases: &[Case] = &[
        (faults::html_with_status_200, "a page (HTML), not an answer"),
        (faults::empty_body, "nothing at all"),
    ];
    both(|format| {
        let world = World::new(format);
        for (fault, piece) in cases {
            world.server.then(fault());
            let sentence = world.sentence("Are you there?");
            assert_says(&sentence, &["`llm.baseUrl`", piece, "Set `llm.baseUrl`", "is kept."]);
        }
        world.assert_goes_on();
    });
}

#[test]
fn an_error_inside_a_stream_is_quoted_without_the_key() {
    both(|format| {
        let world = World::new(format);
        world.server.then(Answer::judge(|exchange| {
            let (event, kind) = match exchange.format {
                Format::OpenAi => (None, "invalid_request_error"),
                Format::Anthropic => (Some("error"), "invalid_request_error"),
            };
            let data = format!(
                r#"{{"type":"error","error":{{"type":"{kind}","message":"The key {KEY} is tired."}}}}"#
            );
            Answer::Raw(exchange.stream(&[Frame::new(Kind::Error, event, data)]))
        }));
        let sentence = world.sentence("Are you there?");
        assert_says(&sentence, &["refuses the request: The key […] is tired.", "is kept."]);
        assert_eq!(world.asked(), 1);
        world.assert_goes_on();
    });
}
