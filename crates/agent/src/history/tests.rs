//! Tests of the order and the cost of a history, on chats whose logs are written by hand.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_store::{
    Chat, Clock, ContextEvent, ContextId, FileStore, Head, LogPiece, MessageId, NewMessage,
    Position, Rotation, SealedLog, SealedName, StoreOptions, Timestamp,
};
use ship_testkit::chat::{Begun, compaction, entry, id, message, options};
use ship_testkit::clock::ManualClock;
use ship_testkit::sim::SimDisk;

use super::history_cursor::HistoryCursor;
use super::history_reader::HistoryReader;

/// A chat with a clock that may jump before each message.
struct Chatter {
    begun: Begun,
    clock: ManualClock,
    jump_ms: i64,
}

impl Chatter {
    async fn new(jump_ms: i64) -> Self {
        Self::on_disk(&SimDisk::new(), jump_ms).await
    }

    async fn on_disk(disk: &SimDisk, jump_ms: i64) -> Self {
        let clock = ManualClock::default();
        let options = StoreOptions { clock: Arc::new(clock.clone()), ..options() };
        let store = FileStore::on_disk(Box::new(disk.clone()), options);
        let begun = Begun::new(&store, "terminal:main").await;
        Self { begun, clock, jump_ms }
    }

    /// Continues with the lines of the live log from a message on. Returns the name of the log that was sealed.
    async fn drop_before(&mut self, id: &str) -> SealedName {
        let view = self.begun.chat.log().view().await.unwrap().unwrap();
        let from = view.line_of(&MessageId::new(id).unwrap()).unwrap();
        let rotation = compaction(&view, Vec::new(), from);
        let rotated = self.begun.lane.rotate(rotation).await.unwrap();
        self.begun.position = rotated.position;
        rotated.sealed.unwrap()
    }

    /// Asks a question and answers it.
    async fn say(&mut self, text: &str) {
        self.clock.advance(1_000 + self.jump_ms);
        self.jump_ms = -self.jump_ms;
        let now = self.clock.now().millis();
        let inbox = self.begun.chat.ledger().accept(entry(text, text)).await.unwrap().seq;
        let history = |id: &str, ts: i64| {
            let mut history = message(id, id);
            history.set("metadata", Object::from([("ts", Json::from(ts as f64))]));
            history
        };
        let question = NewMessage { message: history(text, now), rev: 0, inbox: Some(inbox) };
        let answer = format!("{text}!");
        let answer = NewMessage { message: history(&answer, now + 1), rev: 0, inbox: None };
        let batch = vec![question.into(), answer.into()];
        self.begun.position = self.begun.lane.append(batch, self.begun.position).await.unwrap();
    }

    /// Continues in another context with the lines of a sealed log, the nth from the newest.
    async fn switch(&mut self, back_to: Option<usize>) {
        let Position { generation, .. } = self.begun.position;
        let sealed = self.begun.chat.log().sealed().await.unwrap();
        let whole = |SealedLog { name: log, first, last, .. }| LogPiece::Sealed {
            log,
            first: first.next(),
            last,
        };
        let pieces = back_to.map(|nth| whole(sealed[nth].clone())).into_iter().collect();
        let head = Head::new(ContextId::new(Timestamp::from_millis(0), generation.get() + 2));
        let rotation = Rotation { expected: Some(generation), head, pieces };
        self.begun.position = self.begun.lane.rotate(rotation).await.unwrap().position;
    }

    /// Continues with the lines of the live log up to a message.
    async fn rewind_to(&mut self, id: &str) {
        let view = self.begun.chat.log().view().await.unwrap().unwrap();
        let last = view.line_of(&MessageId::new(id).unwrap()).unwrap();
        let pieces = vec![LogPiece::Keep(view.lines[0].seq, last)];
        let expected = Some(self.begun.position.generation);
        let rotation = Rotation { expected, head: view.head, pieces };
        self.begun.position = self.begun.lane.rotate(rotation).await.unwrap().position;
    }

    /// Goes back to a context by an operation in the ledger, and gives its last question another answer.
    async fn answer_again(&mut self, back_to: usize, answer: &str) {
        let operation = self.begun.chat.ledger().accept(entry(answer, answer)).await.unwrap().seq;
        self.switch(Some(back_to)).await;
        let event = ContextEvent {
            id: format!("e-{answer}"),
            ts: self.clock.now(),
            event: "switched".to_owned(),
            data: Json::Null,
            ref_msg_id: None,
            inbox: Some(operation),
        };
        let answer = NewMessage { message: message(answer, answer), rev: 0, inbox: None };
        let batch = vec![event.into(), answer.into()];
        self.begun.position = self.begun.lane.append(batch, self.begun.position).await.unwrap();
    }

    async fn newest(&self, last: usize) -> Vec<String> {
        let chat = Arc::clone(&self.begun.chat);
        let mut history = HistoryReader::open(chat, last).await.unwrap();
        let mut ids = Vec::new();
        for nth in 0..history.len() {
            ids.push(id(&history.message(nth).await.unwrap().unwrap().message));
        }
        ids
    }
}

/// Reads a whole history by pages of this size, and returns the ids of the messages.
async fn all_by_pages(chatter: &Chatter, limit: usize) -> Vec<String> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let (page, older) = page(&chatter.begun.chat, before.as_ref(), limit).await;
        all.splice(0..0, page);
        match older {
            Some(older) => before = Some(older),
            None => return all,
        }
    }
}

async fn page(
    chat: &Arc<dyn Chat>,
    before: Option<&HistoryCursor>,
    limit: usize,
) -> (Vec<String>, Option<HistoryCursor>) {
    let chat = Arc::clone(chat);
    let mut history = HistoryReader::open_before(chat, before, limit).await.unwrap();
    let mut ids = Vec::new();
    for nth in 0..history.len() {
        ids.extend(history.message(nth).await.unwrap().map(|read| id(&read.message)));
    }
    (ids, history.older())
}

const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;

#[tokio::test]
async fn what_was_said_is_in_the_order_of_the_ledger_whatever_the_clock_showed() {
    for jump_ms in [0, YEAR_MS, -YEAR_MS] {
        let mut chatter = Chatter::new(jump_ms).await;
        chatter.say("trip").await;
        chatter.say("boat").await;
        chatter.switch(None).await;
        chatter.say("soup").await;
        chatter.switch(Some(0)).await;
        chatter.say("mast").await;
        // The rewind keeps the question alone, so its answer is only in the sealed log.
        chatter.rewind_to("mast").await;
        let all = ["trip", "trip!", "boat", "boat!", "soup", "soup!", "mast", "mast!"];
        for last in 0..=all.len() + 1 {
            let wanted = &all[all.len().saturating_sub(last)..];
            assert_eq!(chatter.newest(last).await, wanted, "{jump_ms} ms, the last {last}");
        }
        for limit in 1..=all.len() {
            assert_eq!(all_by_pages(&chatter, limit).await, all, "{jump_ms} ms, {limit} a page");
        }
    }
}

#[tokio::test]
async fn an_answer_to_an_old_question_that_came_back_is_as_new_as_what_brought_it_back() {
    let mut chatter = Chatter::new(0).await;
    chatter.say("trip").await;
    chatter.switch(None).await;
    chatter.say("soup").await;
    chatter.answer_again(0, "trip?").await;
    chatter.switch(None).await;
    chatter.say("mast").await;
    let all = ["trip", "trip!", "soup", "soup!", "trip?", "mast", "mast!"];
    for limit in 1..=all.len() {
        assert_eq!(chatter.newest(limit).await, all[all.len() - limit..], "the last {limit}");
        assert_eq!(all_by_pages(&chatter, limit).await, all, "{limit} a page");
    }
}

#[tokio::test]
async fn messages_of_a_log_that_is_purged_while_they_are_shown_are_passed_over() {
    let mut chatter = Chatter::new(0).await;
    chatter.say("trip").await;
    chatter.switch(None).await;
    chatter.say("soup").await;
    let chat = Arc::clone(&chatter.begun.chat);
    chatter.switch(None).await;
    chatter.say("mast").await;
    let mut history = HistoryReader::open(Arc::clone(&chat), 9).await.unwrap();
    // The oldest log is still in memory; the one before it is read again.
    let log = chat.log().sealed().await.unwrap()[0].name.clone();
    chatter.begun.lane.purge(&log, "compact").await.unwrap();
    let mut shown = Vec::new();
    for nth in 0..history.len() {
        shown.extend(history.message(nth).await.unwrap().map(|read| id(&read.message)));
    }
    assert_eq!(shown, ["trip", "trip!", "mast", "mast!"]);
}

#[tokio::test]
async fn a_history_by_pages_has_everything_once_whatever_rotations_have_copied_or_purged() {
    let mut chatter = Chatter::new(0).await;
    let mut all = Vec::new();
    for nth in 0..12 {
        let text = format!("q{nth:02}");
        chatter.say(&text).await;
        all.extend([text.clone(), format!("{text}!")]);
        match nth % 4 {
            // The answer stays alone, without its question.
            1 => drop(chatter.drop_before(&format!("{text}!")).await),
            2 => chatter.switch(None).await,
            3 => chatter.switch(Some(1)).await,
            _ => {}
        }
    }
    for waiting in ["w1", "w2", "w3"] {
        let seq = chatter.begun.chat.ledger().accept(entry(waiting, waiting)).await.unwrap().seq;
        all.push(format!("u_{seq}"));
    }
    for limit in 1..=all.len() + 1 {
        assert_eq!(all_by_pages(&chatter, limit).await, all, "{limit} a page");
    }
    // What was kept stands in a newer log, also when the one that first had it is purged.
    chatter.say("mast").await;
    let purged = chatter.drop_before("mast").await;
    chatter.begun.lane.purge(&purged, "compact").await.unwrap();
    for limit in 1..=30 {
        let shown = all_by_pages(&chatter, limit).await;
        assert_eq!(shown.iter().filter(|id| id.starts_with("mast")).count(), 2, "{limit} a page");
        assert_eq!(shown, chatter.newest(100).await, "{limit} a page");
    }
}

#[tokio::test]
async fn a_page_costs_the_same_in_a_chat_with_few_sealed_logs_and_with_many() {
    let mut costs = Vec::new();
    for logs in [60, 240] {
        let disk = SimDisk::new();
        let mut chatter = Chatter::on_disk(&disk, 0).await;
        for nth in 0..logs {
            for part in 0..4 {
                chatter.say(&format!("q{nth:03}-{part}")).await;
            }
            let _ = chatter.drop_before(&format!("q{nth:03}-3")).await;
        }
        let mut before = None;
        let mut cost = Vec::new();
        // Pages at the end, and such as are many logs away from it.
        for _ in 0..8 {
            let (calls, bytes) = (disk.calls(), disk.bytes_read());
            let (ids, older) = page(&chatter.begun.chat, before.as_ref(), 8).await;
            assert_eq!(ids.len(), 8);
            cost.push((disk.calls() - calls, disk.bytes_read() - bytes));
            before = older;
        }
        costs.push(cost);
    }
    let most = |of: fn(&(usize, u64)) -> u64, cost: &[(usize, u64)]| cost.iter().map(of).max();
    let (few, many) = (&costs[0], &costs[1]);
    for of in [|cost: &(usize, u64)| cost.0 as u64, |cost: &(usize, u64)| cost.1] {
        let (few, many) = (most(of, few).unwrap(), most(of, many).unwrap());
        assert!(many * 10 <= few * 11, "{many} and {few} of {costs:?}");
    }
}
