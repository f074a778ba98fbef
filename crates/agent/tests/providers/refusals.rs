//! Refusals that no second try cures: the account, the key, the model, the request.

use ship_testkit::llm::{Answer, Auth, Format, Frame, Kind, Rules, faults};

use super::world::{BOTH, KEY, World, assert_says, name, strict};

/// A fault, and what the person must be able to read from the sentence.
type Case = (fn() -> Answer, &'static [&'static str]);

const KEY_REMEDY: &str = ", or set `llm.apiKey`, ";
const MONEY_REMEDY: &str = "retrying will not help.";

const CASES: &[Case] = &[
    (faults::quota_exhausted, &["no credit or quota left", "(429)", MONEY_REMEDY]),
    (faults::no_credit, &["no credit or quota left", "(400)", MONEY_REMEDY]),
    (faults::billing, &["no credit or quota left", MONEY_REMEDY]),
    (faults::invalid_key, &["(`llm.apiKey` or `", "(401)", KEY_REMEDY]),
    (faults::missing_key, &["(`llm.apiKey` or `", "(401)", KEY_REMEDY]),
    // OpenAI refuses the country with it, and Anthropic the key.
    (faults::forbidden, &["(403)"]),
    (
        faults::model_not_found,
        &["has no model `model-of-tests` (`llm.model`)", "Correct `llm.model`"],
    ),
    (faults::content_policy, &["refused the ", "(400)"]),
];

async fn each_is_told_once(format: Format, faults: &[Case]) {
    // Many retries would be allowed, so that one request is a decision and not a limit.
    let world = World::with(format, |settings| settings.retries = 5);
    for (fault, pieces) in faults {
        let before = world.asked();
        world.server.then(fault());
        let sentence = world.sentence("Are you there?").await;
        assert_eq!(world.asked(), before + 1, "it is asked once: {sentence}");
        assert!(sentence.starts_with("I could not answer: "), "{sentence}");
        assert!(sentence.ends_with(" What you wrote is kept."), "{sentence}");
        assert_says(&sentence, &[name(format)]);
        assert_says(&sentence, pieces);
    }
    world.assert_goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_stays_is_told_after_one_request() {
    each_is_told_once(Format::OpenAi, CASES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_stays_is_told_after_one_request_by_anthropic_too() {
    each_is_told_once(Format::Anthropic, CASES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_key_is_refused_by_a_server_that_looks_at_it_and_never_shown() {
    for format in BOTH {
        let world = World::new(format);
        let rules = Rules { auth: Auth::Key("another".to_owned()), ..strict() };
        world.server.set_rules(rules);
        let sentence = world.sentence("Are you there?").await;
        assert_says(&sentence, &["(`llm.apiKey` or `", "What you wrote is kept."]);
        assert_eq!(world.asked(), 1);
        assert_eq!(world.last_request().refused, Some("key"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_inside_a_stream_is_quoted_without_the_key() {
    for format in BOTH {
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
        let sentence = world.sentence("Are you there?").await;
        assert_says(&sentence, &["refused the request: The key […] is tired.", "is kept."]);
        assert_eq!(world.asked(), 1);
        world.assert_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_too_long_is_not_begun_and_the_person_learns_how_long() {
    for format in BOTH {
        let world = World::with(format, |settings| settings.retries = 5);
        world.server.then(faults::rate_limited_seconds(3600));
        let sentence = world.sentence("Are you there?").await;
        assert_says(&sentence, &["asks to wait 3600 s", "Try again in 3600 s.", "is kept."]);
        assert_eq!(world.asked(), 1);
        world.assert_goes_on().await;
    }
}
