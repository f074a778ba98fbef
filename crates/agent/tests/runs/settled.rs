//! A run that outgrows its window is settled, and may be killed while that is done.

use ship_agent::{Outcome, Rules};
use ship_message::FinishReason;
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::{ScriptedEnd, call, calls, said, step, text};
use ship_testkit::sim::{Fault, SimDisk};

use crate::harness::{Setup, TestAgent, mark};

const EFFECTS: usize = 5;

/// Effects with long outputs, one after the other, with a word before some of them.
pub(super) fn setup() -> Setup {
    let effect = |id| call(id, "effect", r#"{"do":"long"}"#);
    let send = call("s", "chat_send", r#"{"text":"on my way"}"#);
    let script = [
        step(&[said("First."), effect("0"), send], ScriptedEnd::Because(FinishReason::ToolCalls)),
        calls(&[effect("1")]),
        calls(&[effect("2")]),
        calls(&[said("Then."), effect("3")]),
        calls(&[effect("4")]),
        text("That was all."),
    ];
    // The budget is below what cannot shrink, so it holds for the other messages.
    let rules = Rules { input_tokens_max: Some(300), ..Rules::default() };
    Setup { rules, many_runs: true, ..Setup::scripted(&script) }
}

/// What is left when everything is over, without names that differ from run to run.
async fn left(test: &TestAgent) -> (Vec<String>, Vec<String>) {
    (test.context().await, test.ledger().await)
}

#[tokio::test]
async fn the_reply_of_a_run_that_is_settled_is_all_that_it_has_said() {
    let test = setup().agent();
    let reply = test.agent.send(&test.chat, "go").await.unwrap();
    assert_eq!(reply.text(), "First.\n\nThen.\n\nThat was all.");
}

#[tokio::test]
async fn a_run_that_is_settled_says_all_that_it_has_said() {
    let test = setup().agent();
    assert_eq!(test.say("go").await, Some(Outcome::Done));
    assert_eq!(test.effects(), EFFECTS);
    let (context, ledger) = left(&test).await;
    assert!(context[0].starts_with("assistant: ## Facts"), "it was summed up: {context:#?}");
    assert_eq!(context[1], "user: go");
    assert!(context.last().unwrap().ends_with("That was all."), "{context:#?}");
    assert_eq!(
        ledger,
        ["user: go", "assistant: on my way", "assistant: First.\nThen.\nThat was all."]
    );
    let messages = test.messages().await;
    let settled = messages.iter().filter(|message| mark(message, "settled").is_some()).count();
    assert_eq!(settled, messages.len() - 3, "all but the summary, the question and the last");
    assert_eq!(test.run().await, None, "nothing is left to do");
}

/// Kills the agent at calls to the disk, lets another one go on, and compares with one that lived.
#[tokio::test]
async fn a_run_killed_while_it_is_settled_or_compacted_goes_on_and_no_effect_is_twice() {
    let undisturbed = setup();
    let test = undisturbed.agent();
    assert_eq!(test.say("go").await, Some(Outcome::Done));
    let wanted = left(&test).await.1;
    let (mut kills, mut unknowns) = (0, 0);
    for at in sample(0..undisturbed.disk.calls(), 4) {
        let setup = Setup { disk: SimDisk::with_fault(at, Fault::KillAfter), ..setup() };
        let killed = setup.answer_until_killed("go").await;
        if !killed.died {
            continue;
        }
        kills += 1;
        let second = setup.agent();
        second.go_on("go", &killed).await;
        let effects = killed.effects + second.effects();
        assert!((EFFECTS - 1..=EFFECTS).contains(&effects), "killed at {at}: {effects}");
        unknowns += EFFECTS - effects;
        let (context, ledger) = left(&second).await;
        assert_eq!(ledger, wanted, "killed at {at}");
        assert_eq!(context.iter().filter(|line| *line == "user: go").count(), 1, "{context:#?}");
        assert!(context.last().unwrap().ends_with("That was all."), "{at}: {context:#?}");
        assert_eq!(second.run().await, None, "killed at {at}: nothing is left to do");
    }
    assert!(kills > 60, "only {kills} kills");
    assert!(unknowns > 0, "an effect that was begun is not made again");
}
