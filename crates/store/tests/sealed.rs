//! Sealed logs on disk: what a purge leaves of one, what is copied from a damaged one, and what looking for them
//! costs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ship_message::json::Object;
use ship_store::disk::{Disk, DiskFile, FileLook, MemoryDisk, OpenMode};
use ship_store::{
    Derived, DerivedState, FileStore, LogPiece, MessageId, NewMessage, PurgeError, ReadError,
    Rotation, SealedName, StorageError, StorageProblemKind, Store,
};
use ship_testkit::chat::{Begun, entry, ids, message, options};
use ship_testkit::sim::{Op, SimDisk};
use ship_testkit::sweep::block_on;

const ARCHIVE: &str = ".ship/chat/a/messages/archive";
const LIVE: &str = ".ship/chat/a/messages/history.jsonl";

const QUARANTINE: &str = ".ship/chat/a/quarantine";

fn on(disk: &MemoryDisk) -> FileStore {
    FileStore::on_disk(Box::new(disk.clone()), options())
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

/// A chat with a sealed log of m1, which came in, m2 and m3. Nothing of it is live.
async fn sealed(store: &FileStore) -> (Begun, SealedName) {
    let mut begun = Begun::new(store, "a").await;
    let inbox = Some(begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq);
    let came_in = NewMessage { message: message("m1", "a secret"), rev: 0, inbox };
    begun.position = begun.lane.append(vec![came_in.into()], begun.position).await.unwrap();
    begun.say("m2").await;
    begun.say("m3").await;
    begun.compact("s1", begun.position.seq.next()).await;
    let log = begun.chat.log().sealed_logs(None, 1).await.unwrap().remove(0).name;
    (begun, log)
}

#[test]
fn a_tombstone_is_the_head_and_one_event() {
    let disk = MemoryDisk::new();
    block_on(async {
        let (begun, log) = sealed(&on(&disk)).await;
        let before = String::from_utf8(bytes(&disk, &path(&log))).unwrap();
        begun.lane.purge(&log, "compact").await.unwrap();
        let after = String::from_utf8(bytes(&disk, &path(&log))).unwrap();
        let lines: Vec<&str> = after.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, before.lines().next().unwrap()));
        let expected = "{\"seq\":4,\"type\":\"evt\",\"in\":2,\"id\":\"e4\",\"ts\":\"2026-02-05T10:15:00.000Z\",\
             \"event\":\"purged\",\"data\":{\"lines\":3,\"by\":\"compact\"},\"crc\":";
        assert!(lines[1].starts_with(expected), "{}", lines[1]);
        assert!(!disk.contents().values().flatten().any(|file| holds(file, "a secret")));
    });
}

#[test]
fn a_tombstone_whose_head_is_doubled_or_damaged_is_listed_as_purged() {
    for injure in [doubled_head, head_with_another_byte] {
        let disk = MemoryDisk::new();
        block_on(async {
            let (begun, log) = sealed(&on(&disk)).await;
            begun.lane.purge(&log, "compact").await.unwrap();
            let injured = injure(&bytes(&disk, &path(&log)));
            put(&disk, &path(&log), &injured);
            let listed = begun.chat.log().sealed().await.unwrap();
            let purged =
                listed.iter().find(|one| one.name == log).and_then(|one| one.purged.clone());
            assert_eq!(purged.map(|purged| purged.lines), Some(3));
            assert!(begun.chat.log().sealed_view_if_readable(&log).await.unwrap().is_none());
        });
    }
}

fn doubled_head(log: &[u8]) -> Vec<u8> {
    let head = log.split_inclusive(|&byte| byte == b'\n').next().unwrap();
    [head, log].concat()
}

fn head_with_another_byte(log: &[u8]) -> Vec<u8> {
    let mut log = log.to_vec();
    log[20] ^= 1;
    log
}

fn holds(file: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(file).contains(text)
}

#[test]
fn the_live_log_and_the_logs_of_other_chats_are_not_purged() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = on(&disk);
        let (begun, log) = sealed(&store).await;
        // An interrupted rotation has left the live log a second name.
        let second = SealedName::parse("20260205T101500000Z-5-6").unwrap();
        disk.link(Path::new(LIVE), &path(&second)).unwrap();
        // Somebody has put the log of another chat here.
        Begun::new(&store, "b").await;
        let foreign = SealedName::parse("20260205T101500000Z-80-81").unwrap();
        put(
            &disk,
            &path(&foreign),
            &bytes(&disk, Path::new(".ship/chat/b/messages/history.jsonl")),
        );
        let before = disk.contents();
        for name in [&second, &foreign] {
            let refused = begun.lane.purge(name, "test").await;
            assert!(matches!(refused, Err(PurgeError::NotSealed { .. })), "{refused:?}");
        }
        // Nor is anything, while there is no live log that has replaced it.
        disk.remove(Path::new(LIVE)).unwrap();
        drop(begun);
        let chat = on(&disk).open(&"a".parse().unwrap()).await.unwrap().unwrap();
        let refused = chat.lane("test").await.unwrap().purge(&log, "test").await;
        let Err(PurgeError::Storage(StorageError::Damaged { .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(bytes(&disk, &path(&log)), before[&path(&log)].clone().unwrap());
    });
}

#[test]
fn a_repair_goes_on_from_a_tombstone_with_nothing_but_its_head() {
    let disk = MemoryDisk::new();
    block_on(async {
        let (begun, log) = sealed(&on(&disk)).await;
        begun.lane.purge(&log, "compact").await.unwrap();
        let before = begun.chat.log().view().await.unwrap().unwrap();
        drop(begun);
        disk.remove(Path::new(LIVE)).unwrap();
        let chat = on(&disk).open(&"a".parse().unwrap()).await.unwrap().unwrap();
        chat.repair().await.unwrap();
        let view = chat.log().view().await.unwrap().unwrap();
        assert_eq!(
            (view.lines.len(), view.inbox),
            (0, before.inbox),
            "what came in is not run again"
        );
        assert_eq!((view.head.context, view.head.sealed), (before.head.context, Some(log.clone())));
        assert!(view.position.seq > log.range().1);
        assert_eq!(chat.verify().await.unwrap(), []);
        let read = chat.log().sealed_view(&log).await;
        assert!(matches!(read, Err(ReadError::Purged { .. })), "{read:?}");
    });
}

#[test]
fn what_an_interrupted_purge_leaves_is_told_and_removed() {
    let disk = MemoryDisk::new();
    block_on(async {
        let (begun, log) = sealed(&on(&disk)).await;
        put(&disk, &path(&log).with_extension("jsonl.tmp"), b"{\"seq\":1,\"type\"");
        let kinds: Vec<_> = begun.chat.verify().await.unwrap().iter().map(|p| p.kind).collect();
        assert_eq!(kinds, [StorageProblemKind::Leftover]);
        begun.chat.repair().await.unwrap();
        assert_eq!(begun.chat.verify().await.unwrap(), []);
        assert_eq!(begun.chat.log().sealed_view(&log).await.unwrap().lines.len(), 3);
    });
}

/// Makes one byte of a line of a log unreadable.
fn damage(disk: &MemoryDisk, log: &SealedName, line: usize) {
    let mut found = bytes(disk, &path(log));
    let ends = found.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let start = std::iter::once(0).chain(ends).nth(line).unwrap();
    found[start + 20] ^= 1;
    put(disk, &path(log), &found);
}

#[test]
fn a_damaged_log_is_purged_like_any_other() {
    for line in [0, 2] {
        let disk = MemoryDisk::new();
        block_on(async {
            let (begun, log) = sealed(&on(&disk)).await;
            damage(&disk, &log, line);
            assert_ne!(begun.chat.verify().await.unwrap(), []);
            begun.lane.purge(&log, "compact").await.unwrap();
            assert_eq!(begun.chat.verify().await.unwrap(), []);
            assert!(!holds(&bytes(&disk, &path(&log)), "a secret"));
            assert_eq!(begun.chat.log().sealed().await.unwrap().len(), 1);
        });
    }
}

#[test]
fn the_readable_lines_of_a_damaged_log_are_copied_and_the_damage_is_told() {
    let disk = MemoryDisk::new();
    block_on(async {
        let (begun, log) = sealed(&on(&disk)).await;
        damage(&disk, &log, 2);
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let (first, last) = log.range();
        let rotation = Rotation {
            expected: Some(view.position.generation),
            head: view.head.clone(),
            pieces: vec![LogPiece::Sealed { log: log.clone(), first, last }],
        };
        let before = bytes(&disk, &path(&log));
        let rotated = begun.lane.rotate(rotation).await.unwrap();
        assert_eq!(ids(&*begun.chat).await, ["m1", "m3"]);
        let [told] = &rotated.damage[..] else { panic!("{:?}", rotated.damage) };
        assert_eq!(Path::new(&told.place), path(&log));
        assert_eq!(bytes(&disk, &path(&log)), before);
        let kept = disk.contents().into_keys().filter(|path| path.starts_with(QUARANTINE));
        assert_eq!(kept.filter(|path| path != Path::new(QUARANTINE)).count(), 1);
    });
}

/// The head of the live log was recovered from an older one, say, and tells less of the inbox than was read.
#[test]
fn a_copied_line_that_is_ahead_of_the_inbox_cursor_does_not_move_it() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = on(&disk);
        let (known, log) = sealed(&store).await;
        let other = Begun::new(&store, "b").await;
        let there = Path::new(".ship/chat/b/messages/archive").join(format!("{log}.jsonl"));
        put(&disk, &there, &bytes(&disk, &path(&log)));
        assert!(known.chat.log().view().await.unwrap().unwrap().inbox.is_some());
        let view = other.chat.log().view().await.unwrap().unwrap();
        let (first, last) = log.range();
        let pieces = vec![LogPiece::Sealed { log, first, last }];
        let expected = Some(view.position.generation);
        let rotation = Rotation { expected, head: view.head, pieces };
        other.lane.rotate(rotation).await.unwrap();
        let view = other.chat.log().view().await.unwrap().unwrap();
        assert_eq!((view.inbox, view.lines.len()), (None, 3));
    });
}

#[test]
fn a_sealed_log_that_was_cut_is_copied_as_far_as_it_goes_and_told() {
    let disk = MemoryDisk::new();
    block_on(async {
        let (begun, log) = sealed(&on(&disk)).await;
        let whole = bytes(&disk, &path(&log));
        put(&disk, &path(&log), &whole[..whole.len() - 30]);
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let (first, last) = (log.range().0, log.range().1);
        let pieces = vec![LogPiece::Sealed { log, first, last }];
        let expected = Some(view.position.generation);
        let rotation = Rotation { expected, head: view.head, pieces };
        let rotated = begun.lane.rotate(rotation).await.unwrap();
        assert_eq!(ids(&*begun.chat).await, ["m1", "m2"]);
        assert_ne!(rotated.damage, []);
        let told: Vec<_> = begun.chat.verify().await.unwrap();
        assert!(told.iter().any(|told| told.message.contains("should end with")), "{told:?}");
    });
}

#[test]
fn derived_files_are_where_they_belong_and_appear_at_once() {
    let sim = SimDisk::new();
    block_on(async {
        let begun = Begun::new(&FileStore::on_disk(Box::new(sim.clone()), options()), "a").await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let context = view.head.context.clone();
        let snapshot = format!("contexts/archive/{context}.json");
        let state = DerivedState { value: Object::new(), position: view.position, crc: view.crc };
        for (which, below) in [
            (Derived::Meta, "messages/meta.json"),
            (Derived::ContextIndex, "contexts/index.json"),
            (Derived::Context(context), snapshot.as_str()),
        ] {
            let path = Path::new(".ship/chat/a").join(below);
            begun.chat.derived().put(which.clone(), state.clone()).await.unwrap();
            assert!(sim.memory().contents().contains_key(&path), "{below}");
            let ops = sim.ops();
            // They can be made again, so nothing of them is synced.
            let [.., Op::Write(..), Op::Rename(_, to, _)] = &ops[..] else {
                panic!("{:?}", ops.last())
            };
            assert_eq!(to, &path);
            begun.chat.derived().remove(which).await.unwrap();
            assert!(!sim.memory().contents().contains_key(&path), "{below}");
            assert!(matches!(sim.ops().last(), Some(Op::Remove(_))));
        }
    });
}

/// A disk that remembers what was opened and listed.
struct Watched {
    disk: MemoryDisk,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    opened: Vec<PathBuf>,
    listed: Vec<PathBuf>,
}

impl Seen {
    /// The files of the archive that were opened since the last call.
    fn take_opened(seen: &Mutex<Self>) -> Vec<PathBuf> {
        let mut opened = std::mem::take(&mut seen.lock().unwrap().opened);
        opened.retain(|path| path.starts_with(ARCHIVE));
        opened
    }

    fn has_listed(seen: &Mutex<Self>) -> bool {
        seen.lock().unwrap().listed.iter().any(|path| path == Path::new(ARCHIVE))
    }
}

impl Disk for Watched {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        self.seen.lock().unwrap().opened.push(path.to_owned());
        self.disk.open(path, mode)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.seen.lock().unwrap().listed.push(path.to_owned());
        self.disk.list(path)
    }

    fn stat(&self, path: &Path) -> io::Result<FileLook> {
        self.disk.stat(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.make_folder(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn symlink(&self, target: &str, path: &Path) -> io::Result<()> {
        self.disk.symlink(target, path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_folder(path)
    }
}

#[test]
fn opening_reading_and_rotating_open_no_sealed_log_but_those_they_name() {
    let disk = MemoryDisk::new();
    let logs = block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        for number in 0..12 {
            begun.say(&format!("m{number}")).await;
            begun.compact(&format!("s{number}"), begun.position.seq).await;
        }
        begun.chat.log().sealed().await.unwrap()
    });
    let seen = Arc::new(Mutex::new(Seen::default()));
    let store = FileStore::on_disk(Box::new(Watched { disk, seen: Arc::clone(&seen) }), options());
    block_on(async {
        let chat = store.open(&"a".parse().unwrap()).await.unwrap().unwrap();
        let view = chat.log().view().await.unwrap().unwrap();
        let lane = chat.lane("test").await.unwrap();
        lane.append(vec![message("new", "new").into()], view.position).await.unwrap();
        assert!(Seen::take_opened(&seen).is_empty(), "opening, reading and appending");

        let log = logs[3].name.clone();
        let (first, last) = log.range();
        let pieces = vec![LogPiece::Sealed { log: log.clone(), first, last }];
        let expected = Some(view.position.generation);
        let rotated = lane.rotate(Rotation { expected, head: view.head, pieces }).await.unwrap();
        assert_eq!(
            Seen::take_opened(&seen),
            [path(&log), path(&rotated.sealed.unwrap())],
            "rotating"
        );

        chat.log().sealed_logs(Some(logs[3].name.clone()), 2).await.unwrap();
        assert_eq!(
            Seen::take_opened(&seen),
            [3, 4, 5].map(|at: usize| path(&logs[at].name)),
            "a page"
        );

        let place = chat.log().find(&MessageId::new("s5").unwrap(), None).await.unwrap().unwrap();
        let read = Seen::take_opened(&seen).len();
        assert_eq!(
            (place.log.as_ref(), read),
            (Some(&logs[5].name), 7),
            "the newest, until it is found"
        );
    });
}

#[test]
fn the_folder_of_sealed_logs_is_listed_only_to_look_for_something_in_it() {
    let (disk, seen) = (MemoryDisk::new(), Arc::new(Mutex::new(Seen::default())));
    let store = FileStore::on_disk(Box::new(Watched { disk, seen: Arc::clone(&seen) }), options());
    block_on(async {
        let (mut begun, log) = sealed(&store).await;
        seen.lock().unwrap().listed.clear();
        begun.say("m4").await;
        begun.compact("s2", begun.position.seq).await;
        begun.chat.log().view().await.unwrap();
        begun.chat.log().sealed_logs(None, 9).await.unwrap();
        begun.lane.record_request(Object::new()).await.unwrap();
        begun.chat.runs().requests(1).await.unwrap();
        begun.lane.purge(&log, "compact").await.unwrap();
        assert!(!Seen::has_listed(&seen));
        begun.chat.verify().await.unwrap();
        assert!(Seen::has_listed(&seen));
    });
}
