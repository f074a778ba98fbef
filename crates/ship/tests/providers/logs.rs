//! What the logs keep of a real provider: models and sizes, and no secrets.

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Piece, Speech, Status, faults};

use crate::harness::{number, text};
use crate::world::{MODEL, World, assert_clean, both, planted};

/// A provider that says everything that must not be logged, in all places.
fn talk_of_needles(world: World) -> World {
    world.server.then(Speech::new([
        Piece::Reasoning("a needle in my thoughts".to_owned()),
        Piece::Text("a needle in my words".to_owned()),
        Piece::call("chat_send", r#"{"text":"a needle for all"}"#),
        Piece::call("needle_tool", r#"{"needle": "#),
    ]));
    world.server.then(Answer::text("the needle is found"));
    let _ = world.send("where is the needle?").text();
    let body = br#"{"error":{"message":"You said needle.","type":"invalid_request_error"}}"#;
    let refused = Status { status: 400, headers: Vec::new(), body: body.to_vec() };
    world.server.then(planted(Answer::Status(refused)));
    let _ = world.sentence("and the other needle?");
    world.server.then(faults::reset_mid_text());
    let _ = world.sentence("and the third needle?");
    world
}

fn lines(world: &World, kind: &str) -> Vec<Json> {
    let lines = world.ship.run(&["logs", "--json"]).json_lines();
    lines.into_iter().filter(|line| text(line, "kind") == kind).collect()
}

#[test]
fn without_message_text_the_logs_have_models_and_sizes_and_nothing_that_was_said() {
    both(|format| {
        let world = World::new(format).env("SMA_LOG_LLM_MESSAGES", "0");
        let world = talk_of_needles(world.env("SMA_LOG_LLM_PAYLOAD", "1"));
        let log = world.ship.contents(".ship/logs");
        assert!(!log.contains("needle"), "{log}");
        assert_clean("the log", &log);
        assert_eq!(lines(&world, "error").len(), 2);
        world.assert_goes_on();
    });
}

#[test]
fn each_request_and_each_answer_is_a_line_with_the_model_and_its_sizes() {
    both(|format| {
        let world = talk_of_needles(World::new(format));
        let asked = lines(&world, "llm_request");
        let requests = world.server.requests();
        assert_eq!(asked.len(), requests.len());
        for (line, request) in asked.iter().zip(&requests) {
            assert_eq!(text(line, "model"), MODEL);
            assert_eq!(number(line, "bytes"), request.body.len() as u64);
        }
        assert_eq!(asked[0].get("olderMessages"), None);
        let older = asked[1].get("olderMessages").expect("what the request before has shown");
        assert_eq!(number(older, "count"), 1);
        assert!(!text(older, "fromId").is_empty() && text(older, "fromId") == text(older, "toId"));
        let answered = lines(&world, "llm_response");
        assert_eq!(answered.len(), 2, "the others failed");
        for line in &answered {
            assert_eq!(text(line, "model"), MODEL);
            assert!(number(line, "bytes") > 0 && number(line, "inputTokens") > 0, "{line}");
            assert!(number(line, "outputTokens") > 0 && line.get("cachedTokens").is_some());
        }
        let log = world.ship.contents(".ship/logs");
        assert!(log.contains("needle"), "it is there when nobody minds");
        assert_clean("the log", &log);
    });
}

#[test]
fn secrets_that_a_model_repeats_are_masked_in_the_log() {
    let secret = "tok-planted-in-dotenv-5531";
    both(|format| {
        let world = World::new(format);
        world.ship.write(".env", &format!("MY_TOKEN={secret}\n"));
        world.server.then(Answer::text(format!("It is {secret} and {}.", crate::world::KEY)));
        let ran = world.ship.run(&["send", &format!("Is it {secret}?")]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let log = world.ship.contents(".ship/logs");
        assert!(log.contains("llm_response") && !log.contains(secret), "{log}");
        assert_clean("the log", &log);
    });
}
