//! A chat without tools that was grown before a test begins, on a simulated disk and with a model in the same process.

use ship_agent::Rules;
use ship_store::{About, NewLine};
use ship_testkit::chat::first_context;
use ship_testkit::scripted_model::{ScriptedModel, text};

use super::world::{message, words};
use crate::harness::{Setup, TestAgent, chat};

/// A model that sums up when it is asked to, and says "Aye." otherwise.
pub(crate) fn model() -> ScriptedModel {
    ScriptedModel::new(|_| text("Aye."))
}

/// What has such a model, and these rules.
pub(crate) fn ruled(rules: Rules) -> Setup {
    Setup { model: Some(model()), many_runs: true, without_tools: true, ..Setup::ruled(rules) }
}

/// A chat with so many messages behind it, whose next turn is compacted.
pub(crate) async fn grown(messages: usize) -> Setup {
    let setup =
        ruled(Rules { input_tokens_max: Some(1_500), keep_last_messages: 4, ..Rules::default() });
    say_before(&setup.agent(), messages, 150).await;
    setup
}

/// Writes messages of `tokens` tokens each to a new chat, without asking a model.
pub(crate) async fn say_before(test: &TestAgent, messages: usize, tokens: usize) {
    let chat = test.store.create(&chat(), About::default()).await.unwrap();
    let lane = chat.lane("test").await.unwrap();
    let position = lane.rotate(first_context()).await.unwrap().position;
    let said = |nth: usize| {
        let role = if nth.is_multiple_of(2) { "user" } else { "assistant" };
        NewLine::from(message(&format!("m{nth}"), role, &format!("{nth:03} {}", words(tokens))))
    };
    lane.append((0..messages).map(said).collect(), position).await.unwrap();
}
