//! A chat with lines that this program must not pass over.

use std::fs;

use ship_store::{About, FileStore, LogPiece, Rotation, Seq, Store};
use ship_testkit::chat::{Begun, entry, first_context, options};

const ABOUT: &str = ".ship/chat/a/chat.json";
const NEWER: &str = "{\"v\":1,\"chatKey\":\"a\",\"minReader\":2}\n";

fn is_refused<T>(result: Result<T, impl std::fmt::Display>) {
    let told = result.err().expect("the chat needs a newer program").to_string();
    let sentence = "says that the chat needs reader version 2, and this program has 1";
    assert!(told.contains(ABOUT) && told.contains(sentence), "{told}");
    assert!(told.ends_with("use a newer version of ship"), "{told}");
}

#[tokio::test]
async fn a_chat_that_needs_a_newer_reader_is_refused_by_every_operation() {
    let project = tempfile::tempdir().unwrap();
    let store = FileStore::new(project.path(), options()).unwrap();
    let mut begun = Begun::new(&store, "a").await;
    begun.say("m1").await;
    let Begun { chat, lane, .. } = begun;
    drop(lane);
    let file = project.path().join(ABOUT);
    fs::write(&file, NEWER).unwrap();
    let log = project.path().join(".ship/chat/a/messages/history.jsonl");
    let before = fs::read(&log).unwrap();

    let key = "a".parse().unwrap();
    is_refused(store.open(&key).await);
    is_refused(store.create(&key, About::default()).await);
    is_refused(chat.lane("run").await);
    is_refused(chat.lane_now("run").await);
    is_refused(chat.about().await);
    is_refused(chat.set_about(About::default()).await);
    is_refused(chat.state(1).await);
    let overview = store.overviews(None, 1).await.unwrap().chats.remove(0);
    is_refused(overview.content);
    let other = FileStore::new(project.path(), options()).unwrap();
    is_refused(other.set_memory(&key, "x".to_owned()).await);
    let copy = Begun::new(&store, "b").await;
    let pieces = vec![LogPiece::Of { chat: key, log: None, first: Seq::new(1), last: Seq::new(2) }];
    is_refused(copy.lane.rotate(Rotation { pieces, ..first_context() }).await);
    assert_eq!(store.chats(None, 9).await.unwrap().chats.len(), 2, "it is listed");
    assert_eq!(
        (fs::read(&log).unwrap(), fs::read_to_string(&file).unwrap()),
        (before, NEWER.into())
    );
}

#[tokio::test]
async fn a_chat_that_this_program_can_read_keeps_what_it_needs() {
    let project = tempfile::tempdir().unwrap();
    let store = FileStore::new(project.path(), options()).unwrap();
    let begun = Begun::new(&store, "a").await;
    begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
    let file = project.path().join(ABOUT);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"v\":1,\"chatKey\":\"a\"}\n");
    fs::write(&file, NEWER.replace('2', "1")).unwrap();
    let about = About { model: Some("m".to_owned()), ..About::default() };
    begun.chat.set_about(about).await.unwrap();
    let kept = "{\"v\":1,\"chatKey\":\"a\",\"model\":\"m\",\"minReader\":1}\n";
    assert_eq!(fs::read_to_string(&file).unwrap(), kept);
}
