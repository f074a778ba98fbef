//! Imports on disk: what a killed one leaves, what a repair makes of it, and what happens meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_store::disk::{Disk as _, MemoryDisk, OpenMode};
use ship_store::{
    Chat, ContextId, FileStore, Head, Import, ImportError, ImportPiece, ImportSource, Imported,
    Lane, LiveAfterImport, SealedName, StorageProblemKind, Store as _, Timestamp,
};
use ship_testkit::chat::{Begun, entry, everything, id, ids, ledger_keys, message, options};
use ship_testkit::sim::{Fault, SimDisk};
use ship_testkit::sweep::block_on;
use tokio::runtime::Handle;

const ARCHIVE: &str = ".ship/chat/a/messages/archive";
const LIVE: &str = ".ship/chat/a/messages/history.jsonl";

fn log() -> ImportPiece {
    ImportPiece::Log(Head::new(ContextId::new(Timestamp::from_millis(0), 9)))
}

fn line(id: &str) -> ImportPiece {
    ImportPiece::Line(message(id, id).into())
}

fn two_logs() -> ImportSource {
    Box::new([log(), line("i1"), line("i2"), log(), line("i3")].into_iter().map(Ok))
}

async fn import(
    chat: &Arc<dyn Chat>,
    lane: &Arc<dyn Lane>,
    source: ImportSource,
) -> Result<Imported, ImportError> {
    let expected = chat.log().view().await.unwrap().unwrap().position;
    lane.import(Import { expected, live: LiveAfterImport::Kept, source }).await
}

fn archived(disk: &MemoryDisk) -> Vec<PathBuf> {
    let names = disk.contents().into_keys();
    names.filter(|path| path.parent() == Some(Path::new(ARCHIVE))).collect()
}

async fn said(chat: &Arc<dyn Chat>) -> Vec<String> {
    everything(&**chat).await.unwrap().iter().map(id).collect()
}

/// A chat with a sealed log and two messages in the live one.
async fn in_use(store: &FileStore) -> Begun {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.compact("s1", begun.position.seq).await;
    begun.say("m2").await;
    begun
}

/// Wherever it is killed: before a repair nothing is wrong but leftovers, after it nothing at all, and it works again.
#[test]
fn a_killed_import_leaves_nothing_that_a_repair_does_not_take_away() {
    let run = |kill: Option<usize>| {
        let disk = SimDisk::new();
        block_on(async {
            let store = FileStore::on_disk(Box::new(disk.clone()), options());
            let begun = in_use(&store).await;
            let before = disk.calls();
            if let Some(call) = kill {
                disk.fail_in(call, Fault::KillAfter);
            }
            let (expected, live) = (begun.position, LiveAfterImport::Kept);
            let _ = begun.lane.import(Import { expected, live, source: two_logs() }).await;
            disk.revive();
            (disk.calls() - before, disk.memory())
        })
    };
    let (calls, _) = run(None);
    let left = (0..calls).map(|call| block_on(is_all_or_nothing(&run(Some(call)).1)));
    let left: usize = left.sum();
    assert!(calls > 50 && left > 2, "{calls} kills left {left} logs");
}

/// Judges a chat in which an import was killed. Returns how many logs it has left.
async fn is_all_or_nothing(disk: &MemoryDisk) -> usize {
    let store = FileStore::on_disk(Box::new(disk.clone()), options());
    let chat = store.open(&"a".parse().unwrap()).await.unwrap().unwrap();
    let before = said(&chat).await;
    let is_there = before.contains(&"i1".to_owned());
    let (old, all) = (vec!["m1", "s1", "m2"], vec!["m1", "s1", "m2", "i1", "i2", "i3"]);
    assert_eq!(before, if is_there { all.clone() } else { old });
    let found = chat.log().find(&ship_store::MessageId::new("i3").unwrap(), None).await.unwrap();
    assert_eq!(found.is_some(), is_there);
    let problems = chat.verify().await.unwrap();
    let is_leftover = |kind| kind == StorageProblemKind::Leftover;
    assert!(problems.iter().all(|problem| is_leftover(problem.kind)), "{problems:?}");
    let logs = problems.iter().filter(|problem| problem.message.contains("import")).count();
    let lane = chat.lane("test").await.unwrap();
    assert_eq!(chat.repair().await.unwrap().len(), problems.len());
    assert_eq!(chat.verify().await.unwrap(), []);
    assert_eq!(said(&chat).await, before);
    if !is_there {
        import(&chat, &lane, two_logs()).await.unwrap();
        assert_eq!(said(&chat).await, all);
    }
    assert_eq!(ids(&*chat).await, ["s1", "m1", "m2"]);
    assert_eq!(chat.verify().await.unwrap(), []);
    logs
}

#[test]
fn an_import_is_written_as_it_comes_and_keeps_nobody_waiting() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = in_use(&FileStore::on_disk(Box::new(disk.clone()), options())).await;
        let other = FileStore::on_disk(Box::new(disk.clone()), options());
        let (handle, meanwhile) = (Handle::current(), disk.clone());
        let pieces = (0..3000).map(move |nth| {
            if nth == 2999 {
                let is_unfinished = |path: &PathBuf| path.extension() == Some("tmp".as_ref());
                let unfinished = archived(&meanwhile).into_iter().find(is_unfinished);
                let path = unfinished.expect("a log is being written");
                assert!(meanwhile.stat(&path).unwrap().len > 200_000, "most of it is written");
                let accepted = handle.block_on(async {
                    let chat = other.open(&"a".parse().unwrap()).await.unwrap().unwrap();
                    assert_eq!(ids(&*chat).await, ["s1", "m1", "m2"]);
                    chat.ledger().accept(entry("k1", "meanwhile")).await
                });
                accepted.expect("the import does not hold the right to write");
            }
            Ok(line(&format!("i{nth}")))
        });
        let source = Box::new([Ok(log())].into_iter().chain(pieces));
        let imported = import(&begun.chat, &begun.lane, source).await.unwrap();
        let (first, last) = imported.logs[0].range();
        assert_eq!(last.get() - first.get(), 3000);
        assert_eq!(ledger_keys(&*begun.chat).await, ["k1"]);
        assert_eq!(begun.chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_log_that_grows_during_an_import_refuses_it() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = in_use(&FileStore::on_disk(Box::new(disk.clone()), options())).await;
        let before = archived(&disk);
        let (handle, lane, position) = (Handle::current(), Arc::clone(&begun.lane), begun.position);
        let pieces = [log(), line("i1")].into_iter().inspect(move |piece| {
            if matches!(piece, ImportPiece::Line(_)) {
                let append = lane.append(vec![message("m3", "x").into()], position);
                handle.block_on(append).expect("an append waits for nothing");
            }
        });
        let refused = import(&begun.chat, &begun.lane, Box::new(pieces.map(Ok))).await;
        assert!(matches!(refused, Err(ImportError::Moved { .. })), "{refused:?}");
        assert_eq!(archived(&disk), before, "nothing is left of it");
        assert_eq!(ids(&*begun.chat).await, ["s1", "m1", "m2", "m3"]);
        import(&begun.chat, &begun.lane, two_logs()).await.unwrap();
    });
}

#[test]
fn the_live_log_above_an_import_gets_lost_lines_back_from_the_log_that_had_them() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = in_use(&FileStore::on_disk(Box::new(disk.clone()), options())).await;
        import(&begun.chat, &begun.lane, two_logs()).await.unwrap();
        let live = disk.contents().remove(Path::new(LIVE)).unwrap().unwrap();
        let head = live.split_inclusive(|&byte| byte == b'\n').next().unwrap();
        disk.remove(Path::new(LIVE)).unwrap();
        disk.open(Path::new(LIVE), OpenMode::Create).unwrap().write(head).unwrap();
        assert_eq!(begun.chat.repair().await.unwrap().len(), 1);
        assert_eq!(ids(&*begun.chat).await, ["s1", "m1", "m2"]);
        assert_eq!(begun.chat.verify().await.unwrap(), []);
    });
}

/// A live log that was restored from a backup lacks the logs after it. These were published, and a repair keeps them.
#[test]
fn a_log_that_is_not_of_an_import_stays_where_it_is() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = in_use(&FileStore::on_disk(Box::new(disk.clone()), options())).await;
        let live = disk.contents().remove(Path::new(LIVE)).unwrap().unwrap();
        for summary in ["s2", "s3"] {
            begun.say(&format!("before {summary}")).await;
            begun.compact(summary, begun.position.seq).await;
        }
        disk.remove(Path::new(LIVE)).unwrap();
        disk.open(Path::new(LIVE), OpenMode::Create).unwrap().write(&live).unwrap();
        let before = archived(&disk);
        begun.chat.repair().await.unwrap();
        assert_eq!((before.len(), archived(&disk)), (3, before));
        let names = archived(&disk);
        let names = names.iter().filter_map(|path| path.file_stem()?.to_str());
        assert!(names.filter_map(SealedName::parse).count() == 3);
    });
}
