//! Defects that were mended, one test each: what was lost, and is kept now.

mod blobs;
mod chats;
mod ledger;
mod numbers;
mod sealing;
mod syncs;
mod tails;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ship_message::json::{Json, Object};
use ship_store::disk::{Disk, DiskFile, FileLook, MemoryDisk, OpenMode};
use ship_store::{
    About, Chat, Delivery, DeliveryState, Durability, FileStore, LedgerLine, LedgerSeq, LogPiece,
    NewMessage, RefusedInput, RotateError, Seq, StorageError, StorageProblemKind, Store,
    StoreOptions, Synced, Timestamp,
};
use ship_testkit::chat::{
    Begun, compaction, entry, everything, id, ids, ledger_keys, message, options,
};
use ship_testkit::clock::ManualClock;
use ship_testkit::power;
use ship_testkit::sim::{Fault, Lasts, Op, SimDisk, Window};
use ship_testkit::sweep::block_on;

const EIO: i32 = 5;
const EMFILE: i32 = 24;
const SEALED: &str = ".ship/chat/a/conversations/archive-1.jsonl";
const LEDGER: &str = ".ship/chat/a/conversations/history.jsonl";

/// A project on the real disk with one chat, `a`.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn store(&self) -> FileStore {
        FileStore::new(self.0.path(), options()).expect("a store")
    }
}

fn store_on(disk: impl Disk + 'static) -> FileStore {
    FileStore::on_disk(Box::new(disk), options())
}

fn put(disk: &MemoryDisk, path: &Path, bytes: &[u8]) {
    let _ = disk.remove(path);
    disk.open(path, OpenMode::Create).unwrap().write(bytes).unwrap();
}

/// All paths below a folder, itself included.
fn names(disk: &MemoryDisk, folder: &str) -> Vec<PathBuf> {
    disk.contents().into_keys().filter(|path| path.starts_with(folder)).collect()
}

/// Accepts so many entries that the ledger is sealed with the next.
async fn fill(chat: &dyn Chat, prefix: &str) {
    let large = "x".repeat(30_000);
    for number in 0..140 {
        // The last of four large ones is what makes the ledger too large.
        let text = if number < 136 { "x" } else { &large };
        chat.ledger().accept(entry(&format!("{prefix}{number}"), text)).await.unwrap();
    }
}

async fn opened(disk: &MemoryDisk) -> std::sync::Arc<dyn Chat> {
    store_on(disk.clone()).open(&"a".parse().unwrap()).await.unwrap().unwrap()
}

fn bytes(disk: &MemoryDisk, path: &str) -> Vec<u8> {
    disk.contents().remove(Path::new(path)).unwrap().unwrap()
}

fn delivery(entry: LedgerSeq, text: &str) -> Delivery {
    let data = Object::from([("text", Json::from(text))]);
    let (id, ts, state) = ("d1".to_owned(), Timestamp::from_millis(0), DeliveryState::Planned);
    Delivery { entry, id, ts, state, data }
}

/// A chat with an open delivery in a sealed ledger.
async fn with_outbox(disk: &MemoryDisk, text: &str) -> Delivery {
    let begun = Begun::new(&store_on(disk.clone()), "a").await;
    let seq = begun.chat.ledger().accept(entry("first", "x")).await.unwrap().seq;
    let planned = delivery(seq, text);
    begun.lane.deliver(vec![planned.clone()]).await.unwrap();
    fill(&*begun.chat, "k").await;
    begun.chat.ledger().accept(entry("last", "x")).await.unwrap();
    assert!(disk.stat(Path::new(SEALED)).is_ok());
    planned
}
