//! The list of chats on files: its order, and what it costs.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ship_store::{FileStore, Store as _, Timestamp};
use ship_testkit::chat::{Begun, entry, options};
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
        begun.lane.begin_journal(Default::default()).await.unwrap();
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
    let after = ["a", "b", "c"].map(opened);
    assert_eq!(after, [before[0] + 1, before[1], before[2]]);
}
