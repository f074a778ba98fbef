//! How a provider counts is learnt once, whatever becomes of the process that learnt it, and everybody is told
//! the same numbers.

use ship_agent::{CompactionUndo, ContextOperation, OperationOutcome, Outcome, Rules};
use ship_message::json::{Json, Object};

use super::world::{World, message, words};
use crate::harness::chat;

const WINDOW: u64 = 16_000;

fn rules() -> Rules {
    Rules { max_tokens: 1_000, keep_last_messages: 4, ..Rules::default() }
}

/// A provider that counts so many times our tokens.
fn world(factor: f64) -> World {
    World::new(WINDOW, factor, Some(WINDOW), rules())
}

impl World {
    async fn told(&self, text: &str) {
        assert_eq!(self.say(text).await, Some(Outcome::Done), "{text:.40}");
    }

    fn in_new_process(self) -> Self {
        self.restarted(Some(WINDOW), rules())
    }

    /// What the log's head says of how the model's provider counts.
    async fn carried(&self) -> Option<Json> {
        let view = self.view().await;
        view.head.carry.tokens().get("test-model").cloned()
    }

    /// What the next request takes: as a look at it tells, and as the plan of a compaction does.
    async fn next_tokens(&self) -> (u64, u64) {
        let looked = self.agent.inspect(&chat()).await.unwrap().tokens.total();
        let planned = self.agent.plan_compaction(&chat()).await.unwrap().unwrap();
        (looked, planned.tokens_now)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_for_each_message_is_refused_nothing_after_the_third_reply() {
    // The settings think that the provider counts as we do.
    let mut world = world(1.8);
    for nth in 0..24 {
        // Small messages, which nobody counts, and now and then one that would make a request too large.
        let tokens = if nth % 8 == 7 { 5_000 } else { 400 };
        world.told(&format!("{nth} {}", words(tokens))).await;
        assert_eq!(world.refused(), 0, "message {nth}");
        world = world.in_new_process();
    }
    assert!(world.last_rung().await.is_some(), "there was something to make room for");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_look_a_plan_and_a_record_tell_is_what_the_provider_will_count() {
    let mut world = world(1.8);
    for nth in 0..4 {
        world.told(&format!("{nth} {}", words(900))).await;
        world = world.in_new_process();
    }
    let (looked, planned) = world.next_tokens().await;
    assert_eq!(looked, planned);
    let next = "and this is the next".to_owned();
    world.told(&next).await;
    let call = world.agent.requests(&chat(), 1).await.unwrap().remove(0);
    let total = call.record.tokens.total();
    assert!(!call.record.tokens.is_rough, "{:?}", call.record);
    assert!((looked..looked + 100).contains(&total), "{looked} before “{next}”, then {total}");
    let Some(ship_agent::RequestAnswer::Answered { usage: Some(usage), .. }) = call.answer else {
        panic!("{:?}", call.answer);
    };
    assert!(total.abs_diff(usage.input) * 20 <= usage.input, "{total} for {usage:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_past_request_is_weighed_as_it_is_on_record_whatever_was_learnt_since() {
    let mut world = world(1.8);
    for nth in 0..4 {
        world.told(&format!("{nth} {}", words(900))).await;
        world = world.in_new_process();
    }
    let calls = world.agent.requests(&chat(), 100).await.unwrap();
    assert!(calls[0].record.tokens.is_rough && !calls[3].record.tokens.is_rough, "both kinds");
    for call in calls {
        let past = world.agent.past_request(&chat(), &call.record.id).await.unwrap().unwrap();
        let (weighed, tokens) = (world.agent.piece_tokens(&past), call.record.tokens);
        let sums =
            [&weighed.system, &weighed.tools, &weighed.messages].map(|it| it.iter().sum::<u64>());
        assert_eq!(sums, [tokens.system, tokens.tools, tokens.messages]);
        assert!(call.record.shared_prefix.tokens <= weighed.total());
        assert!(weighed.messages.iter().all(|tokens| *tokens > 0), "{weighed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undo_in_a_new_process_forgets_nothing_of_how_the_provider_counts() {
    let mut world = world(1.8);
    for nth in 0..8 {
        world.told(&format!("{nth} {}", words(700))).await;
    }
    world.agent.compact(&chat(), None).await.unwrap();
    let carried = world.carried().await;
    assert!(carried.is_some());
    world = world.in_new_process();
    let undone = world.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, CompactionUndo::Messages(_)), "{undone:?}");
    assert_eq!(world.carried().await, carried);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_begun_in_a_new_process_knows_how_the_provider_counts() {
    let mut world = world(1.8);
    for nth in 0..8 {
        world.told(&format!("{nth} {}", words(700))).await;
    }
    world.agent.compact(&chat(), None).await.unwrap();
    let carried = world.carried().await;
    let load = ContextOperation::Load { which: "last".to_owned() };
    for operation in
        [ContextOperation::New { title: None, reason: None }, load, ContextOperation::Undo]
    {
        world = world.in_new_process();
        let done = world.agent.operate(&chat(), operation, "test").await.unwrap();
        assert!(matches!(done, OperationOutcome::Done(_)), "{done:?}");
        assert_eq!(world.carried().await, carried);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn images_that_stand_elsewhere_fill_a_request_as_well() {
    let world = World::new(WINDOW, 1.0, Some(8_000), rules());
    world.told("look at these").await;
    let image = |nth: usize| {
        let mut message = message(&format!("i{nth}"), "user", "And this one.");
        let file = Object::from([
            ("type", "file"),
            ("mediaType", "image/png"),
            ("url", "https://example.com/a.png"),
        ]);
        message.set("parts", vec![Json::from(file)]);
        message.into()
    };
    {
        let chat = world.stored().await;
        let lane = chat.lane("test").await.unwrap();
        let position = chat.log().view().await.unwrap().unwrap().position;
        let answer = message("a", "assistant", "I have seen them.").into();
        let entries = (0..8).map(image).chain([answer]).collect();
        lane.append(entries, position).await.unwrap();
    }
    world.told("what did you see?").await;
    assert!(world.last_rung().await.is_some(), "twelve thousand tokens of images are too many");
}
