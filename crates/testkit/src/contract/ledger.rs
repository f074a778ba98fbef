//! Promises about the ledger: entries, keys and deliveries.

use ship_message::json::{Json, Object};
use ship_store::{AcceptError, Delivery, DeliveryState, LedgerSeq, Store, Timestamp};

use crate::chat::{Begun, entry, ledger_keys};

const NOON: Timestamp = Timestamp::from_millis(1_770_292_800_000);

fn delivery(entry: LedgerSeq, id: &str, state: DeliveryState) -> Delivery {
    let data = Object::from([("attempt", Json::from(1u64))]);
    Delivery { entry, id: id.to_owned(), ts: NOON, state, data }
}

pub async fn the_same_key_is_the_same_entry(store: &dyn Store) {
    let chat = Begun::new(store, "a").await.chat;
    let first = chat.ledger().accept(entry("telegram:7", "hello")).await.unwrap();
    let other = chat.ledger().accept(entry("telegram:8", "hello")).await.unwrap();
    let again = chat.ledger().accept(entry("telegram:7", "hello")).await.unwrap();
    assert!(first.new && other.new && !again.new);
    assert_eq!(again.seq, first.seq);
    assert_eq!(ledger_keys(&*chat).await, ["telegram:7", "telegram:8"]);
    let nameless = chat.ledger().accept(entry("", "hello")).await;
    assert!(matches!(nameless, Err(AcceptError::Refused(_))), "{nameless:?}");
}

pub async fn what_the_holder_of_a_lane_records_is_an_entry_like_any_other(store: &dyn Store) {
    let Begun { chat, lane, .. } = Begun::new(store, "a").await;
    let came_in = chat.ledger().accept(entry("k1", "hello")).await.unwrap();
    let recorded = lane.record(entry("answer:1", "ahoy")).await.unwrap();
    assert!(recorded.new && recorded.seq > came_in.seq);
    let again = lane.record(entry("answer:1", "ahoy")).await.unwrap();
    assert_eq!((again.new, again.seq), (false, recorded.seq));
    assert_eq!(ledger_keys(&*chat).await, ["k1", "answer:1"]);
}

pub async fn an_entry_is_found_by_its_key(store: &dyn Store) {
    let chat = Begun::new(store, "a").await.chat;
    assert_eq!(chat.ledger().entry_of("k1", None).await.unwrap(), None);
    let first = chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
    let second = chat.ledger().accept(entry("k2", "x")).await.unwrap().seq;
    assert_eq!(chat.ledger().entry_of("k1", None).await.unwrap(), Some(first));
    assert_eq!(chat.ledger().entry_of("k2", Some(first)).await.unwrap(), Some(second));
    assert_eq!(chat.ledger().entry_of("k", None).await.unwrap(), None);
}

pub async fn the_ledger_is_read_from_both_ends(store: &dyn Store) {
    let chat = Begun::new(store, "a").await.chat;
    let mut places = Vec::new();
    for number in 0..10 {
        places.push(chat.ledger().accept(entry(&format!("k{number}"), "x")).await.unwrap().seq);
    }
    let seqs = |lines: Vec<ship_store::LedgerLine>| -> Vec<LedgerSeq> {
        lines.into_iter().map(|line| line.seq).collect()
    };
    assert_eq!(seqs(chat.ledger().before(None, 3).await.unwrap()), places[7..]);
    assert_eq!(seqs(chat.ledger().before(Some(places[7]), 4).await.unwrap()), places[3..7]);
    assert_eq!(seqs(chat.ledger().before(Some(places[1]), 9).await.unwrap()), places[..1]);
    assert_eq!(seqs(chat.ledger().after(None, 2).await.unwrap()), places[..2]);
    assert_eq!(seqs(chat.ledger().after(Some(places[7]), 9).await.unwrap()), places[8..]);
}

pub async fn deliveries_are_open_until_they_are_done(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let (chat, lane) = (&begun.chat, &begun.lane);
    let out = chat.ledger().accept(entry("run:1", "reply")).await.unwrap().seq;
    let planned = ["p1", "p2"].map(|id| delivery(out, id, DeliveryState::Planned));
    lane.deliver(planned.to_vec()).await.unwrap();
    lane.deliver(vec![delivery(out, "p1", DeliveryState::Sending)]).await.unwrap();
    let open = chat.ledger().open_deliveries().await.unwrap();
    assert_eq!(open, [delivery(out, "p1", DeliveryState::Sending), planned[1].clone()]);
    lane.deliver(vec![delivery(out, "p1", DeliveryState::Sent)]).await.unwrap();
    assert_eq!(chat.ledger().open_deliveries().await.unwrap(), planned[1..]);
}

pub async fn a_delivery_of_nothing_is_refused(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let ghost = delivery(LedgerSeq::new(99), "p1", DeliveryState::Sent);
    let refused = begun.lane.deliver(vec![ghost]).await;
    assert!(matches!(refused, Err(AcceptError::NoEntry { .. })), "{refused:?}");
}
