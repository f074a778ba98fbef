//! What people say while a summary is being written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ship_agent::{Inbound, Outcome, Rules, Stop};
use ship_message::Role;
use ship_testkit::llm::Answer;

use super::world::{SUMMARY, World, asks_for_summary, words};
use crate::harness::chat;

const LONG_ENOUGH: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_arrives_during_the_summary_is_neither_lost_nor_summed_up_unseen() {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    let (asked, is_asked) = mpsc::channel();
    let (accepted, is_accepted) = mpsc::channel::<()>();
    let (asked, is_accepted) = (std::sync::Mutex::new(asked), std::sync::Mutex::new(is_accepted));
    let is_first = AtomicBool::new(true);
    world.server.otherwise(Answer::judge(move |exchange| {
        if !asks_for_summary(exchange) {
            return Answer::text("Aye.");
        }
        if is_first.swap(false, Ordering::SeqCst) {
            asked.lock().unwrap().send(()).unwrap();
            is_accepted.lock().unwrap().recv_timeout(LONG_ENOUGH).unwrap();
        }
        Answer::summary()
    }));
    let world = Arc::new(world);
    let talking = tokio::spawn({
        let world = Arc::clone(&world);
        async move {
            for nth in 0..14 {
                let said = format!("{nth:03} {}", words(350));
                assert_eq!(world.say(&said).await, Some(Outcome::Done), "{nth}");
                if world.asked().0 > 0 {
                    return nth;
                }
            }
            panic!("it was never compacted");
        }
    });
    tokio::task::block_in_place(|| is_asked.recv_timeout(LONG_ENOUGH)).unwrap();
    let late = Inbound {
        key: "late".to_owned(),
        text: "wait, take the red one".to_owned(),
        request_id: "req_late".to_owned(),
        ..Inbound::default()
    };
    world.agent.accept(&chat(), late).await.unwrap();
    accepted.send(()).unwrap();
    talking.await.unwrap();
    // Whoever releases the lane looks at the ledger once more; here that is the next run.
    while world.agent.run(&chat(), &Stop::default()).await.unwrap().is_some() {}

    let (summaries, answers): (Vec<_>, Vec<_>) = world
        .server
        .requests()
        .into_iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .partition(|body| body.contains("You keep the memory of a long chat"));
    assert_eq!(summaries.len(), 1);
    assert!(!summaries[0].contains("the red one"), "it was not summed up");
    assert!(answers.last().unwrap().contains("the red one"), "the model has read it");
    let messages = world.messages().await;
    let at = messages.iter().position(|message| message.text().contains("the red one")).unwrap();
    assert_eq!(messages[at].role(), Role::User);
    assert_eq!(messages[at + 1].text(), "Aye.", "and answered it");
    assert!(messages[0].text().starts_with(SUMMARY));
    let said = world.ever_said().await;
    assert!(said.iter().filter(|text| text.contains("the red one")).count() == 1, "{said:?}");
}
