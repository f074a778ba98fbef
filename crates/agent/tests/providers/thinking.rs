//! Thinking goes back to the model that thought it, byte for byte, and to no other.

use ship_testkit::llm::{Answer, Format, Piece, Speech, redacted, signature};

use super::world::World;

const FIRST: &str = "Let me see, \"it\" depends… 🙂";
const HIDDEN: &str = "nobody may read this";
const SECOND: &str = "Now I know.";

/// Thinks, calls a tool, thinks again, and answers.
async fn think_twice(world: &World) {
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
    assert_eq!(world.answer("Which skills are there?").await, "I look.\nThere are none.");
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

#[tokio::test(flavor = "multi_thread")]
async fn signed_thinking_goes_back_while_the_tools_run_and_after_a_restart() {
    let mut world = World::new(Format::Anthropic);
    think_twice(&world).await;
    assert_eq!(world.asked(), 2);
    assert_eq!(thinking(&world), first_thoughts(), "with the tool's result");
    // The same host and model, and an agent that knows only the files.
    world.switch(Format::Anthropic, |_| ());
    world.assert_goes_on().await;
    assert_eq!(thinking(&world), all_thoughts(), "with the next question");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_gets_no_thinking_and_the_old_one_gets_it_back() {
    let mut world = World::new(Format::Anthropic);
    think_twice(&world).await;
    world.switch(Format::Anthropic, |settings| settings.model = "another-model".to_owned());
    world.assert_goes_on().await;
    assert_eq!(thinking(&world), []);
    world.switch(Format::OpenAi, |_| ());
    world.assert_goes_on().await;
    let body = world.last_body();
    assert!(!body.contains(SECOND) && !body.contains("reasoning"), "{body}");
    world.switch(Format::Anthropic, |_| ());
    world.assert_goes_on().await;
    assert_eq!(thinking(&world), all_thoughts());
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_goes_back_to_a_host_that_reads_it_and_not_to_another_model() {
    let mut world = World::new(Format::OpenAi);
    think_twice(&world).await;
    let reasoning = |world: &World| -> Vec<String> {
        let body = world.last_request().json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        messages
            .iter()
            .filter_map(|message| message["reasoning_content"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(reasoning(&world), [FIRST], "with the tool's result");
    world.assert_goes_on().await;
    assert_eq!(reasoning(&world), [FIRST, SECOND], "with the next question");
    world.switch(Format::OpenAi, |settings| settings.model = "another-model".to_owned());
    world.assert_goes_on().await;
    assert_eq!(reasoning(&world), [""; 0]);
}

/// Thinking that broke off has no signature, and so never goes back.
#[tokio::test(flavor = "multi_thread")]
async fn thinking_that_broke_off_is_dropped_whole() {
    let world = World::with(Format::Anthropic, |settings| settings.retries = 1);
    world.server.then(Answer::judge(|exchange| {
        let speech = Speech::new([Piece::Reasoning(FIRST.to_owned()), Piece::Text("I".to_owned())]);
        let frames = exchange.frames(&speech);
        Answer::Raw(exchange.stream(&frames[..4]))
    }));
    world.server.then(Answer::text("There are none."));
    assert_eq!(world.answer("Which skills are there?").await, "There are none.");
    assert_eq!(thinking(&world), []);
    world.assert_goes_on().await;
}
