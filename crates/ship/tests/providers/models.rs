//! The model that answers: the one of the settings, of the chat, or of a single call.

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Format};

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
        world.assert_sound();
    });
}
