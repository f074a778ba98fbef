//! Defects that were mended, one test each: what was lost, and is kept now.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ship_message::json::{Json, Object};
use ship_store::disk::{Disk, DiskFile, Look, MemoryDisk, Mode};
use ship_store::{
    About, AcceptError, Chat, Delivery, DeliveryState, Durability, FileStore, LedgerSeq,
    NewMessage, OpenError, Options, Piece, ProblemKind, Refused, RotateError, Seq, StorageError,
    Store, Synced, Timestamp,
};
use ship_testkit::chat::{
    Begun, compaction, entry, everything, id, ids, ledger_keys, message, options,
};
use ship_testkit::power;
use ship_testkit::sim::{Op, SimDisk};
use ship_testkit::sweep::block_on;

const EIO: i32 = 5;

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
    disk.open(path, Mode::Create).unwrap().write(bytes).unwrap();
}

/// All paths below a folder, itself included.
fn names(disk: &MemoryDisk, folder: &str) -> Vec<PathBuf> {
    disk.contents().into_keys().filter(|path| path.starts_with(folder)).collect()
}

#[test]
fn an_unfinished_blob_of_a_process_with_the_same_number_stays() {
    let disk = MemoryDisk::new();
    block_on(async {
        let kept = store_on(disk.clone()).put_blob(b"one".to_vec(), "text/plain").await.unwrap();
        let folder = Path::new(".ship/blobs/sha256").join(&kept.sha256[..2]);
        disk.remove(&folder.join(&kept.sha256)).unwrap();
        // Any of the next names that a process number and a count would give.
        let theirs: Vec<PathBuf> = (0..100)
            .map(|number| folder.join(format!("{}-{number}.tmp", std::process::id())))
            .collect();
        theirs.iter().for_each(|path| put(&disk, path, b"half"));
        store_on(disk.clone()).put_blob(b"one".to_vec(), "text/plain").await.unwrap();
        assert!(theirs.iter().all(|path| disk.look(path).is_ok()));
        assert_eq!(names(&disk, folder.to_str().unwrap()).len(), 102, "and nothing of ours");
    });
}

#[test]
fn a_blob_with_other_bytes_of_the_same_length_is_healed_by_the_next_put() {
    let project = Project::new();
    block_on(async {
        let store = project.store();
        let kept = store.put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        let path = project.0.path().join(".ship/blobs/sha256");
        let path = path.join(&kept.sha256[..2]).join(&kept.sha256);
        fs::write(&path, b"\0\0\0\0\0").unwrap();
        store.put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        assert_eq!(store.blob(&kept.sha256).await.unwrap(), b"whole");
    });
}

#[test]
fn a_blob_that_another_process_wrote_and_whose_sync_fails_is_written_anew() {
    let disk = SimDisk::new();
    block_on(async {
        let kept = store_on(disk.clone()).put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        let path = Path::new(".ship/blobs/sha256").join(&kept.sha256[..2]).join(&kept.sha256);
        // As another process leaves it that dies before its sync.
        disk.remove(&path).unwrap();
        disk.open(&path, Mode::Create).unwrap().write(b"whole").unwrap();
        disk.fail_next_sync(EIO);
        let store = store_on(disk.clone());
        if store.put_blob(b"whole".to_vec(), "text/plain").await.is_err() {
            store.put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        }
        for (name, cut) in power::states(&disk.ops()) {
            let found = store_on(cut).blob(&kept.sha256).await;
            assert_eq!(found.unwrap(), b"whole", "{name}");
        }
    });
}

#[test]
fn unfinished_blobs_are_left_alone_while_fresh_and_go_with_a_repair_when_old() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let chat = Begun::new(&store, "a").await.chat;
        let kept = store.put_blob(b"one".to_vec(), "text/plain").await.unwrap();
        let folder = Path::new(".ship/blobs/sha256").join(&kept.sha256[..2]);
        let now = options().clock.now().millis();
        let name = |millis: i64| folder.join(format!("{millis}-00000000000000ff.tmp"));
        let (fresh, old) = (name(now - 60_000), name(now - 2 * 60 * 60 * 1000));
        [&fresh, &old].iter().for_each(|path| put(&disk, path, b"half"));
        let problems = chat.verify().await.unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].kind, ProblemKind::Leftover);
        chat.repair().await.unwrap();
        assert_eq!((disk.look(&fresh).is_ok(), disk.look(&old).is_ok()), (true, false));
    });
}

#[test]
fn what_is_promoted_from_the_ledger_is_as_durable_as_the_promotion() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let begun = Begun::new(&store, "a").await;
        begun.chat.accept(entry("k1", "x")).await.unwrap();
        // Another process, which does not come to syncing.
        let flush = Options { durability: Durability::Flush, ..options() };
        let other = FileStore::on_disk(Box::new(disk.clone()), flush);
        let other = other.open(&"a".parse().unwrap()).await.unwrap().unwrap();
        let seq = other.accept(entry("k2", "x")).await.unwrap().seq;
        let promoted = NewMessage { message: message("m1", "x"), rev: 0, inbox: Some(seq) };
        begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
        for (name, cut) in power::states(&disk.ops()) {
            let chat = store_on(cut).open(&"a".parse().unwrap()).await.unwrap().unwrap();
            let cursor = chat.view().await.unwrap().unwrap().inbox;
            let last = chat.ledger_before(None, 1).await.unwrap();
            assert_eq!(cursor, last.first().map(|line| line.seq), "{name}");
        }
    });
}

#[test]
fn the_number_of_an_entry_that_was_taken_back_is_given_to_no_other() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let chat = Begun::new(&store, "a").await.chat;
        let first = chat.accept(entry("k1", "x")).await.unwrap().seq;
        disk.fail_next_sync(EIO);
        chat.accept(entry("k2", "x")).await.unwrap_err();
        let next = chat.accept(entry("k3", "x")).await.unwrap().seq;
        assert_eq!(next, LedgerSeq::new(first.get() + 2));
        assert_eq!(chat.ledger_after(Some(first), 9).await.unwrap().len(), 1);
        assert_eq!(chat.verify().await.unwrap(), []);
    });
}

const LEDGER: &str = ".ship/chat/a/conversations/history.jsonl";
const SEALED: &str = ".ship/chat/a/conversations/archive-1.jsonl";

/// Accepts so many entries that the ledger is sealed with the next.
async fn fill(chat: &dyn Chat, prefix: &str) {
    let text = "x".repeat(30_000);
    for number in 0..140 {
        chat.accept(entry(&format!("{prefix}{number}"), &text)).await.unwrap();
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
    let seq = begun.chat.accept(entry("first", "x")).await.unwrap().seq;
    let planned = delivery(seq, text);
    begun.lane.deliver(vec![planned.clone()]).await.unwrap();
    fill(&*begun.chat, "k").await;
    begun.chat.accept(entry("last", "x")).await.unwrap();
    assert!(disk.look(Path::new(SEALED)).is_ok());
    planned
}

#[test]
fn an_open_delivery_has_its_whole_text_before_and_after_the_ledger_is_sealed() {
    let disk = MemoryDisk::new();
    block_on(async {
        let text = "long ".repeat(20_000);
        let begun = Begun::new(&store_on(disk.clone()), "b").await;
        let seq = begun.chat.accept(entry("k", "x")).await.unwrap().seq;
        begun.lane.deliver(vec![delivery(seq, &text)]).await.unwrap();
        assert_eq!(begun.chat.open_deliveries().await.unwrap(), [delivery(seq, &text)]);
        let planned = with_outbox(&disk, &text).await;
        let chat = opened(&disk).await;
        assert_eq!(chat.open_deliveries().await.unwrap(), [planned]);
        assert_eq!(chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_ledger_that_lost_its_head_keeps_its_outbox() {
    let disk = MemoryDisk::new();
    block_on(async {
        let planned = with_outbox(&disk, "hello").await;
        let mut live = bytes(&disk, LEDGER);
        live[20] ^= 1;
        put(&disk, Path::new(LEDGER), &live);
        let chat = opened(&disk).await;
        assert_eq!(chat.open_deliveries().await.unwrap(), std::slice::from_ref(&planned));
        let problems = chat.verify().await.unwrap();
        assert!(problems.iter().any(|problem| problem.file == LEDGER), "{problems:?}");
        chat.repair().await.unwrap();
        assert_eq!(chat.open_deliveries().await.unwrap(), [planned]);
        chat.accept(entry("after", "x")).await.unwrap();
        assert_eq!(ledger_keys(&*chat).await.len(), 143);
    });
}

#[test]
fn a_ledger_that_is_gone_is_no_new_one_and_a_repair_goes_on_above_its_numbers() {
    for remains in [None, Some(&b""[..]), Some(b"garbage\n")] {
        let disk = MemoryDisk::new();
        block_on(async {
            let planned = with_outbox(&disk, "hello").await;
            let sealed = opened(&disk).await.ledger_before(None, 2).await.unwrap()[0].seq;
            disk.remove(Path::new(LEDGER)).unwrap();
            remains.into_iter().for_each(|bytes| put(&disk, Path::new(LEDGER), bytes));
            let chat = opened(&disk).await;
            let refused = chat.accept(entry("new", "x")).await;
            let Err(AcceptError::Storage(error @ StorageError::Damaged { .. })) = refused else {
                panic!("{refused:?}")
            };
            assert!(error.to_string().contains(LEDGER), "{error}");
            let problems = chat.verify().await.unwrap();
            assert!(problems.iter().any(|problem| problem.file == LEDGER), "{problems:?}");

            chat.repair().await.unwrap();
            assert_eq!(chat.verify().await.unwrap(), []);
            assert!(chat.accept(entry("new", "x")).await.unwrap().seq > sealed);
            assert!(!chat.accept(entry("k7", "x")).await.unwrap().new);
            assert_eq!(chat.open_deliveries().await.unwrap(), [planned]);
        });
    }
}

#[test]
fn a_ledger_that_is_gone_goes_on_above_what_the_context_promoted() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        let seq = begun.chat.accept(entry("k1", "x")).await.unwrap().seq;
        let promoted = NewMessage { message: message("m1", "x"), rev: 0, inbox: Some(seq) };
        begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
        drop(begun);
        disk.remove(Path::new(LEDGER)).unwrap();
        let chat = opened(&disk).await;
        assert_eq!(chat.verify().await.unwrap()[0].kind, ProblemKind::Missing);
        chat.accept(entry("k2", "x")).await.unwrap_err();
        chat.repair().await.unwrap();
        assert!(chat.accept(entry("k2", "x")).await.unwrap().seq > seq);
    });
}

#[test]
fn a_missing_sealed_ledger_is_named() {
    let disk = MemoryDisk::new();
    block_on(async {
        with_outbox(&disk, "hello").await;
        disk.remove(Path::new(SEALED)).unwrap();
        let problems = opened(&disk).await.verify().await.unwrap();
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!((problem.kind, problem.file.as_str()), (ProblemKind::Missing, SEALED));
    });
}

#[test]
fn a_copy_that_an_interrupted_sealing_left_does_not_stop_the_ledger() {
    for foreign in [false, true] {
        let disk = MemoryDisk::new();
        block_on(async {
            let chat = Begun::new(&store_on(disk.clone()), "a").await.chat;
            chat.accept(entry("first", "x")).await.unwrap();
            let copy = if foreign { b"of another\n".to_vec() } else { bytes(&disk, LEDGER) };
            put(&disk, Path::new(SEALED), &copy);
            fill(&*chat, "k").await;
            chat.accept(entry("last", "x")).await.unwrap();
            assert_eq!(ledger_keys(&*chat).await.len(), 142);
            let kept = names(&disk, ".ship/chat/a")
                .into_iter()
                .filter(|path| disk.contents().get(path) == Some(&Some(copy.clone())));
            assert_eq!(kept.count(), 1, "nothing is thrown away");
        });
    }
}

#[test]
fn one_bad_chat_is_told_and_the_others_are_listed() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        for key in ["a", "b", "c", "d"] {
            Begun::new(&store, key).await;
        }
        // No `chat.json`, one of another chat, and a stray file.
        disk.rename(Path::new(".ship/chat/b/chat.json"), Path::new(".ship/chat/d/old")).unwrap();
        put(&disk, Path::new(".ship/chat/c/chat.json"), b"{\"v\":1,\"chatKey\":\"x\"}\n");
        put(&disk, Path::new(".ship/chat/.DS_Store"), b"x");
        let chats = store.chats().await.unwrap();
        let told: Vec<String> = chats
            .iter()
            .map(|look| match &look.key {
                Ok(key) => key.to_string(),
                Err(problem) => format!("{:?} {}", problem.kind, problem.file),
            })
            .collect();
        let expected =
            ["a", "Missing .ship/chat/b/chat.json", "Damage .ship/chat/c/chat.json", "d"];
        assert_eq!(told, expected);
    });
}

#[test]
fn a_folder_that_cannot_be_looked_into_does_not_stop_the_list() {
    let project = Project::new();
    block_on(async {
        let store = project.store();
        Begun::new(&store, "a").await;
        Begun::new(&store, "b").await;
        let messages = project.0.path().join(".ship/chat/a/messages");
        fs::remove_dir_all(&messages).unwrap();
        fs::write(&messages, "a file").unwrap();
        let chats = store.chats().await.unwrap();
        assert_eq!(chats.iter().map(|look| look.key.is_ok()).collect::<Vec<_>>(), [false, true]);
    });
}

#[test]
fn the_logs_of_another_chat_are_not_adopted() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        Begun::new(&store, "a").await;
        Begun::new(&store, "b").await;
        let log = bytes(&disk, ".ship/chat/b/messages/history.jsonl");
        put(&disk, Path::new(".ship/chat/a/messages/history.jsonl"), &log);
        disk.remove(Path::new(".ship/chat/a/chat.json")).unwrap();
        let store = store_on(disk.clone());
        let refused = store.create(&"a".parse().unwrap(), About::default()).await.map(|_| ());
        let Err(OpenError::Storage(error @ StorageError::OtherChat { .. })) = refused else {
            panic!("{refused:?}")
        };
        assert!(error.to_string().contains("belongs to chat `b`"), "{error}");
        // One's own are: only `chat.json` was lost.
        disk.remove(Path::new(".ship/chat/b/chat.json")).unwrap();
        store_on(disk.clone()).create(&"b".parse().unwrap(), About::default()).await.unwrap();
    });
}

/// A chat with three sealed logs, the oldest first.
async fn with_sealed(disk: &MemoryDisk) -> Vec<PathBuf> {
    let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
    for number in 1..=3 {
        begun.say(&format!("m{number}")).await;
        begun.compact(&format!("s{number}"), begun.position.seq.next()).await;
    }
    begun.say("m4").await;
    let mut sealed = names(disk, ".ship/chat/a/messages/archive");
    sealed.remove(0);
    sealed.sort_by_key(|path| bytes(disk, path.to_str().unwrap())[7]);
    sealed
}

#[test]
fn one_bad_sealed_log_hides_no_other() {
    for remains in [None, Some(&b"garbage\n"[..])] {
        let disk = MemoryDisk::new();
        block_on(async {
            let sealed = with_sealed(&disk).await;
            disk.remove(&sealed[1]).unwrap();
            remains.into_iter().for_each(|bytes| put(&disk, &sealed[1], bytes));
            let chat = opened(&disk).await;
            let all: Vec<String> = everything(&*chat).await.unwrap().iter().map(id).collect();
            assert_eq!(all, ["m1", "s2", "m3", "s3", "m4"]);
            let problems = chat.verify().await.unwrap();
            let files: Vec<&Path> = problems.iter().map(|told| Path::new(&told.file)).collect();
            assert!(files.iter().all(|file| *file == sealed[1]) && !files.is_empty(), "{files:?}");
        });
    }
}

#[test]
fn a_repair_goes_on_from_the_newest_sealed_log_when_the_live_one_is_lost() {
    const LIVE: &str = ".ship/chat/a/messages/history.jsonl";
    for remains in [None, Some(&b""[..]), Some(b"garbage\n")] {
        let disk = MemoryDisk::new();
        block_on(async {
            with_sealed(&disk).await;
            let before = opened(&disk).await.view().await.unwrap().unwrap();
            disk.remove(Path::new(LIVE)).unwrap();
            remains.into_iter().for_each(|bytes| put(&disk, Path::new(LIVE), bytes));
            let chat = opened(&disk).await;
            let problems = chat.verify().await.unwrap();
            assert!(problems.iter().any(|problem| problem.file == LIVE), "{problems:?}");
            chat.repair().await.unwrap();
            assert_eq!(chat.verify().await.unwrap(), []);
            let view = chat.view().await.unwrap().unwrap();
            assert_eq!(view.head.context, before.head.context);
            assert_eq!(view.position.generation, before.position.generation);
            assert_eq!(ids(&*chat).await, ["s2", "m3"]);
            let lane = chat.lane("test").await.unwrap();
            lane.append(vec![message("m5", "m5").into()], view.position).await.unwrap();
            let all: Vec<String> = everything(&*chat).await.unwrap().iter().map(id).collect();
            assert_eq!(all, ["m1", "s1", "m2", "s2", "m3", "m5"]);
            let kept = names(&disk, ".ship/chat/a/quarantine");
            let found = kept.iter().any(|path| {
                remains.is_some_and(|remains| disk.contents()[path].as_deref() == Some(remains))
            });
            assert_eq!(found, remains.is_some());
        });
    }
}

#[test]
fn records_of_model_calls_are_read_on_into_the_sealed_ones() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        let text = "x".repeat(30_000);
        for number in 0..150 {
            let record = Object::from([
                ("number", Json::from(u64::try_from(number).unwrap())),
                ("text", text.as_str().into()),
            ]);
            begun.lane.record_request(record).await.unwrap();
        }
        let numbers = async |limit| -> Vec<u64> {
            let requests = begun.chat.requests(limit).await.unwrap();
            requests.iter().filter_map(|request| request.get("number")?.as_u64()).collect()
        };
        assert_eq!(numbers(200).await, (0..150).collect::<Vec<_>>());
        assert_eq!(numbers(3).await, [147, 148, 149]);
        // A record is a record though the head is damaged.
        let path = ".ship/chat/a/messages/requests.jsonl";
        let mut live = bytes(&disk, path);
        live[20] ^= 1;
        put(&disk, Path::new(path), &live);
        assert_eq!(numbers(200).await.len(), 150);
    });
}

#[test]
fn damage_in_the_ledger_is_read_around_and_named() {
    let disk = MemoryDisk::new();
    block_on(async {
        let chat = Begun::new(&store_on(disk.clone()), "a").await.chat;
        for key in ["k1", "k2", "k3"] {
            chat.accept(entry(key, "x")).await.unwrap();
        }
        let mut live = bytes(&disk, LEDGER);
        let at = live.windows(4).position(|four| four == b"\"k2\"").unwrap();
        live[at + 1] ^= 1;
        put(&disk, Path::new(LEDGER), &live);
        let chat = opened(&disk).await;
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k3"]);
        let problems = chat.verify().await.unwrap();
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!((problem.kind, problem.file.as_str()), (ProblemKind::Damage, LEDGER));
        chat.accept(entry("k4", "x")).await.unwrap();
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k3", "k4"]);
    });
}

/// A disk on which the next sync of one folder fails.
#[derive(Clone)]
struct FailingFolder(SimDisk, Arc<Mutex<Option<PathBuf>>>);

impl Disk for FailingFolder {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        self.0.open(path, mode)
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.0.make_folder(path)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.link(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn symlink(&self, target: &str, path: &Path) -> io::Result<()> {
        self.0.symlink(target, path)
    }
    fn look(&self, path: &Path) -> io::Result<Look> {
        self.0.look(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match self.1.lock().unwrap().take_if(|failing| failing == path) {
            Some(_) => Err(io::Error::from_raw_os_error(EIO)),
            None => self.0.sync_folder(path),
        }
    }
}

#[test]
fn a_name_whose_sync_failed_is_given_anew() {
    let cases =
        [(".ship/chat/a/messages", "history.jsonl"), (".ship/chat/a/messages/archive", ".jsonl")];
    for (folder, name) in cases {
        let disk = FailingFolder(SimDisk::new(), Arc::default());
        block_on(async {
            let store = store_on(disk.clone());
            let mut begun = Begun::new(&store, "a").await;
            begun.say("m1").await;
            let view = begun.chat.view().await.unwrap().unwrap();
            *disk.1.lock().unwrap() = Some(folder.into());
            begun.lane.rotate(compaction(&view, Vec::new(), Seq::new(1))).await.unwrap_err();
            let failed_at = disk.0.ops_len();
            let view = begun.chat.view().await.unwrap().unwrap();
            match name {
                "history.jsonl" => {
                    let batch = vec![message("m2", "m2").into()];
                    begun.lane.append(batch, view.position).await.unwrap();
                }
                _ => {
                    let rotation = compaction(&view, Vec::new(), Seq::new(1));
                    begun.lane.rotate(rotation).await.unwrap();
                }
            }
            let ops = disk.0.ops().split_off(failed_at);
            let anew = ops.iter().position(|op| match op {
                Op::Name(path, _) | Op::Rename(_, path, _) => {
                    path.starts_with(folder) && path.to_str().unwrap().ends_with(name)
                }
                _ => false,
            });
            assert!(anew.is_some(), "{folder}: {ops:?}");
        });
    }
}

#[test]
fn with_flush_a_log_whose_sync_failed_is_published_anew_before_it_is_sealed() {
    let disk = SimDisk::new();
    block_on(async {
        let flush = Options { durability: Durability::Flush, ..options() };
        let store = FileStore::on_disk(Box::new(disk.clone()), flush);
        let mut begun = Begun::new(&store, "a").await;
        begun.say("m1").await;
        let view = begun.chat.view().await.unwrap().unwrap();
        let rotation = compaction(&view, Vec::new(), Seq::new(99));
        disk.fail_next_sync(EIO);
        begun.lane.rotate(rotation.clone()).await.unwrap_err();
        begun.lane.rotate(rotation).await.unwrap();
        for (name, cut) in power::states(&disk.ops()) {
            let chat = store_on(cut).open(&"a".parse().unwrap()).await.unwrap().unwrap();
            let all: Vec<String> = everything(&*chat).await.unwrap().iter().map(id).collect();
            assert_eq!(all, ["m1"], "{name}");
        }
    });
}

#[test]
fn what_a_journal_took_for_later_is_not_believed_after_a_failed_sync() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let begun = Begun::new(&store, "a").await;
        let part = |id: &str| vec![message(id, id)];
        begun.lane.begin_journal(Object::new()).await.unwrap();
        begun.lane.journal(part("p1"), Synced::Later).await.unwrap();
        disk.fail_next_sync(EIO);
        begun.lane.journal(part("p2"), Synced::Now).await.unwrap_err();
        begun.lane.journal(part("p2"), Synced::Now).await.unwrap();
        for (name, cut) in power::states(&disk.ops()) {
            let chat = store_on(cut).open(&"a".parse().unwrap()).await.unwrap().unwrap();
            let parts: Vec<String> = chat.journal().await.unwrap().iter().map(id).collect();
            assert_eq!(parts, ["", "p1", "p2"], "{name}");
        }
    });
}

#[test]
fn a_rotation_keeps_only_lines_that_are_there() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
        begun.say("m1").await;
        let view = begun.chat.view().await.unwrap().unwrap();
        for (first, last) in [(2, 9), (0, 2), (2, 1), (7, 9)] {
            let mut rotation = compaction(&view, Vec::new(), Seq::new(99));
            rotation.pieces = vec![Piece::Keep(Seq::new(first), Seq::new(last))];
            let refused = begun.lane.rotate(rotation).await;
            let Err(RotateError::Refused(Refused::NoLines { .. })) = refused else {
                panic!("{refused:?}")
            };
        }
    });
}

#[test]
fn a_rotation_takes_its_cursor_from_nobody_and_makes_the_link_again() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        let link = Path::new(".ship/chat/a/contexts/active.jsonl");
        disk.remove(link).unwrap();
        let view = begun.chat.view().await.unwrap().unwrap();
        let mut rotation = compaction(&view, Vec::new(), Seq::new(99));
        rotation.head.inbox = Some(LedgerSeq::new(7));
        begun.lane.rotate(rotation).await.unwrap();
        assert_eq!(begun.chat.view().await.unwrap().unwrap().inbox, None);
        assert!(disk.look(link).is_ok());
        disk.remove(link).unwrap();
        begun.chat.repair().await.unwrap();
        assert!(disk.look(link).is_ok());
    });
}

#[test]
fn errors_name_the_thing_that_is_wrong() {
    let project = Project::new();
    block_on(async {
        let limited = Options { message_bytes_max: 100, ..options() };
        let store = FileStore::new(project.0.path(), limited).unwrap();
        let begun = Begun::new(&store, "a").await;
        let long = Object::from([("text", Json::from("x".repeat(200)))]);
        let told = begun.lane.record_request(long).await.unwrap_err().to_string();
        assert!(told.contains("requests.jsonl") && told.contains("limits.messageBytes"), "{told}");
        assert!(!told.contains("disk"), "{told}");
    });
    let chat = project.0.path().join(".ship/chat/a");
    fs::remove_dir_all(chat.join("conversations")).unwrap();
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        chat.accept(entry("k1", "x")).await.unwrap();
    });
    fs::remove_file(chat.join("conversations/history.jsonl")).unwrap();
    fs::create_dir(chat.join("conversations/history.jsonl")).unwrap();
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        let told = chat.accept(entry("k1", "x")).await.unwrap_err().to_string();
        assert!(told.contains("is not a plain file"), "{told}");
    });
}

#[test]
fn those_who_wait_for_a_lane_are_in_nobodys_way() {
    let patient = Options { lock_wait_ms: 5000, ..options() };
    let store = FileStore::in_memory(patient);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().max_blocking_threads(2).build().unwrap();
    runtime.block_on(async {
        let Begun { chat, lane, .. } = Begun::new(&store, "a").await;
        let other = Begun::new(&store, "b").await.chat;
        let waiting: Vec<_> = (0..8)
            .map(|_| {
                let chat = chat.clone();
                tokio::spawn(async move { chat.lane("waiting").await.map(drop) })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let accepted = other.accept(entry("k1", "x"));
        tokio::time::timeout(Duration::from_secs(2), accepted).await.unwrap().unwrap();
        drop(lane);
        for waiter in waiting {
            waiter.await.unwrap().unwrap();
        }
    });
}

#[test]
fn a_torn_tail_is_in_quarantine_for_good_before_it_is_cut() {
    let disk = SimDisk::new();
    block_on(async {
        Begun::new(&store_on(disk.clone()), "a").await.say("m1").await;
        let live = Path::new(".ship/chat/a/messages/history.jsonl");
        disk.open(live, Mode::Append).unwrap().write(b"{\"seq\":3,\"ty").unwrap();
        let before = disk.ops_len();
        let chat = store_on(disk.clone()).open(&"a".parse().unwrap()).await.unwrap().unwrap();
        chat.repair().await.unwrap();
        let ops = disk.ops().split_off(before);
        let cut = ops.iter().position(|op| matches!(op, Op::Truncate(..))).unwrap();
        let aside = Path::new(".ship/chat/a/quarantine");
        let kept = ops
            .iter()
            .position(|op| matches!(op, Op::SyncFolder(folder) if folder == aside))
            .unwrap();
        assert!(kept < cut, "{ops:?}");
    });
}
