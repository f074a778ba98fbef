//! Promises about what runs write beside the context, and what is derived from it.

use ship_message::json::{Array, Json, Object};
use ship_store::{Derived, DerivedState, Store, Synced};

use crate::chat::Begun;

fn part(name: &str) -> Object {
    Object::from([("seq", Json::from(name)), ("type", "tool".into())])
}

pub async fn a_journal_is_that_of_the_last_run(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let (chat, lane) = (&begun.chat, &begun.lane);
    assert!(chat.runs().journal().await.unwrap().is_empty());
    for run in ["run 1", "run 2"] {
        lane.begin_journal(part(run), Synced::Now).await.unwrap();
        lane.journal(vec![part("a"), part("b")], Synced::Now).await.unwrap();
        lane.journal(vec![part("c")], Synced::Later).await.unwrap();
        let parts = chat.runs().journal().await.unwrap();
        assert_eq!(parts, [part(run), part("a"), part("b"), part("c")]);
    }
}

pub async fn requests_are_kept_in_order(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    for name in ["r1", "r2", "r3"] {
        begun.lane.record_request(part(name)).await.unwrap();
    }
    assert_eq!(begun.chat.runs().requests(2).await.unwrap(), [part("r2"), part("r3")]);
    assert_eq!(begun.chat.runs().requests(9).await.unwrap().len(), 3);
}

pub async fn derived_state_names_its_source(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let value = Object::from([("v", Json::from(1u64)), ("items", Array::default().into())]);
    let state = DerivedState { value, position: view.position, crc: view.crc };
    for which in [Derived::Meta, Derived::ContextIndex, Derived::Context(view.head.context.clone())]
    {
        assert_eq!(begun.chat.derived().read(which.clone()).await.unwrap(), None);
        begun.chat.derived().put(which.clone(), state.clone()).await.unwrap();
        assert_eq!(begun.chat.derived().read(which).await.unwrap(), Some(state.clone()));
    }
}
