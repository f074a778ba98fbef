//! Files that are missing, empty or half written: the chat goes on from what can be read.

use std::path::Path;
use std::sync::Arc;

use ship_store::disk::{Disk, MemoryDisk, OpenMode};
use ship_store::{
    About, Chat, Derived, DerivedState, FileStore, LedgerSeq, NewMessage, Store, Synced,
};
use ship_testkit::chat::{Begun, entry, ids, ledger_keys, message, options};
use ship_testkit::sweep::block_on;

const ABOUT: &str = ".ship/chat/a/chat.json";
const LIVE: &str = ".ship/chat/a/messages/history.jsonl";
const LEDGER: &str = ".ship/chat/a/conversations/history.jsonl";
const META: &str = ".ship/chat/a/messages/meta.json";

fn on(disk: &MemoryDisk) -> FileStore {
    FileStore::on_disk(Box::new(disk.clone()), options())
}

async fn opened(disk: &MemoryDisk) -> Arc<dyn Chat> {
    on(disk).open(&"a".parse().unwrap()).await.unwrap().expect("a chat")
}

fn bytes(disk: &MemoryDisk, path: &str) -> Vec<u8> {
    disk.contents().remove(Path::new(path)).unwrap().unwrap()
}

/// Leaves these bytes of a file, or no file.
fn leave(disk: &MemoryDisk, path: &str, bytes: Option<&[u8]>) {
    let _ = disk.remove(Path::new(path));
    if let Some(bytes) = bytes {
        disk.open(Path::new(path), OpenMode::Create).unwrap().write(bytes).unwrap();
    }
}

/// A chat with one promoted message.
async fn with_one_message(disk: &MemoryDisk) -> LedgerSeq {
    let begun = Begun::new(&on(disk), "a").await;
    let seq = begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
    let promoted = NewMessage { message: message("m1", "x"), rev: 0, inbox: Some(seq) };
    begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
    seq
}

#[test]
fn a_chat_whose_about_file_is_lost_is_listed_read_and_given_another() {
    let other = b"{\"v\":1,\"chatKey\":\"b\"}\n";
    for remains in [None, Some(&b""[..]), Some(b"{\"v\":1,\"chatK"), Some(other)] {
        let disk = MemoryDisk::new();
        block_on(async {
            with_one_message(&disk).await;
            leave(&disk, ABOUT, remains);
            let listed = on(&disk).chats(None, usize::MAX).await.unwrap().chats;
            assert_eq!(listed[0].key.as_ref().map(|key| key.as_str()), Ok("a"));
            let chat = opened(&disk).await;
            assert_eq!(ids(&*chat).await, ["m1"]);
            assert_eq!(chat.verify().await.unwrap().len(), 1);
            chat.repair().await.unwrap();
            assert_eq!(chat.verify().await.unwrap(), []);
            assert!(bytes(&disk, ABOUT).starts_with(b"{\"v\":1,\"chatKey\":\"a\""));

            leave(&disk, ABOUT, remains);
            let made = on(&disk).create(&"a".parse().unwrap(), About::default()).await.unwrap();
            assert_eq!(made.verify().await.unwrap(), []);
        });
    }
}

#[test]
fn a_context_log_of_which_nothing_is_left_is_set_aside_and_the_chat_begins_another() {
    for remains in [&b""[..], b"garbage\n", b"{\"seq\":1,\"ty"] {
        let disk = MemoryDisk::new();
        block_on(async {
            let seq = with_one_message(&disk).await;
            leave(&disk, LIVE, Some(remains));
            let chat = opened(&disk).await;
            assert_ne!(chat.verify().await.unwrap(), []);
            assert!(chat.ledger().accept(entry("k2", "x")).await.unwrap().seq > seq);
            chat.repair().await.unwrap();
            assert_eq!(chat.log().view().await.unwrap(), None);
            let kept = disk.contents().into_iter().any(|(path, bytes)| {
                path.starts_with(".ship/chat/a/quarantine") && bytes.as_deref() == Some(remains)
            });
            assert!(kept, "nothing is thrown away");
            let lane = chat.lane("test").await.unwrap();
            lane.rotate(ship_testkit::chat::first_context()).await.unwrap();
            assert_eq!(chat.verify().await.unwrap(), []);
        });
    }
}

#[test]
fn a_chat_that_has_lost_its_log_and_can_read_no_sealed_one_goes_on() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        begun.compact("s1", begun.position.seq).await;
        let sealed = begun.chat.log().sealed().await.unwrap().remove(0).name;
        drop(begun);
        leave(&disk, LIVE, None);
        leave(&disk, &format!(".ship/chat/a/messages/archive/{sealed}.jsonl"), Some(b""));
        let chat = opened(&disk).await;
        chat.ledger().accept(entry("k1", "x")).await.unwrap();
        chat.repair().await.unwrap();
        let position = chat.log().view().await.unwrap().unwrap().position;
        assert!(position.seq > sealed.range().1);
        let lane = chat.lane("test").await.unwrap();
        let mut begun = Begun { chat, lane, position };
        begun.say("m2").await;
        begun.compact("s2", begun.position.seq).await;
        assert_eq!(ids(&*begun.chat).await, ["s2", "m2"]);
    });
}

#[test]
fn an_empty_or_missing_ledger_takes_the_next_message_above_the_cursor() {
    for remains in [None, Some(&b""[..]), Some(b"{\"seq\":1")] {
        let disk = MemoryDisk::new();
        block_on(async {
            let seq = with_one_message(&disk).await;
            leave(&disk, LEDGER, remains);
            let chat = opened(&disk).await;
            assert!(chat.ledger().accept(entry("k2", "x")).await.unwrap().seq > seq);
            assert_eq!(ledger_keys(&*chat).await, ["k2"]);
        });
    }
}

#[test]
fn a_derived_file_with_a_flipped_byte_is_made_anew_and_taken_away_by_a_repair() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&on(&disk), "a").await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let value = message("note", "lunch");
        let state = DerivedState { value, position: view.position, crc: view.crc };
        begun.chat.derived().put(Derived::Meta, state.clone()).await.unwrap();
        assert_eq!(begun.chat.derived().read(Derived::Meta).await.unwrap(), Some(state));
        let text = String::from_utf8(bytes(&disk, META)).unwrap().replace("lunch", "bunch");
        leave(&disk, META, Some(text.as_bytes()));
        assert_eq!(begun.chat.derived().read(Derived::Meta).await.unwrap(), None);
        assert_eq!(begun.chat.verify().await.unwrap().len(), 1);
        begun.chat.repair().await.unwrap();
        assert_eq!(begun.chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_sealed_log_of_which_nothing_is_left_is_purged_like_any_other() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        begun.compact("s1", begun.position.seq).await;
        let sealed = begun.chat.log().sealed().await.unwrap().remove(0).name;
        leave(&disk, &format!(".ship/chat/a/messages/archive/{sealed}.jsonl"), Some(b""));
        begun.lane.purge(&sealed, "compact").await.unwrap();
        assert_eq!(begun.chat.verify().await.unwrap(), []);
        assert!(begun.chat.log().sealed().await.unwrap()[0].purged.is_some());
    });
}

#[test]
fn a_sealed_log_of_which_nothing_is_left_is_told_as_gone_and_no_repair_is_named() {
    for remains in [None, Some(&b""[..]), Some(b"{\"seq\":1,\"ty")] {
        let disk = MemoryDisk::new();
        block_on(async {
            let mut begun = Begun::new(&on(&disk), "a").await;
            begun.say("m1").await;
            begun.compact("s1", begun.position.seq).await;
            let sealed = begun.chat.log().sealed().await.unwrap().remove(0).name;
            leave(&disk, &format!(".ship/chat/a/messages/archive/{sealed}.jsonl"), remains);
            let refused = begun.chat.log().sealed_view(&sealed).await.unwrap_err().to_string();
            assert!(refused.ends_with("restore it from a copy, or go on without it"), "{refused}");
        });
    }
}

#[test]
fn a_repair_says_whether_a_log_was_missing_or_empty_or_had_lost_its_head() {
    let garbled = b"garbled\n";
    for (remains, told) in [
        (None, "the log was missing; "),
        (Some(&b""[..]), "the log was empty; "),
        (Some(garbled), "the log had lost its head; "),
    ] {
        for path in [LIVE, LEDGER] {
            let disk = MemoryDisk::new();
            block_on(async {
                let mut begun = Begun::new(&on(&disk), "a").await;
                begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
                begun.say("m1").await;
                begun.compact("s1", begun.position.seq).await;
                let promoted = NewMessage {
                    message: message("m2", "x"),
                    rev: 0,
                    inbox: Some(LedgerSeq::new(2)),
                };
                begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
                drop(begun);
                leave(&disk, path, remains);
                let repaired = opened(&disk).await.repair().await.unwrap();
                let messages: Vec<&str> = repaired.iter().map(|it| it.message.as_str()).collect();
                assert!(messages.iter().any(|it| it.starts_with(told)), "{path}: {messages:?}");
            });
        }
    }
}

#[test]
fn a_log_of_another_kind_in_the_place_of_a_log_is_set_aside_and_the_chat_goes_on() {
    const RUN: &str = ".ship/chat/a/messages/run.jsonl";
    const REQUESTS: &str = ".ship/chat/a/messages/requests.jsonl";
    for (from, to) in [
        (LEDGER, LIVE),
        (RUN, LIVE),
        (LIVE, LEDGER),
        (REQUESTS, LEDGER),
        (LIVE, RUN),
        (LEDGER, REQUESTS),
    ] {
        let disk = MemoryDisk::new();
        block_on(async {
            let seq = with_one_message(&disk).await;
            let chat = opened(&disk).await;
            let lane = chat.lane("test").await.unwrap();
            let position = chat.log().view().await.unwrap().unwrap().position;
            let mut begun = Begun { chat, lane, position };
            begun.compact("s1", begun.position.seq).await;
            begun.lane.begin_journal(message("run", "x"), Synced::Now).await.unwrap();
            begun.lane.record_request(message("q1", "x")).await.unwrap();
            let copied = bytes(&disk, from);
            // The process that works on the chat finds it, and so does the next one.
            leave(&disk, to, Some(&copied));
            let told = opened(&disk).await.verify().await.unwrap();
            let told: Vec<_> = told.iter().filter(|problem| problem.place == to).collect();
            assert!(told[0].message.contains("a log of another kind"), "{told:?}");

            assert!(begun.chat.ledger().accept(entry("k2", "x")).await.unwrap().seq > seq);
            drop(begun);
            let chat = opened(&disk).await;
            let lane = chat.lane("test").await.unwrap();
            chat.repair().await.unwrap();
            let kept = disk.contents().into_iter().any(|(path, bytes)| {
                path.starts_with(".ship/chat/a/quarantine") && bytes.as_ref() == Some(&copied)
            });
            assert!(kept, "{from} as {to} is kept");
            let position = chat.log().view().await.unwrap().unwrap().position;
            lane.append(vec![message("m3", "x").into()], position).await.unwrap();
            lane.begin_journal(message("run", "x"), Synced::Now).await.unwrap();
            lane.record_request(message("q2", "x")).await.unwrap();
            // The context goes on from its sealed log, which has no summary yet.
            let all: &[_] = if to == LIVE { &["m1", "m3"] } else { &["s1", "m1", "m3"] };
            assert_eq!(ids(&*opened(&disk).await).await, all, "{from} as {to}");
            let keys = ledger_keys(&*opened(&disk).await).await;
            assert_eq!(keys.last().map(String::as_str), Some("k2"), "{from} as {to}");
            assert_eq!(keys.len(), if to == LEDGER { 1 } else { 2 }, "{from} as {to}");
            assert_eq!(opened(&disk).await.repair().await.unwrap(), [], "{from} as {to}");
        });
    }
}
