//! A call that waits for a person's word or for the client, across restarts.

use std::collections::BTreeSet;

use ship_agent::{CallAnswer, Outcome, Rules, RunError, Stop};
use ship_message::json::Json;
use ship_project::OnUndecided;
use ship_testkit::scripted_model::{call, calls, text};

use crate::harness::{Setup, inbound};

fn asks_for(tool: &str) -> Setup {
    Setup::ruled(Rules { approval: BTreeSet::from([tool.to_owned()]), ..Rules::default() })
}

#[tokio::test]
async fn a_tool_that_needs_a_word_waits_for_it_across_a_restart() {
    for (approved, told) in [(true, "[effect \"done\"]"), (false, "[effect ]")] {
        let setup = asks_for("effect");
        let test = setup.agent();
        assert_eq!(test.say("/tool effect {}").await, Some(Outcome::Parked));
        assert_eq!(test.context().await.len(), 1, "nothing is said until the word is given");
        drop(test);

        let test = setup.agent();
        assert_eq!(test.run().await, Some(Outcome::Parked));
        let approval_id = "approve_offline_1_0".to_owned();
        let answer = CallAnswer::Approval { approval_id, approved, reason: None };
        let outcome =
            test.agent.answer(&test.chat, answer.clone(), &Stop::default()).await.unwrap();
        assert_eq!(outcome, Some(Outcome::Done));
        assert_eq!(test.effects(), usize::from(approved));
        assert!(test.context().await[1].contains(told), "{:?}", test.context().await);
        assert!(test.agent.answer(&test.chat, answer, &Stop::default()).await.is_err());
    }
}

#[tokio::test]
async fn a_tool_of_the_client_waits_for_its_output() {
    let rules = Rules { client: BTreeSet::from(["effect".to_owned()]), ..Rules::default() };
    let test = Setup::ruled(rules).agent();
    assert_eq!(test.say("/tool effect {}").await, Some(Outcome::Parked));
    let answer = CallAnswer::Output {
        call_id: "offline_1_0".to_owned(),
        output: Ok(Json::from("from the client")),
    };
    let outcome = test.agent.answer(&test.chat, answer, &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Done));
    assert_eq!(test.effects(), 0);
    assert!(test.context().await[1].contains("[effect \"from the client\"]"));
}

fn approval(id: &str, approved: bool) -> CallAnswer {
    CallAnswer::Approval { approval_id: format!("approve_{id}"), approved, reason: None }
}

/// A model that asks for two calls at once, and then ends.
fn two_calls(on_undecided: OnUndecided) -> Setup {
    let both = calls(&[call("c1", "effect", "{}"), call("c2", "look", "{}")]);
    let script = [both, text("Done.")];
    let rules = Rules {
        approval: BTreeSet::from(["effect".to_owned()]),
        client: BTreeSet::from(["look".to_owned()]),
        on_undecided,
        ..Rules::default()
    };
    Setup { rules, many_runs: true, ..Setup::scripted(&script) }
}

#[tokio::test]
async fn several_answers_are_taken_together_or_not_at_all() {
    let test = two_calls(OnUndecided::GoOn).agent();
    assert_eq!(test.say("go").await, Some(Outcome::Parked));
    let output = |call_id: &str| CallAnswer::Output {
        call_id: call_id.to_owned(),
        output: Ok(Json::from("seen")),
    };
    let answer = async |answers| test.agent.answer_all(&test.chat, answers, &Stop::default()).await;
    for wrong in [
        vec![approval("c1", true), output("c3")],
        vec![approval("c1", true), approval("c1", false)],
    ] {
        let refused = answer(wrong).await;
        assert!(matches!(refused, Err(RunError::NotWaiting { .. })), "{refused:?}");
        assert_eq!(test.run().await, Some(Outcome::Parked));
    }
    let both = vec![output("c2"), approval("c1", true)];
    assert_eq!(answer(both).await.unwrap(), Some(Outcome::Done));
    assert_eq!((test.effects(), test.looks()), (1, 0));
    assert_eq!(test.context().await[1], "assistant: [effect \"done\"] [look \"seen\"] Done.");
}

#[tokio::test]
async fn a_message_instead_of_a_decision_is_answered_and_the_calls_are_not_made() {
    let setup = two_calls(OnUndecided::GoOn);
    let test = setup.agent();
    assert_eq!(test.say("go").await, Some(Outcome::Parked));
    drop(test);
    setup.model().set_mind(|_| text("Aye."));
    let test = setup.agent();
    assert_eq!(test.say("never mind").await, Some(Outcome::Done));
    assert_eq!((test.effects(), test.looks()), (0, 0));
    let context = test.context().await;
    assert_eq!(context.len(), 4, "{context:?}");
    assert_eq!(context[3], "assistant: Aye.");
    let request = test.model().requests().pop().unwrap().body;
    assert_eq!(
        request.matches(r#""value":"the person went on without deciding""#).count(),
        2,
        "{request}"
    );
    let late = test.agent.answer(&test.chat, approval("c1", true), &Stop::default()).await;
    assert!(matches!(late, Err(RunError::NotWaiting { .. })), "{late:?}");
}

#[tokio::test]
async fn a_message_from_before_the_question_decides_nothing() {
    let setup = two_calls(OnUndecided::GoOn);
    let test = setup.agent();
    let (agent, chat, typed_ahead) = (test.agent.clone(), test.chat.clone(), inbound("and then?"));
    // The person writes while the model is still asked.
    let both = calls(&[call("c1", "effect", "{}"), call("c2", "look", "{}")]);
    setup.model().set_mind(move |_| {
        std::thread::scope(|scope| {
            let other_runtime = tokio::runtime::Runtime::new().unwrap();
            let accepting = agent.accept(&chat, typed_ahead.clone());
            scope.spawn(move || other_runtime.block_on(accepting).unwrap());
        });
        both.clone()
    });
    assert_eq!(test.say("go").await, Some(Outcome::Parked));
    assert_eq!(test.run().await, Some(Outcome::Parked));
    setup.model().set_mind(|_| text("Aye."));
    assert_eq!(test.say("never mind").await, Some(Outcome::Done));
    let context = test.context().await;
    let asked: Vec<&String> = context.iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(asked, ["user: go", "user: and then?", "user: never mind"]);
}

#[tokio::test]
async fn a_message_waits_for_the_decision_where_the_settings_say_so() {
    let test = two_calls(OnUndecided::Wait).agent();
    assert_eq!(test.say("go").await, Some(Outcome::Parked));
    assert_eq!(test.say("never mind").await, Some(Outcome::Parked));
    test.model().set_mind(|_| text("Aye."));
    let output = CallAnswer::Output { call_id: "c2".to_owned(), output: Ok(Json::from("seen")) };
    let both = vec![output, approval("c1", false)];
    let outcome = test.agent.answer_all(&test.chat, both, &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Done));
    let context = test.context().await;
    assert_eq!((context.len(), context[3].as_str()), (4, "assistant: Aye."), "{context:?}");
}
