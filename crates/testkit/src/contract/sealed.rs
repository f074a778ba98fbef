//! Promises about sealed logs: how they are listed and found, and what a purge leaves of one.

use std::sync::Arc;

use ship_message::json::Object;
use ship_store::{
    Chat, ContextId, Derived, DerivedState, LogPiece, MessageId, MessagePlace, PurgeError, Purged,
    ReadError, RotateError, Rotation, SealedLog, SealedName, Seq, Store, Timestamp,
};

use crate::chat::{Begun, entry, ids, message};

/// A chat in which each of these was said and then sealed, with nothing kept. The names, the newest first.
async fn sealed(store: &dyn Store, said: &[&str]) -> (Begun, Vec<SealedName>) {
    let mut begun = Begun::new(store, "a").await;
    for id in said {
        begun.say(id).await;
        let summary = format!("after {id}");
        begun.compact(&summary, begun.position.seq.next()).await;
    }
    let names = names(&begun.chat, None, usize::MAX).await;
    (begun, names)
}

async fn names(chat: &Arc<dyn Chat>, before: Option<&SealedName>, limit: usize) -> Vec<SealedName> {
    let logs = chat.log().sealed_logs(before.cloned(), limit).await.unwrap();
    logs.into_iter().map(|log| log.name).collect()
}

pub async fn sealed_logs_are_listed_by_pages(store: &dyn Store) {
    let (begun, all) = sealed(store, &["m1", "m2", "m3", "m4"]).await;
    let whole = begun.chat.log().sealed().await.unwrap();
    assert!(whole.is_sorted_by(|newer, older| newer.first > older.last));
    let whole: Vec<SealedName> = whole.into_iter().map(|log| log.name).collect();
    assert_eq!((all.len(), &all), (4, &whole));
    let mut pages = Vec::new();
    while let page = names(&begun.chat, pages.last(), 3).await
        && !page.is_empty()
    {
        pages.extend(page);
    }
    assert_eq!(pages, all);
    assert!(names(&begun.chat, None, 0).await.is_empty());
}

pub async fn a_sealed_log_tells_its_lines_and_when_it_was_sealed(store: &dyn Store) {
    let (mut begun, all) = sealed(store, &["m1"]).await;
    let before = begun.lane.purge(&all[0], "compact").await.unwrap().ts;
    begun.say("m2").await;
    begun.compact("after m2", begun.position.seq.next()).await;
    let log = begun.chat.log().sealed_logs(None, 1).await.unwrap().remove(0);
    assert_eq!(begun.chat.log().sealed_log(&log.name).await.unwrap().as_ref(), Some(&log));
    // The purged log has a head and `m1`; this one has a head, a summary and `m2`.
    assert_eq!((log.first, log.last), (Seq::new(3), Seq::new(5)));
    let after = begun.lane.purge(&log.name, "compact").await.unwrap().ts;
    assert!(before <= log.sealed_at && log.sealed_at <= after, "{log:?}");
    let missing = SealedName::parse("20260205T101500000Z-90-91").unwrap();
    assert_eq!(begun.chat.log().sealed_log(&missing).await.unwrap(), None);
}

pub async fn a_message_is_found_in_the_newest_log_that_has_it(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.say("m2").await;
    begun.compact("s1", Seq::new(3)).await;
    begun.say("m3").await;
    begun.compact("s2", Seq::new(7)).await;
    let all = names(&begun.chat, None, 9).await;
    let find = async |id: &str, before: Option<&SealedName>| {
        begun.chat.log().find(&MessageId::new(id).unwrap(), before.cloned()).await.unwrap()
    };
    let place = |log: Option<usize>, seq: u64| {
        Some(MessagePlace { log: log.map(|at| all[at].clone()), seq: Seq::new(seq) })
    };
    assert_eq!(find("s2", None).await, place(None, 9));
    assert_eq!(find("m3", None).await, place(None, 10));
    assert_eq!(find("m2", None).await, place(Some(0), 6));
    assert_eq!(find("m2", Some(&all[0])).await, place(Some(1), 3));
    assert_eq!(find("m1", None).await, place(Some(1), 2));
    assert_eq!(find("m1", Some(&all[1])).await, None);
    assert_eq!(find("m", None).await, None, "a part of an id is none");
    assert_eq!(find("e1", None).await, None, "the head is no message");
}

pub async fn a_purged_log_tells_what_it_was_and_nothing_else(store: &dyn Store) {
    let (begun, all) = sealed(store, &["m1", "m2"]).await;
    let purged = begun.lane.purge(&all[1], "compact").await.unwrap();
    assert_eq!((purged.lines, purged.by.as_str()), (1, "compact"));
    let read = begun.chat.log().sealed_view(&all[1]).await;
    let Err(error @ ReadError::Purged { .. }) = read else { panic!("{read:?}") };
    let told = error.to_string();
    assert!(told.contains("on purpose") && told.contains(&purged.to_string()), "{told}");
    assert_eq!(begun.chat.log().find(&MessageId::new("m1").unwrap(), None).await.unwrap(), None);
    assert!(begun.chat.log().sealed_view(&all[0]).await.is_ok(), "the others stay");
    // Once more it is the same, whoever asks.
    assert_eq!(begun.lane.purge(&all[1], "somebody else").await.unwrap(), purged);
}

pub async fn a_purged_log_breaks_no_chain(store: &dyn Store) {
    let (mut begun, all) = sealed(store, &["m1", "m2", "m3"]).await;
    let before = begun.chat.log().sealed().await.unwrap();
    let purged = begun.lane.purge(&all[1], "compact").await.unwrap();
    let after = begun.chat.log().sealed().await.unwrap();
    let marks: Vec<Option<Purged>> = after.iter().map(|log| log.purged.clone()).collect();
    assert_eq!(marks, [None, Some(purged), None]);
    let heads = |logs: &[SealedLog]| {
        logs.iter().map(|log| (log.name.clone(), log.head.clone())).collect::<Vec<_>>()
    };
    assert_eq!(heads(&after), heads(&before));
    assert_eq!(begun.chat.verify().await.unwrap(), []);
    assert_eq!(begun.chat.repair().await.unwrap(), []);
    assert!(begun.chat.log().sealed_view(&all[1]).await.is_err(), "a repair brings nothing back");
    begun.say("m4").await;
    begun.compact("s4", begun.position.seq.next()).await;
    assert_eq!(names(&begun.chat, None, 9).await[1..], all);
}

pub async fn what_was_purged_is_never_copied(store: &dyn Store) {
    let (begun, all) = sealed(store, &["m1"]).await;
    begun.lane.purge(&all[0], "compact").await.unwrap();
    let SealedLog { name: log, first, last, .. } =
        begun.chat.log().sealed_log(&all[0]).await.unwrap().unwrap();
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let rotation = Rotation {
        expected: Some(view.position.generation),
        head: view.head,
        pieces: vec![LogPiece::Sealed { log, first, last }],
    };
    let refused = begun.lane.rotate(rotation).await;
    let Err(RotateError::Source(ReadError::Purged { name, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        (name.as_str(), ids(&*begun.chat).await),
        (all[0].as_str(), vec!["after m1".to_owned()])
    );
}

pub async fn a_purge_takes_only_what_is_sealed(store: &dyn Store) {
    let (begun, all) = sealed(store, &["m1"]).await;
    let other = Begun::new(store, "b").await;
    let missing = SealedName::parse("20260205T101500000Z-90-91").unwrap();
    for (lane, name) in [(&begun.lane, &missing), (&other.lane, &all[0])] {
        let refused = lane.purge(name, "test").await;
        assert!(matches!(refused, Err(PurgeError::NotSealed { .. })), "{refused:?}");
    }
    assert!(begun.chat.log().sealed_view(&all[0]).await.is_ok());
    assert_eq!(ids(&*begun.chat).await, ["after m1"]);
}

/// What others may share is collected by a command of its own, and the inbox cursor is in the live log.
pub async fn a_purge_leaves_the_blobs(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    let place = begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
    let long = "a long story ".repeat(4000);
    let promoted =
        ship_store::NewMessage { message: message("m1", &long), rev: 0, inbox: Some(place) };
    begun.position = begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
    let kept = store.put_blob(long.clone().into_bytes(), "text/plain").await.unwrap();
    begun.compact("s1", begun.position.seq.next()).await;
    let log = names(&begun.chat, None, 1).await.remove(0);
    begun.lane.purge(&log, "compact").await.unwrap();
    assert_eq!(store.blob(&kept.sha256).await.unwrap(), long.as_bytes());
    assert_eq!(begun.chat.log().view().await.unwrap().unwrap().inbox, Some(place));
}

pub async fn archived_contexts_are_listed_by_their_snapshots(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let state = DerivedState { value: Object::new(), position: view.position, crc: view.crc };
    let context = |random| ContextId::new(Timestamp::from_millis(1_770_292_800_000), random);
    assert_eq!(begun.chat.derived().archived_contexts().await.unwrap(), []);
    for which in [Derived::Context(context(2)), Derived::Context(context(1)), Derived::ContextIndex]
    {
        begun.chat.derived().put(which, state.clone()).await.unwrap();
    }
    assert_eq!(begun.chat.derived().archived_contexts().await.unwrap(), [context(1), context(2)]);
    // One that is active again is not among them, and to take it away twice does no harm.
    for _ in 0..2 {
        begun.chat.derived().remove(Derived::Context(context(1))).await.unwrap();
    }
    assert_eq!(begun.chat.derived().archived_contexts().await.unwrap(), [context(2)]);
    assert_eq!(begun.chat.derived().read(Derived::Context(context(1))).await.unwrap(), None);
    assert_eq!(begun.chat.derived().read(Derived::ContextIndex).await.unwrap(), Some(state));
}
