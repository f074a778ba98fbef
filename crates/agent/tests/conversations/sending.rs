//! A conversation is spoken to in the words of a chat: with files, as a stream, and with several answers at once.

use ship_agent::{Attachment, CallAnswer, Chunk, Inbound, Rules, RunEvent, Stop};
use ship_message::ToolState;
use ship_testkit::scripted_model::{call, calls, text};

use super::{WHO, read};
use crate::harness::{ConversationAgent, Setup};

#[tokio::test]
async fn a_stream_gives_the_answer_as_it_arrives_and_the_reply_last() {
    let test = ConversationAgent::new();
    test.begin("a.jsonl").await;
    let mut events = test.agent.conversation().stream("hello");
    let (mut text, mut last) = (String::new(), None);
    while let Some(event) = events.next().await {
        match &*event.unwrap() {
            RunEvent::Chunk(Chunk::TextDelta(_, delta)) => text.push_str(delta.as_str()),
            RunEvent::Reply(reply) => last = Some((**reply).clone()),
            _ => assert!(last.is_none(), "nothing comes behind the reply"),
        }
    }
    assert_eq!(text, format!("{WHO} You said: hello"));
    assert_eq!(last.unwrap().text(), text);
}

#[tokio::test]
async fn a_conversation_is_offered_the_tools_of_its_agent_without_those_for_other_contexts() {
    let test = ConversationAgent::new();
    test.begin("a.jsonl").await;
    test.say("hello").await;
    let request = test.last_request();
    assert!(request.contains("\"name\":\"look\""), "{request}");
    for other in ["chat_context_", "chat_checkpoint", "chat_load_history"] {
        assert!(!request.contains(&format!("\"name\":\"{other}")), "{request}");
    }
}

#[tokio::test]
async fn a_streamed_message_goes_to_the_conversation_of_the_call() {
    let test = ConversationAgent::new();
    let first = test.begin("a.jsonl").await;
    let events = test.agent.conversation().stream("hello");
    let second = test.begin("b.jsonl").await;
    events.reply().await.unwrap();
    assert!(read(&first).contains("You said: hello"));
    assert_eq!(read(&second), "");
}

#[tokio::test]
async fn files_come_with_a_message_and_again_from_the_file_of_the_conversation() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    let notes = Attachment::Text { name: "a.txt".to_owned(), text: "Leeks.".to_owned() };
    let dot = Attachment::File {
        name: "dot.png".to_owned(),
        media_type: "image/png".to_owned(),
        bytes: vec![0x89, b'P', b'N', b'G'],
    };
    let message = Inbound { attachments: vec![notes, dot], ..Inbound::from("Which soup?") };
    test.agent.conversation().send(message).await.unwrap();
    assert!(test.last_request().contains("Leeks."));
    let said = test.messages().await;
    assert_eq!(said[0].parts().len(), 3);

    let test = test.loaded(&path).await;
    assert_eq!(test.messages().await[0].parts(), said[0].parts());
}

#[tokio::test]
async fn the_calls_that_wait_are_answered_together() {
    let both = calls(&[call("c1", "effect", "{}"), call("c2", "look", "{}")]);
    let rules = Rules {
        approval: ["effect".to_owned()].into(),
        client: ["look".to_owned()].into(),
        ..Rules::default()
    };
    let test = Setup { rules, ..Setup::scripted(&[both, text("Done.")]) }.agent();
    let parked = test.agent.conversation().send("go").await.unwrap();
    let answers: Vec<CallAnswer> = parked
        .waiting_calls()
        .map(|call| match call.state() {
            ToolState::ApprovalRequested => CallAnswer::decision(call, true),
            _ => CallAnswer::output(call, "seen"),
        })
        .collect();
    assert_eq!(answers.len(), 2);
    let unfinished = parked.into_result().unwrap_err();
    assert!(unfinished.to_string().starts_with("the run waits"), "{unfinished}");

    let answered = test.agent.conversation().answer_all(answers, &Stop::default()).await.unwrap();
    assert_eq!(answered.into_result().unwrap().text(), "Done.");
    assert_eq!((test.effects(), test.looks()), (1, 0));
}
