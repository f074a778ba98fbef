//! What a person does with contexts.

use std::sync::{Arc, Mutex};

use ship_agent::{ContextOperation, OperationOutcome, Outcome, Rules, RunEvent};
use ship_context::contexts::RecallMode;
use ship_message::Chunk;
use ship_message::json::Json;
use ship_store::{About, ChatKey, LedgerEntry, Store};
use ship_testkit::sim::SimDisk;

use super::place::{Place, calls, hangs, says};
use crate::harness::chat;

fn new(title: &str) -> ContextOperation {
    ContextOperation::New { title: Some(title.to_owned()), reason: None }
}

#[tokio::test]
async fn a_context_is_left_and_come_back_to() {
    let place = Place::new();
    place.say("plan the trip").await;
    let before = place.context().await;
    let line = place.done(new("Dinner")).await;
    assert!(line.starts_with("Now in “Dinner”. Left “plan the trip”; to return: "), "{line}");
    assert_eq!(place.context().await, Vec::<String>::new());
    place.say("soup?").await;
    let line = place.done(ContextOperation::Load { which: "trip".to_owned() }).await;
    assert!(line.starts_with("Now in “plan the trip”. Left “Dinner”"), "{line}");
    assert_eq!(place.context().await, before);
    assert_eq!(place.archived().await[0].1, "Dinner");
    let OperationOutcome::NotDone(not) =
        place.operate(ContextOperation::Load { which: "moon".to_owned() }).await
    else {
        panic!("there is no such context")
    };
    assert_eq!(not.offered.len(), 1, "{not:?}");
    assert_eq!(place.context().await, before, "nothing has changed");
    assert_eq!(place.say("and on").await, Some(Outcome::Done));
}

#[tokio::test]
async fn a_title_begins_the_first_context_and_names_a_clean_one() {
    let rename = |title: &str| ContextOperation::Rename { title: title.to_owned() };
    for begins in [new("Shopping"), rename("Shopping")] {
        let place = Place::new();
        assert!(place.done(begins).await.contains("“Shopping”."));
        let place = place.again();
        place.say("two loaves").await;
        let line = place.done(new("Dinner")).await;
        assert!(line.starts_with("Now in “Dinner”. Left “Shopping”; to return: "), "{line}");
        assert_eq!(place.done(new("Supper")).await, "Now in “Supper”.");
        assert_eq!(place.archived().await.len(), 1, "nothing was said in “Dinner”");
    }
}

#[tokio::test]
async fn a_first_context_with_a_title_takes_in_what_waits() {
    let place = Place::new();
    place.accept("two loaves").await;
    assert_eq!(place.done(new("Shopping")).await, "Now in “Shopping”.");
    assert_eq!(place.run().await, None, "the operation has run what waited");
    assert_eq!(place.context().await, ["user: two loaves", "assistant: Aye: two loaves"]);
}

#[tokio::test]
async fn an_operation_that_waits_in_a_chat_without_a_context_blocks_nothing() {
    for operation in [r#"{"op":"undo"}"#, r#"{"op":"new","title":"Shopping"}"#] {
        let place = Place::new();
        let stored = place.store.create(&chat(), About::default()).await.unwrap();
        let entry = format!(r#"{{"v":1,"role":"command","meta":{{"operation":{operation}}}}}"#);
        let entry = Json::parse(&entry).unwrap().as_object().unwrap().clone();
        let entry = LedgerEntry { key: "operation:1".to_owned(), entry };
        stored.ledger().accept(entry).await.unwrap();
        assert_eq!(place.say("two loaves").await, Some(Outcome::Done));
        assert_eq!(place.context().await, ["user: two loaves", "assistant: Aye: two loaves"]);
    }
}

#[tokio::test]
async fn undo_brings_back_what_was_left_and_undo_of_that_what_was_undone() {
    let place = Place::new();
    place.say("plan the trip").await;
    let trip = place.context().await;
    place.done(new("Dinner")).await;
    place.say("soup?").await;
    let dinner = place.context().await;
    let line = place.done(ContextOperation::Undo).await;
    assert!(line.contains("Left “Dinner”"), "{line}");
    assert_eq!(place.context().await, trip);
    assert_eq!(place.archived().await.len(), 1);
    place.done(ContextOperation::Undo).await;
    assert_eq!(place.context().await, dinner);
    assert_eq!(place.archived().await.len(), 1);
}

#[tokio::test]
async fn a_checkpoint_can_be_rewound_to_and_forked_from() {
    let place = Place::new();
    place.say("one").await;
    place.done(ContextOperation::Checkpoint { name: "early".to_owned() }).await;
    let early = place.context().await;
    place.say("two").await;
    let late = place.context().await;
    place.done(ContextOperation::Rewind { to: "early".to_owned() }).await;
    assert_eq!(place.context().await, early);
    assert_eq!(place.archived().await.len(), 1);
    place.done(ContextOperation::Undo).await;
    assert_eq!(place.context().await, late);
    assert_eq!(place.archived().await.len(), 0, "nothing was said in the other one");
    place.done(ContextOperation::Fork { at: Some("early".to_owned()), to: None }).await;
    assert_eq!(place.context().await, early);
    assert_eq!(place.say("other two").await, Some(Outcome::Done));
}

#[tokio::test]
async fn what_was_taken_along_and_answered_is_not_answered_again_after_an_undo() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.accept("soup?").await;
    place.done(new("Dinner")).await;
    assert_eq!(place.run().await, None, "the operation has run what waited");
    place.done(ContextOperation::Undo).await;
    assert_eq!(place.context().await.last().unwrap(), "user: soup?", "the view is as it was");
    assert_eq!(place.run().await, None, "nobody waits");
    let ledger = place.ledger().await;
    assert_eq!(ledger.iter().filter(|line| *line == "assistant: Aye: soup?").count(), 1);
}

/// Waits until the newest entry of the ledger asks for an operation, in a thread of its own.
fn wait_until_asked(store: &Arc<dyn Store>) {
    let store = Arc::clone(store);
    let waiting = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let chat = store.open(&chat()).await.unwrap().unwrap();
            loop {
                let newest = chat.ledger().before(None, 1).await.unwrap();
                if matches!(&newest[0].body, ship_store::LedgerBody::Entry(entry)
                    if entry.entry.str("role") == Some("command"))
                {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    });
    waiting.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_operation_from_another_channel_is_done_between_steps_and_all_are_told() {
    let place = Place::new();
    place.say("plan the trip").await;
    let operating = Arc::new(Mutex::new(None));
    let (agent, store, handle) =
        (place.agent.clone(), Arc::clone(&place.store), tokio::runtime::Handle::current());
    let slot = Arc::clone(&operating);
    place.minds(move |seen| {
        let mut slot = slot.lock().unwrap();
        if slot.is_some() {
            return says(&format!("I see {} messages.", seen.len()));
        }
        // Somebody at another channel asks while the first step is made.
        let agent = agent.clone();
        let asked = async move { agent.operate(&chat(), new("Dinner"), "http").await };
        *slot = Some(handle.spawn(asked));
        wait_until_asked(&store);
        calls("skills_list", "{}")
    });
    let mut listener = place.agent.listen(&chat());
    assert_eq!(place.say("what shall we eat?").await, Some(Outcome::Done));

    let asked = operating.lock().unwrap().take().unwrap();
    let OperationOutcome::Done(changed) = asked.await.unwrap().unwrap() else {
        panic!("it is done")
    };
    assert!(changed.line.starts_with("Now in “Dinner”. Left “plan the trip”"), "{changed:?}");
    assert_eq!(
        place.context().await,
        ["user: what shall we eat?", "assistant: I see 1 messages."],
        "the message that waits is answered in the context that is active then"
    );
    let mut told = Vec::new();
    while let Some(event) = listener.try_next() {
        let RunEvent::Chunk(Chunk::Data(part)) = &*event else { continue };
        told.extend(
            part.get("data").and_then(|data| data.get("text")?.as_str().map(str::to_owned)),
        );
    }
    assert_eq!(told, [changed.line.as_str()], "whoever follows the answer is told, once");
    let ledger = place.stored().await.ledger().after(None, 100).await.unwrap();
    let channels = ledger.iter().filter_map(|line| match &line.body {
        ship_store::LedgerBody::Entry(entry) if entry.entry.str("text") == Some(&changed.line) => {
            entry.entry.get("channel").and_then(Json::as_str)
        }
        _ => None,
    });
    assert_eq!(channels.collect::<Vec<_>>(), ["http"], "it is told where it was asked for");
}

#[tokio::test]
async fn a_copy_in_another_chat_has_messages_of_its_own() {
    let place = Place::new();
    place.say("one").await;
    let there: ChatKey = "terminal:there".parse().unwrap();
    place.done(ContextOperation::Fork { at: None, to: Some(there.clone()) }).await;
    let inbound = |nth: usize| ship_agent::Inbound {
        key: format!("there{nth}"),
        text: format!("there {nth}"),
        channel: "terminal".to_owned(),
        request_id: format!("req_there{nth}"),
        ..ship_agent::Inbound::default()
    };
    for nth in 1..=3 {
        place.agent.accept(&there, inbound(nth)).await.unwrap();
        let outcome = place.agent.run(&there, &ship_agent::Stop::default()).await.unwrap();
        assert_eq!(outcome, Some(Outcome::Done));
    }
    let copy = place.store.open(&there).await.unwrap().unwrap();
    let view = copy.log().view().await.unwrap().unwrap();
    let ids: std::collections::HashSet<&str> =
        view.messages().filter_map(|message| message.id()).collect();
    assert_eq!(ids.len(), 8, "a message of the copy has the name of none that was copied: {ids:?}");
    assert_eq!(place.context().await.len(), 2, "this chat stays as it is");
}

#[tokio::test]
async fn undo_takes_back_a_title_a_checkpoint_and_what_was_shown_and_does_it_again() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.done(new("Dinner")).await;
    place.say("soup?").await;
    let title = |place: &Place| {
        let agent = place.agent.clone();
        async move { agent.contexts(&chat()).await.unwrap().unwrap().active.title().to_owned() }
    };
    place.done(ContextOperation::Rename { title: "Supper".to_owned() }).await;
    assert_eq!(place.done(ContextOperation::Undo).await, "This context is “Dinner” again.");
    assert_eq!(title(&place).await, "Dinner");
    place.done(ContextOperation::Undo).await;
    assert_eq!(title(&place).await, "Supper", "undo of undo does it again");

    place.done(ContextOperation::Checkpoint { name: "here".to_owned() }).await;
    assert_eq!(place.done(ContextOperation::Undo).await, "The checkpoint “here” is removed.");
    let gone = place.operate(ContextOperation::Rewind { to: "here".to_owned() }).await;
    assert!(matches!(gone, OperationOutcome::NotDone(_)), "{gone:?}");
    let line = place.done(ContextOperation::Undo).await;
    assert_eq!(line, "The checkpoint “here” is back where it was.");

    let before = place.context().await;
    let recall =
        || ContextOperation::Recall { which: "trip".to_owned(), mode: RecallMode::Summary };
    place.done(recall()).await;
    let OperationOutcome::NotDone(again) = place.operate(recall()).await else {
        panic!("it is shown once")
    };
    assert_eq!(again.line, "“plan the trip” is already shown in this context.");
    assert_eq!(place.done(ContextOperation::Undo).await, "The reference is removed.");
    assert_eq!(place.context().await, before);
    assert_eq!(place.archived().await.len(), 1, "nothing was left by any of it");
    assert_eq!(place.say("fish?").await, Some(Outcome::Done));
}

#[tokio::test]
async fn a_title_that_was_made_stays_when_what_it_was_made_of_is_summed_up() {
    let rules = Rules { keep_last_messages: 2, ..Rules::default() };
    let place = Place::on(SimDisk::default(), rules);
    for nth in 0..6 {
        place.say(&format!("number {nth} of the trip, at length: {}", "waves ".repeat(60))).await;
    }
    let title = || async {
        let contexts = place.agent.contexts(&chat()).await.unwrap().unwrap();
        contexts.active.title().to_owned()
    };
    let before = title().await;
    assert!(before.starts_with("number 0"), "{before}");
    assert!(place.agent.compact(&chat(), None).await.unwrap().is_some());
    assert_eq!(title().await, before);
    place.done(new("Dinner")).await;
    assert_eq!(place.archived().await[0].1, before);
    place.say("soup?").await;
    place.done(ContextOperation::Load { which: "last".to_owned() }).await;
    place.say("hello").await;
    assert_eq!(title().await, before);
}

#[tokio::test]
async fn who_loads_another_context_does_not_wait_for_an_answer_that_takes_long() {
    let place = Place::new();
    place.say("plan the trip").await;
    place.done(new("Dinner")).await;
    place.say("soup?").await;
    place.minds(|_| hangs());
    let asked = place.model().asked();
    place.accept("and a long answer?").await;
    let (agent, stop) = (place.agent.clone(), ship_agent::Stop::default());
    let running = tokio::spawn(async move { agent.run(&chat(), &stop).await.unwrap() });
    place.model().is_asked_for(asked + 1).await;
    let line = place.done(ContextOperation::Load { which: "trip".to_owned() }).await;
    assert!(line.starts_with("Now in “plan the trip”"), "{line}");
    running.await.unwrap();
    assert_eq!(place.context().await.len(), 2, "the trip, as it was left");
}
