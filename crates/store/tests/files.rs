//! What is found on disk: damage, leftovers, links, other formats, and a ledger that grows.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_store::{
    About, AppendError, FileStore, LedgerSeq, ReadError, RotateError, Seq, StorageError,
    StorageProblemKind, Store, StoreOptions,
};
use ship_testkit::chat::{
    Begun, compaction, entry, everything, id, ids, ledger_keys, message, options,
};
use ship_testkit::clock::ManualClock;
use ship_testkit::sweep::block_on;

/// A project on the real disk with one chat, `a`.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn store(&self) -> FileStore {
        FileStore::new(self.0.path(), options()).expect("a store")
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(".ship/chat/a").join(below)
    }

    /// A chat with these messages, closed again.
    fn with(messages: &[&str]) -> Self {
        let project = Self::new();
        block_on(async {
            let mut begun = Begun::new(&project.store(), "a").await;
            for id in messages {
                begun.say(id).await;
            }
        });
        project
    }

    /// Changes the bytes of the live log.
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.path("messages/history.jsonl");
        let mut bytes = fs::read(&path).expect("a log");
        change(&mut bytes);
        fs::write(&path, bytes).expect("a log");
    }

    fn quarantined(&self) -> Vec<Vec<u8>> {
        let Ok(entries) = fs::read_dir(self.path("quarantine")) else { return Vec::new() };
        entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
    }
}

/// Where line number `line` of a log begins.
fn line_start(bytes: &[u8], line: usize) -> usize {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).nth(line).expect("a line")
}

#[test]
fn a_torn_tail_is_read_past_by_readers_and_cut_into_quarantine_by_a_writer() {
    for tail in [&b"{\"seq\":4,\"type\":\"msg\",\"id\":\"m3\""[..], &[0; 700], b"{\0\n", b"{}"] {
        let project = Project::with(&["m1", "m2"]);
        project.change(|bytes| bytes.extend(tail));
        let before = fs::read(project.path("messages/history.jsonl")).unwrap();
        block_on(async {
            let store = project.store();
            let chat = store.open(&"a".parse().unwrap()).await.unwrap().unwrap();
            assert_eq!(ids(&*chat).await, ["m1", "m2"]);
            let problems = chat.verify().await.unwrap();
            assert_eq!(problems[0].kind, StorageProblemKind::TornTail);
            let after = fs::read(project.path("messages/history.jsonl")).unwrap();
            assert_eq!((after == before, project.quarantined().len()), (true, 0));

            let notes = chat.repair().await.unwrap();
            assert_eq!(notes.len(), 1, "{notes:?}");
            assert_eq!(project.quarantined(), [tail]);
            assert_eq!(chat.verify().await.unwrap(), []);
            let lane = chat.lane("test").await.unwrap();
            let end = chat.log().view().await.unwrap().unwrap().position;
            lane.append(vec![message("m3", "m3").into()], end).await.unwrap();
            assert_eq!(ids(&*chat).await, ["m1", "m2", "m3"]);
        });
    }
}

#[test]
fn damage_in_the_middle_is_quarantined_and_named_and_a_rotation_goes_on_without_it() {
    let project = Project::with(&["m1", "m2", "m3"]);
    let mut lost = Vec::new();
    project.change(|bytes| {
        let (from, to) = (line_start(bytes, 2), line_start(bytes, 3));
        bytes[from + 30] ^= 4;
        lost = bytes[from..to].to_vec();
    });
    block_on(async {
        let store = project.store();
        let chat = store.open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(ids(&*chat).await, ["m1", "m3"]);
        let lane = chat.lane("test").await.unwrap();
        let view = chat.log().view().await.unwrap().unwrap();
        assert_eq!(view.problems[0].kind, StorageProblemKind::Damage);
        lane.append(vec![message("m4", "m4").into()], view.position).await.unwrap();
        assert_eq!(project.quarantined(), std::slice::from_ref(&lost));

        let rotated = lane.rotate(compaction(&view, Vec::new(), Seq::new(1))).await.unwrap();
        assert_eq!(ids(&*chat).await, ["m1", "m3", "m4"]);
        assert!(chat.log().view().await.unwrap().unwrap().problems.is_empty());
        // The damaged log is whole in the archive, and is named there.
        let problems = chat.verify().await.unwrap();
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert!(problem.place.contains(rotated.sealed.unwrap().as_str()), "{problem:?}");
        assert_eq!(project.quarantined(), [lost]);
    });
}

#[test]
fn a_log_that_lost_its_head_is_read_and_a_repair_gives_it_another() {
    let project = Project::new();
    block_on(async {
        let mut begun = Begun::new(&project.store(), "a").await;
        begun.say("m1").await;
        begun.compact("s1", Seq::new(2)).await;
        begun.say("m2").await;
        begun.compact("s2", Seq::new(6)).await;
        begun.say("m3").await;
    });
    project.change(|bytes| bytes[20] ^= 1);
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        let everything =
            async || -> Vec<String> { everything(&*chat).await.unwrap().iter().map(id).collect() };
        assert_eq!(ids(&*chat).await, ["s2", "m2", "m3"]);
        assert_eq!(everything().await, ["m1", "s1", "m2", "s2", "m3"]);
        let lane = chat.lane("test").await.unwrap();
        let end = chat.log().view().await.unwrap().unwrap().position;
        let refused = lane.append(vec![message("m4", "m4").into()], end).await;
        let told = refused.expect_err("a log without a head").to_string();
        assert!(told.contains("`ship repair`"), "{told}");

        assert_eq!(chat.repair().await.unwrap().len(), 1);
        let end = chat.log().view().await.unwrap().unwrap().position;
        lane.append(vec![message("m4", "m4").into()], end).await.unwrap();
        assert_eq!(ids(&*chat).await, ["s2", "m2", "m3", "m4"]);
        assert_eq!(everything().await, ["m1", "s1", "m2", "s2", "m3", "m4"]);
    });
}

#[test]
fn a_ledger_or_a_journal_that_lost_its_head_is_mended_by_a_repair() {
    let project = Project::with(&["m1"]);
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        chat.ledger().accept(entry("k1", "x")).await.unwrap();
        chat.ledger().accept(entry("k2", "x")).await.unwrap();
        let lane = chat.lane("test").await.unwrap();
        lane.journal(vec![message("p1", "x")], ship_store::Synced::Now).await.unwrap();
    });
    for log in ["conversations/history.jsonl", "messages/run.jsonl"] {
        let mut bytes = fs::read(project.path(log)).unwrap();
        bytes[20] ^= 1;
        fs::write(project.path(log), bytes).unwrap();
    }
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k2"]);
        // A message is not refused for what became of the ledger.
        assert!(chat.ledger().accept(entry("k3", "x")).await.unwrap().new);
        assert_eq!(chat.repair().await.unwrap().len(), 2);
        assert!(!chat.ledger().accept(entry("k1", "x")).await.unwrap().new);
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k2", "k3"]);
        let lane = chat.lane("test").await.unwrap();
        lane.journal(vec![message("p2", "x")], ship_store::Synced::Now).await.unwrap();
        assert!(chat.runs().journal().await.unwrap().contains(&message("p2", "x")));
    });
}

#[test]
fn lines_glued_together_are_read_and_said() {
    let project = Project::with(&["m1", "m2", "m3"]);
    project.change(|bytes| {
        let end = line_start(bytes, 2) - 1;
        bytes.remove(end);
    });
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(ids(&*chat).await, ["m1", "m2", "m3"]);
        let problems = chat.verify().await.unwrap();
        assert!(
            problems.iter().all(|problem| problem.kind == StorageProblemKind::Glued),
            "{problems:?}"
        );
        assert!(!problems.is_empty());
    });
}

#[test]
fn a_missing_or_empty_live_log_is_no_new_chat() {
    let project = Project::new();
    block_on(async {
        let mut begun = Begun::new(&project.store(), "a").await;
        begun.say("m1").await;
        begun.compact("s1", Seq::new(2)).await;
    });
    let live = project.path("messages/history.jsonl");
    fs::write(&live, "").unwrap();
    let refused = || {
        block_on(async {
            let store = project.store();
            let chat = store.create(&"a".parse().unwrap(), About::default()).await.unwrap();
            let read = chat.log().view().await;
            let Err(ReadError::Storage(error @ StorageError::Damaged { .. })) = read else {
                panic!("{read:?}")
            };
            assert!(error.to_string().contains("messages/history.jsonl"), "{error}");
            let lane = chat.lane("test").await.unwrap();
            let begun = lane.rotate(ship_testkit::chat::first_context()).await;
            assert!(matches!(begun, Err(RotateError::Storage(_))), "{begun:?}");
            assert!(!chat.verify().await.unwrap().is_empty());
        });
    };
    refused();
    fs::remove_file(&live).unwrap();
    refused();
}

#[test]
fn leftovers_of_an_interrupted_write_are_never_read_and_go_with_a_repair() {
    let project = Project::with(&["m1"]);
    let leftover = project.path("messages/history.jsonl.tmp");
    fs::write(&leftover, "{\"seq\":1,\"type\":\"msg\"").unwrap();
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(chat.verify().await.unwrap()[0].kind, StorageProblemKind::Leftover);
        assert_eq!(chat.repair().await.unwrap()[0].kind, StorageProblemKind::Leftover);
        assert!(!leftover.exists());
        assert_eq!(ids(&*chat).await, ["m1"]);
    });
}

#[test]
fn no_symbolic_link_is_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let swap = |path: &Path| {
        let target = elsewhere.path().join(path.file_name().unwrap());
        fs::rename(path, &target).unwrap();
        symlink(&target, path).unwrap();
    };
    for linked in
        ["", "messages", "messages/history.jsonl", "messages/archive", "lock", "chat.json"]
    {
        let project = Project::with(&["m1"]);
        let path = project.path(linked);
        let path = if linked.is_empty() { path.parent().unwrap().join("a") } else { path };
        swap(&path);
        let before = fs::read_dir(elsewhere.path()).unwrap().count();
        let refused = block_on(async {
            let store = project.store();
            let chat = store.create(&"a".parse().unwrap(), About::default()).await?;
            let lane = chat.lane("test").await.map_err(|error| error.to_string())?;
            let view = chat.log().view().await.map_err(|error| error.to_string())?.unwrap();
            let rotation = compaction(&view, Vec::new(), Seq::new(1));
            lane.rotate(rotation).await.map_err(|error| error.to_string())?;
            Ok::<(), Box<dyn std::error::Error>>(())
        });
        let told = refused.expect_err(linked).to_string();
        assert!(told.contains("symbolic link"), "{linked}: {told}");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), before);
        fs::remove_dir_all(elsewhere.path()).unwrap();
        fs::create_dir(elsewhere.path()).unwrap();
    }
}

#[test]
fn a_chat_that_was_deleted_begins_anew_in_a_program_that_goes_on() {
    let project = Project::with(&["m1"]);
    let store = project.store();
    block_on(async {
        let key: ship_store::ChatKey = "a".parse().unwrap();
        let say = async |name: &str| {
            let chat = store.create(&key, About::default()).await.unwrap();
            chat.ledger().accept(entry(name, "hi")).await.unwrap()
        };
        let first = say("k1").await;
        assert!(!say("k1").await.new, "it is known when nobody has the chat open");
        assert!(say("k2").await.seq > first.seq);

        fs::remove_dir_all(project.path("")).unwrap();
        assert!(store.open(&key).await.unwrap().is_none());
        assert_eq!(say("k1").await, first);
    });
}

#[test]
fn what_a_program_knows_of_a_ledger_never_hides_what_another_wrote() {
    let project = Project::with(&["m1"]);
    let path = project.path("conversations/history.jsonl");
    block_on(async {
        let key: ship_store::ChatKey = "a".parse().unwrap();
        let (ours, theirs) = (project.store(), project.store());
        let ours = ours.create(&key, About::default()).await.unwrap();
        let theirs = theirs.create(&key, About::default()).await.unwrap();
        let compare = async |what: &str| {
            let fresh = project.store().open(&key).await.unwrap().unwrap();
            for after in (0..9).map(LedgerSeq::new) {
                let known = ours.ledger().after(Some(after), 3).await.unwrap();
                let read = fresh.ledger().after(Some(after), 3).await.unwrap();
                assert_eq!(known, read, "{what}, behind {after}");
            }
        };
        for name in ["k1", "k2", "k3"] {
            ours.ledger().accept(entry(name, "hi")).await.unwrap();
        }
        compare("ours alone").await;
        theirs.ledger().accept(entry("k4", "hi")).await.unwrap();
        compare("with theirs").await;

        let good = fs::read(&path).unwrap();
        let mut torn = good.clone();
        torn.extend_from_slice(b"{\"seq\":9");
        fs::write(&path, &torn).unwrap();
        compare("with a torn tail").await;
        let mut damaged = good.clone();
        let at = line_start(&good, 3);
        damaged[at + 20] ^= 1;
        fs::write(&path, &damaged).unwrap();
        compare("with damage").await;
        fs::remove_file(&path).unwrap();
        fs::write(&path, &good[..line_start(&good, 3)]).unwrap();
        compare("another file").await;
    });
}

#[test]
fn two_keys_in_one_folder_are_told_apart() {
    // As on a disk that does not tell capital letters apart.
    let project = Project::new();
    block_on(async { Begun::new(&project.store(), "A").await.say("m1").await });
    let chats = project.0.path().join(".ship/chat");
    fs::rename(chats.join("A"), chats.join("a")).unwrap();
    let refused = block_on(async {
        project.store().create(&"a".parse().unwrap(), About::default()).await.map(|_| ())
    });
    let Err(error @ StorageError::OtherChat { .. }) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("belongs to chat `A`, not to `a`"), "{error}");
}

#[test]
fn a_newer_format_is_read_as_far_as_possible_and_never_written() {
    let project = Project::with(&["m1"]);
    let about = fs::read_to_string(project.path("chat.json")).unwrap();
    fs::write(project.path("chat.json"), about.replace("\"v\":1", "\"v\":2")).unwrap();
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(ids(&*chat).await, ["m1"]);
        let lane = chat.lane("test").await.unwrap();
        let end = chat.log().view().await.unwrap().unwrap().position;
        let refused = lane.append(vec![message("m2", "x").into()], end).await;
        let Err(AppendError::Storage(error @ StorageError::Newer { found: 2, known: 1, .. })) =
            refused
        else {
            panic!("{refused:?}")
        };
        assert!(error.to_string().contains("use a newer version of ship"), "{error}");
    });
}

#[test]
fn files_are_for_their_owner_alone_and_all_below_ship() {
    let project = Project::with(&["m1"]);
    let mut pending = vec![project.0.path().to_owned()];
    let mut seen = 0;
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let data = entry.metadata().unwrap();
            let kind = entry.file_type().unwrap();
            let expected = if kind.is_dir() { 0o700 } else { 0o600 };
            if !kind.is_symlink() {
                assert_eq!(data.permissions().mode() & 0o777, expected, "{:?}", entry.path());
            }
            if kind.is_dir() {
                pending.push(entry.path());
            }
            seen += 1;
        }
    }
    assert!(seen > 8);
    assert_eq!(fs::read_dir(project.0.path()).unwrap().count(), 1);
    let link = fs::read_link(project.path("contexts/active.jsonl")).unwrap();
    assert_eq!(link, Path::new("../messages/history.jsonl"));
}

#[test]
fn a_large_ledger_is_sealed_and_its_keys_are_remembered_for_seven_days() {
    let clock = ManualClock::default();
    let options = StoreOptions { clock: Arc::new(clock.clone()), ..options() };
    let store = FileStore::in_memory(options);
    let text = "x".repeat(30_000);
    block_on(async {
        let begun = Begun::new(&store, "a").await;
        let chat = begun.chat;
        let first = chat.ledger().accept(entry("k0", &text)).await.unwrap().seq;
        for number in 1..300 {
            chat.ledger().accept(entry(&format!("k{number}"), &text)).await.unwrap();
        }
        let all: Vec<String> = (0..300).map(|number| format!("k{number}")).collect();
        assert_eq!(ledger_keys(&*chat).await, all);
        let middle = chat.ledger().after(Some(first), 3).await.unwrap();
        assert_eq!(middle[0].seq, first.next());

        clock.advance(6 * 24 * 60 * 60 * 1000);
        let again = chat.ledger().accept(entry("k0", &text)).await.unwrap();
        assert_eq!((again.seq, again.new), (first, false));
        assert_eq!(chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_clock_that_jumps_by_a_year_makes_no_key_that_was_just_accepted_new() {
    const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;
    let text = "x".repeat(30_000);
    for jump_ms in [YEAR_MS, -YEAR_MS] {
        let project = Project::new();
        let clock = ManualClock::default();
        let store = || {
            let options = StoreOptions { clock: Arc::new(clock.clone()), ..options() };
            FileStore::new(project.0.path(), options).unwrap()
        };
        block_on(async {
            let chat = Begun::new(&store(), "a").await.chat;
            for number in 0..150 {
                chat.ledger().accept(entry(&format!("k{number}"), &text)).await.unwrap();
            }
            clock.advance(jump_ms);
            assert!(!chat.ledger().accept(entry("k149", &text)).await.unwrap().new, "{jump_ms} ms");
            // One more ledger is sealed after the jump.
            for number in 150..290 {
                chat.ledger().accept(entry(&format!("k{number}"), &text)).await.unwrap();
            }
            assert!(!chat.ledger().accept(entry("k5", &text)).await.unwrap().new, "{jump_ms} ms");
            clock.advance(-jump_ms);
            assert!(
                !chat.ledger().accept(entry("k5", &text)).await.unwrap().new,
                "{jump_ms} ms, and back"
            );
        });
        block_on(async {
            let chat = store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
            assert!(
                !chat.ledger().accept(entry("k5", &text)).await.unwrap().new,
                "{jump_ms} ms, anew"
            );
        });
    }
}

#[test]
fn keys_survive_a_restart_with_and_without_their_derived_file() {
    let project = Project::new();
    let text = "x".repeat(30_000);
    block_on(async {
        let chat = Begun::new(&project.store(), "a").await.chat;
        for number in 0..160 {
            chat.ledger().accept(entry(&format!("k{number}"), &text)).await.unwrap();
        }
    });
    let keys = project.path("conversations/archive-1.keys");
    for damage in [None, Some(&b"SHIPKEY1 and nonsense"[..])] {
        damage.into_iter().for_each(|bytes| fs::write(&keys, bytes).unwrap());
        block_on(async {
            let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
            assert!(!chat.ledger().accept(entry("k3", &text)).await.unwrap().new);
            assert!(!chat.ledger().accept(entry("k159", &text)).await.unwrap().new);
        });
    }
    fs::remove_file(&keys).unwrap();
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        assert!(!chat.ledger().accept(entry("k3", &text)).await.unwrap().new);
        assert_eq!(ledger_keys(&*chat).await.len(), 160);
    });
}

#[test]
fn a_missing_blob_leaves_a_preview_and_is_named() {
    let project = Project::new();
    let long = format!("begin {} end", "x".repeat(50_000));
    block_on(async {
        let store = project.store();
        let begun = Begun::new(&store, "a").await;
        begun.lane.append(vec![message("m1", &long).into()], begun.position).await.unwrap();
        let line = fs::read_to_string(project.path("messages/history.jsonl")).unwrap();
        assert!(line.len() < 4000, "a line holds a preview");
        assert!(line.contains("\"blobs\":{\"/parts/0/text\":{\"sha256\":\""), "{line}");
        fs::remove_dir_all(project.0.path().join(".ship/blobs")).unwrap();
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let shown = ship_testkit::chat::text(view.messages().next().unwrap());
        assert!(shown.starts_with("begin xxx") && shown.ends_with("xxx end"), "{shown}");
        assert_eq!(view.problems[0].kind, StorageProblemKind::Blob);
        assert_eq!(begun.chat.verify().await.unwrap()[0].kind, StorageProblemKind::Blob);
    });
}

#[test]
fn the_fixtures_of_format_1_open_for_good() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1");
    let project = tempfile::tempdir().unwrap();
    copy(&fixture, &project.path().join(".ship"));
    block_on(async {
        let store = FileStore::new(project.path(), options()).unwrap();
        let chat = store.open(&"telegram-chat--100".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(chat.verify().await.unwrap(), []);
        let all: Vec<String> = everything(&*chat).await.unwrap().iter().map(id).collect();
        assert_eq!(all, ["m1", "m2", "m3", "s1", "m4"]);
        assert_eq!(ids(&*chat).await, ["s1", "m3", "m4"]);
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k2"]);
        assert!(!chat.ledger().accept(entry("k1", "hello")).await.unwrap().new);
        let view = chat.log().view().await.unwrap().unwrap();
        let revised = view.messages().nth(1).unwrap();
        assert_eq!(ship_testkit::chat::text(revised), "revised");
        let lane = chat.lane("test").await.unwrap();
        lane.append(vec![message("m5", "x").into()], view.position).await.unwrap();
    });
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&entry.path(), &target),
            kind if kind.is_file() => drop(fs::copy(entry.path(), target).unwrap()),
            _ => {}
        }
    }
}

#[test]
fn a_list_of_chats_shows_what_their_logs_hold() {
    let project = Project::new();
    block_on(async {
        let store = project.store();
        // Plain, with a batch, a revision and an event; and one whose messages wait.
        let mut begun = Begun::new(&store, "a").await;
        begun.say("m1").await;
        let batch = vec![message("m2", "x").into(), message("m3", "x").into()];
        begun.position = begun.lane.append(batch, begun.position).await.unwrap();
        let waiting = Begun::new(&store, "b").await;
        waiting.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        waiting.chat.ledger().accept(entry("k2", "x")).await.unwrap();
        let mut revised = Begun::new(&store, "c").await;
        revised.say("m1").await;
        let again = ship_store::NewMessage { message: message("m1", "y"), rev: 1, inbox: None };
        revised.lane.append(vec![again.into()], revised.position).await.unwrap();
        Begun::new(&store, "d").await.say("m1").await;
    });
    // A line with a wrong checksum and a torn tail are no messages.
    let live = project.0.path().join(".ship/chat/d/messages/history.jsonl");
    let mut bytes = fs::read(&live).unwrap();
    bytes.extend_from_slice(
        b"{\"seq\":3,\"type\":\"msg\",\"id\":\"m2\",\"crc\":\"00000000\"}\n{\"seq\":4,",
    );
    fs::write(&live, bytes).unwrap();
    block_on(async {
        let store = project.store();
        let mut listed = Vec::new();
        for overview in store.overviews(None, 9).await.unwrap().chats {
            let (key, content) = (overview.look.key.unwrap(), overview.content.unwrap().unwrap());
            let chat = store.open(&key).await.unwrap().unwrap();
            let view = chat.log().view().await.unwrap().unwrap();
            assert_eq!(content.messages, view.messages().count(), "{key}");
            assert_eq!(content.last_message.as_ref(), view.messages().last(), "{key}");
            assert_eq!(content.head, Some(view.head.clone()), "{key}");
            let lines = chat.ledger().after(view.inbox, 9).await.unwrap();
            assert_eq!(content.new_lines, lines, "{key}");
            listed.push((key, content.messages, lines.len()));
        }
        listed.sort_unstable();
        let listed: Vec<_> =
            listed.iter().map(|(key, said, new)| (key.as_str(), *said, *new)).collect();
        assert_eq!(listed, [("a", 3, 0), ("b", 0, 2), ("c", 1, 0), ("d", 1, 0)]);
    });
}

#[test]
fn a_list_of_chats_counts_each_message_once_whatever_was_copied_or_sealed() {
    let project = Project::new();
    block_on(async {
        let store = project.store();
        let said = async || {
            let mut listed = store.overviews(None, 9).await.unwrap();
            listed.chats.pop().unwrap().content.unwrap().unwrap().messages_said
        };
        let mut begun = Begun::new(&store, "a").await;
        for (nth, id) in ["m1", "m2", "m3", "m4"].into_iter().enumerate() {
            begun.say(id).await;
            assert_eq!(said().await, nth as u64 + 1);
            // The last message is copied behind a summary.
            begun.compact(&format!("s{nth}"), begun.position.seq).await;
            assert_eq!(said().await, nth as u64 + 1, "a copy does not count");
        }
        // Another log is sealed before anybody counts, and what is known is lost or nonsense.
        begun.say("m5").await;
        begun.compact("s5", begun.position.seq).await;
        let file = project.path("messages/count.json");
        let known = fs::read_to_string(&file).unwrap();
        assert_eq!(said().await, 5);
        assert_ne!(fs::read_to_string(&file).unwrap(), known, "it is kept");
        for content in [None, Some("{"), Some(r#"{"v":2,"last":"x","messages":99}"#)] {
            fs::remove_file(&file).unwrap();
            if let Some(content) = content {
                fs::write(&file, content).unwrap();
            }
            assert_eq!(said().await, 5, "{content:?}");
        }
        assert_eq!(
            store.open(&"a".parse().unwrap()).await.unwrap().unwrap().verify().await.unwrap(),
            []
        );
    });
}

#[test]
fn a_holder_that_touches_its_lane_has_moved_now_and_holds_it_since_then() {
    let project = Project::new();
    block_on(async {
        let begun = Begun::new(&project.store(), "a").await;
        let year_1970 = std::time::SystemTime::UNIX_EPOCH;
        for name in ["lane", "messages/history.jsonl"] {
            let file = fs::File::options().write(true).open(project.path(name)).unwrap();
            file.set_modified(year_1970).unwrap();
        }
        let before = begun.chat.lane_holder().await.unwrap().unwrap();
        assert_eq!(before.holder.pid(), Some(std::process::id()));
        assert_eq!(before.last_write.unwrap().millis(), 0);
        begun.lane.touch().await.unwrap();
        let after = begun.chat.lane_holder().await.unwrap().unwrap();
        assert!(after.last_write > before.last_write, "{after:?}");
        assert_eq!(after.holder, before.holder);
    });
}
