//! Summaries that are none, room that is hardly any, and what is said about both.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use ship_agent::{Outcome, Rules};
use ship_message::Role;
use ship_testkit::llm::{Answer, Rules as Judge, Speech, Stop, faults};

use super::world::{SUMMARY, World, asks_for_summary, words};
use crate::harness::chat;

fn sums_up_with(world: &World, summary: Answer) {
    world.server.otherwise(Answer::judge(move |exchange| match asks_for_summary(exchange) {
        true => summary.clone(),
        false => Answer::text("Aye."),
    }));
}

async fn grown(world: &World, turns: usize, tokens: usize) {
    for nth in 0..turns {
        let said = format!("{nth:03} {}", words(tokens));
        assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
    }
}

fn few() -> Rules {
    Rules { keep_last_messages: 2, ..Rules::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_that_was_cut_off_counts_only_when_it_has_all_its_headings() {
    let half = SUMMARY.split_once("## Decisions").unwrap().0;
    for (text, stop, method) in [
        (SUMMARY, Stop::Length, "summary"),
        (half, Stop::Length, "extract"),
        (SUMMARY, Stop::Refusal, "extract"),
    ] {
        let world = World::new(100_000, 1.0, Some(100_000), few());
        sums_up_with(&world, Answer::Speech(Speech::text(text).stop(stop)));
        grown(&world, 8, 60).await;
        let compacted = world.agent.compact(&chat(), None).await.unwrap().unwrap();
        assert_eq!(compacted.method.name(), method, "{text:?}");
        assert!(!world.messages().await[0].text().contains("The sails."), "half a line is none");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_without_its_headings_is_asked_for_once_more_and_then_replaced_by_an_extract() {
    let short = "## Facts\n- Blue.\n## Decisions\n- Sail.";
    for text in ["The ship is blue. ".repeat(20).as_str(), short] {
        let world = World::new(100_000, 1.0, Some(100_000), few());
        sums_up_with(&world, Answer::text(text));
        grown(&world, 8, 60).await;
        let compacted = world.agent.compact(&chat(), None).await.unwrap().unwrap();
        assert_eq!((compacted.method.name(), world.asked().0), ("extract", 2), "{text}");
        let requests = world.server.requests();
        let again = String::from_utf8_lossy(&requests[requests.len() - 1].body).into_owned();
        assert!(again.contains("An earlier attempt was not used: the summary"), "{again}");

        let world = World::new(100_000, 1.0, Some(100_000), few());
        grown(&world, 8, 60).await;
        world.server.then(Answer::text(text));
        let compacted = world.agent.compact(&chat(), None).await.unwrap().unwrap();
        assert_eq!((compacted.method.name(), world.asked().0), ("summary", 2), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_invents_is_in_no_summary_and_what_was_said_exactly_is() {
    let world = World::new(100_000, 1.0, Some(100_000), few());
    let invented = "\n- Moor at pier-77 by 2031-05-06.\n- Mail bob@example.org.";
    let named = "\n- The log is /srv/log.txt.\n- The project is at /project.";
    let own = "\n\n## Identifiers\n- pier-88\n\n## Open request\nWhat about pier-99?";
    sums_up_with(&world, Answer::text(format!("{SUMMARY}{invented}{named}{own}")));
    let world = world.with_role(Some(100_000), "The project is at /project.".to_owned());
    world.say("Write to /srv/log.txt and to ann@example.com.").await;
    grown(&world, 24, 60).await;
    world.agent.compact(&chat(), None).await.unwrap().unwrap();
    let summary = world.messages().await[0].text();
    assert_eq!(summary, format!("{SUMMARY}{named}\n\n## Identifiers\n- ann@example.com"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answered_request_is_not_named_as_open() {
    let world = World::new(8_000, 1.0, Some(8_000), few());
    let open = format!("{SUMMARY}\n\n## Open request\nAnd now?");
    sums_up_with(&world, Answer::text(open));
    grown(&world, 14, 450).await;
    let question = world.messages().await.iter().any(|it| it.text().starts_with("013"));
    assert!(
        question && world.last_rung().await.is_some(),
        "it was made for a question, which stays"
    );
    assert!(!world.answer_bodies().iter().any(|body| body.contains("## Open request")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fills_the_window_is_named_to_every_caller() {
    let world = World::new(100_000, 1.0, Some(100_000), Rules::default());
    grown(&world, 2, 30).await;
    let small = world.with_window(300);
    let Some(Outcome::Failed(sentence)) = small.say("hello").await else { panic!() };
    assert!(sentence.contains("the system blocks"), "{sentence}");
    assert!(!sentence.contains("your message"), "{sentence}");
    assert!(sentence.contains("larger window"), "{sentence}");
    for told in [
        small.agent.compact(&chat(), None).await.map(drop).unwrap_err(),
        small.agent.plan_compaction(&chat()).await.map(drop).unwrap_err(),
    ] {
        assert!(told.to_string().starts_with("the system blocks"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_summary_has_room_no_model_is_asked_and_none_is_rested() {
    let rules = Rules { input_tokens_max: Some(150), ..few() };
    let world = World::new(100_000, 1.0, Some(100_000), rules);
    grown(&world, 12, 60).await;
    assert_eq!(world.last_rung().await.as_deref(), Some("extract"));
    assert_eq!(world.asked().0, 0);
    let roomy = world.restarted(Some(100_000), few());
    grown(&roomy, 6, 60).await;
    let compacted = roomy.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert_eq!(compacted.method.name(), "summary", "it is asked at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_just_above_the_floor_does_not_compact_every_turn() {
    let world = World::new(100_000, 1.0, Some(100_000), few());
    grown(&world, 1, 30).await;
    let floor = world.agent.plan_compaction(&chat()).await.unwrap().unwrap().floor;
    let tight =
        world.restarted(Some(100_000), Rules { input_tokens_max: Some(floor + 80), ..few() });
    grown(&tight, 20, 30).await;
    let compactions = tight.log.of("compacted").len();
    assert!((1..=5).contains(&compactions), "{compactions}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filled_budget_is_told_once_for_a_chat_until_the_settings_change() {
    let rules = |tokens| Rules { input_tokens_max: Some(tokens), ..few() };
    let warned = |world: &World| {
        let warnings = world.log.of("warning").into_iter();
        warnings.filter(|warning| warning.contains("fill the")).collect::<Vec<_>>()
    };
    let world = World::new(100_000, 1.0, Some(100_000), rules(500));
    grown(&world, 20, 60).await;
    assert!(world.log.of("compacted").len() > 1);
    assert_eq!(world.agent.take_budget_warnings().len(), 1);
    let again = world.restarted(Some(100_000), rules(500));
    grown(&again, 20, 60).await;
    // Each process tells its own caller.
    assert_eq!(again.agent.take_budget_warnings().len(), 1);
    let told = warned(&again);
    assert_eq!(told.len(), 1, "{told:?}");
    for piece in ["the system (", "the tools (", "the new message (", "500 tokens", "Approx"] {
        assert!(told[0].contains(piece), "{piece}: {told:?}");
    }
    let other = again.restarted(Some(100_000), rules(400));
    grown(&other, 20, 60).await;
    assert_eq!(warned(&other).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_longer_than_the_little_there_was_rests_no_model() {
    let world = World::new(100_000, 1.0, Some(100_000), few());
    sums_up_with(&world, Answer::text(format!("## Facts\n{}", words(900))));
    for asked in 1..=2 {
        grown(&world, 4, 60).await;
        let _ = world.agent.compact(&chat(), None).await.unwrap();
        assert_eq!(world.asked().0, 2 * asked, "in the chat and with a transcript, each time");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_overflows_is_made_again_in_pieces() {
    let world = World::new(100_000, 1.0, Some(100_000), few());
    grown(&world, 40, 500).await;
    world.server.set_rules(Judge { window: Some(9_000), ..Judge::default() });
    let compacted = world.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert_eq!(compacted.method.name(), "chunks");
    assert!(world.refused() >= 1);
    assert!(world.messages().await[0].text().starts_with(SUMMARY));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_summed_up_before_a_call_failed_is_used() {
    let world = World::new(100_000, 1.0, Some(100_000), Rules::default());
    grown(&world, 40, 500).await;
    let small = world.with_window(8_000);
    small.server.then(Answer::summary());
    small.server.then(faults::content_policy());
    assert_eq!(small.say("and now?").await, Some(Outcome::Done));
    assert_eq!(small.last_rung().await.as_deref(), Some("extract"));
    let text = small.messages().await[0].text();
    assert!(text.contains("The ship is blue."), "{text}");
    assert!(text.contains("- The person said: 03"), "the rest is extracted: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_run_that_waits_its_message_counts_and_its_question_stays() {
    let approval = BTreeSet::from(["chat_send".to_owned()]);
    let rules = Rules { approval, keep_last_messages: 1, max_steps: 99, ..Rules::default() };
    let world = World::new(8_000, 1.0, Some(8_000), rules);
    let looks = Arc::clone(&world.looks);
    world.server.otherwise(Answer::judge(move |exchange| {
        match (asks_for_summary(exchange), looks.load(SeqCst)) {
            (true, _) => Answer::summary(),
            (false, ..20) => Answer::call("look", "{}"),
            (false, _) => Answer::call("chat_send", r#"{"text":"The sea is wide."}"#),
        }
    }));
    assert_eq!(world.say("look around").await, Some(Outcome::Parked));
    let next = world.agent.inspect(&chat()).await.unwrap();
    let planned = world.agent.plan_compaction(&chat()).await.unwrap().unwrap();
    let shown: u64 = next.tokens.messages.iter().chain(&next.tokens.tools).sum();
    let shown = shown + next.tokens.system.iter().sum::<u64>();
    assert!(planned.tokens_now.abs_diff(shown) < 60, "{} and {shown}", planned.tokens_now);
    let _ = world.agent.compact(&chat(), None).await.unwrap();
    let messages = world.messages().await;
    let question = messages.iter().find(|message| message.role() == Role::User).unwrap();
    assert_eq!(question.text(), "look around");
}
