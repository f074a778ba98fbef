//! A model that does nothing but switch comes to an end, and the calls of one step do not get in each other's way.

use ship_agent::{ContextOperation, Outcome};
use ship_message::UiMessage;
use ship_testkit::scripted_model::{self, unnamed_call};

use super::place::{Place, ScriptedStep, calls, line, says, words};

/// A chat with two contexts that were left, A and B, and a third one.
async fn three_contexts() -> Place {
    let place = Place::new();
    for title in ["alpha", "beta"] {
        place.say(&format!("about {title}")).await;
        place.done(ContextOperation::New { title: None, reason: None }).await;
    }
    place.say("about gamma").await;
    place
}

/// Runs “go” with a model that never answers, and gives how many requests it was sent.
async fn ends(
    place: &Place,
    mind: impl Fn(&[UiMessage]) -> ScriptedStep + Send + Sync + 'static,
) -> usize {
    place.minds(mind);
    let before = place.model().asked();
    let Some(Outcome::Failed(sentence)) = place.say("go").await else { panic!("it is stopped") };
    assert!(sentence.starts_with("I kept trying to change the context"), "{sentence}");
    let ledger = place.ledger().await;
    assert_eq!(ledger.last().unwrap(), &format!("assistant: {sentence}"), "the person is told");
    assert_eq!(place.run().await, None, "and nothing is left to do");
    let context = place.context().await;
    assert_eq!(context.iter().filter(|line| *line == "user: go").count(), 1, "{context:#?}");
    place.model().asked() - before
}

#[tokio::test]
async fn a_model_that_always_begins_anew_is_stopped_after_two_refusals() {
    let place = three_contexts().await;
    let requests = ends(&place, |_| calls("chat_context_new", "{}")).await;
    assert_eq!(requests, 3, "one switch, and two refusals");
    assert_eq!(place.archived().await.len(), 3);
}

#[tokio::test]
async fn a_model_that_always_clears_is_stopped_after_two_refusals() {
    let place = three_contexts().await;
    assert_eq!(ends(&place, |_| calls("chat_context_clear_active", "{}")).await, 3);
}

#[tokio::test]
async fn a_model_that_loads_two_contexts_in_turn_is_stopped_after_three_switches() {
    let place = three_contexts().await;
    let requests = ends(&place, |seen| {
        let is_in_alpha = words(&seen[0]).contains("alpha");
        let query = if is_in_alpha { r#"{"query":"beta"}"# } else { r#"{"query":"alpha"}"# };
        calls("chat_context_load", query)
    });
    assert_eq!(requests.await, 5, "three switches, and two refusals");
    assert_eq!(place.archived().await.len(), 2, "no context is lost or doubled");
}

#[tokio::test]
async fn a_model_that_always_forks_is_stopped_after_three_switches() {
    let place = three_contexts().await;
    assert_eq!(ends(&place, |_| calls("chat_context_fork", "{}")).await, 5);
}

#[tokio::test]
async fn a_model_that_looks_for_something_else_each_time_is_not_stopped() {
    let place = three_contexts().await;
    let tries = std::sync::Mutex::new(0);
    place.minds(move |_| {
        let mut tries = tries.lock().unwrap();
        *tries += 1;
        match *tries {
            1..=3 => calls("chat_context_load", &format!(r#"{{"query":"moon {tries}"}}"#)),
            _ => says("I do not find it."),
        }
    });
    assert_eq!(place.say("go").await, Some(Outcome::Done));
}

/// Calls of one step, once.
fn side_by_side(
    batch: &'static [(&'static str, &'static str)],
) -> impl Fn(&[UiMessage]) -> ScriptedStep {
    move |seen| match line(seen.last().unwrap()).starts_with("assistant: [") {
        true => says("Done."),
        false => {
            let call = |(tool, input): &(&str, &str)| unnamed_call(tool, input);
            scripted_model::calls(&batch.iter().map(call).collect::<Vec<_>>())
        }
    }
}

#[tokio::test]
async fn a_call_that_switches_runs_last_in_its_step() {
    let place = three_contexts().await;
    place.minds(side_by_side(&[("chat_context_new", "{}"), ("effect", "{}")]));
    assert_eq!(place.say("go").await, Some(Outcome::Done));
    assert_eq!(place.effects.lock().unwrap().len(), 1);
    assert_eq!(place.context().await, ["user: go", "assistant: [chat_context_new done] Done."]);
    place.done(ContextOperation::Load { which: "gamma".to_owned() }).await;
    let left = place.context().await.pop().unwrap();
    assert_eq!(left, "assistant: [chat_context_new done] [effect done]", "both are answered");
}

#[tokio::test]
async fn of_two_calls_of_a_step_that_switch_the_second_is_refused() {
    let place = three_contexts().await;
    place.minds(side_by_side(&[
        ("chat_context_load", r#"{"query":"alpha"}"#),
        ("chat_context_load", r#"{"query":"beta"}"#),
    ]));
    assert_eq!(place.say("go").await, Some(Outcome::Done));
    assert_eq!(
        place.context().await,
        [
            "user: about alpha",
            "assistant: Aye: about alpha",
            "user: go",
            "assistant: [chat_context_load done] Done."
        ]
    );
    place.done(ContextOperation::Load { which: "gamma".to_owned() }).await;
    let left = place.context().await.pop().unwrap();
    assert_eq!(left, "assistant: [chat_context_load done] [chat_context_load refused]");
}

#[tokio::test]
async fn a_provider_that_names_all_its_calls_alike_switches_twice_all_the_same() {
    let place = three_contexts().await;
    place.model().name_all_calls_alike();
    let steps = std::sync::Mutex::new(0);
    place.minds(move |_| {
        let mut steps = steps.lock().unwrap();
        *steps += 1;
        match *steps {
            1 => calls("chat_context_load", r#"{"query":"alpha"}"#),
            2 => calls("chat_context_load", r#"{"query":"beta"}"#),
            _ => says("Here."),
        }
    });
    assert_eq!(place.say("go").await, Some(Outcome::Done));
    assert_eq!(place.context().await[0], "user: about beta");
}
