//! Refusals that no second try cures: the account, the key, the model, the request.

use ship_testkit::llm::{Answer, Auth, Format, LlmServer, Rules, Status, faults};

use crate::harness::{message_text, text};
use crate::world::{World, assert_clean, assert_says, both, name, planted, strict};

/// A fault, and what the person must be able to read from the sentence.
type Case = (fn() -> Answer, &'static [&'static str]);

const KEY_REMEDY: &str = "Set `llm.apiKey`, or ";
const MONEY_REMEDY: &str = "trying again does not help before that.";

const CASES: &[Case] = &[
    (faults::quota_exhausted, &["no credit or quota left", "(429)", MONEY_REMEDY]),
    (faults::no_credit, &["no credit or quota left", "(400)", MONEY_REMEDY]),
    (faults::billing, &["no credit or quota left", MONEY_REMEDY]),
    (faults::invalid_key, &["refuses the key of `llm.apiKey`", "(401)", KEY_REMEDY]),
    (faults::missing_key, &["refuses the key of `llm.apiKey`", "(401)", KEY_REMEDY]),
    // OpenAI refuses the country with it, and Anthropic the key.
    (faults::forbidden, &["(403)"]),
    (
        faults::model_not_found,
        &["has no model `model-of-tests` (`llm.model`)", "Correct `llm.model`"],
    ),
    (faults::content_policy, &["refuses the ", "(400)"]),
];

fn each_is_told_once(format: Format, faults: &[Case]) {
    // Many retries would be allowed, so that one request is a decision and not a limit.
    let world = World::with(format, r#""retries": 5"#);
    for (fault, pieces) in faults {
        let before = world.asked();
        world.server.then(planted(fault()));
        let sentence = world.sentence("Are you there?");
        assert_eq!(world.asked(), before + 1, "it is asked once: {sentence}");
        assert!(sentence.starts_with("I could not answer: "), "{sentence}");
        assert!(sentence.ends_with(" What you wrote is kept."), "{sentence}");
        assert_says(&sentence, &[name(format)]);
        assert_says(&sentence, pieces);
    }
    world.assert_goes_on();
}

#[test]
fn a_refusal_that_stays_is_told_after_one_request() {
    each_is_told_once(Format::OpenAi, CASES);
}

#[test]
fn a_refusal_that_stays_is_told_after_one_request_by_anthropic_too() {
    each_is_told_once(Format::Anthropic, CASES);
}

#[test]
fn a_program_reads_the_same_sentence_from_the_error_and_from_the_message() {
    both(|format| {
        let world = World::with(format, r#""retries": 5"#);
        world.server.then(planted(faults::invalid_key()));
        let ran = world.ship.run(&["send", "--json", "Are you there?"]);
        let error = ran.error();
        assert_eq!(text(&error, "code"), "failed");
        let sentence = text(&error, "message");
        assert_says(&sentence, &["`llm.apiKey`", "What you wrote is kept."]);
        assert_clean("what is printed", &ran.out());
        assert_eq!(ran.err(), "", "all is said in the error");
        let message = world.last_message();
        assert_eq!(message_text(&message), sentence);
        assert_eq!(text(message.get("metadata").expect("metadata"), "error"), sentence);
        world.assert_goes_on();
    });
}

#[test]
fn in_a_chat_the_sentence_is_shown_once_and_the_chat_goes_on() {
    both(|format| {
        let world = World::new(format);
        world.server.then(planted(faults::model_not_found()));
        world.server.then(Answer::text("Here I am."));
        let out = world.ship.piped(&["chat"], "Are you there?\nAnd now?\n").out();
        assert_eq!(out.matches("I could not answer").count(), 1, "{out}");
        assert_says(&out, &["Correct `llm.model`", "What you wrote is kept.", "Here I am."]);
        assert_clean("the screen", &out);
        world.assert_goes_on();
    });
}

#[test]
fn the_wrong_key_is_refused_by_a_server_that_looks_at_it_and_never_shown() {
    both(|format| {
        let world = World::new(format);
        let rules = Rules { auth: Auth::Key("another".to_owned()), ..strict() };
        world.server.set_rules(rules);
        let sentence = world.sentence("Are you there?");
        assert_says(&sentence, &["refuses the key of `llm.apiKey`", "What you wrote is kept."]);
        assert_eq!(world.asked(), 1);
        assert_eq!(world.last_request().refused, Some("key"));
    });
}

#[test]
fn the_key_does_not_follow_a_redirect() {
    both(|format| {
        let world = World::with(format, r#""retries": 5"#);
        let elsewhere = LlmServer::start();
        let status = Status { status: 307, headers: Vec::new(), body: Vec::new() };
        let target = format!("{}/v1/chat/completions", elsewhere.url());
        world.server.then(Answer::Status(status.header("location", target)));
        let sentence = world.sentence("Are you there?");
        assert_says(&sentence, &["307 Temporary Redirect", "Set `llm.baseUrl`", "is kept."]);
        assert_eq!((world.asked(), elsewhere.requests().len()), (1, 0));
        world.assert_goes_on();
    });
}
