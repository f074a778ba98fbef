//! A message behind a process that runs the chat: a busy one is followed, and a silent one is given up.

use std::sync::Arc;
use std::time::Duration;

use ship_agent::{AcceptedMessage, RunError, Stop};
use ship_store::disk::Disk as _;
use ship_testkit::scripted_model::{ScriptedEnd, call, calls, half, step, text};

use crate::harness::{Setup, TestAgent, inbound};

/// A chat whose model begins an answer and does not end it for a while, with a disk that keeps times.
fn endless_answer() -> Setup {
    let mut setup = Setup::scripted(&[step(&[half("Let me")], ScriptedEnd::Hangs)]);
    setup.many_runs = true;
    setup.rules.tool_deadline = Duration::from_secs(4);
    setup.rules.run_deadline = Duration::from_secs(20);
    setup.disk.keep_times(Arc::new(setup.clock.clone()));
    setup
}

/// Moves the clock of a setup with the time of the runtime.
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
async fn keep_clock(setup: &Setup) {
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        setup.clock.advance(50);
    }
}

async fn accept(test: &TestAgent, text: &str) -> AcceptedMessage {
    test.agent.accept(&test.chat, inbound(text)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_message_behind_a_long_answer_of_a_process_at_work_is_answered_after_it() {
    let setup = endless_answer();
    let (holder, other) = (setup.agent(), setup.agent());
    let first = accept(&holder, "first").await;
    let beside = async {
        holder.model().is_asked_for(1).await;
        let second = accept(&other, "second").await;
        other.agent.reply_to(&other.chat, &second, &Stop::default()).await
    };
    let stop = Stop::default();
    let (answered, followed) = tokio::select! {
        both = async { tokio::join!(holder.agent.reply_to(&holder.chat, &first, &stop), beside) } => both,
        () = keep_clock(&setup) => unreachable!("a clock does not end"),
    };
    assert!(answered.unwrap().text().contains("I could not answer"));
    let followed = followed.map(|reply| (reply.is_from_here, reply.messages.len()));
    assert_eq!(followed.map_err(|error| error.to_string()), Ok((true, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_message_behind_a_process_that_shows_no_life_is_kept_and_given_up() {
    let setup = endless_answer();
    let (holder, other) = (setup.agent(), setup.agent());
    let first = accept(&holder, "first").await;
    let stop = Stop::default();
    let mut running = std::pin::pin!(holder.agent.reply_to(&holder.chat, &first, &stop));
    tokio::select! {
        _ = &mut running => unreachable!("the model does not answer"),
        () = holder.model().is_asked_for(1) => {}
    }
    // From here on it keeps the lane and does nothing, as a process that hangs.
    let second = accept(&other, "second").await;
    let refused = tokio::select! {
        refused = other.agent.reply_to(&other.chat, &second, &stop) => refused,
        () = keep_clock(&setup) => unreachable!("a clock does not end"),
    };
    let Err(RunError::Frozen(frozen)) = refused else { panic!("{refused:?}") };
    assert!(!frozen.is_stopped);
    assert_eq!(other.ledger().await, ["user: first", "user: second"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lane_is_removed_ends_and_its_message_is_answered_by_the_next() {
    let wait = calls(&[call("1", "look", r#"{"do":"wait"}"#)]);
    let setup = Setup::scripted(&[wait, text("Here I am.")]);
    let test = setup.agent();
    let first = accept(&test, "first").await;
    let remove_lane = async {
        while test.looks() == 0 {
            tokio::task::yield_now().await;
        }
        let lane = setup.disk.memory().contents().into_keys().find(|path| path.ends_with("lane"));
        setup.disk.memory().remove(&lane.unwrap()).unwrap();
    };
    let stop = Stop::default();
    let (reply, ()) = tokio::join!(test.agent.reply_to(&test.chat, &first, &stop), remove_lane);
    assert_eq!(reply.unwrap().text(), "Here I am.");
    assert_eq!(test.looks(), 2, "the second run calls again what the first could not write down");
}

/// The model hangs, so only a sign of life can notice it.
#[tokio::test(start_paused = true)]
async fn a_run_that_loses_its_lane_ends_at_once_and_the_next_holder_ends_what_it_began() {
    let mut setup = endless_answer();
    setup.rules.run_deadline = Duration::from_secs(3_600);
    let (first, second) = (setup.agent(), setup.agent());
    accept(&first, "hello").await;
    let running = async { first.agent.run(&first.chat, &Stop::default()).await };
    let losing = async {
        first.model().is_asked_for(1).await;
        let lane = ship_store::chat_folder(&first.chat).join("lane");
        setup.disk.remove(&lane).unwrap();
        setup.disk.ops_len()
    };
    let (ended, writes_before) = tokio::join!(running, losing);
    let error = ended.unwrap_err();
    assert!(error.is_elsewhere(), "{error}");
    assert_eq!(setup.disk.ops_len(), writes_before, "it has written nothing since");
    drop(first);

    let second_stop = Stop::default();
    second_stop.stop();
    second.agent.run(&second.chat, &second_stop).await.unwrap();
    assert_eq!(second.context().await.len(), 2, "the next holder ends the run");
}
