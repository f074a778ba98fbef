//! The limits of a run hold across crashes and waits.

use std::collections::BTreeSet;
use std::time::Duration;

use ship_agent::{CallAnswer, Outcome, Rules, Stop};
use ship_testkit::scripted_model::{ScriptedEnd, call, calls, half, step, text};

use crate::harness::{Setup, TestAgent};

const LATE: &str = "the run took longer than `context.run.deadlineMs` allows";

fn failed_with(outcome: Option<Outcome>, words: &str) {
    assert!(
        matches!(&outcome, Some(Outcome::Failed(sentence)) if sentence.contains(words)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_run_that_does_not_end_is_ended_after_its_steps() {
    let test = Setup::ruled(Rules { max_steps: 2, ..Rules::default() }).agent();
    let outcome = test.say("/tool look {}\n/tool look {}\n/tool look {}").await;
    failed_with(outcome, "stopped after 2 steps");
    assert!(test.context().await[1].contains("stopped after 2 steps"));
}

/// Two calls that need a word, one after the other, and an answer.
fn asks_twice(max_steps: usize) -> Setup {
    let ask = |id| calls(&[call(id, "effect", "{}")]);
    let approval = BTreeSet::from(["effect".to_owned()]);
    let rules = Rules { max_steps, approval, ..Rules::default() };
    let script = vec![ask("one"), ask("two"), text("Both are done.")];
    Setup { rules, ..Setup::scripted(&script) }
}

fn allow(call: &str) -> CallAnswer {
    CallAnswer::Approval { approval_id: format!("approve_{call}"), approved: true, reason: None }
}

#[tokio::test]
async fn the_steps_of_a_run_are_counted_from_its_beginning_however_often_it_waits() {
    for (max_steps, goes_on) in [(2, false), (3, true)] {
        let setup = asks_twice(max_steps);
        assert_eq!(setup.agent().say("hi").await, Some(Outcome::Parked));
        let test = setup.agent();
        let stop = Stop::default();
        let outcome = test.agent.answer(&test.chat, allow("one"), &stop).await.unwrap();
        assert_eq!(outcome, Some(Outcome::Parked));
        drop(test);
        let test = setup.agent();
        let outcome = test.agent.answer(&test.chat, allow("two"), &stop).await.unwrap();
        match goes_on {
            true => assert_eq!(outcome, Some(Outcome::Done)),
            false => failed_with(outcome, "stopped after 2 steps"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_is_ended_at_the_deadline_of_the_run() {
    let mut setup = Setup::scripted(&[step(&[half("Let me")], ScriptedEnd::Hangs)]);
    setup.rules.run_deadline = Duration::from_millis(30);
    let test = setup.agent();
    failed_with(test.say("hi").await, LATE);
    assert!(test.context().await[1].contains(LATE));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_ended_at_the_deadline_of_the_run() {
    let hang = calls(&[call("1", "effect", r#"{"do":"hang"}"#)]);
    let mut setup = Setup::scripted(&[hang, text("never said")]);
    setup.rules.run_deadline = Duration::from_millis(30);
    let test = setup.agent();
    failed_with(test.say("hi").await, LATE);
    assert!(test.context().await[1].contains(&format!("[effect {LATE}]")));
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
async fn a_run_that_was_killed_has_the_time_left_that_it_has_not_worked() {
    let seconds = Duration::from_secs;
    // A call that hangs takes two minutes of the clock that runs are timed by.
    let hang = |id| calls(&[call(id, "look", r#"{"do":"hang"}"#)]);
    for (allowed, goes_on) in [(seconds(300), true), (seconds(180), false)] {
        let mut setup = Setup::scripted(&[hang("1"), step(&[], ScriptedEnd::Hangs)]);
        setup.rules.tool_deadline = seconds(120);
        setup.rules.run_deadline = allowed;
        let test = setup.agent();
        assert!(test.accept("hi").await);
        tokio::select! {
            outcome = test.run() => panic!("the model hangs: {outcome:?}"),
            // Killed while it does.
            () = tokio::time::sleep(seconds(150)) => {}
        }
        assert_eq!(test.model().asked(), 2);
        drop(test);
        setup.clock.advance(24 * 3_600_000);
        let script = vec![hang("1"), hang("2"), text("Here I am.")];
        let test = setup.with_script(&script).agent();
        match goes_on {
            true => assert_eq!(test.run().await, Some(Outcome::Done), "a day without a process"),
            false => failed_with(test.run().await, LATE),
        }
    }
}

/// Runs a chat whose process is stopped for a day during a call.
async fn run_with_stop(setup: &Setup) -> TestAgent {
    let test = setup.agent();
    assert!(test.accept("hi").await);
    let stop_for_a_day = async {
        while test.looks() == 0 {
            tokio::task::yield_now().await;
        }
        // When a stopped process goes on, the clock has moved and every timer is due.
        tokio::time::advance(Duration::from_secs(24 * 3600)).await;
        std::future::pending().await
    };
    let outcome = tokio::select! {
        outcome = test.run() => outcome,
        () = stop_for_a_day => None,
    };
    assert_eq!(outcome, Some(Outcome::Done));
    test
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_the_process_was_stopped_does_not_count() {
    let hang = calls(&[call("1", "look", r#"{"do":"hang"}"#)]);
    run_with_stop(&Setup::scripted(&[hang, text("Here I am.")])).await;
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_the_process_was_stopped_does_not_count_against_a_tool() {
    let wait = calls(&[call("1", "look", r#"{"do":"wait"}"#)]);
    let mut setup = Setup::scripted(&[wait, text("Here I am.")]);
    setup.rules.tool_deadline = Duration::from_secs(120);
    let context = run_with_stop(&setup).await.context().await;
    assert!(context[1].contains("[look \"waited\"]"), "{}", context[1]);
}

#[tokio::test]
async fn the_time_that_a_run_waits_for_a_person_does_not_count() {
    let setup = asks_twice(10);
    assert_eq!(setup.agent().say("hi").await, Some(Outcome::Parked));
    setup.clock.advance(24 * 3_600_000);
    let test = setup.agent();
    let outcome = test.agent.answer(&test.chat, allow("one"), &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Parked));
    setup.clock.advance(24 * 3_600_000);
    let outcome = test.agent.answer(&test.chat, allow("two"), &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Done));
    assert_eq!(test.effects(), 2);
}

#[tokio::test]
async fn the_model_is_shown_the_ends_of_a_long_output_and_the_log_has_all_of_it() {
    let long = calls(&[call("1", "look", r#"{"do":"long"}"#)]);
    let mut setup = Setup::scripted(&[long, text("I see.")]);
    setup.rules.tool_output_chars = 40;
    let test = setup.agent();
    test.say("hi").await;
    let second = &test.model().requests()[1].body;
    assert!(second.contains("[… 460 characters left out …]"), "{second}");
    assert!(!second.contains(&"long ".repeat(20)));
    assert!(test.context().await[1].contains(&"long ".repeat(100)));
}
