//! Stopping a run from anywhere, and leaving it for the next process.

use ship_agent::{Outcome, Rules, Stop, StopOutcome};
use ship_testkit::scripted_model::{ScriptedEnd, call, calls, half, step, text};

use crate::harness::{Setup, inbound};

/// A chat whose model begins an answer and does not end it.
fn endless_answer() -> Setup {
    Setup::scripted(&[step(&[half("Let me")], ScriptedEnd::Hangs)])
}

#[tokio::test]
async fn a_run_is_stopped_by_another_process_and_keeps_what_it_has_said() {
    let setup = endless_answer();
    let (first, second) = (setup.agent(), setup.agent());
    assert!(first.accept("one").await);
    let stop = Stop::default();
    let stopping = async {
        first.model().is_asked_for(1).await;
        second.agent.stop_run(&second.chat, "elsewhere").await.unwrap()
    };
    let (ran, stopped) = tokio::join!(first.agent.run(&first.chat, &stop), stopping);
    assert_eq!(stopped, StopOutcome::Stopped);
    assert_eq!(ran.unwrap(), Some(Outcome::Stopped));
    assert_eq!(second.context().await, ["user: one", "assistant: Let me"]);
    assert_eq!(second.run().await, None, "nothing is left to do");
}

/// The stop is in the ledger when the process dies; the next one finds it there.
#[tokio::test]
async fn a_stop_that_its_process_did_not_live_to_follow_is_followed_by_the_next() {
    let setup = endless_answer();
    let first = setup.agent();
    assert!(first.accept("one").await);
    let stop = Stop::default();
    tokio::select! {
        _ = first.agent.run(&first.chat, &stop) => unreachable!("the model hangs"),
        () = first.model().is_asked_for(1) => {}
    }
    drop(first);
    let next = setup.agent();
    assert_eq!(next.agent.stop_run(&next.chat, "test").await.unwrap(), StopOutcome::Stopped);
    assert_eq!(next.context().await, ["user: one", "assistant: (stopped)"]);
    assert_eq!(next.run().await, None, "nothing is left to do");
}

#[tokio::test]
async fn a_stop_without_a_run_stops_nothing() {
    let setup = Setup::scripted(&[text("Aye."), text("Again.")]);
    let test = setup.agent();
    assert_eq!(test.agent.stop_run(&test.chat, "test").await.unwrap(), StopOutcome::NothingRan);
    test.say("one").await;
    assert_eq!(test.agent.stop_run(&test.chat, "test").await.unwrap(), StopOutcome::NothingRan);
    assert_eq!(test.context().await, ["user: one", "assistant: Aye."]);
}

#[tokio::test]
async fn a_run_that_waits_for_approval_can_be_stopped() {
    let rules = Rules { approval: ["effect".to_owned()].into(), ..Rules::default() };
    let setup = Setup::ruled(rules).with_script(&[calls(&[call("1", "effect", "{}")])]);
    let test = setup.agent();
    assert_eq!(test.say("please").await, Some(Outcome::Parked));
    assert_eq!(test.agent.stop_run(&test.chat, "test").await.unwrap(), StopOutcome::Stopped);
    assert_eq!(test.run().await, None, "nothing is left to do");
    assert_eq!(test.effects(), 0);
    assert_eq!(test.context().await.len(), 2, "what it had said is kept");
}

#[tokio::test]
async fn a_run_that_is_left_between_two_steps_is_continued_by_the_next_process() {
    let setup = Setup::scripted(&[calls(&[call("1", "effect", "{}")]), text("Done.")]);
    let test = setup.agent();
    assert!(test.accept("please").await);
    let stop = Stop::default();
    stop.leave();
    let left = test.agent.run(&test.chat, &stop).await.unwrap();
    assert_eq!(left, Some(Outcome::Left));
    assert_eq!(test.context().await, ["user: please"], "nothing is settled");
    drop(test);

    let next = setup.agent();
    assert_eq!(next.run().await, Some(Outcome::Done));
    assert_eq!(next.context().await.last().unwrap(), "assistant: [effect \"done\"] Done.");
    assert_eq!(next.effects(), 1);
}

#[tokio::test]
async fn a_caller_that_leaves_does_not_wait_for_another_run() {
    let test = Setup::default().agent();
    assert!(test.accept("please").await);
    let held = test.stored().await.lane("other").await.unwrap();
    for stop in [Stop::leave, Stop::stop] {
        let told = Stop::default();
        let waiting = test.agent.run(&test.chat, &told);
        let (ran, ()) = tokio::join!(waiting, async { stop(&told) });
        assert_eq!(ran.unwrap(), None);
        let waiting = test.agent.send_until(&test.chat, inbound("please"), &told);
        let (sent, ()) = tokio::join!(waiting, async { stop(&told) });
        assert!(sent.unwrap().messages.is_empty(), "the message is kept");
    }
    held.release().await;
    assert_eq!(test.run().await, Some(Outcome::Done));
}
