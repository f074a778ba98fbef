//! One chat, answered by one provider after another.

use ship_testkit::llm::{Answer, Format, Piece, Speech};

use crate::world::{World, assert_says};

/// Thinks, says something, calls a tool twice in a row, and answers.
fn work(world: &World, number: usize) {
    let reasoning = |text: &str| Piece::Reasoning(format!("{text} {number}"));
    let call = |text: &str| Piece::call("chat_send", format!(r#"{{"text":"{text} {number}"}}"#));
    world.server.then(Speech::new([reasoning("Hm"), call("One"), call("Two")]));
    world.server.then(Speech::new([
        reasoning("Aha"),
        Piece::Text("Almost. ".to_owned()),
        call("Three"),
        Piece::call("no_such_tool", "{broken"),
    ]));
    world.server.then(Speech::new([Piece::Text(format!("Done {number}."))]));
    let told = format!("One {number}\nTwo {number}\nAlmost. \nThree {number}\nDone {number}.");
    assert_eq!(world.answer("Tell everyone."), told);
    assert_eq!(world.sent_by_tool().last(), Some(&format!("Three {number}")));
}

#[test]
fn a_chat_goes_from_provider_to_provider_with_all_its_tools_and_thoughts() {
    let world = World::new(Format::OpenAi);
    work(&world, 1);
    world.switch(Format::Anthropic, r#""retries": 0"#);
    work(&world, 2);
    world.ship.write("ship.json", r#"{ "llm": { "provider": "offline" } }"#);
    let asked = world.asked();
    let _ = world.send(r#"/tool chat_send {"text":"Offline."}"#).text();
    assert_eq!(world.sent_by_tool().last().map(String::as_str), Some("Offline."));
    assert_says(&world.answer("Who are you?"), &["I am the offline model"]);
    assert_eq!(world.asked(), asked, "offline asks nobody");
    world.switch(Format::OpenAi, r#""retries": 0"#);
    work(&world, 3);
    world.switch(Format::Anthropic, r#""model": "another-model", "retries": 0"#);
    work(&world, 4);
    world.assert_goes_on();
    let body = String::from_utf8_lossy(&world.last_request().body).into_owned();
    for number in 1..=4 {
        assert_says(&body, &[&format!("Done {number}."), &format!("Three {number}")]);
    }
}

#[test]
fn a_chat_that_failed_at_one_provider_goes_on_at_the_other() {
    let world = World::new(Format::OpenAi);
    world.server.then(ship_testkit::llm::faults::reset_mid_call());
    let _ = world.sentence("Tell me.");
    world.switch(Format::Anthropic, r#""retries": 0"#);
    world.server.then(Answer::text("Gladly."));
    assert_eq!(world.answer("Go on."), "Gladly.");
    world.assert_goes_on();
}
