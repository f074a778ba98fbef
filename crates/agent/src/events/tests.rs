//! What readers get, and what they cost.

mod random;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use ship_message::{Chunk, TextChunk};
use ship_store::ChatKey;

use super::RunEvent;
use super::chat_events::{ChatEvents, EventLimits};
use super::hub::{EventHub, MISSED_CHATS, UNREAD_CHATS};
use super::join::NOTICES_KEPT;
use crate::memory_budget::{BudgetShare, MemoryBudget};
use crate::reply::Outcome;
use crate::run_notice::notice;

fn start(id: &str) -> Chunk {
    Chunk::Start { message_id: Some(id.to_owned()), message_metadata: None }
}

fn delta(delta: &str) -> RunEvent {
    let text = TextChunk { id: "t".to_owned(), provider_metadata: None };
    RunEvent::Chunk(Chunk::TextDelta(text, delta.into()))
}

fn ended() -> RunEvent {
    let (run_id, message_id) = ("r".to_owned(), "m".to_owned());
    RunEvent::Ended { run_id, message_id, outcome: Outcome::Done }
}

fn begin(chat: &mut ChatEvents, id: &str) {
    chat.begin(id.to_owned(), vec![RunEvent::Chunk(start(id))], vec![start(id)]);
}

fn begin_in(hub: &EventHub, chat: &ChatKey) {
    hub.begin(chat, "m".to_owned(), vec![RunEvent::Chunk(start("m"))], vec![start("m")]);
}

fn key(name: &str) -> ChatKey {
    format!("api:{name}").parse().unwrap()
}

fn told(event: &RunEvent) -> String {
    match event {
        RunEvent::Chunk(Chunk::Start { message_id, .. }) => {
            format!("start {}", message_id.as_deref().unwrap())
        }
        RunEvent::Chunk(Chunk::TextDelta(_, text)) => text.as_str().to_owned(),
        RunEvent::Chunk(Chunk::Data(_)) => "notice".to_owned(),
        RunEvent::Ended { .. } => "ended".to_owned(),
        RunEvent::Left { message_id } => format!("left {message_id}"),
        RunEvent::Missed => "missed".to_owned(),
        other => panic!("{other:?}"),
    }
}

fn read_all(chat: &mut ChatEvents, id: u64) -> Vec<String> {
    std::iter::from_fn(|| chat.read(id)).map(|event| told(&event)).collect()
}

#[test]
fn one_that_reads_slowly_gets_deltas_joined_and_one_that_reads_at_once_gets_each() {
    let mut chat =
        ChatEvents::new(EventLimits { unjoined: 4, kept_bytes: 1 << 20 }, BudgetShare::default());
    chat.join(1);
    chat.join(2);
    begin(&mut chat, "m");
    let mut heard = Vec::new();
    for letter in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        chat.push(delta(letter));
        heard.extend(read_all(&mut chat, 1));
    }
    assert_eq!(heard, ["start m", "a", "b", "c", "d", "e", "f", "g", "h"]);
    let late = read_all(&mut chat, 2);
    assert!(late.len() < 7 && late[1..].concat() == "abcdefgh", "{late:?}");
}

#[test]
fn those_that_never_read_cost_the_message_once() {
    let mut chat = ChatEvents::new(EventLimits::default(), BudgetShare::default());
    (0..100).for_each(|id| chat.join(id));
    begin(&mut chat, "m");
    for _ in 0..100_000 {
        chat.push(delta("Aye, aye. "));
    }
    let (count, bytes) = chat.size();
    let words = 1_000_000;
    assert!(count <= 257, "{count} events");
    assert!((words..words + 200_000).contains(&bytes), "{bytes} bytes");
    let heard = read_all(&mut chat, 5);
    assert_eq!(heard.concat().len() as u64, words + "start m".len() as u64);
}

#[test]
fn notices_for_one_that_never_reads_are_bounded_and_the_newest_stay() {
    let mut chat = ChatEvents::new(EventLimits::default(), BudgetShare::default());
    chat.join(1);
    begin(&mut chat, "m");
    for number in 0..10_000 {
        chat.push(RunEvent::Chunk(notice("cut", &number.to_string())));
    }
    assert!(chat.size().0 <= 256 + NOTICES_KEPT, "{:?}", chat.size());
    let last = std::iter::from_fn(|| chat.read(1)).last().unwrap();
    assert_eq!(*last, RunEvent::Chunk(notice("cut", "9999")));
}

#[test]
fn one_that_joins_late_gets_the_answer_so_far_and_no_notices_of_before() {
    let mut chat = ChatEvents::new(EventLimits::default(), BudgetShare::default());
    chat.join(1);
    begin(&mut chat, "m");
    chat.push(delta("Aye. "));
    chat.push(RunEvent::Chunk(notice("cut", "It broke off.")));
    chat.push(RunEvent::Sent("Here.".to_owned()));
    chat.join(2);
    chat.push(delta("And on."));
    chat.push(ended());
    assert_eq!(read_all(&mut chat, 2), ["start m", "Aye. ", "And on.", "ended"]);
    chat.join(3);
    assert_eq!(read_all(&mut chat, 3), [""; 0], "no run is going on");
}

#[test]
fn one_that_is_far_behind_a_new_answer_is_told_so_and_begins_with_it() {
    let mut chat =
        ChatEvents::new(EventLimits { unjoined: 256, kept_bytes: 5_000 }, BudgetShare::default());
    chat.join(1);
    chat.join(2);
    for number in 0..10 {
        begin(&mut chat, &format!("m{number}"));
        chat.push(delta(&"Aye. ".repeat(200)));
        chat.push(ended());
        if number % 2 == 1 {
            assert_eq!(read_all(&mut chat, 2).len(), 6, "it is not far behind");
        }
    }
    assert!(chat.size().1 < 10_000, "{:?}", chat.size());
    let heard = read_all(&mut chat, 1);
    assert_eq!(heard[0], "missed");
    assert!(heard[1].starts_with("start m") && heard.len() % 3 == 1, "{heard:?}");
    assert_eq!(chat.size(), (0, 0), "all have read all");
}

#[test]
fn a_chat_without_readers_and_without_a_run_costs_nothing() {
    let hub = EventHub::default();
    hub.send(&key("idle"), RunEvent::Chunk(notice("context", "Moved.")));
    assert_eq!(hub.chat_count(), 0);
    begin_in(&hub, &key("run"));
    hub.send(&key("run"), delta("Aye."));
    assert_eq!(hub.chat_count(), 1, "for those that join late");
    hub.send(&key("run"), ended());
    assert_eq!(hub.chat_count(), 0);

    let (listener, all) = (hub.listen(&key("a")), hub.listen_to_all());
    begin_in(&hub, &key("b"));
    hub.send(&key("b"), ended());
    assert_eq!(hub.chat_count(), 2);
    drop((listener, all));
    assert_eq!(hub.chat_count(), 0);
}

#[test]
fn one_that_follows_all_chats_gets_the_answers_so_far_and_all_that_follows_with_its_chat() {
    let hub = EventHub::default();
    begin_in(&hub, &key("a"));
    hub.send(&key("a"), delta("Aye. "));
    let mut all = hub.listen_to_all();
    begin_in(&hub, &key("b"));
    hub.send(&key("a"), delta("And on."));
    hub.send(&key("a"), ended());
    hub.send(&key("b"), ended());
    let heard: Vec<_> = std::iter::from_fn(|| all.try_next()).collect();
    let of = |chat: &str| {
        let events = heard.iter().filter(|(it, _)| *it == key(chat));
        events.map(|(_, event)| told(event)).collect::<Vec<_>>()
    };
    assert_eq!(of("a"), ["start m", "Aye. ", "And on.", "ended"]);
    assert_eq!(of("b"), ["start m", "ended"]);
    assert_eq!(hub.chat_count(), 0, "all is read");
}

#[test]
fn one_that_leaves_very_many_chats_unread_misses_those_without_a_run() {
    let hub = EventHub::default();
    let mut all = hub.listen_to_all();
    begin_in(&hub, &key("running"));
    for number in 0..UNREAD_CHATS {
        hub.send(&key(&number.to_string()), RunEvent::Chunk(notice("context", "Moved.")));
    }
    assert_eq!(hub.chat_count(), 1);
    let heard: Vec<_> = std::iter::from_fn(|| all.try_next()).collect();
    let missed = heard.iter().filter(|(_, event)| **event == RunEvent::Missed).count();
    assert_eq!(missed, UNREAD_CHATS, "each is named");
    assert_eq!(
        heard.last().map(|(chat, event)| (chat.clone(), told(event))),
        Some((key("running"), "start m".to_owned()))
    );
}

#[test]
fn one_that_never_reads_ends_and_costs_nothing_more() {
    let hub = EventHub::default();
    let mut all = hub.listen_to_all();
    begin_in(&hub, &key("running"));
    for number in 0..MISSED_CHATS + UNREAD_CHATS + 1 {
        hub.send(&key(&number.to_string()), RunEvent::Chunk(notice("context", "Moved.")));
    }
    assert_eq!(hub.chat_count(), 1, "the chat with a run");
    let mut context = Context::from_waker(Waker::noop());
    let ended = std::pin::pin!(all.next()).poll(&mut context);
    assert!(matches!(ended, Poll::Ready(None)), "{ended:?}");
}

#[test]
fn a_run_that_is_dropped_before_its_end_leaves_its_answer() {
    let hub = Arc::new(EventHub::default());
    let mut listener = hub.listen(&key("a"));
    drop(hub.guard(&key("a")));
    assert_eq!(listener.try_next(), None, "it has begun nothing");
    let guard = hub.guard(&key("a"));
    begin_in(&hub, &key("a"));
    drop(guard);
    let heard: Vec<_> = std::iter::from_fn(|| listener.try_next()).map(|it| told(&it)).collect();
    assert_eq!(heard, ["start m", "left m"]);
    assert_eq!(hub.listen(&key("a")).try_next(), None, "no run is going on");
}

#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn one_that_waits_is_woken_once_by_an_event_of_its_chat_and_by_the_end_of_the_hub() {
    let hub = EventHub::default();
    let alarm = Arc::new(Alarm::default());
    let waker = Waker::from(Arc::clone(&alarm));
    let mut context = Context::from_waker(&waker);
    let woken = || alarm.0.load(Ordering::Relaxed);
    let mut listener = hub.listen(&key("a"));
    let mut next = || listener.poll_next(&mut context).map(|event| event.map(|it| told(&it)));
    assert_eq!(next(), Poll::Pending);
    hub.send(&key("b"), delta("Nay."));
    assert_eq!(woken(), 0);
    hub.send(&key("a"), delta("Aye."));
    hub.send(&key("a"), delta("Aye, aye."));
    assert_eq!(woken(), 1);
    assert_eq!(next(), Poll::Ready(Some("Aye.".to_owned())));
    assert_eq!(next(), Poll::Ready(Some("Aye, aye.".to_owned())));
    assert_eq!(next(), Poll::Pending);
    drop(hub);
    assert_eq!(woken(), 2);
    assert_eq!(next(), Poll::Ready(None));
}

#[test]
fn what_waits_for_readers_counts_in_the_memory_of_all_caches() {
    let budget = MemoryBudget::new(100_000);
    let hub = EventHub::within(&budget);
    let (one, other) = (key("one"), key("other"));
    let (listener, _other) = (hub.listen(&one), hub.listen(&other));
    for chat in [&one, &other] {
        begin_in(&hub, chat);
        hub.send(chat, delta(&"x".repeat(30_000)));
        hub.send(chat, ended());
    }
    assert!(budget.lacks(40_000) && !budget.lacks(30_000), "both answers count");
    drop(listener);
    assert!(!budget.lacks(60_000), "one answer is read by nobody else");
    drop(hub);
    drop(_other);
    assert!(!budget.lacks(100_000), "nothing is left");
}

#[test]
fn a_reader_misses_the_answer_before_when_all_caches_are_full() {
    let budget = MemoryBudget::new(10_000);
    let mut chat = ChatEvents::new(EventLimits::default(), BudgetShare::of(&budget));
    chat.join(1);
    let answer = |chat: &mut ChatEvents, bytes: usize| {
        begin(chat, "m");
        chat.push(delta(&"x".repeat(bytes)));
        chat.push(ended());
    };
    answer(&mut chat, 2_000);
    answer(&mut chat, 20_000);
    assert_eq!(read_all(&mut chat, 1).len(), 6, "there was room for the first");
    answer(&mut chat, 20_000);
    begin(&mut chat, "last");
    assert_eq!(read_all(&mut chat, 1), ["missed", "start last"]);
}
