//! A database that cannot be reached at any one call, or whose answer is lost: the run goes on or ends with an error
//! that says so, and the next run ends it.

use ship_agent::RunError;
use ship_store::StorageError;
use ship_testkit::map_store::CallFault;
use ship_testkit::sample::sample;

use super::world::{Process, World};

/// One case in so many is tried at once.
const SAMPLE: usize = 8;

const FAULTS: [CallFault; 3] =
    [CallFault::Unreachable, CallFault::RequestLost, CallFault::AnswerLost];

/// Checks that an error tells a person what happened and what to do.
fn check_error(error: &RunError, at: &str) {
    let told = error.to_string();
    let is_unavailable = matches!(error.storage(), Some(StorageError::Unavailable { .. }));
    assert!(is_unavailable, "{at}: {error:?}");
    assert!(told.contains("the store cannot be reached"), "{at}: {told}");
    assert!(told.contains("try again"), "{at}: {told}");
}

/// Accepts a message as a channel does: what is not acknowledged is handed in again, by another process.
async fn accept(first: &Process, second: &Process, text: &str, at: &str) {
    if let Err(error) = first.accept(text).await {
        check_error(&error, at);
        second.accept(text).await.unwrap();
    }
}

async fn fail_at(call: usize, fault: CallFault) {
    let world = World::new().await;
    let (first, second) = (world.process(), world.process());
    first.store.calls().fail_at(call, fault);
    let at = format!("{fault:?} at call {call}");
    for text in ["also", "go"] {
        accept(&first, &second, text, &at).await;
    }
    let ended = first.run().await;
    let at = format!("{at} ({:?})", first.store.calls().names().get(call));
    if let Err(error) = &ended {
        check_error(error, &at);
    }
    // A lane that could not be given back runs out.
    world.database.end_leases();
    second.run().await.unwrap_or_else(|error| panic!("{at}: {error}"));
    world.check(&at).await;
    world.check_idle(&at).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_at_any_call_loses_nothing_and_repeats_nothing() {
    let whole = World::new().await;
    let process = whole.process();
    for text in ["also", "go"] {
        process.accept(text).await.unwrap();
    }
    process.run().await.unwrap();
    whole.check("nothing happens").await;
    let calls = process.store.calls().names().len();
    let cases = (0..calls).flat_map(|call| FAULTS.map(|fault| (call, fault)));
    for (call, fault) in sample(cases, SAMPLE) {
        fail_at(call, fault).await;
    }
}

/// The model would say it again, in other words perhaps.
#[tokio::test(start_paused = true)]
async fn a_text_that_may_have_been_sent_is_not_told_as_failed() {
    for fault in [CallFault::RequestLost, CallFault::AnswerLost] {
        let world = lose_text_of_chat_send(fault).await;
        let said = world.said().await;
        let told = said.iter().filter(|said| said.contains(r#"[chat_send {"delivered":true}]"#));
        assert_eq!(told.count(), 1, "{fault:?}: {said:#?}");
        world.check(&format!("{fault:?}")).await;
    }
}

/// Runs a question whose `chat_send` meets a fault when its text is recorded. Reads of a run may come in another order
/// from run to run, so the number of that call is taken from the run before.
async fn lose_text_of_chat_send(fault: CallFault) -> World {
    let mut sends = usize::MAX;
    for _ in 0..20 {
        let world = World::asked().await;
        let process = world.process();
        process.store.calls().fail_at(sends, fault);
        let ran = process.run().await;
        let calls = process.store.calls().names();
        if calls.get(sends) == Some(&"record") {
            ran.unwrap();
            return world;
        }
        sends = calls.iter().position(|call| *call == "record").unwrap_or(sends);
    }
    panic!("the text is recorded at another call each time");
}
