//! A disk that fails, fills up or goes read-only, told one story at a time.

use ship_store::{
    About, AcceptError, AppendError, FileStore, LaneError, RotateError, StorageError, Store,
    StoreOptions,
};
use ship_testkit::chat::{Begun, compaction, entry, ids, ledger_keys, message, options};
use ship_testkit::power;
use ship_testkit::sim::{Fault, Lasts, Op, SimDisk};
use ship_testkit::sweep::block_on;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

fn store_on(disk: &SimDisk) -> FileStore {
    FileStore::on_disk(Box::new(disk.clone()), options())
}

#[test]
fn a_sync_fails_once_the_same_message_comes_again_the_power_goes_and_it_is_there() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(&disk);
        let begun = Begun::new(&store, "a").await;
        let batch = || vec![message("m1", "hello").into()];
        disk.fail_next_sync(EIO);
        let refused = begun.lane.append(batch(), begun.position).await;
        assert!(matches!(refused, Err(AppendError::Storage(_))), "{refused:?}");
        assert!(ids(&*begun.chat).await.is_empty(), "what was refused is cut off");

        begun.lane.append(batch(), begun.position).await.unwrap();
        for (name, cut) in power::states(&disk.ops()) {
            let store = FileStore::on_disk(Box::new(cut), options());
            let chat = store.open(&"a".parse().unwrap()).await.unwrap().unwrap();
            assert_eq!(ids(&*chat).await, ["m1"], "{name}");
        }
    });
}

#[test]
fn a_failed_write_that_cannot_be_cut_back_makes_the_chat_read_only_until_it_can() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(&disk);
        let mut begun = Begun::new(&store, "a").await;
        begun.say("m1").await;
        disk.tear_writes(Some(EIO));
        for attempt in 0..3 {
            let refused = begun.lane.append(vec![message("m2", "x").into()], begun.position).await;
            let Err(AppendError::Storage(error)) = refused else { panic!("{refused:?}") };
            let expected = if attempt == 0 { "storage_io" } else { "storage_unsettled" };
            assert_eq!(error.code(), expected, "{error}");
            assert_eq!(ids(&*begun.chat).await, ["m1"], "a reader stops at the last whole batch");
        }
        disk.tear_writes(None);
        begun.say("m3").await;
        assert_eq!(ids(&*begun.chat).await, ["m1", "m3"]);
    });
}

#[test]
fn a_full_disk_refuses_loses_nothing_and_goes_on_when_there_is_space() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(&disk);
        let mut begun = Begun::new(&store, "a").await;
        begun.say("m1").await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        disk.fail_writes(Some(ENOSPC));

        let refused = begun.lane.append(vec![message("m2", "x").into()], begun.position).await;
        let Err(AppendError::Storage(error @ StorageError::Full { .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(error.code(), "storage_full");
        assert!(error.to_string().contains("free some space"), "{error}");
        let refused = begun.chat.ledger().accept(entry("k2", "x")).await;
        assert!(
            matches!(refused, Err(AcceptError::Storage(StorageError::Full { .. }))),
            "{refused:?}"
        );
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let refused = begun.lane.rotate(compaction(&view, Vec::new(), view.position.seq)).await;
        assert!(
            matches!(refused, Err(RotateError::Storage(StorageError::Full { .. }))),
            "{refused:?}"
        );
        assert_eq!(ids(&*begun.chat).await, ["m1"], "reading still works");

        disk.fail_writes(None);
        begun.say("m2").await;
        begun.chat.ledger().accept(entry("k2", "x")).await.unwrap();
        begun.compact("s1", begun.position.seq).await;
        assert_eq!(ids(&*begun.chat).await, ["s1", "m2"]);
        assert_eq!(ledger_keys(&*begun.chat).await, ["k1", "k2"]);
        assert_eq!(begun.chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_read_only_disk_is_refused_by_name() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(&disk);
        let mut begun = Begun::new(&store, "a").await;
        begun.say("m1").await;
        disk.fail_writes(Some(EROFS));
        let refused = begun.lane.append(vec![message("m2", "x").into()], begun.position).await;
        let Err(AppendError::Storage(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.code(), "storage_readonly");
        assert!(error.to_string().contains("read-only"), "{error}");
        let refused = store.create(&"b".parse().unwrap(), About::default()).await.map(|_| ());
        let Err(error) = refused else { panic!("{refused:?}") };
        assert_eq!(error.code(), "storage_readonly");
        assert_eq!(ids(&*begun.chat).await, ["m1"]);
    });
}

#[test]
fn with_flush_nothing_is_synced() {
    let disk = SimDisk::new();
    block_on(async {
        let options = StoreOptions { durability: ship_store::Durability::Flush, ..options() };
        let store = FileStore::on_disk(Box::new(disk.clone()), options);
        let mut begun = Begun::new(&store, "a").await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        begun.say("m1").await;
        begun
            .lane
            .append(vec![message("m2", &"long ".repeat(20_000)).into()], begun.position)
            .await
            .unwrap();
        begun.compact("s1", begun.position.seq).await;
        let is_sync = |op: &Op| matches!(op, Op::Sync(_) | Op::SyncFolder(_));
        assert_eq!(disk.ops().iter().filter(|op| is_sync(op)).count(), 0);
    });
}

#[test]
fn an_abandoned_write_is_finished_before_the_lane_is_free() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(&disk);
        let Begun { chat, lane, position } = Begun::new(&store, "a").await;
        disk.hold_syncs();
        let before = disk.ops_len();
        let append = lane.append(vec![message("m1", "x").into()], position);
        let writes = disk.clone();
        tokio::select! {
            biased;
            _ = append => panic!("its sync is held"),
            _ = tokio::task::spawn_blocking(move || writes.wait_for_held_sync()) => {}
        }
        drop(lane);
        let impatient = StoreOptions { lock_wait_ms: 0, ..options() };
        let other = FileStore::on_disk(Box::new(disk.clone()), impatient);
        let other = other.open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert!(matches!(
            other.lane("early").await,
            Err(LaneError::Storage(StorageError::Busy(_)))
        ));
        disk.release_syncs();
        let _next = chat.lane("next").await.unwrap();
        assert!(disk.ops()[before..].iter().any(|op| matches!(op, Op::Sync(_))));
        assert_eq!(ids(&*chat).await, ["m1"]);
    });
}

#[test]
fn what_was_refused_wherever_the_disk_failed_is_there_once_when_it_comes_again() {
    const EIO_FOREVER: Fault = Fault::Fail(EIO, Lasts::Forever);
    let mut refusals = 0;
    for calls in 0..40 {
        let disk = SimDisk::new();
        block_on(async {
            let store = store_on(&disk);
            let mut begun = Begun::new(&store, "a").await;
            begun.say("m1").await;
            disk.fail_in(calls, EIO_FOREVER);
            let batch = || vec![message("m2", "x").into()];
            let said = begun.lane.append(batch(), begun.position).await;
            disk.heal();
            refusals += usize::from(said.is_err());
            begun.lane.append(batch(), begun.position).await.unwrap();
            assert_eq!(ids(&*begun.chat).await, ["m1", "m2"], "failing from call {calls} on");
        });
    }
    assert!(refusals > 3, "only {refusals} appends were refused");
}

#[test]
fn a_line_that_lost_its_newline_gets_it_again_before_the_next_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join(".ship/chat/a/messages/history.jsonl");
    let open = || FileStore::new(folder.path(), options()).unwrap();
    block_on(async {
        Begun::new(&open(), "a").await.say("m1").await;
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, text.trim_end()).unwrap();

        let chat = open().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(ids(&*chat).await, ["m1"]);
        let position = chat.log().view().await.unwrap().unwrap().position;
        let lane = chat.lane("test").await.unwrap();
        lane.append(vec![message("m2", "x").into()], position).await.unwrap();
        assert_eq!(ids(&*chat).await, ["m1", "m2"]);
    });
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.lines().all(|line| ship_message::json::Json::parse(line).is_ok()), "{text}");
}
