//! A provider that counts more than we do is asked by one short process after the other.

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Format, Rules};

use crate::world::{World, strict};

/// A provider that takes 16,000 tokens and counts 1.8 times ours.
fn world() -> World {
    let llm = r#""retries": 0, "window": 16000, "maxTokens": 1000"#;
    let world = World::with(Format::OpenAi, llm);
    world.server.set_rules(Rules { window: Some(16_000), token_factor: 1.8, ..strict() });
    world.server.otherwise(Answer::judge(|exchange| {
        match exchange.body.to_string().contains("You keep the memory of a long chat") {
            true => Answer::summary(),
            false => Answer::text("Aye."),
        }
    }));
    world
}

fn number(json: &Json, keys: [&str; 2]) -> u64 {
    let number = json.get(keys[0]).and_then(|json| json.get(keys[1])?.as_u64());
    number.unwrap_or_else(|| panic!("no {keys:?} in {json}"))
}

#[test]
fn what_one_process_learns_of_the_counting_keeps_the_next_from_being_refused() {
    let world = world();
    for nth in 0..9 {
        let times = if nth % 8 == 7 { 800 } else { 60 };
        let answer =
            world.answer(&format!("{nth} {}", "the ship sails at dawn and ".repeat(times)));
        assert_eq!(answer, "Aye.");
        let requests = world.server.requests();
        assert!(requests.iter().all(|request| request.refused.is_none()), "message {nth}");
    }
    let [looked, planned] = [&["inspect", "--json"][..], &["compact", "--dry-run", "--json"]]
        .map(|arguments| Json::parse(&world.ship.run(arguments).out()).expect("JSON"));
    let total = number(&looked, ["tokens", "total"]);
    assert_eq!(total, number(&planned, ["planned", "tokensNow"]), "two screens, one number");
    assert!(number(&looked, ["stable", "tokens"]) <= total, "no more was there before than is");
}
