//! Thinking is kept in the files, byte for byte. The tests of the agent show that it goes to no other model.

use ship_testkit::llm::{Format, Piece, Speech, redacted, signature};

use crate::world::World;

const FIRST: &str = "Let me see, \"it\" depends… 🙂";
const HIDDEN: &str = "nobody may read this";
const SECOND: &str = "Now I know.";

/// Thinks, calls a tool, thinks again, and answers.
fn think_twice(world: &World) {
    world.server.then(Speech::new([
        Piece::Reasoning(FIRST.to_owned()),
        Piece::Redacted(HIDDEN.to_owned()),
        Piece::Text("I look.".to_owned()),
        Piece::call("skills_list", "{}"),
    ]));
    world.server.then(Speech::new([
        Piece::Reasoning(SECOND.to_owned()),
        Piece::Text("There are none.".to_owned()),
    ]));
    assert_eq!(world.answer("Which skills are there?"), "I look.\nThere are none.");
}

/// The blocks of thinking in the newest request: the words with their signature, or the hidden data.
fn thinking(world: &World) -> Vec<(String, String)> {
    let body = world.last_request().json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let blocks =
        messages.iter().flat_map(|it| it["content"].as_array().cloned().unwrap_or_default());
    let string = |value: Option<&str>| value.unwrap_or_default().to_owned();
    blocks
        .filter_map(|block| match block["type"].as_str() {
            Some("thinking") => {
                Some((string(block["thinking"].as_str()), string(block["signature"].as_str())))
            }
            Some("redacted_thinking") => Some((String::new(), string(block["data"].as_str()))),
            _ => None,
        })
        .collect()
}

fn first_thoughts() -> Vec<(String, String)> {
    vec![(FIRST.to_owned(), signature(FIRST)), (String::new(), redacted(HIDDEN))]
}

fn all_thoughts() -> Vec<(String, String)> {
    [first_thoughts(), vec![(SECOND.to_owned(), signature(SECOND))]].concat()
}

#[test]
fn signed_thinking_goes_back_while_the_tools_run_and_later() {
    let world = World::new(Format::Anthropic);
    think_twice(&world);
    assert_eq!(world.asked(), 2);
    assert_eq!(thinking(&world), first_thoughts(), "with the tool's result");
    world.assert_goes_on();
    assert_eq!(thinking(&world), all_thoughts(), "with the next question");
}
