//! A chat in which nothing is left to do is noted as idle, and another one is not.

use ship_agent::{Agent, FileStore, Inbound, Stop, Store, StoreOptions};

#[tokio::test]
async fn a_run_that_leaves_nothing_to_do_notes_its_chat_as_idle() {
    let store = FileStore::in_memory(StoreOptions::default());
    let agent = Agent::builder().store(store.clone()).build();
    let chat = "api:main".parse().unwrap();
    let may_have_work = async || store.chats(None, 9).await.unwrap().chats[0].may_have_work;
    agent.send(&chat, "hello").await.unwrap();
    assert!(!may_have_work().await);
    let waiting = Inbound { text: "more".to_owned(), key: "k2".to_owned(), ..Inbound::default() };
    agent.accept(&chat, waiting).await.unwrap();
    assert!(may_have_work().await);
    agent.run(&chat, &Stop::default()).await.unwrap();
    assert!(!may_have_work().await);
}
