//! Compactions that are killed, cut off from power, or left without room on the disk.
//!
//! Wherever that happens, the context is the one before or the one after, never neither and never both; the
//! chat answers, and the compaction can be undone.

use ship_agent::{CompactionUndo, Outcome};
use ship_store::disk::{Disk, MemoryDisk, OpenMode};
use ship_store::{Derived, FileStore, Store};
use ship_testkit::chat::options;
use ship_testkit::power;
use ship_testkit::sample::sample;
use ship_testkit::sim::Fault;
use ship_testkit::sweep::block_on;

use super::grown::grown;
use crate::harness::{TestAgent, chat};

const MESSAGES: usize = 16;
const QUESTION: &str = "and now?";
/// No space left on device.
const FULL: i32 = 28;

/// The ids of the messages that were there before.
fn originals() -> Vec<String> {
    (0..MESSAGES).map(|nth| format!("m{nth}")).collect()
}

/// What a look at a context finds.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// Every original, in order.
    Old,
    /// A summary and then the newest originals.
    New,
}

/// Looks at a context, which must be one or the other.
async fn found(test: &TestAgent, at: &str) -> Found {
    let ids = test.ids().await;
    let is_ours = |id: &&String| id.starts_with('m');
    let ours: Vec<String> = ids.iter().filter(is_ours).cloned().collect();
    match ids[0].starts_with("s_") {
        false => {
            assert_eq!(ours, originals(), "{at}: the old one is whole");
            Found::Old
        }
        true => {
            let kept = ours.len();
            assert!((1..MESSAGES).contains(&kept), "{at}: {ids:?}");
            assert_eq!(ours, originals()[MESSAGES - kept..], "{at}: the newest stay");
            assert_eq!(ids.iter().filter(|id| id.starts_with("s_")).count(), 1, "{at}: {ids:?}");
            Found::New
        }
    }
}

/// Goes on in a chat in which a compaction was cut off: it answers, and the originals can be brought back.
async fn goes_on(test: &TestAgent, accepted: bool, at: &str) -> Found {
    let found_first = found(test, at).await;
    if !accepted {
        // It was not acknowledged, so whoever sent it sends it again.
        assert!(test.accept(QUESTION).await);
    }
    test.run().await;
    assert_eq!(found(test, at).await, Found::New, "{at}");
    let messages = test.messages().await;
    assert_eq!(messages.last().unwrap().text(), "Aye.", "{at}");
    let questions = messages.iter().filter(|message| message.text() == QUESTION).count();
    assert_eq!(questions, 1, "{at}: it was asked once");
    let undone = test.agent.undo_compaction(&chat()).await.unwrap();
    assert!(matches!(undone, CompactionUndo::Messages(_)), "{at}: {undone:?}");
    let ids = test.ids().await;
    assert_eq!(ids[..MESSAGES], originals(), "{at}: everything is back");
    assert_eq!(ids.len(), MESSAGES + 2, "{at}: and what was said since is behind it: {ids:?}");
    found_first
}

#[tokio::test]
async fn a_compaction_killed_at_any_call_to_the_disk_leaves_the_old_context_or_the_new_one() {
    let whole = grown(MESSAGES).await;
    let first = whole.disk.calls();
    assert_eq!(whole.agent().say(QUESTION).await, Some(Outcome::Done));
    assert_eq!(whole.model().summaries(), 1);
    let calls = whole.disk.calls() - first;

    let (mut olds, mut news, mut reused) = (0, 0, 0);
    // Killed before a call is killed after the one before it.
    let cases = (0..calls).flat_map(|at| [(at, Fault::KillAfter), (at, Fault::Torn)]);
    for (at, fault) in sample(cases, 5) {
        let setup = grown(MESSAGES).await;
        setup.disk.fail_in(at, fault);
        let killed = setup.answer_until_killed(QUESTION).await;
        if !killed.died {
            continue;
        }
        let living = setup.agent();
        let has_draft = draft(&living).await;
        let before = setup.model().summaries();
        match goes_on(&living, killed.accepted, &format!("{fault:?} at {at}")).await {
            Found::Old => olds += 1,
            Found::New => news += 1,
        }
        if has_draft {
            reused += 1;
            assert_eq!(setup.model().summaries(), before, "{fault:?} at {at}: it was paid for");
        }
    }
    assert!(olds > 5 && news > 1, "{olds} found the old context and {news} the new one");
    assert!(reused > 1, "{reused} found a summary that was not in force");
}

/// Whether a summary waits to be in force.
async fn draft(test: &TestAgent) -> bool {
    let meta = test.stored().await.derived().read(Derived::Meta).await.unwrap();
    meta.is_some_and(|meta| meta.value.get("draft").is_some())
}

#[tokio::test]
async fn a_power_cut_at_any_point_of_a_compaction_leaves_the_old_context_or_the_new_one() {
    let setup = grown(MESSAGES).await;
    let test = setup.agent();
    assert!(test.accept(QUESTION).await);
    let first = setup.disk.ops_len();
    assert_eq!(test.run().await, Some(Outcome::Done));
    let ops = setup.disk.ops();
    let (mut olds, mut news) = (0, 0);
    for end in sample(first..=ops.len(), 6) {
        for (name, disk) in power::states(&ops[..end]) {
            let after = TestAgent::on(Box::new(disk), &setup);
            match goes_on(&after, true, &format!("{end}: {name}")).await {
                Found::Old => olds += 1,
                Found::New => news += 1,
            }
        }
    }
    assert!(olds > 5 && news > 5, "{olds} found the old context and {news} the new one");
}

#[tokio::test]
async fn a_disk_that_fills_up_during_the_summary_costs_no_second_summary() {
    let setup = grown(MESSAGES).await;
    let test = setup.agent();
    let disk = setup.disk.clone();
    setup.model().meanwhile(move || disk.fail_writes(Some(FULL)));
    assert!(test.accept(QUESTION).await);
    assert!(test.try_run().await.is_err(), "nothing can be written");
    setup.disk.fail_writes(None);
    assert_eq!(goes_on(&test, true, "a full disk").await, Found::Old);
    assert_eq!(setup.model().summaries(), 1);
}

#[tokio::test]
async fn a_log_that_is_repaired_during_the_summary_is_compacted_all_the_same_and_paid_for_once() {
    let setup = grown(MESSAGES).await;
    let test = setup.agent();
    let disk = setup.disk.memory();
    setup.model().meanwhile(move || {
        lose_the_head(&disk);
        // `ship verify --repair`, in another process.
        let store = FileStore::on_disk(Box::new(disk), options());
        block_on(async {
            let chat = store.open(&chat()).await.unwrap().unwrap();
            assert!(!chat.repair().await.unwrap().is_empty());
        });
    });
    assert_eq!(test.say(QUESTION).await, Some(Outcome::Done));
    assert_eq!(found(&test, "repaired").await, Found::New);
    assert_eq!(setup.model().summaries(), 1);
}

/// Overwrites the start of the context log.
fn lose_the_head(disk: &MemoryDisk) {
    let chats = std::path::Path::new(".ship/chat");
    let folder = disk.list(chats).unwrap().remove(0);
    let log = chats.join(folder).join("messages/history.jsonl");
    disk.open(&log, OpenMode::Lock).unwrap().write_note(b"damaged ").unwrap();
}
