//! Promises about what a context log holds.

use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{
    AcceptError, AppendError, ContextBody, ContextEvent, LedgerBody, NewLine, NewMessage,
    RefusedInput, Seq, Store, Timestamp,
};

use crate::chat::{Begun, entry, id, ids, message, text};

const NOON: Timestamp = Timestamp::from_millis(1_770_292_800_000);

pub(super) fn event(id: &str) -> NewLine {
    let (event, data) = ("checkpoint".to_owned(), Json::from("before the move"));
    ContextEvent { id: id.to_owned(), ts: NOON, event, data, ref_msg_id: None, inbox: None }.into()
}

pub(super) fn revised(text: &str, rev: u64) -> NewLine {
    NewMessage { message: message("m1", text), rev, inbox: None }.into()
}

pub async fn what_is_appended_is_read_back_in_order(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.position = begun.lane.append(vec![event("e1")], begun.position).await.unwrap();
    begun.say("m2").await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let told: Vec<String> = view
        .lines
        .iter()
        .map(|line| match &line.body {
            ContextBody::Message(message) => format!("{} {}", line.seq, id(message)),
            ContextBody::Event(event) => format!("{} {}", line.seq, event.event),
        })
        .collect();
    assert_eq!(told, ["2 m1", "3 checkpoint", "4 m2"]);
    assert_eq!(view.position, begun.position);
    assert_eq!(view.messages().next(), Some(&UiMessage::from_object(message("m1", "m1"))));
}

pub async fn a_batch_is_all_or_nothing(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let batch = vec![message("m2", "new").into(), message("m1", "other").into()];
    let refused = begun.lane.append(batch, begun.position).await;
    assert!(matches!(refused, Err(AppendError::Conflict { .. })), "{refused:?}");
    assert_eq!(ids(&*begun.chat).await, ["m1"]);
    let batch = vec![message("m2", "new").into(), message("m3", "new").into()];
    begun.lane.append(batch, begun.position).await.unwrap();
    assert_eq!(ids(&*begun.chat).await, ["m1", "m2", "m3"]);
}

pub async fn an_append_that_expects_another_end_is_refused(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    let before = begun.position;
    begun.say("m1").await;
    let refused = begun.lane.append(vec![message("m2", "x").into()], before).await;
    let Err(AppendError::Moved { expected, found, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((expected, found), (before, begun.position));
    assert_eq!(ids(&*begun.chat).await, ["m1"]);
}

pub async fn the_same_message_again_adds_nothing(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    let before = begun.position;
    begun.say("m1").await;
    let end = begun.lane.append(vec![message("m1", "m1").into()], begun.position).await.unwrap();
    assert_eq!(end, begun.position);
    // The answer to the first attempt was lost, and the caller still knows the old end.
    let end = begun.lane.append(vec![message("m1", "m1").into()], before).await.unwrap();
    assert_eq!(end, begun.position);
    assert_eq!(ids(&*begun.chat).await, ["m1"]);
}

pub async fn another_message_of_the_same_id_is_a_conflict(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let refused = begun.lane.append(vec![message("m1", "other").into()], begun.position).await;
    let Err(AppendError::Conflict { seq, next_rev, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((seq, next_rev), (Seq::new(2), 1));
}

pub async fn a_higher_revision_replaces_a_message_at_its_place(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.say("m2").await;
    begun.position = begun.lane.append(vec![revised("better", 1)], begun.position).await.unwrap();
    let skipped = begun.lane.append(vec![revised("best", 3)], begun.position).await;
    assert!(matches!(skipped, Err(AppendError::Conflict { next_rev: 2, .. })), "{skipped:?}");
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().map(text).collect::<Vec<_>>(), ["better", "m2"]);
    assert_eq!((view.lines[0].seq, view.lines[0].rev), (Seq::new(2), 1));
}

pub async fn reserved_fields_are_refused(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    for field in ["seq", "type", "rev", "in", "batch", "blobs", "crc"] {
        let mut posing = message("m1", "x");
        posing.set(field, "x");
        let refused = begun.lane.append(vec![posing.clone().into()], begun.position).await;
        let Err(AppendError::Refused(RefusedInput::Reserved(name))) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(name, field);
        let posing = ship_store::LedgerEntry { key: "k".into(), entry: posing };
        let refused = begun.chat.ledger().accept(posing).await;
        assert!(matches!(refused, Err(AcceptError::Refused(_))), "{refused:?}");
    }
    // Deeper down it is content like any other.
    let mut innocent = message("m1", "x");
    innocent.set("metadata", Object::from([("blobs", Json::from("x"))]));
    begun.lane.append(vec![innocent.clone().into()], begun.position).await.unwrap();
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().next(), Some(&UiMessage::from_object(innocent)));
}

pub async fn what_is_no_message_is_refused(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let without = |field: &str| {
        let mut broken = message("m1", "x");
        broken.remove(field);
        broken
    };
    let own = |name: &str| {
        let (id, event, data) = ("e1".to_owned(), name.to_owned(), Json::Null);
        NewLine::Event(ContextEvent { id, ts: NOON, event, data, ref_msg_id: None, inbox: None })
    };
    let messages = ["id", "role", "parts"].map(|field| without(field).into());
    for broken in messages.into_iter().chain(["head", "purged"].map(own)) {
        let refused = begun.lane.append(vec![broken], begun.position).await;
        assert!(matches!(refused, Err(AppendError::Refused(_))), "{refused:?}");
    }
    let refused = begun.lane.append(Vec::new(), begun.position).await;
    assert!(matches!(refused, Err(AppendError::Refused(RefusedInput::Empty))), "{refused:?}");
}

pub async fn a_message_over_the_limit_is_refused(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let long = "x".repeat(8_388_608);
    let refused = begun.lane.append(vec![message("m1", &long).into()], begun.position).await;
    let Err(error @ AppendError::Refused(RefusedInput::TooLarge { .. })) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.to_string().contains("limits.messageBytes"), "{error}");
    assert!(ids(&*begun.chat).await.is_empty());
}

pub async fn long_strings_come_back_whole(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    let long: String = "0123456789 漢字 🦜 ".repeat(3000);
    let mut said = message("m1", &long);
    said.set(
        "metadata",
        Object::from([("a/b~c", Json::from(vec![Json::Null, long.as_str().into()]))]),
    );
    begun.position = begun.lane.append(vec![said.clone().into()], begun.position).await.unwrap();
    let again = begun.lane.append(vec![said.clone().into()], begun.position).await.unwrap();
    assert_eq!(again, begun.position);
    begun.compact("s1", Seq::new(2)).await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().last(), Some(&UiMessage::from_object(said)));
    begun.chat.ledger().accept(entry("k1", &long)).await.unwrap();
    let lines = begun.chat.ledger().before(None, 1).await.unwrap();
    let LedgerBody::Entry(kept) = &lines[0].body else { panic!("{lines:?}") };
    assert_eq!(kept.entry.str("text"), Some(long.as_str()));
}
