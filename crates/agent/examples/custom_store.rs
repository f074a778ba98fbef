//! A store of one's own, wrapped around the one in memory: it counts how often chats are opened.
//! `cargo run -p ship-agent --example custom_store`
//!
//! The messages of a chat are written through the `Chat` and the `Lane` that a store hands out, so a store that
//! observes or changes writes wraps those two as well. For a store without another inside, the crate `ship-testkit` has
//! a suite of tests: `ship_testkit::store_contract!` holds it to every promise that the engine relies on.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ship_agent::store::{
    About, BlobError, BlobRef, ChangeFuture, ChangedChats, Chat, ChatCursor, ChatPage, MemoryError,
    Moment, OverviewPage, ProjectRecords, StorageError, StoreFuture,
};
use ship_agent::{Agent, ChatKey, FileStore, Store, StoreOptions};

struct Counted {
    chats: FileStore,
    opened: AtomicUsize,
}

impl Store for Counted {
    fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError> {
        self.chats.chats(after, limit)
    }

    // The default opens every chat; the store inside reads less.
    fn overviews(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, OverviewPage, StorageError> {
        self.chats.overviews(after, limit)
    }

    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, StorageError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.chats.open(key)
    }

    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, StorageError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.chats.create(key, about)
    }

    fn moment(&self) -> Moment {
        self.chats.moment()
    }

    fn changed(&self, after: Moment) -> ChangeFuture<'_, ChangedChats> {
        self.chats.changed(after)
    }

    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError> {
        self.chats.put_blob(bytes, media_type)
    }

    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError> {
        self.chats.blob(sha256)
    }

    fn memory(&self, chat: &ChatKey) -> StoreFuture<'_, Option<String>, MemoryError> {
        self.chats.memory(chat)
    }

    fn set_memory(&self, chat: &ChatKey, text: String) -> StoreFuture<'_, (), MemoryError> {
        self.chats.set_memory(chat, text)
    }

    fn records(&self) -> &dyn ProjectRecords {
        self.chats.records()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chats = FileStore::in_memory(StoreOptions::default());
    let store = Arc::new(Counted { chats, opened: AtomicUsize::new(0) });
    let agent = Agent::builder().shared_store(store.clone()).build();
    let reply = agent.send(&"api:main".parse()?, "hello").await?;
    println!("{}", reply.text());
    println!("chats were opened {} times", store.opened.load(Ordering::Relaxed));
    Ok(())
}
