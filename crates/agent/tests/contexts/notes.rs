//! How contexts are meant to feel: the scenarios that they were designed for, in the order in which people meet them.
//!
//! | what was promised | the test that shows it |
//! | --- | --- |
//! | Two messages of one chat hang together, without anybody doing anything | `a_an_ordinary_conversation_goes_on` |
//! | What came in and went out is recorded beside it, and is not what the model works in | `a_an_ordinary_conversation_goes_on` |
//! | Whoever wants to see whether it goes on looks whether the active log grows | `a_an_ordinary_conversation_goes_on` |
//! | Too much background: the model begins a new context, and at once sees the system and the request alone | `b_a_messy_background_is_left_behind` |
//! | What is left is archived, with its last answer as checkpoint, and listed | `b_a_messy_background_is_left_behind` |
//! | “Back to that plan”: the model lists, finds by text and goes on in the messages themselves | `c_the_person_goes_back_to_that_plan` |
//! | The context that is loaded is the active one, in this run already | `c_the_person_goes_back_to_that_plan` |
//! | Another topic of a group is another chat, and knows nothing of this one | `d_another_topic_is_another_chat` |
//! | A context that was left or cleared looks like a new conversation, and says why | `d_a_conversation_seems_new_because_it_was_left` |
//! | Recalling is one assistant message that says it is only for reference, with the exact words | `seen::` |
//! | Raw tool output is in no turn; the person's words and what they got are | `files::an_archived_context_is_a_file` |
//! | Turns are bounded, and the newest are kept | `files::the_newest_turns_are_kept` |
//! | The list is light: id, title, times, count, preview | `files::the_list_is_a_file` |
//! | Switched off, there is no tool and no word of it in the prompt | `files::switched_off_the_model_knows_nothing_of_contexts` |

use ship_agent::{ContextOperation, Inbound, Outcome, Stop};
use ship_message::UiMessage;

use super::place::{Place, ScriptedStep, calls, line, says, words};
use crate::harness::chat;

#[tokio::test]
async fn a_an_ordinary_conversation_goes_on() {
    let place = Place::new();
    place.say("my name is Ada").await;
    let lines = place.view().await.lines.len();
    place.say("what is my name?").await;
    assert_eq!(
        place.shown(0),
        ["user: my name is Ada", "assistant: Aye: my name is Ada", "user: what is my name?"]
    );
    assert_eq!(place.view().await.lines.len(), lines + 2, "the active log grows by both");
    assert_eq!(place.ledger().await.len(), 4, "and so does the ledger");
}

/// A model that switches when it reads this word, and says what it sees then.
fn on(
    word: &'static str,
    name: &'static str,
    input: &'static str,
) -> impl Fn(&[UiMessage]) -> ScriptedStep {
    move |seen| {
        let last = seen.last().unwrap();
        match line(last).contains(&format!("[{name}")) {
            true => says("Gladly."),
            false if words(last).contains(word) => calls(name, input),
            false => says(&format!("Aye: {}", words(last))),
        }
    }
}

#[tokio::test]
async fn b_a_messy_background_is_left_behind() {
    let place = Place::new();
    for nth in 0..6 {
        place.say(&format!("gossip {nth}")).await;
    }
    let input = r#"{"title":"The config","reason":"gossip does not help"}"#;
    place.minds(on("config", "chat_context_new", input));
    assert_eq!(place.say("send me the config").await, Some(Outcome::Done));
    assert_eq!(
        place.shown(0),
        ["user: send me the config", "assistant: [chat_context_new done]"],
        "the step after the call sees the request alone"
    );
    let archived = place.archived().await;
    assert_eq!(archived.len(), 1);
    let left = place.agent.look_at_context(&chat(), &archived[0].0).await.unwrap();
    let left = left.unwrap();
    assert_eq!(left.archive_reason(), Some("gossip does not help"));
    assert_eq!(left.checkpoint().unwrap().preview, "Aye: gossip 5");
    let active = place.agent.contexts(&chat()).await.unwrap().unwrap().active;
    assert_eq!(active.title(), "The config");
    place.say("thanks").await;
    assert_eq!(place.shown(0)[0], "user: send me the config", "and so does the next run");
    let told = place.ledger().await;
    assert!(
        told.iter().any(|line| line.contains("Now in “The config”. Left “gossip 0”")),
        "{told:?}"
    );
}

#[tokio::test]
async fn c_the_person_goes_back_to_that_plan() {
    let place = Place::new();
    place.say("让我们计划去冰岛的旅行").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    place.say("soup or bread?").await;
    place.minds(|seen| {
        let last = seen.last().unwrap();
        match line(last) {
            text if text.contains("[chat_context_load") => says("回来了。"),
            text if text.contains("[chat_context_list") => {
                calls("chat_context_load", r#"{"query":"冰岛 旅行"}"#)
            }
            _ => calls("chat_context_list", "{}"),
        }
    });
    assert_eq!(place.say("回到刚才那个方案").await, Some(Outcome::Done));
    assert_eq!(
        place.shown(0),
        [
            "user: 让我们计划去冰岛的旅行",
            "assistant: Aye: 让我们计划去冰岛的旅行",
            "user: 回到刚才那个方案",
            "assistant: [chat_context_load done]"
        ],
        "the messages themselves, in this run already"
    );
    let archived = place.archived().await;
    assert_eq!(archived.len(), 1, "{archived:?}");
    assert_eq!(archived[0].1, "Dinner", "the one that was left, and not the one that is active");
}

#[tokio::test]
async fn d_another_topic_is_another_chat() {
    let place = Place::new();
    place.say("my name is Ada").await;
    let topic = "telegram-chat--100123-topic-7".parse().unwrap();
    let inbound = Inbound { channel: "telegram".to_owned(), ..place.inbound("what is my name?") };
    place.agent.accept(&topic, inbound).await.unwrap();
    place.agent.run(&topic, &Stop::default()).await.unwrap();
    assert_eq!(place.shown(0), ["user: what is my name?"]);
}

#[tokio::test]
async fn d_a_conversation_seems_new_because_it_was_left() {
    for (operation, reason) in [
        (ContextOperation::New { title: None, reason: None }, "new"),
        (ContextOperation::Clear, "clear"),
    ] {
        let place = Place::new();
        place.say("my name is Ada").await;
        place.done(operation).await;
        place.say("what is my name?").await;
        assert_eq!(place.shown(0), ["user: what is my name?"]);
        let (id, _) = place.archived().await.remove(0);
        let left = place.agent.look_at_context(&chat(), &id).await.unwrap().unwrap();
        assert_eq!(left.archive_reason(), Some(reason), "and the archive says why");
    }
}
