//! Promises about chats, their lanes and their blobs.

use ship_message::json::Object;
use ship_store::{
    About, ChatLook, ChatOverview, Explain as _, LaneError, LogPiece, MemoryError, NewMessage,
    Rotation, Seq, StorageError, Store, Synced, TEXT_BYTES_MAX,
};

use super::context_log::event;
use crate::chat::{Begun, entry, ids, ledger_keys, message};

pub async fn what_decides_about_a_chat_is_read_in_one_go(store: &dyn Store) {
    let about = About { channel: Some("http".to_owned()), ..About::default() };
    store.create(&"a".parse().unwrap(), about.clone()).await.unwrap();
    let mut begun = Begun::new(store, "a").await;
    let (chat, lane) = (begun.chat.clone(), begun.lane.clone());
    for key in ["k1", "k2", "k3", "k4"] {
        chat.ledger().accept(entry(key, key)).await.unwrap();
    }
    let first = chat.ledger().after(None, 1).await.unwrap()[0].seq;
    let promoted = NewMessage { message: message("m1", "k1"), rev: 0, inbox: Some(first) };
    begun.position = lane.append(vec![promoted.into()], begun.position).await.unwrap();
    lane.begin_journal(Object::from([("kind", "start")]), Synced::Now).await.unwrap();
    let state = chat.state(2).await.unwrap();
    assert_eq!(state.about, about);
    assert_eq!(state.view, chat.log().view().await.unwrap());
    assert_eq!(state.new_lines, chat.ledger().after(Some(first), 2).await.unwrap());
    assert_eq!((state.new_lines.len(), state.journal), (2, chat.runs().journal().await.unwrap()));
}

pub async fn blobs_are_kept_by_their_digest(store: &dyn Store) {
    let kept = store.put_blob(b"hello".to_vec(), "text/plain").await.unwrap();
    let again = store.put_blob(b"hello".to_vec(), "text/plain").await.unwrap();
    assert_eq!(kept, again);
    assert_eq!(kept.sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_eq!(store.blob(&kept.sha256).await.unwrap(), b"hello");
    for missing in ["00", "../../etc/passwd", &"0".repeat(64)] {
        assert!(store.blob(missing).await.is_err(), "{missing}");
    }
}

pub async fn a_chat_keeps_what_it_is_about(store: &dyn Store) {
    let key = "telegram-chat--100".parse().unwrap();
    let about =
        About { channel: Some("telegram".into()), target: Some("-100".into()), ..About::default() };
    assert!(store.open(&key).await.unwrap().is_none());
    store.create(&key, about.clone()).await.unwrap();
    let chat = store.create(&key, About::default()).await.unwrap();
    assert_eq!(chat.about().await.unwrap(), about);
    let chat = store.open(&key).await.unwrap().unwrap();
    assert_eq!((chat.key(), chat.about().await.unwrap()), (&key, about.clone()));
    let changed = About { target: Some("-200".into()), model: Some("small".into()), ..about };
    chat.set_about(changed.clone()).await.unwrap();
    assert_eq!(chat.about().await.unwrap(), changed);
    let chat = store.open(&key).await.unwrap().unwrap();
    assert_eq!(chat.about().await.unwrap(), changed);
}

pub async fn chats_are_listed_by_pages_with_their_sizes(store: &dyn Store) {
    assert_eq!(listed(store, 9).await, []);
    store.create(&"empty".parse().unwrap(), About::default()).await.unwrap();
    for key in ["a", "b", "c", "d"] {
        Begun::new(store, key).await.say("m1").await;
    }
    let all = listed(store, usize::MAX).await;
    let mut keys: Vec<&str> = all.iter().map(|look| look.key.as_ref().unwrap().as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["a", "b", "c", "d", "empty"]);
    for look in &all {
        let is_empty = look.key.as_ref().unwrap().as_str() == "empty";
        assert_eq!(look.sizes.context_bytes == 0, is_empty, "{look:?}");
    }
    assert!(all.is_sorted_by(|a, b| a.activity >= b.activity), "{all:?}");
    for limit in [1, 2, 4, 5] {
        assert_eq!(listed(store, limit).await, all, "by pages of {limit}");
    }
}

/// Lists all chats by pages of at most `limit`.
async fn listed(store: &dyn Store, limit: usize) -> Vec<ChatLook> {
    let (mut chats, mut after) = (Vec::new(), None);
    loop {
        let page = store.chats(after, limit).await.unwrap();
        assert!(page.chats.len() <= limit, "{page:?}");
        chats.extend(page.chats);
        match page.next {
            Some(next) => after = Some(next),
            None => return chats,
        }
    }
}

pub async fn a_chat_may_have_work_until_it_is_seen_idle_at_its_sizes(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let chat = begun.chat.clone();
    let may_have_work = async || store.chats(None, 9).await.unwrap().chats[0].may_have_work;
    assert!(may_have_work().await);
    let before = chat.sizes().await.unwrap();
    chat.ledger().accept(entry("k1", "x")).await.unwrap();
    chat.note_idle(before).await.unwrap();
    assert!(may_have_work().await, "an entry came after the look");
    for part in ["ledger", "context", "journal"] {
        let sizes = chat.sizes().await.unwrap();
        chat.note_idle(sizes).await.unwrap();
        assert!(!may_have_work().await, "{part}");
        match part {
            "ledger" => drop(chat.ledger().accept(entry("k2", "x")).await.unwrap()),
            "context" => begun.say("m2").await,
            _ => begun.lane.begin_journal(Object::new(), Synced::Now).await.unwrap(),
        }
        assert!(may_have_work().await, "{part}");
    }
}

pub async fn a_list_shows_the_content_of_chats_by_pages_in_the_same_order(store: &dyn Store) {
    for key in ["a", "b", "c"] {
        let mut begun = Begun::new(store, key).await;
        begun.say(&format!("of {key}")).await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
    }
    let looks = listed(store, usize::MAX).await;
    let (mut overviews, mut after) = (Vec::new(), None);
    loop {
        let page = store.overviews(after, 2).await.unwrap();
        assert!(page.chats.len() <= 2, "{page:?}");
        overviews.extend(page.chats);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(overviews.iter().map(|chat| chat.look.clone()).collect::<Vec<_>>(), looks);
    for ChatOverview { look, content } in overviews {
        let content = content.unwrap().unwrap();
        let last = content.last_message.unwrap();
        assert_eq!(last.id(), Some(&*format!("of {}", look.key.unwrap())));
        assert_eq!((content.messages, content.new_lines.len()), (1, 1));
    }
}

pub async fn chats_with_work_are_listed_without_those_that_are_idle(store: &dyn Store) {
    for key in ["a", "b", "c"] {
        let mut begun = Begun::new(store, key).await;
        begun.say("m1").await;
        let chat = begun.chat;
        chat.note_idle(chat.sizes().await.unwrap()).await.unwrap();
    }
    let with_work = async || {
        let page = store.chats_with_work(None, 9).await.unwrap();
        assert_eq!(page.next, None);
        page.chats.into_iter().map(|look| look.key.unwrap().to_string()).collect::<Vec<String>>()
    };
    assert!(with_work().await.is_empty());
    let chat = store.open(&"b".parse().unwrap()).await.unwrap().unwrap();
    chat.ledger().accept(entry("k1", "x")).await.unwrap();
    assert_eq!(with_work().await, ["b"]);
}

pub async fn hostile_keys_are_kept_apart(store: &dyn Store) {
    let long = |end: &str| format!("{}{end}", "k".repeat(299));
    let keys = ["../x", "a", "A", "🦜", "a/b", "a%2Fb", "CON", " a", "-", "~", "'"];
    let keys: Vec<String> =
        keys.iter().map(|&key| key.to_owned()).chain([long("1"), long("2")]).collect();
    for key in &keys {
        Begun::new(store, key).await.say(&format!("of {key}")).await;
    }
    for key in &keys {
        let chat = store.open(&key.parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(ids(&*chat).await, [format!("of {key}")]);
    }
    assert_eq!(listed(store, 3).await.len(), keys.len());
}

pub async fn a_lane_that_is_free_is_had_without_waiting(store: &dyn Store) {
    let Begun { chat, lane, .. } = Begun::new(store, "a").await;
    let Err(LaneError::Storage(StorageError::Busy(busy))) = chat.lane_now("second").await else {
        panic!("it is held")
    };
    assert_eq!((busy.waited_ms, busy.holder.map(|by| by.purpose)), (0, Some("test".to_owned())));
    lane.release().await;
    let lane = chat.lane_now("second").await.unwrap();
    lane.begin_journal(Object::new(), Synced::Now).await.unwrap();
    assert!(chat.lane_now("third").await.is_err(), "it is held again");
}

pub async fn a_lane_has_one_holder_and_says_who(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let refused = begun.chat.lane("second").await.map(|_| ());
    let Err(LaneError::Storage(StorageError::Busy(busy))) = refused else { panic!("{refused:?}") };
    let holder = busy.holder.clone().expect("a note of the holder");
    assert_eq!(holder.purpose, "test");
    let told = busy.explain().to_string();
    assert!(told.contains("`a`") && told.contains("lane") && told.contains("2026-"), "{told}");
    let Begun { chat, lane, .. } = begun;
    drop(lane);
    chat.lane("third").await.unwrap();
}

pub async fn anyone_may_accept_while_a_run_holds_the_lane(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let other = store.open(begun.chat.key()).await.unwrap().unwrap();
    assert!(other.ledger().accept(entry("k1", "x")).await.unwrap().new);
    assert_eq!(ledger_keys(&*begun.chat).await, ["k1"]);
}

pub async fn many_writers_get_each_their_own_place(store: &dyn Store) {
    let chat = Begun::new(store, "a").await.chat;
    let waiting: Vec<_> = (0..40)
        .map(|number| {
            let chat = chat.clone();
            tokio::spawn(async move {
                chat.ledger().accept(entry(&format!("k{}", number % 20), "x")).await.unwrap()
            })
        })
        .collect();
    let mut accepted = Vec::new();
    for answer in waiting {
        accepted.push(answer.await.unwrap());
    }
    let new = accepted.iter().filter(|accepted| accepted.new).count();
    assert_eq!((new, ledger_keys(&*chat).await.len()), (20, 20));
    let mut places: Vec<u64> = accepted.iter().map(|accepted| accepted.seq.get()).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places, (places[0]..places[0] + 20).collect::<Vec<u64>>());
}

pub async fn a_healthy_chat_has_no_problems(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.compact("s1", Seq::new(2)).await;
    begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
    let rotation = Rotation {
        expected: Some(begun.position.generation),
        head: begun.chat.log().view().await.unwrap().unwrap().head,
        pieces: vec![LogPiece::Keep(Seq::new(4), Seq::new(4)), LogPiece::New(event("e9"))],
    };
    begun.lane.rotate(rotation).await.unwrap();
    assert_eq!(begun.chat.verify().await.unwrap(), []);
    assert_eq!(begun.chat.repair().await.unwrap(), []);
    assert_eq!(ids(&*begun.chat).await, ["s1"]);
}

pub async fn the_memory_of_a_chat_is_kept_and_may_come_before_the_chat(store: &dyn Store) {
    let key = "a".parse().unwrap();
    assert_eq!(store.memory(&key).await.unwrap(), None);
    store.set_memory(&key, "\n They sail. \n".to_owned()).await.unwrap();
    assert_eq!(store.memory(&key).await.unwrap().as_deref(), Some("They sail."));
    assert!(store.open(&key).await.unwrap().is_none(), "a memory makes no chat");
    Begun::new(store, "a").await.say("m1").await;
    assert_eq!(store.memory(&key).await.unwrap().as_deref(), Some("They sail."));
    let too_long = "x".repeat(usize::try_from(TEXT_BYTES_MAX).unwrap() + 1);
    let refused = store.set_memory(&key, too_long).await.unwrap_err();
    assert!(matches!(refused, MemoryError::TooLong { .. }), "{refused}");
    store.set_memory(&key, String::new()).await.unwrap();
    assert_eq!(store.memory(&key).await.unwrap(), None);
    assert_eq!(store.memory(&"b".parse().unwrap()).await.unwrap(), None);
}
