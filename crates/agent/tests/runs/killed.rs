//! A run that is killed anywhere is gone on with, and a tool that must not run twice never does.

use ship_agent::Outcome;
use ship_message::json::{Json, Object};
use ship_message::{FinishReason, UiMessage};
use ship_testkit::power;
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::{
    ScriptedEnd, ScriptedStep, call, calls, half, said, step, text,
};
use ship_testkit::sim::{Fault, SimDisk};

use crate::harness::{Setup, TestAgent};

/// Text, calls side by side, an answer that breaks off in the middle, and one that goes on with it.
fn script() -> Vec<ScriptedStep> {
    let side_by_side = [
        said("I look first."),
        call("1", "look", "{}"),
        call("2", "effect", "{}"),
        call("3", "chat_send", r#"{"text":"on my way"}"#),
    ];
    vec![
        step(&side_by_side, ScriptedEnd::Because(FinishReason::ToolCalls)),
        step(&[half("It is do")], ScriptedEnd::BreaksOff),
        calls(&[said("ne. Once more:"), call("4", "look", "{}")]),
        text("That was all."),
    ]
}

/// What is left when everything is over.
type Left = (Vec<UiMessage>, Vec<(String, Object)>);

async fn left(test: &TestAgent) -> Left {
    (test.messages().await, test.entries().await)
}

/// The same, had nobody known what became of the effect.
fn with_unknown_effect((messages, entries): &Left) -> Left {
    let unknown = |message: &UiMessage| {
        let mut json = message.to_json();
        let parts = json.as_object_mut().and_then(|message| message.get_mut("parts"));
        let Some(Json::Array(parts)) = parts else { return message.clone() };
        let mut changed = std::mem::take(parts).into_vec();
        for part in &mut changed {
            if let Some(part) = part.as_object_mut()
                && part.str("type") == Some("tool-effect")
            {
                part.remove("output");
                part.set("state", "output-error");
                part.set("errorText", "interrupted, outcome unknown");
            }
        }
        *parts = changed.into();
        UiMessage::from_json(json).unwrap()
    };
    (messages.iter().map(unknown).collect(), entries.clone())
}

/// Kills the agent at calls to the disk, lets another one go on, and compares with one that lived.
#[tokio::test]
async fn a_run_killed_anywhere_and_continued_ends_as_if_it_had_not_been() {
    let undisturbed = Setup::scripted(&script());
    let test = undisturbed.agent();
    assert_eq!(test.say("go").await, Some(Outcome::Done));
    let wanted = left(&test).await;
    let unknown = with_unknown_effect(&wanted);
    let calls = undisturbed.disk.calls();

    let (mut kills, mut unknowns) = (0, 0);
    // Killed before a call is killed after the one before it.
    for at in sample(0..calls, 3) {
        let setup =
            Setup { disk: SimDisk::with_fault(at, Fault::KillAfter), ..Setup::scripted(&script()) };
        let killed = setup.answer_until_killed("go").await;
        if !killed.died {
            continue;
        }
        kills += 1;
        let second = setup.agent();
        second.go_on("go", &killed).await;
        let found = left(&second).await;
        let effects = killed.effects + second.effects();
        assert!(effects <= 1, "killed at call {at}: {effects} effects");
        if found == unknown {
            unknowns += 1;
        } else {
            assert_eq!(found, wanted, "killed at call {at}");
            assert_eq!(effects, 1, "killed at call {at}");
        }
        let looks = killed.looks + second.looks();
        assert!((2..=3).contains(&looks), "killed at call {at}: {looks} looks");
    }
    assert!(kills > calls / 6, "only {kills} kills in {calls} calls to the disk");
    assert!((1..20).contains(&unknowns), "{unknowns} runs did not know what became of the call");
}

/// Cuts the power at the moment of the effect, and lets an agent go on with every disk that may leave.
#[tokio::test]
async fn an_effect_is_known_to_have_begun_on_every_disk_that_a_power_cut_may_leave() {
    let setup = Setup::scripted(&script());
    let test = setup.agent();
    test.say("go").await;
    let changes = test.changes.lock().unwrap().clone();
    let [at_the_effect] = changes[..] else { panic!("one effect: {changes:?}") };
    let disks = power::states(&setup.disk.ops()[..at_the_effect]);
    assert!(disks.len() > 1, "a power cut leaves this or that");
    for (name, disk) in disks {
        let after = TestAgent::on(Box::new(disk), &setup);
        assert_eq!(after.run().await, Some(Outcome::Done), "{name}");
        assert_eq!(after.effects(), 0, "{name}: it may have happened, so it is not done again");
        assert!(after.context().await[1].contains("[effect interrupted, outcome unknown]"));
    }
}

/// Cuts the power anywhere in a run that is not the first, and lets an agent go on with every disk that may leave.
#[tokio::test]
async fn a_power_cut_anywhere_in_a_run_leaves_each_message_and_its_answer_once() {
    let many_runs = || Setup { many_runs: true, ..Setup::scripted(&[text("Aye.")]) };
    let setup = many_runs();
    let test = setup.agent();
    test.say("first").await;
    assert!(test.accept("second").await);
    let accepted = setup.disk.ops().len();
    test.run().await;
    let wanted = (test.context().await, test.ledger().await);
    let ops = setup.disk.ops();
    for cut in accepted..=ops.len() {
        for (name, disk) in power::states(&ops[..cut]) {
            let after = TestAgent::on(Box::new(disk), &many_runs());
            after.run().await;
            let found = (after.context().await, after.ledger().await);
            assert_eq!(found, wanted, "cut after {cut} changes: {name}");
        }
    }
}
