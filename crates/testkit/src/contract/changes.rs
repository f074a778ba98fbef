//! Waiting for changes of a chat and of the store.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ship_store::{
    AcceptError, AppendError, ChangedChats, Chat, ChatKey, Import, LiveAfterImport, Moment,
    StorageError, Store, Synced,
};

use super::import::{logs, source};
use crate::chat::{Begun, compaction, entry, message};

/// Polls a wait once. A change that has happened ends it at once.
fn at_once<T>(mut wait: Pin<Box<dyn Future<Output = T> + Send + '_>>) -> Option<T> {
    match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Waits for a moment. A store that watches the changes of other processes begins it with the first wait, which may end
/// at once.
fn begin_to_wait(store: &dyn Store) {
    drop(at_once(store.changed(store.moment())));
}

fn has_changed(chat: &dyn Chat, after: Moment) -> bool {
    at_once(chat.changed(after)).is_some()
}

/// Returns the chats that have changed after a moment.
fn changed_chats(store: &dyn Store, after: Moment) -> Vec<ChatKey> {
    at_once(store.changed(after)).map(|changed| changed.chats).unwrap_or_default()
}

pub async fn what_arrives_in_a_chat_ends_a_wait_for_it(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    begin_to_wait(store);
    let other = store.open(begun.chat.key()).await.unwrap().unwrap();
    let moment = other.moment();
    assert!(!has_changed(&*other, moment), "nothing has happened yet");

    begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
    assert!(has_changed(&*other, moment), "an entry was accepted");

    let moment = other.moment();
    begun.lane.release().await;
    assert!(has_changed(&*other, moment), "the lane is free");

    let moment = other.moment();
    let lane = begun.chat.lane("next").await.unwrap();
    assert!(has_changed(&*other, moment), "another caller has the lane");

    let moment = other.moment();
    drop((begun.lane, lane));
    // A store that cannot wait in a destructor gives it back a little later.
    let changed = tokio::time::timeout(Duration::from_secs(5), other.changed(moment));
    changed.await.expect("the lane is free again");
}

pub async fn what_the_holder_of_a_lane_writes_ends_only_a_wait_for_the_store(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begin_to_wait(store);
    let key = begun.chat.key().clone();
    let moment = store.moment();
    begun.say("m1").await;
    assert_eq!(changed_chats(store, moment), std::slice::from_ref(&key), "a message was appended");

    let since_append = store.moment();
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let new = vec![message("s1", "x").into()];
    let rotated = begun.lane.rotate(compaction(&view, new, view.position.seq)).await.unwrap();
    assert_eq!(changed_chats(store, since_append), std::slice::from_ref(&key), "it was rotated");

    let since_rotation = store.moment();
    begun.lane.purge(&rotated.sealed.unwrap(), "test").await.unwrap();
    assert_eq!(changed_chats(store, since_rotation), std::slice::from_ref(&key), "it was purged");

    let since_purge = store.moment();
    let (expected, live) = (rotated.position, LiveAfterImport::Kept);
    let import = Import { expected, live, source: source(logs(&[&["i1"]])) };
    begun.lane.import(import).await.unwrap();
    assert_eq!(changed_chats(store, since_purge), [key], "a log was imported");
    assert!(!has_changed(&*begun.chat, moment), "the run that writes is not woken");
}

pub async fn a_wait_for_one_chat_goes_on_when_another_changes(store: &dyn Store) {
    let quiet = Begun::new(store, "quiet").await;
    let busy = Begun::new(store, "busy").await;
    begin_to_wait(store);
    let (of_chat, of_store) = (quiet.chat.moment(), store.moment());
    busy.chat.ledger().accept(entry("k1", "x")).await.unwrap();
    assert!(!has_changed(&*quiet.chat, of_chat));
    let ChangedChats { chats, is_partial, .. } = store.changed(of_store).await;
    assert_eq!((chats.as_slice(), is_partial), ([busy.chat.key().clone()].as_slice(), false));
    assert!(at_once(store.changed(store.moment())).is_none(), "each change is reported once");
}

pub async fn a_lane_goes_to_the_caller_that_waits_for_it(store: &dyn Store) {
    let Begun { chat, lane, .. } = Begun::new(store, "a").await;
    let waiting = tokio::spawn({
        let chat = chat.clone();
        async move { chat.lane("second").await.map(|_| ()) }
    });
    tokio::task::yield_now().await;
    drop(lane);
    waiting.await.unwrap().unwrap();
}

pub async fn a_lane_that_was_given_back_is_free_and_writes_nothing_more(store: &dyn Store) {
    let Begun { chat, lane, position } = Begun::new(store, "a").await;
    let copy = Arc::clone(&lane);
    lane.release().await;
    let next = chat.lane_now("next").await.unwrap();
    let late = copy.append(vec![message("m1", "x").into()], position).await.unwrap_err();
    let AppendError::Storage(StorageError::LaneLost { .. }) = late else { panic!("{late:?}") };
    let late = copy.journal(vec![message("m1", "x")], Synced::Now).await.unwrap_err();
    assert!(matches!(late, StorageError::LaneLost { .. }), "{late:?}");
    let late = copy.record(entry("k1", "x")).await.unwrap_err();
    assert!(matches!(late, AcceptError::Storage(StorageError::LaneLost { .. })), "{late:?}");
    assert!(at_once(copy.lost()).is_none(), "it was given back, not lost");
    drop((lane, copy));
    next.append(vec![message("m2", "x").into()], position).await.unwrap();
    assert!(chat.lane_now("third").await.is_err(), "the next holder has it");
}
