//! The records and leases of a project, on files: what processes do to each other, and what a crash leaves.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ship_message::json::Object;
use ship_store::{
    FileStore, LeaseError, RecordError, RecordName, RecordVersion, Store, StoredRecord,
};
use ship_testkit::chat::options;
use ship_testkit::contract::promises::count_up;
use ship_testkit::power;
use ship_testkit::sim::{Fault, SimDisk};
use ship_testkit::sweep::block_on;

fn name() -> RecordName {
    "bots/one".parse().unwrap()
}

fn value(count: u64) -> Object {
    Object::from([("count", count)])
}

fn store_in(project: &Path) -> FileStore {
    FileStore::new(project, options()).unwrap()
}

fn store_on(disk: SimDisk) -> FileStore {
    FileStore::on_disk(Box::new(disk), options())
}

async fn put(store: &FileStore, count: u64, expected: Option<RecordVersion>) -> RecordVersion {
    store.records().put(&name(), value(count), expected).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_on_one_folder_lose_no_update() {
    let project = tempfile::tempdir().unwrap();
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let store = store_in(project.path());
            tokio::spawn(async move {
                for _ in 0..20 {
                    count_up(store.records(), &name()).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let read = store_in(project.path()).records().read(&name()).await.unwrap().unwrap();
    assert_eq!(read.value, value(40));
}

#[tokio::test]
async fn a_lease_excludes_other_stores_until_its_holder_is_gone() {
    let project = tempfile::tempdir().unwrap();
    let (one, two) = (store_in(project.path()), store_in(project.path()));
    let lease = one.records().lease(&name(), "ask for news").await.unwrap();
    let Err(LeaseError::Held { holder: Some(holder), .. }) =
        two.records().lease(&name(), "too").await.map(|_| ())
    else {
        panic!("it is held")
    };
    assert_eq!(holder.purpose, "ask for news");
    drop(lease);
    two.records().lease(&name(), "too").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_holder_of_a_lease_learns_that_its_file_was_removed() {
    let project = tempfile::tempdir().unwrap();
    let store = store_in(project.path());
    let lease = store.records().lease(&name(), "first").await.unwrap();
    let lost = lease.lost();
    tokio::pin!(lost);
    tokio::select! {
        biased;
        () = &mut lost => panic!("the lease is held"),
        () = tokio::task::yield_now() => {}
    }
    fs::remove_file(project.path().join(".ship/records/bots%2Fone.lease")).unwrap();
    let _second = store.records().lease(&name(), "second").await.unwrap();
    lost.await;
}

#[tokio::test]
async fn an_unreadable_record_is_an_error_with_its_file_until_it_is_set_aside() {
    let project = tempfile::tempdir().unwrap();
    let store = store_in(project.path());
    let version = put(&store, 1, None).await;
    let file = project.path().join(".ship/records/bots%2Fone.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&file, "{\"count\":").unwrap();
    let read = store.records().read(&name()).await.unwrap_err().to_string();
    assert!(read.starts_with(".ship/records/bots%2Fone.json is damaged: "), "{read}");
    assert!(read.contains("restore it from a backup"), "{read}");
    for expected in [None, Some(version)] {
        let refused = store.records().put(&name(), value(2), expected).await;
        assert!(matches!(refused, Err(RecordError::Damaged { .. })), "{refused:?}");
    }
    assert_eq!(store.records().names("").await.unwrap(), [name()]);
    store.records().set_aside(&name()).await.unwrap();
    assert_eq!(store.records().names("").await.unwrap(), []);
    let aside = project.path().join(".ship/records/bots%2Fone.damaged");
    assert_eq!(fs::read_to_string(aside).unwrap(), "{\"count\":");
    put(&store, 3, None).await;
}

#[tokio::test]
async fn a_change_by_hand_is_another_version() {
    let project = tempfile::tempdir().unwrap();
    let store = store_in(project.path());
    let version = put(&store, 1, None).await;
    let file = project.path().join(".ship/records/bots%2Fone.json");
    fs::write(&file, "{ \"count\": 7 }\n").unwrap();
    let refused = store.records().put(&name(), value(2), Some(version)).await;
    let Err(RecordError::Conflict { found: Some(found), .. }) = refused else {
        panic!("{refused:?}")
    };
    let read = store.records().read(&name()).await.unwrap();
    assert_eq!(read, Some(StoredRecord { value: value(7), version: found }));
}

#[tokio::test]
async fn the_record_of_hosts_keeps_its_file() {
    let project = tempfile::tempdir().unwrap();
    let store = store_in(project.path());
    let hosts: RecordName = "hosts".parse().unwrap();
    fs::create_dir(project.path().join(".ship")).unwrap();
    let file = project.path().join(".ship/hosts.json");
    fs::write(&file, "{\"count\":1}\n").unwrap();
    let read = store.records().read(&hosts).await.unwrap().unwrap();
    assert_eq!(read.value, value(1));
    store.records().put(&hosts, value(2), Some(read.version)).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"count\":2}\n");
}

/// Puts a first and a second value with a fault at one call. Returns how many were acknowledged.
async fn put_twice(disk: &SimDisk) -> u64 {
    let store = store_on(disk.clone());
    let Ok(first) = store.records().put(&name(), value(1), None).await else { return 0 };
    match store.records().put(&name(), value(2), Some(first)).await {
        Ok(_) => 2,
        Err(_) => 1,
    }
}

/// The count in the record; 0 without one.
async fn count(store: &FileStore) -> u64 {
    let read = store.records().read(&name()).await.unwrap();
    read.map_or(0, |record| if record.value == value(1) { 1 } else { 2 })
}

#[test]
fn a_kill_at_any_call_leaves_the_record_before_or_after_a_write() {
    let quiet = SimDisk::new();
    block_on(put_twice(&quiet));
    for at in 0..quiet.calls() {
        for fault in [Fault::KillBefore, Fault::KillAfter, Fault::Torn] {
            let disk = SimDisk::with_fault(at, fault);
            let acknowledged = block_on(put_twice(&disk));
            disk.revive();
            let left = block_on(count(&store_on(disk.clone())));
            assert!((acknowledged..=acknowledged + 1).contains(&left), "call {at}, {fault:?}");
            block_on(count_up(store_on(disk).records(), &name()));
        }
    }
}

#[test]
fn a_power_cut_leaves_every_acknowledged_write() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let first = put(&store, 1, None).await;
        let after_first = disk.ops_len();
        put(&store, 2, Some(first)).await;
        for (ops, least) in [(after_first, 1), (disk.ops_len(), 2)] {
            for (state, disk) in power::states(&disk.ops()[..ops]) {
                let left = count(&FileStore::on_disk(Box::new(disk), options())).await;
                assert!(left >= least, "{state}: {left}");
            }
        }
    });
}
