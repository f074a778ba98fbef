//! What a program is told of a chat that other processes use.

use ship_agent::{ChatNewsItem, ContextOperation, Outcome};

use crate::harness::{Setup, inbound};

#[tokio::test]
async fn a_follower_is_told_what_another_process_accepts_answers_and_changes() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let (here, there) = (setup.agent(), setup.agent());
    let mut news = here.agent.news(&here.chat).await.unwrap();
    assert_eq!(news.read().await.unwrap(), [], "there is no chat yet");
    let accepted = there.agent.accept(&there.chat, inbound("soup?")).await.unwrap();
    assert_eq!(news.read().await.unwrap(), [ChatNewsItem::Accepted(accepted.clone())]);
    assert_eq!(there.run().await, Some(Outcome::Done));
    let items = news.read().await.unwrap();
    let [ChatNewsItem::Answered(message)] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!((message.seq, &message.request_id), (accepted.seq, &accepted.request_id));
    let reply = here.agent.find_reply(&here.chat, message).await.unwrap().unwrap();
    assert!(reply.text().ends_with("You said: soup?") && !reply.is_from_here);

    let clear = ContextOperation::Clear;
    there.agent.operate(&there.chat, clear.clone(), "terminal").await.unwrap();
    let items = news.read().await.unwrap();
    let [ChatNewsItem::Context(notice)] = items.as_slice() else { panic!("{items:?}") };
    assert!(notice.line.starts_with("Now in a clean context.") && notice.way_back.is_some());
    assert_eq!(news.read().await.unwrap(), [], "everything is told once");
}

#[tokio::test]
async fn a_change_of_contexts_that_listeners_were_told_of_is_no_news() {
    let test = Setup::default().agent();
    let _ = test.say("soup?").await;
    let mut news = test.agent.news(&test.chat).await.unwrap();
    test.agent.operate(&test.chat, ContextOperation::Clear, "terminal").await.unwrap();
    assert_eq!(news.read().await.unwrap(), []);
}
