//! The list of chats on files: its order, and what it costs.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ship_store::{About, FileStore, Store as _, Synced, Timestamp};
use ship_testkit::chat::{Begun, entry, options};
use ship_testkit::clock::ManualClock;
use ship_testkit::sim::SimDisk;

/// Sets the time of the last write to a log.
fn set_time(project: &Path, file: &str, seconds: u64) {
    let file = File::options().append(true).open(project.join(".ship/chat").join(file)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

#[tokio::test]
async fn the_newest_of_ledger_context_and_journal_is_the_activity_of_a_chat() {
    let project = tempfile::tempdir().unwrap();
    let store = FileStore::new(project.path(), options()).unwrap();
    for key in ["a", "b", "c"] {
        let begun = Begun::new(&store, key).await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        begun.lane.begin_journal(Default::default(), Synced::Now).await.unwrap();
        for log in ["messages/history.jsonl", "conversations/history.jsonl", "messages/run.jsonl"] {
            set_time(project.path(), &format!("{key}/{log}"), 1_000);
        }
    }
    set_time(project.path(), "a/messages/history.jsonl", 1_010);
    set_time(project.path(), "b/conversations/history.jsonl", 1_020);
    set_time(project.path(), "c/messages/run.jsonl", 1_030);
    let page = store.chats(None, 2).await.unwrap();
    let listed: Vec<(&str, Option<Timestamp>)> = page
        .chats
        .iter()
        .map(|look| (look.key.as_ref().unwrap().as_str(), look.activity))
        .collect();
    let at = |seconds: i64| Some(Timestamp::from_millis(seconds * 1_000));
    assert_eq!(listed, [("c", at(1_030)), ("b", at(1_020))]);
    let rest = store.chats(page.next, 2).await.unwrap();
    assert_eq!((rest.chats[0].activity, rest.chats.len(), rest.next), (at(1_010), 1, None));
}

#[tokio::test]
async fn a_page_opens_only_its_own_chats() {
    let disk = SimDisk::new();
    let store = FileStore::on_disk(Box::new(disk.clone()), options());
    for key in ["a", "b", "c"] {
        Begun::new(&store, key).await;
    }
    let opened =
        |key: &str| disk.times_opened(&Path::new(".ship/chat").join(key).join("chat.json"));
    let before = ["a", "b", "c"].map(opened);
    assert_eq!(store.chats(None, 1).await.unwrap().chats.len(), 1);
    assert_eq!(store.overviews(None, 1).await.unwrap().chats.len(), 1);
    let after = ["a", "b", "c"].map(opened);
    assert_eq!(after, [before[0] + 2, before[1], before[2]]);
}

#[tokio::test]
async fn an_idle_chat_costs_the_list_of_work_a_look_at_each_of_its_logs() {
    let calls = async |chats: usize| {
        let disk = SimDisk::new();
        let store = FileStore::on_disk(Box::new(disk.clone()), options());
        for number in 0..chats {
            let chat = Begun::new(&store, &number.to_string()).await.chat;
            chat.note_idle(chat.sizes().await.unwrap()).await.unwrap();
        }
        let before = disk.calls();
        assert!(store.chats_with_work(None, 9).await.unwrap().chats.is_empty());
        disk.calls() - before
    };
    assert_eq!(calls(30).await - calls(10).await, 20 * 3);
}

#[tokio::test]
async fn a_store_that_watches_changes_looks_again_only_at_chats_that_have_changed() {
    let (disk, clock) = (SimDisk::new(), ManualClock::default());
    disk.keep_times(Arc::new(clock.clone()));
    let store = FileStore::on_disk(Box::new(disk.clone()), options());
    for number in 0..50 {
        Begun::new(&store, &number.to_string()).await;
    }
    store.changed(store.moment()).await;
    store.chats(None, 1).await.unwrap();
    let other = FileStore::on_disk(Box::new(disk.other_process()), options());
    for key in ["17", "new"] {
        clock.advance(1_000);
        let chat = other.create(&key.parse().unwrap(), About::default()).await.unwrap();
        chat.ledger().accept(entry("k1", "x")).await.unwrap();
        let before = disk.calls();
        let first = store.chats(None, 1).await.unwrap().chats.remove(0);
        assert_eq!(first.key.unwrap().as_str(), key);
        assert!(disk.calls() - before < 30, "{} calls", disk.calls() - before);
    }
    assert_eq!(store.chats(None, usize::MAX).await.unwrap().chats.len(), 51);
}

#[tokio::test]
async fn a_folder_that_a_person_adds_or_removes_is_noticed_while_changes_are_watched() {
    let project = tempfile::tempdir().unwrap();
    let store = FileStore::new(project.path(), options()).unwrap();
    for key in ["a", "b"] {
        Begun::new(&store, key).await;
    }
    store.changed(store.moment()).await;
    let folder = project.path().join(".ship/chat");
    // The time of a folder is that of its last change.
    File::open(&folder).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let listed = async || store.chats(None, 9).await.unwrap().chats.len();
    assert_eq!(listed().await, 2);
    fs::rename(folder.join("b"), project.path().join("elsewhere")).unwrap();
    assert_eq!(listed().await, 1);
    File::open(&folder).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(listed().await, 1);
    fs::rename(project.path().join("elsewhere"), folder.join("b")).unwrap();
    assert_eq!(listed().await, 2);
}
