//! A ledger or a context that was restored from an older copy: nothing that comes in falls below the cursor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_message::json::Object;
use ship_store::disk::{Disk, OpenMode};
use ship_store::{
    About, AnsweredEntries, Chat, FileStore, LedgerBody, LedgerEntry, LedgerLine, LedgerSeq,
    LogPiece, NewMessage, RotateError, Rotation, Store,
};
use ship_testkit::chat::{Begun, entry, ledger_keys, message, options};
use ship_testkit::sim::SimDisk;
use ship_testkit::sweep::block_on;

fn file(name: &str) -> PathBuf {
    Path::new(".ship/chat/a").join(name)
}

const LEDGER: &str = "conversations/history.jsonl";
const CONTEXT: &str = "messages/history.jsonl";

fn read(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(&file(name), OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.stat().unwrap().len).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// Puts a file in the place of another, as a restore does.
fn restore(disk: &SimDisk, name: &str, bytes: &[u8]) {
    let aside = file("restored");
    disk.open(&aside, OpenMode::Create).unwrap().write(bytes).unwrap();
    disk.rename(&aside, &file(name)).unwrap();
}

async fn chat_on(disk: &SimDisk) -> Arc<dyn Chat> {
    let store = FileStore::on_disk(Box::new(disk.clone()), options());
    store.create(&"a".parse().unwrap(), About::default()).await.unwrap()
}

/// A chat that has promoted three entries, and its ledger when it had one.
async fn three_promoted(disk: &SimDisk) -> Vec<u8> {
    let store = FileStore::on_disk(Box::new(disk.clone()), options());
    let mut begun = Begun::new(&store, "a").await;
    let mut short = Vec::new();
    for name in ["k1", "k2", "k3"] {
        let accepted = begun.chat.ledger().accept(entry(name, "hi")).await.unwrap();
        if name == "k1" {
            short = read(disk, LEDGER);
        }
        let new = NewMessage { message: message(name, "hi"), rev: 0, inbox: Some(accepted.seq) };
        begun.position = begun.lane.append(vec![new.into()], begun.position).await.unwrap();
    }
    short
}

async fn problems(chat: &dyn Chat) -> Vec<String> {
    chat.verify().await.unwrap().into_iter().map(|problem| problem.message).collect()
}

#[test]
fn an_entry_of_a_short_ledger_goes_above_what_the_context_has_read() {
    block_on(async {
        let disk = SimDisk::new();
        let short = three_promoted(&disk).await;
        let cursor = chat_on(&disk).await.log().view().await.unwrap().unwrap().inbox.unwrap();
        restore(&disk, LEDGER, &short);
        let chat = chat_on(&disk).await;
        let told = "the ledger ends at entry 2, but the context has read up to 4";
        assert_eq!(problems(&*chat).await, [told]);
        let accepted = chat.ledger().accept(entry("k4", "hi")).await.unwrap();
        assert!(accepted.seq > cursor, "{} is not above the cursor, {cursor}", accepted.seq);
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k4"]);
        assert_eq!(chat.ledger().accept(entry("k1", "hi")).await.unwrap().seq, LedgerSeq::new(2));
        let told = "the entries 3 to 4 before it are missing";
        assert_eq!(problems(&*chat).await, [told]);
        assert_eq!(problems(&*chat_on(&disk).await).await, [told]);
    });
}

#[test]
fn a_program_that_goes_on_notices_that_the_context_has_read_more() {
    block_on(async {
        let disk = SimDisk::new();
        let short = three_promoted(&disk).await;
        let context = read(&disk, CONTEXT);
        restore(&disk, LEDGER, &short);
        let lines = context.split_inclusive(|&byte| byte == b'\n').take(2);
        restore(&disk, CONTEXT, &lines.flatten().copied().collect::<Vec<u8>>());
        let chat = chat_on(&disk).await;
        let below = chat.ledger().accept(entry("k4", "hi")).await.unwrap().seq;
        restore(&disk, CONTEXT, &context);
        let above = chat.ledger().accept(entry("k5", "hi")).await.unwrap().seq;
        assert_eq!((below.get(), above.get()), (3, 6), "the head of the next ledger is 5");
    });
}

#[test]
fn an_accept_reads_no_context_log_when_nothing_has_changed() {
    block_on(async {
        let disk = SimDisk::new();
        three_promoted(&disk).await;
        let chat = chat_on(&disk).await;
        chat.ledger().accept(entry("k4", "hi")).await.unwrap();
        let before = disk.bytes_read_of(&file(CONTEXT));
        assert!(before > 0, "the first accept looks at it");
        for number in 5..50 {
            chat.ledger().accept(entry(&format!("k{number}"), "hi")).await.unwrap();
        }
        assert_eq!(disk.bytes_read_of(&file(CONTEXT)), before);
    });
}

#[test]
fn answers_of_the_ledger_that_a_context_does_not_have_are_named() {
    block_on(async {
        let disk = SimDisk::new();
        three_promoted(&disk).await;
        let chat = chat_on(&disk).await;
        assert_eq!(problems(&*chat).await, Vec::<String>::new());
        let mut answer = entry("answer:run_1", "Hello.");
        answer.entry.set("role", "assistant");
        answer.entry.set("meta", Object::from([("answersTo", 5u64)]));
        chat.ledger().accept(answer).await.unwrap();
        let told = "the ledger has answers up to entry 5, but the context has read up to 4";
        assert_eq!(problems(&*chat).await, [told]);
    });
}

#[test]
fn an_answer_counts_for_what_joined_its_run_and_not_for_what_came_in_meanwhile() {
    let line = |seq, key: &str, role: &str, request: &str, to: Option<u64>| {
        let mut entry = Object::from([("role", role), ("requestId", request)]);
        entry.set_or_remove("meta", to.map(|to| Object::from([("answersTo", to)]).into()));
        let body = LedgerBody::Entry(LedgerEntry { key: key.to_owned(), entry });
        LedgerLine { seq: LedgerSeq::new(seq), body }
    };
    let answered = |answer: &LedgerLine| {
        let mut answered = AnsweredEntries::default();
        for seq in 2..5 {
            answered.take(&line(seq, &format!("k{seq}"), "user", &format!("q{seq}"), None));
        }
        answered.take(answer);
        answered.last().map(LedgerSeq::get)
    };
    assert_eq!(answered(&line(5, "answer:r", "assistant", "q2", Some(3))), Some(3));
    assert_eq!(answered(&line(5, "answer:r", "assistant", "q2", None)), Some(2), "an older one");
    assert_eq!(answered(&line(5, "sent:r", "assistant", "q2", Some(3))), None, "no answer");
}

#[test]
fn a_message_is_accepted_though_nothing_can_be_read_of_the_context() {
    block_on(async {
        let disk = SimDisk::new();
        three_promoted(&disk).await;
        restore(&disk, CONTEXT, b"");
        let accepted = chat_on(&disk).await.ledger().accept(entry("k4", "hi")).await;
        assert!(accepted.is_ok_and(|accepted| accepted.new));
    });
}

#[test]
fn a_rotation_brings_a_message_back_whose_entry_a_restored_ledger_does_not_have() {
    let disk = SimDisk::new();
    block_on(async {
        let short = three_promoted(&disk).await;
        restore(&disk, LEDGER, &short);
        let chat = chat_on(&disk).await;
        let view = chat.log().view().await.unwrap().unwrap();
        let again = NewMessage { message: message("k3", "hi"), rev: 1, inbox: view.inbox };
        let rotate = |inbox: Option<LedgerSeq>| Rotation {
            expected: Some(view.position.generation),
            head: view.head.clone(),
            pieces: vec![LogPiece::New(NewMessage { inbox, ..again.clone() }.into())],
        };
        let lane = chat.lane("test").await.unwrap();
        let above = view.inbox.map(|cursor| LedgerSeq::new(cursor.get() + 1));
        let refused = lane.rotate(rotate(above)).await;
        assert!(matches!(refused, Err(RotateError::NoEntry { .. })), "{refused:?}");
        lane.rotate(rotate(view.inbox)).await.unwrap();
        assert_eq!(chat.log().view().await.unwrap().unwrap().inbox, view.inbox);
    });
}

/// Rotates the log without leaving anything behind.
async fn rotate_and_keep_all(chat: &dyn Chat) {
    let lane = chat.lane("test").await.unwrap();
    let view = chat.log().view().await.unwrap().unwrap();
    let pieces = vec![LogPiece::KeepFrom(view.lines[0].seq)];
    let expected = Some(view.position.generation);
    lane.rotate(Rotation { expected, head: view.head, pieces }).await.unwrap();
}

#[test]
fn what_is_missing_stays_known_after_the_next_write() {
    let disk = SimDisk::new();
    block_on(async {
        let short = three_promoted(&disk).await;
        restore(&disk, LEDGER, &short);
        let chat = chat_on(&disk).await;
        chat.repair().await.unwrap();
        let problems = chat.verify().await.unwrap();
        assert!(!problems.is_empty());
        chat.acknowledge(problems).await.unwrap();
        let are_known =
            async || chat.verify().await.unwrap().iter().all(|problem| problem.is_reported);
        assert!(are_known().await, "{:?}", chat.verify().await);
        chat.ledger().accept(entry("k4", "hi")).await.unwrap();
        assert!(are_known().await, "{:?}", chat.verify().await);
        rotate_and_keep_all(&*chat).await;
        assert!(are_known().await, "{:?}", chat.verify().await);
    });
}

#[test]
fn answers_that_a_context_lacks_stay_known_after_a_rotation() {
    let disk = SimDisk::new();
    block_on(async {
        three_promoted(&disk).await;
        let chat = chat_on(&disk).await;
        let mut question = entry("k4", "hi");
        question.entry.set("role", "user");
        question.entry.set("requestId", "r4");
        chat.ledger().accept(question).await.unwrap();
        let mut answer = entry("answer:r", "aye");
        answer.entry.set("requestId", "r4");
        chat.ledger().accept(answer).await.unwrap();
        let problems = chat.verify().await.unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        chat.acknowledge(problems).await.unwrap();
        rotate_and_keep_all(&*chat).await;
        let problems = chat.verify().await.unwrap();
        assert!(problems.len() == 1 && problems[0].is_reported, "{problems:?}");
    });
}

#[test]
fn an_older_copy_of_a_ledger_that_was_sealed_since_hides_nothing_of_it() {
    let disk = SimDisk::new();
    block_on(async {
        let chat = chat_on(&disk).await;
        let text = "x".repeat(30_000);
        let is_sealed =
            || disk.memory().contents().contains_key(&file("conversations/archive-1.jsonl"));
        chat.ledger().accept(entry("k0", &text)).await.unwrap();
        let older = read(&disk, LEDGER);
        let mut count = 1;
        while !is_sealed() {
            chat.ledger().accept(entry(&format!("k{count}"), &text)).await.unwrap();
            count += 1;
        }
        // The last one is in the ledger that the copy replaces.
        restore(&disk, LEDGER, &older);
        let chat = chat_on(&disk).await;
        let again = chat.ledger().accept(entry("k1", &text)).await.unwrap();
        assert!(!again.new, "its key is in the sealed ledger");
        assert!(chat.ledger().accept(entry("fresh", "x")).await.unwrap().new);
        let mut expected: Vec<String> = (0..count - 1).map(|number| format!("k{number}")).collect();
        expected.push("fresh".to_owned());
        assert_eq!(ledger_keys(&*chat).await, expected);
        assert_eq!(chat.verify().await.unwrap(), []);
    });
}
