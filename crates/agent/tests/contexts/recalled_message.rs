//! A message that was found is shown in the present context with its neighbours, and the context goes on from it.

use ship_agent::{ContextOperation, Inbound, OperationOutcome, Outcome, Rules};
use ship_context::contexts::is_reference;
use ship_testkit::sim::SimDisk;

use super::place::Place;
use crate::harness::chat;

fn recall(id: &str) -> ContextOperation {
    ContextOperation::RecallMessage { id: id.to_owned() }
}

/// The reason why an operation was not done.
async fn refusal(place: &Place, operation: ContextOperation) -> String {
    match place.operate(operation).await {
        OperationOutcome::NotDone(refused) => refused.line,
        other => panic!("{other:?}"),
    }
}

/// Returns the words of the messages that the newest reference of the context shows.
async fn shown(place: &Place) -> Vec<String> {
    let messages = place.messages().await;
    let reference = messages.iter().rfind(|message| is_reference(message)).unwrap().text();
    let line =
        |line: &str| line.starts_with('#').then(|| line.rsplit_once(": ").unwrap().1.to_owned());
    reference.lines().filter_map(line).collect()
}

/// A chat with a sealed log, an archived context, talk that is in no context, and a live log.
async fn at_dinner() -> Place {
    let place = Place::on(SimDisk::default(), Rules { keep_last_messages: 2, ..Rules::default() });
    place.say("plan the trip").await;
    place.done(ContextOperation::New { title: Some("Dinner".to_owned()), reason: None }).await;
    for dish in ["soup", "fish", "bread", "cake"] {
        place.say(&format!("{dish} of dinner: {}", "salt and ".repeat(60))).await;
    }
    assert!(place.agent.compact(&chat(), None).await.unwrap().is_some());
    place.say("wine?").await;
    let talk = Inbound { observed: true, ..place.inbound("Bob brings olives") };
    place.agent.accept(&chat(), talk).await.unwrap();
    place.say("and cheese?").await;
    place
}

#[tokio::test]
async fn a_message_of_any_log_or_of_none_is_shown_once_and_the_run_goes_on_from_it() {
    let place = at_dinner().await;
    for text in ["plan the trip", "soup of dinner"] {
        let id = place.id_of(text).await;
        let line = place.done(recall(&format!("#{id}"))).await;
        assert_eq!(
            line,
            format!("`{id}` is shown here with what was said around it, for reference.")
        );
        let reference = place.agent.recalled_message(&chat(), &id).await.unwrap().unwrap();
        assert!(reference.contains(&format!("#{id} [2026-")), "{reference}");
        assert!(reference.contains(text), "{reference}");
        assert_eq!(place.say("go on").await, Some(Outcome::Done));
        let seen = place.shown(0).join("\n");
        assert!(seen.contains(&format!("- messageId: {id}\n")), "{seen}");
        let refused = refusal(&place, recall(&id)).await;
        assert_eq!(refused, format!("`{id}` is already shown in this context."));
    }
    let found = place.agent.search(&chat(), &ship_agent::SearchQuery::new("olives")).await.unwrap();
    let olives = found.unwrap().hits[0].message_id.clone();
    place.done(recall(&olives)).await;
    assert!(shown(&place).await.contains(&"Bob brings olives".to_owned()));
    assert_eq!(place.agent.recalled_message(&chat(), "u_999").await.unwrap(), None);
}

#[tokio::test]
async fn neighbours_that_the_model_sees_are_not_repeated() {
    let place = Place::new();
    place.say("one").await;
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.say("two").await;
    place.done(recall(&place.id_of("one").await)).await;
    assert_eq!(
        shown(&place).await,
        ["one", "one"],
        "the question and its echo, and nothing of two"
    );
}

#[tokio::test]
async fn a_reference_to_a_message_takes_its_share_of_the_budget_and_no_more() {
    let rules = Rules { input_tokens_max: Some(2_000), keep_last_messages: 2, ..Rules::default() };
    let place = Place::ruled(rules);
    for nth in 0..8 {
        place.say(&format!("number {nth} {}", "and so on ".repeat(20))).await;
    }
    place.done(ContextOperation::New { title: None, reason: None }).await;
    place.say("here").await;
    let id = place.id_of("number 4").await;
    place.done(recall(&id)).await;
    let text = place.agent.recalled_message(&chat(), &id).await.unwrap().unwrap();
    let lines = text.lines().filter(|line| line.starts_with('#')).count();
    assert!((2..9).contains(&lines) && text.contains(&format!("#{id} ")), "{lines}: {text}");
    assert!(text.split_whitespace().count() < 500, "a quarter of the budget: {text}");
}

#[tokio::test]
async fn a_message_that_is_unknown_purged_or_in_view_is_refused_and_nothing_changes() {
    let place = at_dinner().await;
    let before = place.context().await;
    let unknown = "There is no message `u_999` in this chat; `/search WORDS` finds messages and tells their ids. \
                   Nothing has changed.";
    assert_eq!(refusal(&place, recall("u_999")).await, unknown);
    let wine = place.id_of("wine?").await;
    let refused = refusal(&place, recall(&wine)).await;
    assert_eq!(refused, format!("The model sees `{wine}` already: it stands in this context."));
    let trip = place.id_of("plan the trip").await;
    let stored = place.stored().await;
    let lane = stored.lane("purge").await.unwrap();
    for log in stored.log().sealed().await.unwrap() {
        lane.purge(&log.name, "test").await.unwrap();
    }
    lane.release().await;
    let refused = refusal(&place, recall(&trip)).await;
    assert_eq!(refused, unknown.replace("u_999", &trip), "it was purged");
    assert_eq!(place.context().await, before);
}

#[tokio::test]
async fn an_undo_takes_a_recalled_message_back_and_shows_it_again() {
    let place = at_dinner().await;
    let without = place.context().await;
    place.done(recall(&place.id_of("plan the trip").await)).await;
    let with = place.context().await;
    for _ in 0..2 {
        assert_eq!(place.done(ContextOperation::Undo).await, "The reference is removed.");
        assert_eq!(place.context().await, without);
        assert_eq!(place.done(ContextOperation::Undo).await, "The reference is shown again.");
        assert_eq!(place.context().await, with);
    }
}

#[tokio::test]
async fn a_hit_is_forked_and_rewound_to_wherever_it_stands() {
    for text in ["plan the trip", "soup of dinner", "wine?"] {
        let place = at_dinner().await;
        let id = place.id_of(text).await;
        for operation in [
            ContextOperation::Fork { at: Some(id.clone()), to: None },
            ContextOperation::Rewind { to: id.clone() },
        ] {
            place.done(operation).await;
            let last = place.context().await.pop().unwrap();
            assert!(last.starts_with(&format!("user: {text}")), "{last}");
            assert_eq!(place.say("go on from there").await, Some(Outcome::Done));
            place.done(ContextOperation::Undo).await;
        }
    }
}

#[tokio::test]
async fn a_hit_in_no_context_is_no_place_to_go_on_from_and_the_refusal_says_so() {
    let place = at_dinner().await;
    let found = place.agent.search(&chat(), &ship_agent::SearchQuery::new("olives")).await.unwrap();
    let id = found.unwrap().hits[0].message_id.clone();
    for operation in [
        ContextOperation::Fork { at: Some(id.clone()), to: None },
        ContextOperation::Fork { at: Some(id.clone()), to: "api:copy".parse().ok() },
        ContextOperation::Rewind { to: id.clone() },
    ] {
        let refused = refusal(&place, operation).await;
        let expected = format!(
            "`{id}` was said in the chat and is in no context, so there is nothing to go on from; \
             `/context recall --around ID` shows it here. Nothing has changed."
        );
        assert_eq!(refused, expected);
    }
}
