//! What a switch costs: how often it opens the live log and the index of the archive.

use std::path::Path;

use ship_agent::{ContextOperation, Outcome};

use super::place::{Place, calls, line, says};

const LIVE: &str = ".ship/chat/terminal%3Amain/messages/history.jsonl";
const INDEX: &str = ".ship/chat/terminal%3Amain/contexts/index.json";

/// Returns how often the live log and the index were opened so far.
fn opened(place: &Place) -> [usize; 2] {
    [LIVE, INDEX].map(|path| place.setup.disk.times_opened(Path::new(path)))
}

/// A chat with an archived context about a trip.
async fn with_an_archived_trip() -> Place {
    let place = Place::new();
    place.say("plan the trip").await;
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.say("cook dinner").await;
    place
}

/// Lets a model make one call, and returns how often its run has opened the live log and the index.
async fn opened_in_run(call: &'static str, input: &'static str) -> [usize; 2] {
    let place = with_an_archived_trip().await;
    place.minds(move |seen| match line(seen.last().unwrap()).contains(&format!("[{call} done]")) {
        true => says("Done."),
        false => calls(call, input),
    });
    place.accept("go on").await;
    let before = opened(&place);
    assert_eq!(place.run().await, Some(Outcome::Done));
    let after = opened(&place);
    [0, 1].map(|at| after[at] - before[at])
}

#[tokio::test]
async fn a_models_switch_looks_when_it_is_called_and_where_it_arrives() {
    // Any run opens the live log twice, and every call for contexts looks once at the log and once at the index. A
    // switch looks once more, at the log where it arrives. The next request looks four times what it shares with the
    // one before it, unless it only goes on behind that, as it does in a fork.
    for (call, input, wanted) in [
        ("chat_context_list", "{}", [2 + 1, 1]),
        ("chat_context_load", r#"{"query":"trip"}"#, [2 + 1 + 1 + 4, 1]),
        ("chat_context_new", "{}", [2 + 1 + 1 + 4, 1]),
        ("chat_context_fork", "{}", [2 + 1 + 1, 1]),
    ] {
        assert_eq!(opened_in_run(call, input).await, wanted, "{call}");
    }
}

#[tokio::test]
async fn a_persons_load_looks_before_it_leaves_and_where_it_arrives() {
    let place = with_an_archived_trip().await;
    let before = opened(&place);
    place.done(ContextOperation::Load { which: "trip".to_owned() }).await;
    let after = opened(&place);
    assert_eq!([0, 1].map(|at| after[at] - before[at]), [2, 1]);
}
