//! A history of up to two million tokens, and a model that sees eight thousand.

use std::time::{Duration, Instant};

use ship_agent::{CompactionUndo, Outcome, Rules};
use ship_store::{About, NewLine};
use ship_testkit::chat::first_context;
use ship_testkit::llm::{Answer, faults};

use super::world::{SUMMARY, World, asks_for_summary, message, words};
use crate::harness::chat;

const MESSAGES: usize = 2_000;
/// A history that eight summaries cannot read either, for what does not depend on its length.
const FEWER_MESSAGES: usize = 200;
const TOKENS_EACH: usize = 1_000;
/// A chat that answers later than that has counted everything many times over.
const TIME_MAX: Duration = Duration::from_secs(30);

/// A world whose chat has so many messages behind it. No model of this size could ever have said them, so they are
/// written to the log directly.
async fn world(messages: usize) -> World {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    let chat = world.store.create(&chat(), About::default()).await.unwrap();
    let lane = chat.lane("test").await.unwrap();
    let mut position = lane.rotate(first_context()).await.unwrap().position;
    let said: Vec<NewLine> = (0..messages).map(|nth| NewLine::from(original(nth))).collect();
    for batch in said.chunks(100) {
        position = lane.append(batch.to_vec(), position).await.unwrap();
    }
    world
}

fn original(nth: usize) -> ship_message::json::Object {
    let role = if nth.is_multiple_of(2) { "user" } else { "assistant" };
    message(&format!("m{nth}"), role, &format!("{nth:04} {}", words(TOKENS_EACH)))
}

/// Says something, and gives how many requests there were for a summary and for an answer.
async fn asked_for_one_answer(world: &World, messages: usize) -> (usize, usize) {
    let start = Instant::now();
    assert_eq!(world.say("and now?").await, Some(Outcome::Done));
    assert!(start.elapsed() < TIME_MAX, "it took {:?}", start.elapsed());
    assert_eq!(world.refused(), 0, "no request was too large");
    let people = world.ever_said().await;
    assert_eq!(people.len(), messages / 2 + 1, "nothing is lost");
    world.asked()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_summed_up_in_eight_calls_and_what_they_cannot_read_is_extracted_for_the_first() {
    let world = world(MESSAGES).await;
    assert_eq!(asked_for_one_answer(&world, MESSAGES).await, (8, 1));
    assert_eq!(world.last_rung().await.as_deref(), Some("chunks"));
    let requests = world.server.requests();
    let first = String::from_utf8_lossy(&requests[0].body).into_owned();
    let (so_far, read) = first.split_once("The part of the chat to sum up").unwrap();
    assert!(so_far.contains("The summary so far"), "{so_far}");
    let read_from = number_in(read, "User: ");
    let (_, last) = so_far.rsplit_once("The person ").unwrap();
    let last_extracted = number_in(last, "said: ");
    assert_eq!(last_extracted + 2, read_from, "between the two nobody is passed over");
}

/// The number behind the first mark in a text.
fn number_in(text: &str, mark: &str) -> usize {
    let (_, number) = text.split_once(mark).unwrap();
    number[..4].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_or_breaks_every_summary_costs_one_call_and_the_chat_answers() {
    let broken = [
        faults::content_policy(),
        faults::server_error(),
        faults::reset_mid_text(),
        Answer::text(""),
        Answer::text(SUMMARY.repeat(3_000)),
        Answer::call("look", "{}"),
    ];
    let world = world(FEWER_MESSAGES).await;
    for (nth, broken) in broken.into_iter().enumerate() {
        let name = format!("{broken:?}");
        world.server.otherwise(Answer::judge(move |exchange| match asks_for_summary(exchange) {
            true => broken.clone(),
            false => Answer::text("Aye."),
        }));
        let (summaries, answers) = world.asked();
        assert_eq!(world.say(&format!("now? {nth}")).await, Some(Outcome::Done), "{name:.60}");
        assert_eq!(world.say(&format!("then? {nth}")).await, Some(Outcome::Done));
        assert_eq!(world.asked(), (summaries + 1, answers + 2), "{name:.60}");
        assert_eq!(world.last_rung().await.as_deref(), Some("extract"));
        // The next one finds everything back in its place, and the model rested.
        let undone = world.agent.undo_compaction(&chat()).await.unwrap();
        let CompactionUndo::Messages(back) = undone else { panic!("{undone:?}") };
        assert!(back > FEWER_MESSAGES - 30, "only {back} are back");
        assert_eq!(world.messages().await.len(), FEWER_MESSAGES + 4 * (nth + 1), "nothing is lost");
        world.setup.clock.advance(900_000);
    }
    assert_eq!(world.refused(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_breaks_the_third_of_eight_summaries_is_not_asked_for_the_others() {
    let world = world(FEWER_MESSAGES).await;
    for _ in 0..2 {
        world.server.then(Answer::summary());
    }
    world.server.then(Answer::text(""));
    assert_eq!(asked_for_one_answer(&world, FEWER_MESSAGES).await, (3, 1));
    assert_eq!(world.last_rung().await.as_deref(), Some("extract"));
}
