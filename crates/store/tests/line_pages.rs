//! Pages of lines on disk: what they cost, what they tell of damage, and what a lost list of purges costs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_store::disk::{Disk, MemoryDisk, OpenMode};
use ship_store::{FileStore, LinesCursor, LinesPage, SealedName, StoreOptions};
use ship_testkit::chat::{Begun, message, options};
use ship_testkit::clock::ManualClock;
use ship_testkit::sim::SimDisk;
use ship_testkit::sweep::block_on;

const ARCHIVE: &str = ".ship/chat/a/messages/archive";
const LIVE: &str = ".ship/chat/a/messages/history.jsonl";
const PURGES: &str = ".ship/chat/a/messages/purges.json";

fn on(disk: impl Disk + 'static) -> FileStore {
    FileStore::on_disk(Box::new(disk), options())
}

fn path(log: &SealedName) -> PathBuf {
    Path::new(ARCHIVE).join(format!("{log}.jsonl"))
}

fn bytes(disk: &MemoryDisk, path: &Path) -> Vec<u8> {
    disk.contents().remove(path).unwrap().unwrap()
}

fn put(disk: &MemoryDisk, path: &Path, bytes: &[u8]) {
    let _ = disk.remove(path);
    disk.open(path, OpenMode::Create).unwrap().write(bytes).unwrap();
}

/// A chat with so many sealed logs, each with three messages of its own. The names, the newest first.
async fn sealed(store: &FileStore, logs: usize) -> (Begun, Vec<SealedName>) {
    let mut begun = Begun::new(store, "a").await;
    for log in 0..logs {
        let batch = (0..3).map(|nth| message(&format!("m{log}-{nth}"), "said").into()).collect();
        begun.position = begun.lane.append(batch, begun.position).await.unwrap();
        begun.compact(&format!("s{log}"), begun.position.seq.next()).await;
    }
    let logs = begun.chat.log().sealed().await.unwrap();
    (begun, logs.into_iter().map(|log| log.name).collect())
}

async fn page(begun: &Begun, cursor: Option<LinesCursor>) -> LinesPage {
    begun.chat.log().lines_after(cursor, 1000).await.unwrap()
}

fn said(page: &LinesPage) -> Vec<&str> {
    page.lines.iter().map(|line| line.line.id()).collect()
}

fn purged(page: &LinesPage) -> Vec<&SealedName> {
    page.purged.iter().map(|log| &log.name).collect()
}

#[test]
fn catching_up_costs_what_is_new() {
    let disk = SimDisk::new();
    block_on(async {
        let (mut begun, logs) = sealed(&on(disk.clone()), 50).await;
        let end = page(&begun, None).await.cursor;
        begun.say("new").await;
        // A process of its own, which has read nothing yet.
        let store = on(disk.clone());
        let chat = ship_store::Store::open(&store, &"a".parse().unwrap()).await.unwrap().unwrap();
        let opened = || logs.iter().map(|log| disk.times_opened(&path(log))).sum::<usize>();
        let (opened_before, read_before) = (opened(), disk.bytes_read());
        let new = chat.log().lines_after(Some(end), 1000).await.unwrap();
        assert_eq!(said(&new), ["new"]);
        assert_eq!(opened() - opened_before, 0, "its cursor is in the live log");
        assert!(disk.bytes_read() - read_before < 10_000);

        begun.compact("sealed", begun.position.seq.next()).await;
        let opened_before = opened();
        let next = page(&begun, Some(new.cursor)).await;
        assert_eq!((said(&next), opened() - opened_before), (vec!["sealed"], 0));
    });
}

#[test]
fn a_purge_is_found_without_a_look_at_the_other_logs() {
    let disk = SimDisk::new();
    block_on(async {
        let (begun, logs) = sealed(&on(disk.clone()), 50).await;
        let start = page(&begun, None).await.cursor;
        // With the first purge the list begins, and each reader looks everywhere once.
        begun.lane.purge(&logs[40], "test").await.unwrap();
        let first = page(&begun, Some(start)).await;
        assert_eq!(purged(&first), [&logs[40]]);
        begun.lane.purge(&logs[20], "test").await.unwrap();
        let opened = || logs.iter().map(|log| disk.times_opened(&path(log))).sum::<usize>();
        let opened_before = opened();
        let second = page(&begun, Some(first.cursor)).await;
        assert_eq!((purged(&second), opened() - opened_before), (vec![&logs[20]], 1));
    });
}

#[test]
fn what_cannot_be_read_is_told_where_it_stands() {
    let disk = MemoryDisk::new();
    block_on(async {
        let (begun, logs) = sealed(&on(disk.clone()), 3).await;
        let log = path(&logs[1]);
        let mut injured = bytes(&disk, &log);
        let at = injured.windows(5).position(|window| window == b"m1-1\"").unwrap();
        injured[at] ^= 1;
        injured.extend_from_slice(b"junk\n");
        put(&disk, &log, &injured);
        disk.remove(&path(&logs[2])).unwrap();
        let whole = page(&begun, None).await;
        assert_eq!(said(&whole), ["s0", "m1-0", "m1-2", "s1", "m2-0", "m2-1", "m2-2", "s2"]);
        let files: Vec<_> = whole.problems.iter().map(|problem| problem.place.as_str()).collect();
        let log = log.to_str().unwrap();
        assert_eq!(files, [path(&logs[2]).to_str().unwrap(), log, log]);
        for limit in 1..6 {
            let (mut lines, mut problems, mut cursor) = (Vec::new(), Vec::new(), None);
            loop {
                let page = begun.chat.log().lines_after(cursor, limit).await.unwrap();
                lines.extend(page.lines);
                problems.extend(page.problems);
                cursor = Some(page.cursor);
                if page.is_last {
                    break;
                }
            }
            assert_eq!((&lines, &problems), (&whole.lines, &whole.problems), "pages of {limit}");
        }
    });
}

#[test]
fn damage_at_the_end_of_the_live_log_is_told_once_when_a_line_follows() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(disk.clone()), "a").await;
        begun.say("m1").await;
        begun.say("m2").await;
        let mut injured = bytes(&disk, Path::new(LIVE));
        let at = injured.len() - 30;
        injured[at] ^= 1;
        put(&disk, Path::new(LIVE), &injured);
        let first = page(&begun, None).await;
        assert_eq!((said(&first), first.problems.len()), (vec!["m1"], 0));
        let position = begun.chat.log().view().await.unwrap().unwrap().position;
        begun.lane.append(vec![message("m3", "x").into()], position).await.unwrap();
        let second = page(&begun, Some(first.cursor)).await;
        assert_eq!((said(&second), second.problems.len()), (vec!["m3"], 1));
        let third = page(&begun, Some(second.cursor)).await;
        assert_eq!((third.lines.len(), third.problems.len()), (0, 0));
    });
}

#[test]
fn without_the_list_of_purges_all_logs_are_looked_at() {
    let (disk, clock) = (MemoryDisk::new(), Arc::new(ManualClock::default()));
    let options = StoreOptions { clock: Arc::clone(&clock) as _, ..options() };
    block_on(async {
        let store = FileStore::on_disk(Box::new(disk.clone()), options);
        let (begun, logs) = sealed(&store, 3).await;
        begun.lane.purge(&logs[0], "test").await.unwrap();
        let seen = page(&begun, None).await.cursor;
        begun.lane.purge(&logs[2], "test").await.unwrap();
        let list = bytes(&disk, Path::new(PURGES));
        for lost in [None, Some(&list[..20])] {
            disk.remove(Path::new(PURGES)).unwrap();
            if let Some(rest) = lost {
                put(&disk, Path::new(PURGES), rest);
            }
            assert_eq!(purged(&page(&begun, Some(seen)).await), [&logs[0], &logs[2]]);
            put(&disk, Path::new(PURGES), &list);
        }
        assert_eq!(purged(&page(&begun, Some(seen)).await), [&logs[2]]);
        put(&disk, Path::new(PURGES), &list[..20]);
        assert_eq!(begun.chat.verify().await.unwrap().len(), 1);
        begun.chat.repair().await.unwrap();
        assert_eq!(begun.chat.verify().await.unwrap(), []);
        clock.advance(1000);
        begun.lane.purge(&logs[1], "test").await.unwrap();
        assert_eq!(purged(&page(&begun, Some(seen)).await), [&logs[0], &logs[1], &logs[2]]);
    });
}

#[test]
fn a_purge_that_did_not_happen_is_told_when_it_does() {
    let disk = MemoryDisk::new();
    block_on(async {
        let (begun, logs) = sealed(&on(disk.clone()), 3).await;
        begun.lane.purge(&logs[2], "test").await.unwrap();
        let seen = page(&begun, None).await.cursor;
        let log = bytes(&disk, &path(&logs[1]));
        begun.lane.purge(&logs[1], "test").await.unwrap();
        // The power went before the tombstone had its name.
        put(&disk, &path(&logs[1]), &log);
        let page_then = page(&begun, Some(seen)).await;
        assert!(page_then.purged.is_empty());
        begun.lane.purge(&logs[0], "test").await.unwrap();
        let page_then = page(&begun, Some(page_then.cursor)).await;
        assert_eq!(purged(&page_then), [&logs[0]]);
        begun.lane.purge(&logs[1], "test").await.unwrap();
        assert_eq!(purged(&page(&begun, Some(page_then.cursor)).await), [&logs[1]]);
    });
}

#[test]
fn the_reader_of_a_log_that_was_restored_from_an_older_copy_begins_anew() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(disk.clone()), "a").await;
        begun.say("m1").await;
        let old = bytes(&disk, Path::new(LIVE));
        begun.say("m2").await;
        let seen = page(&begun, None).await.cursor;
        put(&disk, Path::new(LIVE), &old);
        let anew = page(&begun, Some(seen)).await;
        assert_eq!((anew.begins_anew, said(&anew)), (true, vec!["m1"]));
        let position = begun.chat.log().view().await.unwrap().unwrap().position;
        begun.lane.append(vec![message("m3", "x").into()], position).await.unwrap();
        let anew = page(&begun, Some(seen)).await;
        assert_eq!((anew.begins_anew, said(&anew)), (true, vec!["m1", "m3"]));
        assert!(!page(&begun, Some(anew.cursor)).await.begins_anew);
    });
}
