//! Promises about the records and the leases of a project.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_store::{
    Lease, LeaseError, ProjectRecords, RecordError, RecordName, RecordVersion, Store,
};

fn name(text: &str) -> RecordName {
    text.parse().unwrap()
}

fn counted(count: u64) -> Object {
    Object::from([("count", count)])
}

/// Adds one to the count in a record, however often another writer comes first.
pub async fn count_up(records: &dyn ProjectRecords, name: &RecordName) {
    loop {
        let read = records.read(name).await.unwrap();
        let (count, version) = match read {
            Some(record) => {
                (record.value.get("count").and_then(Json::as_u64).unwrap(), Some(record.version))
            }
            None => (0, None),
        };
        match records.put(name, counted(count + 1), version).await {
            Ok(_) => return,
            Err(RecordError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

pub async fn a_record_is_replaced_only_by_a_writer_that_has_seen_it(store: &dyn Store) {
    let (records, name) = (store.records(), name("bots/one"));
    let refused = |result: Result<RecordVersion, RecordError>| {
        let Err(RecordError::Conflict { found, .. }) = result else { panic!("{result:?}") };
        found
    };
    assert_eq!(records.read(&name).await.unwrap(), None);
    let first = records.put(&name, counted(1), None).await.unwrap();
    assert_eq!(refused(records.put(&name, counted(2), None).await), Some(first.clone()));
    let second = records.put(&name, counted(2), Some(first.clone())).await.unwrap();
    let late = records.put(&name, counted(3), Some(first.clone())).await;
    assert_eq!(refused(late), Some(second.clone()));
    let read = records.read(&name).await.unwrap().unwrap();
    assert_eq!((read.value, &read.version), (counted(2), &second));
    assert!(records.remove(&name, first.clone()).await.is_err(), "it has changed since");
    records.set_aside(&name).await.unwrap();
    records.remove(&name, second.clone()).await.unwrap();
    assert_eq!(records.read(&name).await.unwrap(), None);
    assert_eq!(refused(records.put(&name, counted(4), Some(second)).await), None);
    records.put(&name, counted(5), None).await.unwrap();
}

pub async fn no_update_of_a_record_is_lost(store: &dyn Store) {
    let name = name("count");
    let writers = (0..8).map(|_| async {
        for _ in 0..5 {
            count_up(store.records(), &name).await;
        }
    });
    join_all(writers).await;
    assert_eq!(store.records().read(&name).await.unwrap().unwrap().value, counted(40));
}

pub async fn records_are_listed_by_the_beginning_of_their_names(store: &dyn Store) {
    let records = store.records();
    let listed = async |prefix: &str| -> Vec<String> {
        let names = records.names(prefix).await.unwrap();
        names.iter().map(ToString::to_string).collect()
    };
    assert!(listed("").await.is_empty());
    for text in ["a", "a/b", "a.json", "a/b.c/d", "hosts", "b"] {
        records.put(&name(text), counted(1), None).await.unwrap();
    }
    let _lease = records.lease(&name("a/lease"), "test").await.unwrap();
    assert_eq!(listed("").await, ["a", "a.json", "a/b", "a/b.c/d", "b", "hosts"]);
    assert_eq!(listed("a/").await, ["a/b", "a/b.c/d"]);
    assert!(listed("c").await.is_empty());
}

pub async fn a_lease_has_one_holder_until_it_is_released_or_dropped(store: &dyn Store) {
    let (records, name) = (store.records(), name("bots/one"));
    let first = records.lease(&name, "ask for news").await.unwrap();
    assert!(is_refused(records.lease(&name, "second").await).contains("`ask for news`"));
    let other = records.lease(&"bots/two".parse().unwrap(), "other").await.unwrap();
    first.release().await.unwrap();
    first.lost().await;
    let second = records.lease(&name, "second").await.unwrap();
    assert!(is_refused(records.lease(&name, "third").await).contains("`second`"));
    // The holder of before has nothing left to give back.
    first.release().await.unwrap();
    drop(first);
    assert!(is_refused(records.lease(&name, "third").await).contains("`second`"));
    drop((second, other));
    records.lease(&name, "third").await.unwrap();
}

fn is_refused(taken: Result<Arc<dyn Lease>, LeaseError>) -> String {
    match taken.map(|_| ()) {
        Err(error @ LeaseError::Held { .. }) => error.to_string(),
        taken => panic!("{taken:?}"),
    }
}

/// Runs futures side by side to their ends.
async fn join_all(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut running: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        running.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
