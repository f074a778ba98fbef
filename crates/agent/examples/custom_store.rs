//! A store of one's own, wrapped around the one in memory: it counts how often chats are opened.
//! `cargo run -p ship-agent --example custom_store`

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ship_agent::Agent;
use ship_store::{
    About, BlobError, BlobRef, Chat, ChatKey, ChatLook, FileStore, ListError, OpenError, Store,
    StoreFuture, StoreOptions,
};

struct Counted {
    chats: FileStore,
    opened: AtomicUsize,
}

impl Store for Counted {
    fn chats(&self) -> StoreFuture<'_, Vec<ChatLook>, ListError> {
        self.chats.chats()
    }

    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, OpenError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.chats.open(key)
    }

    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, OpenError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.chats.create(key, about)
    }

    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError> {
        self.chats.put_blob(bytes, media_type)
    }

    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError> {
        self.chats.blob(sha256)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chats = FileStore::in_memory(StoreOptions::default());
    let store = Arc::new(Counted { chats, opened: AtomicUsize::new(0) });
    let agent = Agent::builder().store(Arc::clone(&store) as Arc<dyn Store>).build();
    let reply = agent.send(&"api:main".parse()?, "hello").await?;
    println!("{}", reply.text());
    println!("chats were opened {} times", store.opened.load(Ordering::Relaxed));
    Ok(())
}
