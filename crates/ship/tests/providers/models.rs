//! The model that answers: the one of the settings, of the chat, or of a single call.

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Format};
use ship_testkit::summary::SUMMARY;

use crate::harness::text;
use crate::world::{World, both};

fn asked_models(world: &World) -> Vec<String> {
    let model = |body: &[u8]| text(&Json::parse_bytes(body).expect("a body"), "model");
    world.server.requests().iter().map(|request| model(&request.body)).collect()
}

#[test]
fn a_model_is_chosen_for_one_call_or_kept_with_the_chat() {
    both(|format: Format| {
        let world = World::new(format);
        for _ in 0..6 {
            world.server.then(Answer::text("Aye."));
        }
        let _ = world.ship.run(&["send", "--model", "small", "one"]).text();
        let _ = world.send("two").text();
        let lines = "three\n/model tiny\nfour\n/model\n";
        let out = world.ship.piped(&["chat"], lines).text();
        assert_eq!(out.matches("tiny of ").count(), 2, "{out}");
        assert!(
            out.contains(", in this chat; /model - returns to the model in the settings."),
            "{out}"
        );
        assert_eq!(out.matches("Known here: model-of-tests, tiny, small\n").count(), 2, "{out}");
        // The next process and the commands that explain requests know it, too.
        let _ = world.send("five").text();
        assert!(world.ship.run(&["inspect"]).text().contains("tiny"));
        let out = world.ship.piped(&["chat"], "/model -\nsix\n").text();
        assert!(out.contains("model-of-tests of "), "{out}");
        let usual = "model-of-tests";
        assert_eq!(asked_models(&world), ["small", usual, usual, "tiny", "tiny", usual]);
        for name in ["", " ", "a\nb"] {
            let refused = world.ship.run(&["send", "--model", name, "seven"]);
            assert_eq!(refused.code(), 2, "{name:?}");
            assert!(refused.err().contains("The name of a model is a text on one line."));
        }
        world.assert_sound();
    });
}

#[test]
fn a_chat_a_look_and_a_compaction_take_a_model_for_this_command_alone() {
    let others = r#", "context": { "history": { "keepLastMessages": 2 } }"#;
    let world = World::of(Format::OpenAi, r#""retries": 0, "window": 8000"#, others);
    for _ in 0..3 {
        world.server.then(Answer::text("Aye."));
    }
    let long = "the ship sails ".repeat(20);
    let lines = format!("one {long}\ntwo {long}\nthree {long}\n/model\n");
    let out = world.ship.piped(&["chat", "--model", "small"], lines).text();
    assert!(out.contains("small of openai") && out.contains(", until you leave."), "{out}");
    let look = world.ship.run(&["inspect", "--model", "tiny"]).text();
    assert!(look.contains("tiny of openai"), "{look}");
    world.server.then(Answer::text(SUMMARY));
    let told = world.ship.run(&["compact", "--model", "tiny", "--instructions", "keep the sails"]);
    assert!(told.text().contains("became a summary"), "{}{}", told.out(), told.err());
    assert_eq!(asked_models(&world), ["small", "small", "small", "tiny"]);
    let body = String::from_utf8_lossy(&world.last_request().body).into_owned();
    assert!(body.contains("keep the sails"), "the instructions are in the request: {body}");
    assert!(world.ship.run(&["inspect"]).text().contains("model-of-tests of openai"));
}
