//! `archiveOnCompact: false`: what was compacted is purged, also when the agent is killed before that.

use std::path::{Path, PathBuf};

use ship_agent::{
    CompactionUndo, ContextOperation, OperationOutcome, Outcome, RequestMessages, Rules,
};
use ship_store::disk::{Disk, OpenMode};
use ship_testkit::sample::sample;
use ship_testkit::sim::Fault;

use super::grown::grown;
use crate::harness::{Setup, TestAgent, chat};

const MESSAGES: usize = 16;
const LIVE: &str = ".ship/chat/terminal%3Amain/messages/history.jsonl";

async fn purging() -> Setup {
    let setup = grown(MESSAGES).await;
    let rules = Rules { archive_on_compact: false, ..setup.rules.clone() };
    Setup { rules, ..setup }
}

/// For each sealed log, whether it was purged.
async fn purged(test: &TestAgent) -> Vec<bool> {
    let sealed = test.stored().await.log().sealed().await.unwrap();
    sealed.iter().map(|log| log.purged.is_some()).collect()
}

#[tokio::test]
async fn the_originals_are_purged_and_that_is_told() {
    let setup = purging().await;
    let test = setup.agent();
    assert_eq!(test.say("and now?").await, Some(Outcome::Done));
    assert_eq!(purged(&test).await, [true]);
    assert!(test.ids().await[0].starts_with("s_"), "the summary is there");
    let calls = test.agent.requests(&chat(), 100).await.unwrap();
    let of_summary =
        calls.iter().find(|call| matches!(call.record.shown, RequestMessages::Summary(_)));
    let id = &of_summary.unwrap().record.id;
    let past = test.agent.past_request(&chat(), id).await.unwrap().unwrap();
    assert!(past.missing[0].contains("are not kept"), "{:?}", past.missing);
    assert!(past.messages.is_empty(), "and no blob has them");
    let undone = test.agent.undo_compaction(&chat()).await.unwrap();
    assert_eq!(undone, CompactionUndo::Purged);
    for nth in 0..4 {
        test.say(&format!("more {nth}")).await;
    }
    let compacted = test.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert!(compacted.purged, "who asks is told");
    assert_eq!(purged(&test).await, [true, true]);
    let problems = test.stored().await.verify().await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

#[tokio::test]
async fn a_tombstone_that_is_gone_or_cannot_be_read_stops_no_chat() {
    for remains in [None, Some(&b""[..]), Some(b"garbage\n")] {
        let setup = purging().await;
        assert_eq!(setup.agent().say("and now?").await, Some(Outcome::Done));
        let disk = setup.disk.memory();
        let is_sealed = |path: &PathBuf| path.to_string_lossy().contains("messages/archive/2");
        let tombstone = disk.contents().into_keys().find(is_sealed).unwrap();
        disk.remove(&tombstone).unwrap();
        if let Some(bytes) = remains {
            disk.open(&tombstone, OpenMode::Create).unwrap().write(bytes).unwrap();
        }
        let test = setup.agent();
        assert_eq!(test.say("more").await, Some(Outcome::Done), "{remains:?}");
        assert_eq!(test.messages().await.last().unwrap().text(), "Aye.");
    }
}

#[tokio::test]
async fn an_agent_killed_before_it_has_purged_does_so_when_it_is_back() {
    let whole = purging().await;
    let first = whole.disk.calls();
    assert_eq!(whole.agent().say("and now?").await, Some(Outcome::Done));
    let calls = whole.disk.calls() - first;
    let mut late = 0;
    for at in sample(0..calls, 3) {
        let setup = purging().await;
        setup.disk.fail_in(at, Fault::KillAfter);
        let killed = setup.answer_until_killed("and now?").await;
        if !killed.died {
            continue;
        }
        let living = setup.agent();
        late += usize::from(purged(&living).await == [false]);
        living.go_on("and now?", &killed).await;
        assert_eq!(purged(&living).await, [true], "killed at {at}");
        assert_eq!(living.messages().await.last().unwrap().text(), "Aye.", "killed at {at}");
    }
    assert!(late > 0, "{late} were killed between the two");
}

#[tokio::test]
async fn only_the_log_that_was_compacted_is_purged_whatever_is_left_later() {
    let setup = purging().await;
    assert_eq!(setup.agent().say("and now?").await, Some(Outcome::Done));
    let new = ContextOperation::New { title: None, reason: None };
    let load = ContextOperation::Load { which: "-".to_owned() };
    for operation in
        [ContextOperation::Fork { at: None, to: None }, new, load, ContextOperation::Undo]
    {
        // Each time another process: what is left to purge is done by the first run of an agent.
        let test = setup.agent();
        let done = test.agent.operate(&chat(), operation.clone(), "test").await.unwrap();
        assert!(matches!(done, OperationOutcome::Done(_)), "{operation:?}: {done:?}");
        let text = format!("after {}", operation.name());
        assert_eq!(setup.agent().say(&text).await, Some(Outcome::Done));
    }
    let purged = purged(&setup.agent()).await;
    assert_eq!(purged.iter().filter(|purged| **purged).count(), 1, "{purged:?}");
}

#[tokio::test]
async fn a_restored_log_is_not_purged_when_a_compaction_of_its_future_is_loaded() {
    let setup = purging().await;
    let memory = setup.disk.memory();
    let live = Path::new(LIVE);
    let original = memory.contents().remove(live).unwrap().unwrap();
    assert_eq!(setup.agent().say("and now?").await, Some(Outcome::Done));
    let new = ContextOperation::New { title: None, reason: None };
    setup.agent().agent.operate(&chat(), new, "test").await.unwrap();
    memory.remove(live).unwrap();
    memory.open(live, OpenMode::Create).unwrap().write(&original).unwrap();

    let load = ContextOperation::Load { which: "-".to_owned() };
    let done = setup.agent().agent.operate(&chat(), load, "test").await.unwrap();
    assert!(matches!(done, OperationOutcome::Done(_)), "{done:?}");
    assert_eq!(setup.agent().say("more").await, Some(Outcome::Done));
    let sealed = setup.agent().stored().await.log().sealed().await.unwrap();
    let newest = sealed.first().unwrap();
    assert!(newest.purged.is_none(), "{newest:?}");
}
