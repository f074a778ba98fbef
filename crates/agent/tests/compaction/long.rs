//! Chats that grow turn by turn.

use ship_agent::{Outcome, Rules};
use ship_testkit::llm::{Answer, faults};

use super::world::{SUMMARY, World, asks_for_summary, words};

const TURNS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_outgrows_its_window_goes_on_and_nothing_is_lost() {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    for nth in 0..TURNS {
        let said = format!("{nth:03} {}", words(300));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
    assert_eq!(world.refused(), 0, "no request was too large");
    let (summaries, answers) = world.asked();
    assert_eq!(answers, TURNS, "each turn is answered once");
    // 0.9 × (8,000 − 2,000) is the trigger; the floor is system, tools and one question of about 400.
    let (trigger, floor, added) = (5_400.0, 1_800.0, TURNS as f64 * 340.0);
    let most = 1.0 + 1.2 * added / ((trigger - floor) / 2.0);
    assert!((1..=most as usize).contains(&summaries), "{summaries} compactions, at most {most}");
    assert_eq!(world.log.of("compacted").len(), summaries);
    assert_eq!(world.ever_said().await.len(), TURNS, "every message can be found");
    let messages = world.messages().await;
    assert!(messages[0].text().starts_with(SUMMARY), "{}", messages[0].text());
    let range = messages[0].metadata().unwrap().get("sourceRange").unwrap();
    let count = range.get("count").unwrap().as_u64().unwrap() as usize;
    assert_eq!(count + messages.len() - 1, 2 * TURNS, "the summary tells what it stands for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_counts_more_than_we_do_is_learnt_before_it_refuses() {
    let world = World::new(8_000, 1.4, Some(8_000), Rules::default());
    for nth in 0..TURNS {
        let said = format!("{nth:03} {}", words(150));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
    assert_eq!(world.refused(), 0);
    assert!(world.asked().0 >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_sum_up_is_asked_seldom_and_the_chat_goes_on() {
    // A text that is no summary is asked for in the chat, and once more with a transcript.
    for (broken, calls) in [
        (Answer::text(""), 2),
        (Answer::text(SUMMARY.repeat(2_000)), 2),
        (Answer::call("look", "{}"), 2),
        (faults::content_policy(), 1),
    ] {
        let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
        world.server.otherwise(Answer::judge(move |exchange| match asks_for_summary(exchange) {
            true => broken.clone(),
            false => Answer::text("Aye."),
        }));
        for nth in 0..24 {
            let said = format!("{nth:03} {}", words(300));
            assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
        }
        assert_eq!(world.last_rung().await.as_deref(), Some("extract"));
        assert_eq!(world.asked().0, calls, "the clock stands still, so it is asked once");
        world.setup.clock.advance(61_000);
        for nth in 24..36 {
            let said = format!("{nth:03} {}", words(300));
            assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
        }
        assert_eq!(world.asked().0, 2 * calls, "and once more when it has cooled down");
        assert_eq!(world.ever_said().await.len(), 36);
        assert_eq!(world.looks.load(std::sync::atomic::Ordering::SeqCst), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_tool_output_goes_first_and_no_model_is_asked_for_that() {
    let world = World::new(16_000, 1.0, Some(16_000), Rules::default());
    world.server.otherwise(Answer::judge(|exchange| {
        assert!(!asks_for_summary(exchange), "pruning is enough here");
        match exchange.last_text().contains("waves") {
            true => Answer::text("I see."),
            false => Answer::call("look", "{}"),
        }
    }));
    for nth in 0..14 {
        assert_eq!(world.say(&format!("look {nth}")).await, Some(Outcome::Done), "{nth}");
    }
    assert_eq!(world.refused(), 0);
    assert_eq!(world.last_rung().await.as_deref(), Some("prune"));
    assert_eq!(world.looks.load(std::sync::atomic::Ordering::SeqCst), 14, "each ran once");
    let last = world.server.requests().pop().unwrap();
    let body = String::from_utf8_lossy(&last.body).into_owned();
    assert!(body.contains("bytes of output, left out to save room"), "{body}");
    assert!(body.contains("13 waves"), "the newest is whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_below_what_cannot_shrink_still_answers_and_still_compacts() {
    let rules = Rules { input_tokens_max: Some(500), ..Rules::default() };
    let world = World::new(100_000, 1.0, None, rules);
    for nth in 0..20 {
        let said = format!("{nth:03} {}", words(60));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
    assert!(world.asked().0 >= 2, "{:?}", world.asked());
    assert_eq!(world.log.of("warning").len(), 1, "{:?}", world.log.of("warning"));
    assert_eq!(world.ever_said().await.len(), 20);
}
