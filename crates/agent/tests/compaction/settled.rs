//! Runs that outgrow the window by themselves.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use ship_agent::{Outcome, Rules};
use ship_message::{Role, UiMessage, UiPart};
use ship_testkit::llm::{Answer, Piece, Speech, faults};

use super::world::{World, asks_for_summary};

const CALLS: usize = 120;

fn patient() -> Rules {
    Rules { max_steps: CALLS + 10, ..Rules::default() }
}

/// A model that looks until it has looked often enough, and sums up as it is told to.
fn looks_often(world: &World, calls: usize, summary: &Answer) {
    let (looks, summary) = (Arc::clone(&world.looks), summary.clone());
    world.server.otherwise(Answer::judge(move |exchange| {
        if asks_for_summary(exchange) {
            return summary.clone();
        }
        match looks.load(SeqCst) < calls {
            true => Answer::call("look", "{}"),
            false => Answer::text("I have seen enough."),
        }
    }));
}

fn calls(messages: &[UiMessage]) -> usize {
    let is_call = |part: &&UiPart| matches!(part, UiPart::Tool(_));
    messages.iter().flat_map(UiMessage::parts).filter(is_call).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_question_of_120_calls_ends_and_no_tool_runs_twice() {
    for (calls, summary) in [(CALLS, Answer::summary()), (40, faults::content_policy())] {
        let world = World::new(8_000, 1.0, Some(8_000), patient());
        looks_often(&world, calls, &summary);
        assert_eq!(world.say("look as often as you can").await, Some(Outcome::Done));
        assert_eq!(world.looks.load(SeqCst), calls, "each call ran once");
        assert_eq!(world.refused(), 0, "no request was too large");
        let (_, answers) = world.asked();
        assert_eq!(answers, calls + 1, "the model was asked once for each step");
        let messages = world.messages().await;
        let question = messages.iter().find(|message| message.role() == Role::User).unwrap();
        assert!(question.text().starts_with("look as often"), "the open request stays verbatim");
        assert_eq!(messages.last().unwrap().text(), "I have seen enough.");
        assert_eq!(world.ever_called().await, calls, "every call is in some log");
        assert_eq!(world.say("and now?").await, Some(Outcome::Done), "the chat goes on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_model_has_not_seen_yet_is_not_left_out() {
    let world = World::new(8_000, 1.0, Some(8_000), patient());
    looks_often(&world, 40, &Answer::summary());
    assert_eq!(world.say("look").await, Some(Outcome::Done));
    let bodies = world.answer_bodies();
    for nth in 0..40 {
        let fresh = format!("{nth} waves. The sea");
        assert!(bodies[nth + 1].contains(&fresh), "the request after call {nth} has its result");
    }
    assert!(!bodies[40].contains("\"0 waves. The sea"), "the first result is not sent for ever");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_side_by_side_that_are_too_large_together_are_told_to_be_left_out() {
    let world = World::new(8_000, 1.0, Some(8_000), patient());
    let looks = Arc::clone(&world.looks);
    world.server.otherwise(Answer::judge(move |exchange| {
        match (asks_for_summary(exchange), looks.load(SeqCst)) {
            (true, _) => Answer::summary(),
            (false, 0) => Answer::Speech(Speech::new((0..12).map(|_| Piece::call("look", "{}")))),
            (false, _) => Answer::text("That was a lot."),
        }
    }));
    assert_eq!(world.say("look everywhere").await, Some(Outcome::Done));
    assert_eq!(world.looks.load(SeqCst), 12);
    assert_eq!(world.refused(), 0);
    assert!(world.answer_bodies()[1].contains("bytes of output, left out to save room"));
    let messages = world.messages().await;
    assert_eq!(calls(&messages), 12, "the calls themselves are there");
    assert_eq!(messages.last().unwrap().text(), "That was a lot.");
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_and_sends_count_across_messages_that_were_settled() {
    let rules = Rules { max_steps: 25, ..Rules::default() };
    let world = World::new(8_000, 1.0, Some(8_000), rules);
    looks_often(&world, CALLS, &Answer::summary());
    let Some(Outcome::Failed(sentence)) = world.say("look").await else { panic!("too many") };
    assert!(sentence.starts_with("I stopped after 25 steps"), "{sentence}");
    assert_eq!(world.looks.load(SeqCst), 25);
}
