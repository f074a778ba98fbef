//! Undoing compactions of everything that a context can hold, one after the other.

use ship_agent::{CompactionUndo, Outcome};
use ship_message::ToolPart;
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::disk::Disk;
use ship_store::{ContextBody, ContextEvent, LedgerSeq, NewLine, NewMessage, Timestamp, View};

use super::grown::grown;
use super::world::{message, words};
use crate::harness::{TestAgent, chat};

/// A line without its number, which is another one in another log.
type Content = (u64, Option<LedgerSeq>, ContextBody);

fn contents(view: &View) -> Vec<Content> {
    view.lines.iter().map(|line| (line.rev, line.inbox, line.body.clone())).collect()
}

impl TestAgent {
    /// Writes to the context, as a run would.
    async fn append(&self, entries: Vec<NewLine>) {
        let position = self.view().await.position;
        let lane = self.stored().await.lane("test").await.unwrap();
        lane.append(entries, position).await.unwrap();
    }

    async fn contents(&self) -> Vec<Content> {
        contents(&self.view().await)
    }

    /// What a model would be shown now: the names of the system blocks, and the messages.
    async fn shown(&self) -> (Vec<String>, Vec<UiMessage>) {
        let next = self.agent.inspect(&chat()).await.unwrap();
        let blocks = next.blocks.iter().map(|block| format!("{}: {}", block.name, block.text));
        (blocks.collect(), next.messages)
    }

    async fn undo(&self) -> CompactionUndo {
        self.agent.undo_compaction(&chat()).await.unwrap()
    }
}

fn skill(event: &str, id: &str, name: &str) -> NewLine {
    let data = Json::from(Object::from([("skill", name)]));
    let ts = Timestamp::from_millis(1_770_286_500_000);
    let (id, event) = (id.to_owned(), event.to_owned());
    ContextEvent { id, ts, event, data, ref_msg_id: None, inbox: None }.into()
}

/// An answer that looked somewhere and got four kilobytes back.
fn looked(id: &str, at: &str) -> NewLine {
    let mut tool = ToolPart::new("look", format!("call {id}"), Json::from(at));
    tool.set_output(Json::from(format!("{id} {}", "waves ".repeat(700))));
    let parts = vec![UiPart::Tool(tool), UiPart::text("I see.")];
    UiMessage::new(id, Role::Assistant, parts).into()
}

fn said(id: &str, role: &str) -> NewLine {
    message(id, role, &format!("{id} {}", words(150))).into()
}

#[tokio::test]
async fn each_undo_brings_back_exactly_what_was_there_before_the_last_compaction() {
    let mut setup = grown(2).await;
    setup.rules.input_tokens_max = Some(8_000);
    let test = setup.agent();
    assert_eq!(test.say("a first question").await, Some(Outcome::Done));
    let mut old: Vec<NewLine> = vec![skill("skill_loaded", "e1", "knots")];
    old.extend((0..4).flat_map(|nth| {
        [said(&format!("q{nth}"), "user"), looked(&format!("a{nth}"), &format!("{nth}"))]
    }));
    test.append(old).await;
    let better = message("q1", "user", "said better");
    test.append(vec![NewMessage { message: better, rev: 1, inbox: None }.into()]).await;
    let (at_first, shown_at_first) = (test.contents().await, test.shown().await);

    let compacted = test.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert_eq!(compacted.method.name(), "prune");
    assert_ne!(test.shown().await, shown_at_first);

    let more = (0..16)
        .map(|nth| said(&format!("n{nth}"), if nth % 2 == 0 { "user" } else { "assistant" }));
    // Of two looks at the same the first is left out, also when it is among the messages that stay.
    let looks = [looked("l1", "the sea"), looked("l2", "the sea")];
    test.append(more.chain([skill("skill_loaded", "e2", "sails")]).chain(looks).collect()).await;
    let (then, shown_then) = (test.contents().await, test.shown().await);

    let compacted = test.agent.compact(&chat(), None).await.unwrap().unwrap();
    assert!(compacted.messages > 10, "{compacted:?}");
    let since = vec![skill("skill_unloaded", "e3", "knots"), said("since", "user")];
    test.append(since).await;
    let now = test.contents().await;

    assert_eq!(test.undo().await, CompactionUndo::Messages(compacted.messages));
    let back = test.contents().await;
    assert_eq!(back[..then.len()], then[..], "lines, events, revisions and all");
    assert_eq!(back[then.len()..], now[now.len() - 2..], "and behind them what came since");
    let (blocks, messages) = test.shown().await;
    let is_loaded = |name: &str| blocks.iter().any(|block| block.contains(name));
    assert!(is_loaded("sails") && !is_loaded("knots"), "{blocks:?}");
    let shown = shown_then.1.len();
    assert_eq!(messages[..shown], shown_then.1[..], "what was pruned is pruned");

    assert!(matches!(test.undo().await, CompactionUndo::Outputs(1..)));
    let (_, messages) = test.shown().await;
    assert_eq!(messages[..shown_at_first.1.len()], shown_at_first.1[..], "every output is back");
    assert_eq!(test.contents().await[..at_first.len()], at_first[..]);
    assert_eq!(test.undo().await, CompactionUndo::Nothing);
}

#[tokio::test]
async fn an_undo_whose_originals_are_purged_or_taken_away_says_so_and_changes_nothing() {
    for is_purged in [true, false] {
        let setup = grown(16).await;
        let test = setup.agent();
        test.agent.compact(&chat(), None).await.unwrap().unwrap();
        let before = test.contents().await;
        let sealed = test.stored().await.log().sealed().await.unwrap().remove(0).name;
        if is_purged {
            let lane = test.stored().await.lane("test").await.unwrap();
            lane.purge(&sealed, "test").await.unwrap();
        } else {
            let disk = setup.disk.memory();
            let chats = std::path::Path::new(".ship/chat");
            let folder = chats.join(&disk.list(chats).unwrap()[0]).join("messages/archive");
            disk.remove(&folder.join(format!("{sealed}.jsonl"))).unwrap();
        }
        assert_eq!(test.undo().await, CompactionUndo::Purged, "purged: {is_purged}");
        assert_eq!(test.contents().await, before);
        assert_eq!(test.say("and on").await, Some(Outcome::Done));
    }
}

#[tokio::test]
async fn a_second_compaction_with_nothing_new_to_sum_up_does_nothing_and_costs_nothing() {
    let setup = grown(16).await;
    let test = setup.agent();
    assert!(test.agent.compact(&chat(), None).await.unwrap().is_some());
    let before = test.contents().await;
    for _ in 0..3 {
        assert_eq!(test.agent.compact(&chat(), None).await.unwrap(), None);
    }
    let planned = test.agent.plan_compaction(&chat()).await.unwrap().unwrap();
    assert_eq!((planned.messages, planned.outputs), (0, 0));
    assert_eq!(test.contents().await, before);
    assert_eq!(setup.model().summaries(), 1);
}

#[tokio::test]
async fn what_was_compacted_last_is_in_the_meta_file_and_made_anew_when_that_is_stale_or_gone() {
    let setup = grown(16).await;
    let test = setup.agent();
    let state = || async { test.agent.compaction_state(&chat()).await.unwrap().unwrap() };
    assert_eq!(state().await.get("compaction"), None);
    test.agent.compact(&chat(), None).await.unwrap().unwrap();
    let derived = ship_store::Derived::Meta;
    let written = test.stored().await.derived().read(derived.clone()).await.unwrap().unwrap();
    assert_eq!(written.position, test.view().await.position, "it was written after the publish");
    let cursor = written.value.get("compaction").unwrap().clone();
    let sealed = test.stored().await.log().sealed().await.unwrap();
    assert_eq!(cursor.get("sealed").unwrap().as_str(), Some(sealed[0].name.as_str()));
    let summed_up: Vec<_> =
        ["fromId", "toId", "rung"].map(|key| cursor.get(key).unwrap().as_str().unwrap()).to_vec();
    assert_eq!(summed_up, ["m0", "m13", "smaller-tail"]);
    assert_eq!(cursor.get("count").unwrap().as_u64(), Some(14));

    test.append(vec![said("more", "user")]).await;
    let later = state().await;
    assert_eq!(later.get("compaction"), Some(&cursor), "the cursor stays");
    let messages = |state: &Object| state.get("sizes").unwrap().get("messages").unwrap().as_u64();
    assert_eq!((messages(&written.value), messages(&later)), (Some(3), Some(4)));
    let stored = test.stored().await.derived().read(derived).await.unwrap().unwrap();
    assert_eq!(stored.position, test.view().await.position, "and what was stale is written anew");
}
