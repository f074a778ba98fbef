//! Messages that have waited for a run are taken in together, as many as fit the model.

use ship_agent::{Inbound, Outcome, Rules, Stop};

use super::world::{World, words};
use crate::harness::chat;

/// Accepts messages, and answers them all.
async fn answer_all(world: &World, count: usize, message: impl Fn(usize) -> Inbound) {
    for nth in 0..count {
        let key = nth.to_string();
        let request_id = format!("req_05d412bc{nth:08}");
        let waiting = Inbound { key, request_id, ..message(nth) };
        world.agent.accept(&chat(), waiting).await.unwrap();
    }
    while let Some(outcome) = world.agent.run(&chat(), &Stop::default()).await.unwrap() {
        assert_eq!(outcome, Outcome::Done);
    }
    assert_eq!(world.refused(), 0, "the model takes each request");
    assert_shown_in_order(world, count);
}

/// Asserts that the model was shown the messages `<0>`, `<1>` and so on, in this order.
fn assert_shown_in_order(world: &World, count: usize) {
    let bodies = world.answer_bodies();
    let place = |nth: usize| {
        let mark = format!("<{nth}>");
        bodies.iter().enumerate().find_map(|(at, body)| Some((at, body.rfind(&mark)?)))
    };
    let mut last = None;
    for nth in 0..count {
        let at = place(nth);
        assert!(at > last, "message {nth} is at {at:?}, the one before at {last:?}");
        last = at;
    }
}

fn text(text: String) -> Inbound {
    Inbound { text, ..Inbound::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_short_messages_that_have_waited_are_answered_in_parts_that_fit() {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    answer_all(&world, 300, |nth| text(format!("<{nth}>"))).await;
    assert!(world.answer_bodies().len() > 2, "not all of them fit one request");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_messages_of_many_tokens_for_few_letters_fit_together() {
    for dense in ["1,7,3,2,9,", "\u{13000}\u{12345}\u{16a5}"] {
        let world = World::new(12_000, 1.0, Some(12_000), Rules::default());
        answer_all(&world, 12, |nth| text(format!("<{nth}> {}", dense.repeat(120)))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_messages_share_the_room_that_the_system_and_the_tools_leave() {
    let world = World::new(12_000, 1.0, Some(12_000), Rules::default());
    let world = world.with_role(Some(12_000), words(6_500));
    answer_all(&world, 20, |nth| text(format!("<{nth}> {}", words(300)))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_names_above_waiting_messages_take_room_too() {
    let world = World::new(8_000, 1.0, Some(8_000), Rules::default());
    let name = "\u{16a0}\u{16a2}".repeat(64);
    let named = |nth| Inbound { username: Some(name.clone()), ..text(format!("<{nth}>")) };
    answer_all(&world, 60, named).await;
}
