//! `send`, `stream` and `reply_to`: a message and what is said to it.

use futures_util::StreamExt;
use ship_agent::{Inbound, Outcome, RunEvent, Stop};
use ship_message::Chunk;
use ship_testkit::scripted_model::{ScriptedEnd, call, calls, said, step, text};

use crate::harness::{Setup, inbound};

const SAID: &str = "I am the offline model, a small stand-in without a language model. You said: ";

fn many_runs() -> Setup {
    Setup { many_runs: true, ..Setup::default() }
}

#[tokio::test]
async fn a_message_is_sent_and_its_own_reply_comes_back() {
    let test = many_runs().agent();
    for word in ["one", "two"] {
        let reply = test.agent.send(&test.chat, word).await.unwrap();
        assert_eq!(reply.text(), format!("{SAID}{word}"));
        assert_eq!((reply.outcome, reply.is_from_here), (Outcome::Done, true));
    }
    assert_eq!(test.messages().await.len(), 4);
}

#[tokio::test]
async fn the_same_key_again_is_the_same_message_and_the_same_reply() {
    let test = many_runs().agent();
    let first = test.agent.send(&test.chat, inbound("one")).await.unwrap();
    test.agent.send(&test.chat, "two").await.unwrap();
    let again = Inbound { request_id: "req_other".to_owned(), ..inbound("one") };
    let second = test.agent.send(&test.chat, again).await.unwrap();
    assert_eq!(second.messages, first.messages);
    assert_eq!(test.messages().await.len(), 4);
}

#[tokio::test]
async fn messages_without_a_key_are_two_even_if_they_are_alike() {
    let test = many_runs().agent();
    let first = test.agent.accept(&test.chat, "one".into()).await.unwrap();
    let second = test.agent.accept(&test.chat, "one".into()).await.unwrap();
    assert!(first.is_new && second.is_new && first.seq < second.seq, "{second:?}");
    assert!(first.request_id.starts_with("req_") && first.request_id != second.request_id);
}

#[tokio::test]
async fn a_parked_run_replies_with_what_waits_and_a_failed_one_with_its_sentence() {
    let mut setup = Setup::scripted(&[calls(&[call("1", "look", "{}")]), text("Seen.")]);
    setup.rules.approval.insert("look".to_owned());
    let test = setup.agent();
    let reply = test.agent.send(&test.chat, "look").await.unwrap();
    assert_eq!(reply.outcome, Outcome::Parked);
    assert!(reply.answer().unwrap().to_string().contains("approval-requested"));

    let test = Setup::scripted(&[step(&[said("Half")], ScriptedEnd::Fails("gone"))]).agent();
    let reply = test.agent.send(&test.chat, "hi").await.unwrap();
    let Outcome::Failed(sentence) = &reply.outcome else { panic!("{reply:?}") };
    assert!(reply.text().starts_with("Half") && reply.text().ends_with(sentence), "{reply:?}");
}

#[tokio::test]
async fn a_stream_has_the_chunks_as_they_come_and_ends_with_the_reply() {
    let test = many_runs().agent();
    let mut stream = test.agent.stream(&test.chat, "hello");
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event.unwrap());
    }
    let said: String = events
        .iter()
        .filter_map(|event| match &**event {
            RunEvent::Chunk(Chunk::TextDelta(_, text)) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, format!("{SAID}hello"));
    let RunEvent::Reply(reply) = &**events.last().unwrap() else { panic!("{events:?}") };
    assert_eq!(reply.text(), said);
    assert!(stream.next().await.is_none());

    let streamed: Vec<_> = test.agent.stream(&test.chat, "hello").collect().await;
    let last = streamed.last().unwrap().as_deref();
    assert!(matches!(last, Ok(RunEvent::Reply(_))), "{streamed:?}");
}

#[tokio::test]
async fn a_stream_that_is_dropped_stops_nothing() {
    let test = many_runs().agent();
    let mut listener = test.agent.listen(&test.chat);
    drop(test.agent.stream(&test.chat, "hello"));
    while let Some(event) = listener.next().await {
        if matches!(&*event, RunEvent::Ended { outcome: Outcome::Done, .. }) {
            break;
        }
    }
    assert_eq!(test.messages().await.len(), 2);
}

#[tokio::test]
async fn a_message_behind_another_run_is_kept_when_the_person_stops_waiting() {
    let test = many_runs().agent();
    test.agent.send(&test.chat, "one").await.unwrap();
    let chat = test.stored().await;
    let lane = chat.lane("another run").await.unwrap();
    let stop = Stop::default();
    stop.stop();
    let reply = test.agent.send_until(&test.chat, "two", &stop).await.unwrap();
    assert_eq!((reply.outcome, reply.messages), (Outcome::Stopped, Vec::new()));
    drop(lane);
    test.run().await;
    assert_eq!(test.messages().await.len(), 4);
}
