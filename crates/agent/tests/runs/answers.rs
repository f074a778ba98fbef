//! A message is answered, with the tools that the model wants.

use std::time::Duration;

use ship_agent::{Outcome, Rules, RunEvent, Stop};
use ship_message::Chunk;

use crate::harness::{Setup, mark};

const WHO: &str = "I am the offline model, a small stand-in without a language model.";

#[tokio::test]
async fn a_message_is_answered_and_both_are_in_the_context_and_in_the_ledger() {
    let test = Setup::default().agent();
    assert_eq!(test.say("hello").await, Some(Outcome::Done));
    let answer = format!("assistant: {WHO} You said: hello");
    assert_eq!(test.context().await, ["user: hello".to_owned(), answer.clone()]);
    assert_eq!(test.ledger().await, ["user: hello".to_owned(), answer]);
}

#[tokio::test]
async fn the_same_message_again_is_the_same_message() {
    let test = Setup::default().agent();
    test.say("hello").await;
    assert_eq!(test.say("hello").await, None);
    assert_eq!(test.context().await.len(), 2);
}

#[tokio::test]
async fn tools_run_step_by_step_and_their_failures_are_told_to_the_model() {
    let test = Setup::default().agent();
    let text = "/tool look {}\n/tool effect {\"do\":\"fail\"}\n/tool effect {\"do\":\"panic\"}\n/tool nothing {}";
    assert_eq!(test.say(text).await, Some(Outcome::Done));
    let context = test.context().await;
    assert_eq!(context.len(), 2);
    let told = "[look \"done\"] [effect no such thing] [effect the tool failed inside; this is a fault of the tool] [nothing there is no tool `nothing`; there are: chat_send, effect, look, skills_list, skills_load, skills_unload]";
    assert!(context[1].contains(told), "{}", context[1]);
}

#[tokio::test]
async fn a_tool_that_hangs_is_ended_at_its_deadline() {
    let rules = Rules { tool_deadline: Duration::from_millis(20), ..Rules::default() };
    let test = Setup::ruled(rules).agent();
    test.say("/tool effect {\"do\":\"hang\"}").await;
    assert!(test.context().await[1].contains("did not answer within 20 ms"));
}

#[tokio::test]
async fn a_stopped_run_keeps_what_was_said() {
    let test = Setup::default().agent();
    assert!(test.accept("/tool look {}\n/tool effect {\"do\":\"hang\"}").await);
    let stop = Stop::default();
    let mut events = test.agent.listen(&test.chat);
    let run = test.agent.run(&test.chat, &stop);
    let stopping = async {
        // Stopped once the first tool has answered, while the second hangs.
        while let Some(event) = events.next().await {
            if matches!(&*event, RunEvent::Chunk(Chunk::ToolInputAvailable { tool_name, .. }) if tool_name == "effect")
            {
                stop.stop();
                break;
            }
        }
    };
    let (outcome, ()) = tokio::join!(run, stopping);
    assert_eq!(outcome.unwrap(), Some(Outcome::Stopped));
    let told = "[look \"done\"] [effect interrupted, outcome unknown]";
    assert!(test.context().await[1].contains(told));
    assert_eq!(mark(&test.messages().await[1], "interrupted"), Some(&true.into()));
}
