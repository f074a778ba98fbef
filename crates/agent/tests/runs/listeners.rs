//! Any number of listeners follow a run, and whoever asks at once is answered.

use std::sync::Arc;

use ship_agent::{Outcome, RunError, RunEvent, Stop};

use crate::harness::{Setup, inbound, line};

#[tokio::test]
async fn any_number_of_listeners_hear_the_same_and_one_that_went_away_disturbs_no_other() {
    let test = Setup::default().agent();
    let mut listeners: Vec<_> = (0..5).map(|_| test.agent.listen(&test.chat)).collect();
    drop(test.agent.listen(&test.chat));
    let mut elsewhere = test.agent.listen(&"terminal:other".parse().unwrap());
    test.say("/tool chat_send {\"text\":\"a\"}").await;
    let mut heard: Vec<Vec<Arc<RunEvent>>> = Vec::new();
    for listener in &mut listeners {
        heard.push(std::iter::from_fn(|| listener.try_next()).collect());
    }
    assert!(matches!(&**heard[0].last().unwrap(), RunEvent::Ended { outcome: Outcome::Done, .. }));
    assert!(heard[0].contains(&Arc::new(RunEvent::Sent("a".to_owned()))));
    assert!(heard.iter().all(|events| *events == heard[0]));
    assert_eq!(elsewhere.try_next(), None);
}

/// Many ask at once, each with an agent of its own, as several processes would.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everyone_who_asks_at_once_is_answered_once_behind_their_own_question() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let mut asking = Vec::new();
    for number in 0..8 {
        let test = Arc::new(setup.agent());
        asking.push(tokio::spawn(async move {
            let question = format!("question {number}");
            test.agent.accept(&test.chat, inbound(&question)).await.unwrap();
            // Whoever finds the lane taken is answered by its holder, or tries again.
            loop {
                let ran = test.agent.run(&test.chat, &Stop::default()).await;
                let messages = test.messages().await;
                let at = messages.iter().position(|message| message.text() == question);
                let answer = at.and_then(|at| {
                    messages[at..].iter().find(|m| line(m).starts_with("assistant"))
                });
                match (answer, ran) {
                    (Some(_), _) => break,
                    (None, Ok(_)) => panic!("{question} was not answered"),
                    (None, Err(RunError::Lane(_))) => tokio::task::yield_now().await,
                    (None, Err(error)) => panic!("{question}: {error}"),
                }
            }
        }));
    }
    for asked in asking {
        asked.await.unwrap();
    }
    let test = setup.agent();
    let messages = test.messages().await;
    for number in 0..8 {
        let question = format!("question {number}");
        let asked = messages.iter().filter(|message| message.text() == question).count();
        assert_eq!(asked, 1, "{question}");
    }
    assert!(line(messages.last().unwrap()).starts_with("assistant"));
    assert_eq!(test.run().await, None, "nothing is left");
}
