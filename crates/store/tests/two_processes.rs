//! Two processes on one chat, of which one has a disk that fails for a few calls: what either was promised stays.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ship_message::json::Object;
use ship_store::disk::{Disk, MemoryDisk, OpenMode};
use ship_store::{Chat, FileStore, Seq, StorageProblemKind, Store, Synced};
use ship_testkit::chat::{Begun, compaction, entry, ids, ledger_keys, message, options};
use ship_testkit::power;
use ship_testkit::sim::{SimDisk, Window};
use ship_testkit::sweep::block_on;

const EIO: i32 = 5;
const LEDGER: &str = ".ship/chat/a/conversations/history.jsonl";

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    Entry,
    Message,
    Part,
    Request,
    Rotation,
}

const ALL: [Write; 5] =
    [Write::Entry, Write::Message, Write::Part, Write::Request, Write::Rotation];

/// A process that has the chat `a` open.
struct Process {
    _store: FileStore,
    chat: Arc<dyn Chat>,
}

impl Process {
    async fn on(disk: impl Disk + 'static) -> Self {
        let store = FileStore::on_disk(Box::new(disk), options());
        let chat = store.open(&"a".parse().unwrap()).await.unwrap().unwrap();
        Self { _store: store, chat }
    }

    async fn write(&self, write: Write, id: &str) -> Result<(), Box<dyn std::error::Error>> {
        if write == Write::Entry {
            self.chat.ledger().accept(entry(id, "x")).await?;
            return Ok(());
        }
        let lane = self.chat.lane("test").await?;
        let view = self.chat.log().view().await?.ok_or("no context")?;
        match write {
            Write::Entry => {}
            Write::Message => {
                lane.append(vec![message(id, "x").into()], view.position).await?;
            }
            Write::Part => lane.journal(vec![message(id, "x")], Synced::Now).await?,
            Write::Request => lane.record_request(message(id, "x")).await?,
            Write::Rotation => {
                let rotation = compaction(&view, vec![message(id, "x").into()], Seq::new(1));
                lane.rotate(rotation).await?;
            }
        }
        Ok(())
    }

    async fn read(&self, write: Write) -> Vec<String> {
        let id = |object: &Object| object.str("id").unwrap_or_default().to_owned();
        let named = |objects: Vec<Object>| objects.iter().map(id).collect();
        match write {
            Write::Entry => ledger_keys(&*self.chat).await,
            Write::Message | Write::Rotation => ids(&*self.chat).await,
            Write::Part => named(self.chat.runs().journal().await.unwrap()),
            Write::Request => named(self.chat.runs().requests(99).await.unwrap()),
        }
    }
}

/// What was written, and whether it was acknowledged.
type Record = Vec<(Write, String, bool)>;

/// Checks that all that was acknowledged is there once, and what was refused not twice.
async fn judge(process: &Process, record: &Record, logs: &[Write], what: &str) {
    for &log in logs {
        let found = process.read(log).await;
        for (_, id, acknowledged) in record.iter().filter(|(write, ..)| *write == log) {
            let count = found.iter().filter(|found| *found == id).count();
            assert!(
                count <= 1 && (count == 1 || !acknowledged),
                "{what}: {id} of {log:?} in {found:?}"
            );
        }
    }
}

/// A fails in the window while it does `failing`, B writes everything, A goes on, B goes on.
async fn story(disk: &SimDisk, failing: Write, window: Window) -> Record {
    drop(Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await);
    let (a, b) = (Process::on(disk.clone()).await, Process::on(disk.other_process()).await);
    let mut record = Record::new();
    for write in ALL {
        a.write(write, &format!("{write:?} before")).await.unwrap();
        record.push((write, format!("{write:?} before"), true));
    }
    disk.fail_changes(window);
    let refused = format!("{failing:?} while the disk fails");
    let written = a.write(failing, &refused).await;
    record.push((failing, refused, written.is_ok()));
    disk.heal();
    for (process, name) in [(&b, "of B"), (&a, "of A"), (&b, "of B again"), (&a, "of A again")] {
        for write in ALL {
            let id = format!("{write:?} {name}");
            let written = process.write(write, &id).await;
            assert!(written.is_ok(), "{window:?} at {failing:?}: {id}: {written:?}");
            record.push((write, id, true));
        }
    }
    record
}

/// How many calls that change the disk something takes.
async fn changes(failing: Write) -> usize {
    let none = Window { after: usize::MAX / 2, len: 0, code: EIO, tears: false };
    let disk = SimDisk::new();
    drop(Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await);
    let a = Process::on(disk.clone()).await;
    a.write(failing, "first").await.unwrap();
    let before = disk.changes();
    disk.fail_changes(none);
    a.write(failing, "second").await.unwrap();
    disk.changes() - before
}

async fn sweep(failing: Write) {
    // A failed call is followed by those that take it back.
    for after in 0..changes(failing).await + 2 {
        for (len, tears) in (1..=5).flat_map(|len| [(len, false), (len, true)]) {
            let disk = SimDisk::new();
            let window = Window { after, len, code: EIO, tears };
            let record = story(&disk, failing, window).await;
            let what = format!("{window:?} at {failing:?}");
            let fresh = Process::on(disk.memory()).await;
            judge(&fresh, &record, &ALL, &what).await;
            let damaged = fresh.chat.verify().await.unwrap();
            let damaged = damaged.iter().find(|problem| problem.kind == StorageProblemKind::Damage);
            assert_eq!(damaged, None, "{what}");
            for (name, cut) in power::states(&disk.ops()) {
                let cut = Process::on(cut).await;
                let synced = [Write::Entry, Write::Message, Write::Part];
                judge(&cut, &record, &synced, &format!("{what}, {name}")).await;
            }
        }
    }
}

#[test]
fn a_failing_accept_erases_nothing_that_another_process_was_promised() {
    block_on(sweep(Write::Entry));
}

#[test]
fn a_failing_append_erases_nothing_that_another_process_was_promised() {
    block_on(sweep(Write::Message));
}

#[test]
fn a_failing_journal_erases_nothing_that_another_process_was_promised() {
    block_on(sweep(Write::Part));
}

#[test]
fn a_failing_record_of_a_request_erases_nothing_that_another_process_wrote() {
    block_on(sweep(Write::Request));
}

#[test]
fn a_failing_rotation_erases_nothing_that_another_process_was_promised() {
    block_on(sweep(Write::Rotation));
}

#[test]
fn the_number_of_an_entry_that_was_taken_back_is_given_to_no_entry_of_another_process() {
    let disk = SimDisk::new();
    block_on(async {
        drop(Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await);
        let (a, b) = (Process::on(disk.clone()).await, Process::on(disk.other_process()).await);
        let first = a.chat.ledger().accept(entry("first", "x")).await.unwrap().seq;
        // A reader may have seen it between the write and the failed sync.
        disk.fail_next_sync(EIO);
        a.write(Write::Entry, "refused").await.unwrap_err();
        let next = b.chat.ledger().accept(entry("of B", "x")).await.unwrap().seq;
        assert_eq!(next.get(), first.get() + 2);
        assert_eq!(ledger_keys(&*b.chat).await, ["first", "of B"]);
        assert_eq!(b.chat.verify().await.unwrap(), []);
    });
}

#[test]
fn what_was_refused_and_could_not_be_taken_back_is_the_same_entry_when_it_comes_again() {
    let disk = SimDisk::new();
    block_on(async {
        drop(Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await);
        let (a, b) = (Process::on(disk.clone()).await, Process::on(disk.other_process()).await);
        a.write(Write::Entry, "first").await.unwrap();
        // The sync, and the cut.
        disk.fail_changes(Window { after: 1, len: 2, code: EIO, tears: false });
        a.write(Write::Entry, "refused").await.unwrap_err();
        b.write(Write::Entry, "of B").await.unwrap();
        let again = a.chat.ledger().accept(entry("refused", "x")).await.unwrap();
        assert!(!again.new);
        assert_eq!(ledger_keys(&*a.chat).await, ["first", "refused", "of B"]);
    });
}

/// A ledger with these entries.
async fn ledger_of(keys: &[&str]) -> Vec<u8> {
    let disk = MemoryDisk::new();
    let chat = Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await.chat;
    for key in keys {
        chat.ledger().accept(entry(key, "x")).await.unwrap();
    }
    disk.contents()[Path::new(LEDGER)].clone().unwrap()
}

#[test]
fn a_log_whose_file_number_went_to_another_file_is_read_anew() {
    let disk = MemoryDisk::new();
    block_on(async {
        drop(Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await);
        let a = Process::on(disk.clone()).await;
        a.write(Write::Entry, "first").await.unwrap();
        // Another process replaced the file twice, and the system gave the number of the first one again.
        let file = disk.open(Path::new(LEDGER), OpenMode::Append).unwrap();
        file.truncate(0).unwrap();
        file.write(&ledger_of(&["another first", "second"]).await).unwrap();
        assert!(a.chat.ledger().entry_of("another first", None).await.unwrap().is_some());
        assert!(!a.chat.ledger().accept(entry("another first", "x")).await.unwrap().new);
        a.write(Write::Entry, "third").await.unwrap();
        let fresh = Process::on(disk.clone()).await;
        assert_eq!(fresh.read(Write::Entry).await, ["another first", "second", "third"]);
        assert_eq!(fresh.chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_process_whose_lane_was_removed_writes_nothing_more() {
    block_on(async {
        let disk = MemoryDisk::new();
        drop(Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await);
        let (first, second) = (Process::on(disk.clone()).await, Process::on(disk.clone()).await);
        let lane = first.chat.lane("first").await.unwrap();
        let position = first.chat.log().view().await.unwrap().unwrap().position;
        disk.remove(Path::new(".ship/chat/a/lane")).unwrap();
        second.write(Write::Message, "m2").await.unwrap();
        assert!(lane.touch().await.is_err(), "a sign of life notices it");
        lane.lost().await;

        let lost = lane.append(vec![message("m1", "x").into()], position).await.unwrap_err();
        let lost = lost.to_string();
        assert!(lost.contains("no longer holds chat `a`: .ship/chat/a/lane was removed"), "{lost}");
        for write in [Write::Part, Write::Request] {
            let lost = match write {
                Write::Part => lane.journal(vec![message("m1", "x")], Synced::Now).await,
                _ => lane.record_request(message("m1", "x")).await,
            };
            assert_eq!(lost.map_err(|error| error.code()), Err("storage_lock_lost"), "{write:?}");
        }
        assert_eq!(first.read(Write::Message).await, ["m2"]);
        drop(lane);
        first.write(Write::Message, "m3").await.unwrap();
        assert_eq!(second.read(Write::Message).await, ["m2", "m3"]);
    });
}

#[test]
fn the_sizes_of_a_chat_tell_what_another_process_has_accepted() {
    block_on(async {
        let disk = SimDisk::new();
        let mut begun =
            Begun::new(&FileStore::on_disk(Box::new(disk.clone()), options()), "a").await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        begun.say("m1").await;
        begun.lane.begin_journal(Object::new(), Synced::Later).await.unwrap();
        let known = begun.chat.sizes().await.unwrap();
        let other = FileStore::on_disk(Box::new(disk.other_process()), options());
        let chat = other.open(begun.chat.key()).await.unwrap().unwrap();
        chat.ledger().accept(entry("k2", "x")).await.unwrap();
        let now = begun.chat.sizes().await.unwrap();
        assert!(now.ledger_bytes > known.ledger_bytes);
        assert_eq!(
            (now.context_bytes, now.journal_bytes),
            (known.context_bytes, known.journal_bytes)
        );
    });
}

/// The system reports the change. The slow look behind it would say that it may have missed some.
#[test]
fn a_change_in_one_process_ends_the_wait_of_another_at_once() {
    block_on(async {
        let project = tempfile::tempdir().unwrap();
        let store = || FileStore::new(project.path(), options()).unwrap();
        let (first, second) = (store(), store());
        let begun = Begun::new(&first, "a").await;
        // A key that is too long for a folder is known by its hash alone.
        let long = Begun::new(&first, &"k".repeat(299)).await;

        // The first wait begins the watch, and ends at once.
        let first = second.changed(second.moment()).await;
        assert!(first.is_partial);
        let moment = second.moment();
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        let changed = second.changed(moment).await;
        assert_eq!((changed.chats, changed.is_partial), (vec![begun.chat.key().clone()], false));

        let other = second.open(long.chat.key()).await.unwrap().unwrap();
        let moment = other.moment();
        long.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        let other_changed = tokio::time::timeout(Duration::from_secs(5), other.changed(moment));
        other_changed.await.expect("before the slow look");
    });
}
