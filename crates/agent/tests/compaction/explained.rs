//! Requests from before a compaction and from after it can both be written again, and each tells how much of
//! it the one before had.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use ship_agent::{Outcome, RecordedRequest, RequestAnswer, RequestMessages, Rules};
use ship_provider::CachedSequence;
use ship_testkit::llm::Answer;

use super::world::{World, asks_for_summary, words};
use crate::harness::chat;

/// Every body that went out is on record in its order, and is written again byte for byte. Gives the records
/// of the requests for answers, with their bodies.
async fn explained(world: &World) -> Vec<(RecordedRequest, CachedSequence)> {
    let calls = world.agent.requests(&chat(), 10_000).await.unwrap();
    let received = world.server.requests();
    assert_eq!(calls.len(), received.len(), "one record for each body");
    let mut answers = Vec::new();
    for (call, received) in calls.into_iter().zip(received) {
        let id = call.record.id.as_str();
        let past = world.agent.past_request(&chat(), id).await.unwrap().unwrap();
        assert_eq!(past.missing, Vec::<String>::new(), "{id}");
        assert!(past.is_equal, "{id}");
        assert_eq!(past.body.unwrap().as_bytes(), received.body, "{id}");
        assert_eq!(past.call, call);
        if matches!(call.record.shown, RequestMessages::Context { .. }) {
            let body = String::from_utf8(received.body).unwrap();
            answers.push((call, CachedSequence::of(&body)));
        }
    }
    answers
}

/// The stable prefix that each record tells is that of the bytes that went out. Gives the first differences.
fn differences(calls: &[(RecordedRequest, CachedSequence)]) -> Vec<Option<String>> {
    for pair in calls.windows(2) {
        let [(before, old), (now, new)] = pair else { panic!("two") };
        let record = &now.record;
        assert_eq!(record.shared_prefix.before.as_deref(), Some(before.record.id.as_str()));
        let tokens = &record.tokens;
        let of = |bytes| new.tokens_of(bytes, tokens.tools, tokens.system, tokens.messages);
        let common = old.common_bytes(new);
        match &record.shared_prefix.difference {
            None => {
                assert_eq!(record.shared_prefix.tokens, of(old.stem().len()), "{record:?}");
                assert!(common >= old.stem().len(), "{record:?}");
            }
            Some(_) => {
                assert_eq!(record.shared_prefix.tokens, of(common), "{record:?}");
                assert!(common < old.stem().len(), "{record:?}");
            }
        }
    }
    calls.iter().map(|(call, _)| call.record.shared_prefix.difference.clone()).collect()
}

/// Looks once for each message.
fn looks(world: &World) {
    world.server.otherwise(Answer::judge(|exchange| {
        match (asks_for_summary(exchange), exchange.last_text().contains("waves")) {
            (true, _) => Answer::summary(),
            (false, true) => Answer::text("I see."),
            (false, false) => Answer::call("look", "{}"),
        }
    }));
}

async fn say(world: &World, text: &str) {
    assert_eq!(world.say(text).await, Some(Outcome::Done), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pruned_output_is_told_by_the_message_that_had_it() {
    let world = World::new(16_000, 1.0, Some(16_000), Rules::default());
    looks(&world);
    for nth in 0..14 {
        say(&world, &format!("look {nth}")).await;
    }
    let first = world.messages().await[1].id().unwrap().to_owned();
    let calls = explained(&world).await;
    let told: Vec<String> = differences(&calls).into_iter().flatten().collect();
    assert_eq!(told[..2], ["first request".to_owned(), format!("message {first} pruned")]);
    assert!(told.len() < 6, "seldom: {told:?}");
    let last = &calls[calls.len() - 1].0;
    let past = world.agent.past_request(&chat(), &last.record.id).await.unwrap().unwrap();
    assert!(past.pruned.len() > 1, "{past:?}");
    assert_eq!(past.compactions[0].1.get("rung").and_then(|rung| rung.as_str()), Some("prune"));
    let log = world.log.of("llm_request");
    assert!(log[1].contains("stableTokens") && log[1].contains("firstDifference"), "{}", log[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_an_undo_and_a_restart_leave_every_request_explained() {
    let rules = Rules { keep_last_messages: 4, ..Rules::default() };
    let world = World::new(100_000, 1.0, Some(100_000), rules);
    for nth in 0..8 {
        say(&world, &format!("{nth} {}", words(50))).await;
    }
    looks(&world);
    world.agent.compact(&chat(), None).await.unwrap().unwrap();
    say(&world, "look after the summary").await;
    let restarted = world.with_window(50_000);
    say(&restarted, "look after the restart").await;
    let undone = restarted.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, ship_agent::CompactionUndo::Messages(_)), "{undone:?}");
    say(&restarted, "look after the undo").await;
    let told = differences(&explained(&restarted).await);
    let mut wanted = vec![None; 14];
    wanted[0] = Some("first request".to_owned());
    wanted[8] = Some("compacted".to_owned());
    wanted[12] = Some("another context".to_owned());
    assert_eq!(told, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_overflowed_and_the_one_after_it_are_both_on_record() {
    let world =
        World::new(9_000, 1.0, Some(100_000), Rules { max_tokens: 1_000, ..Rules::default() });
    for nth in 0..8 {
        say(&world, &format!("{nth:03} {}", words(800))).await;
    }
    looks(&world);
    say(&world, "look").await;
    assert_eq!(world.refused(), 1);
    let calls = explained(&world).await;
    let told = differences(&calls);
    assert_eq!(told.last(), Some(&Some("compacted".to_owned())));
    let overflowed = &calls[calls.len() - 2].0;
    assert_eq!(overflowed.answer, Some(RequestAnswer::Failed("overflow".to_owned())));
    let Some(RequestAnswer::Answered { usage: Some(usage), .. }) = &calls[0].0.answer else {
        panic!("{:?}", calls[0].0.answer);
    };
    assert!(usage.input > 0 && usage.output > 0, "{usage:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_under_way_is_explained_from_its_journal() {
    let world = World::new(100_000, 1.0, Some(100_000), Rules::default());
    let (agent, asked) = (world.agent.clone(), Arc::new(Mutex::new(None)));
    let seen = Arc::clone(&asked);
    let handle = tokio::runtime::Handle::current();
    world.server.otherwise(Answer::judge(move |exchange| {
        if !exchange.last_text().contains("waves") {
            return Answer::call("look", "{}");
        }
        // The second step is being answered: its message is in no log yet.
        let agent = agent.clone();
        let past = std::thread::scope(|scope| {
            let look = || handle.block_on(agent.past_request(&chat(), "req_0")).unwrap();
            scope.spawn(look).join().unwrap()
        });
        *seen.lock().unwrap() = past;
        Answer::text("I see.")
    }));
    say(&world, "look").await;
    let past = asked.lock().unwrap().take().expect("it is on record before it is answered");
    assert!(past.is_equal, "{past:?}");
    assert_eq!(past.call.answer, None);
    assert_eq!(past.others.len(), 1);
    assert_eq!(past.body.unwrap().as_bytes(), world.server.requests()[1].body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_settled_on_its_way_is_explained_step_by_step() {
    // A provider that takes less than we think refuses some requests, and what they showed is settled since.
    for (takes, refuses) in [(8_000, false), (5_000, true)] {
        let rules = Rules { max_tokens: 1_000, ..Rules::default() };
        let world = World::new(takes, 1.0, Some(8_000), rules);
        let looks = Arc::clone(&world.looks);
        world.server.otherwise(Answer::judge(move |exchange| {
            match (asks_for_summary(exchange), looks.load(SeqCst)) {
                (true, _) => Answer::summary(),
                (false, 0..30) => Answer::call("look", "{}"),
                (false, _) => Answer::text("I have seen enough."),
            }
        }));
        // How it ends is another question.
        let _ = world.say("look as often as you can").await;
        assert_eq!(world.refused() > 0, refuses);
        let calls = explained(&world).await;
        let told: Vec<String> = differences(&calls).into_iter().flatten().collect();
        assert!(told.len() > 2 && told.len() < calls.len() / 2, "{told:?}");
    }
}
