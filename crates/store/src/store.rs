//! The store as the engine sees it: chats, and for each chat what anyone may do and what only the
//! holder of its lane may do.
//!
//! The traits say nothing about files, so that a database fits behind them. Every write is durable when
//! its future is ready, and once begun it is finished even if the future is dropped: the caller may stop
//! waiting, never half-write.
//!
//! The write right is taken inside each operation. The lane is a value, [`Lane`], because only its holder
//! may write the context log and the outbox; on files it is a lock that ends with its process, in a database
//! a lease.

use std::sync::Arc;

use ship_message::UiMessage;

use crate::{
    About, BlobError, Chat, ChatKey, Durability, Head, LedgerLine, ReadError, StorageError,
    StorageProblem, StoreFuture, Timestamp, View,
};

/// All chats of a project, and the blobs they share.
pub trait Store: Send + Sync {
    /// Lists the chats, with one look at the sizes of each; none is opened.
    fn chats(&self) -> StoreFuture<'_, Vec<ChatLook>, StorageError>;

    /// Tells of each chat what a list of chats shows, for little more than a look at its files.
    fn overviews(&self) -> StoreFuture<'_, Vec<ChatOverview>, StorageError> {
        Box::pin(async move {
            let mut overviews = Vec::new();
            for look in self.chats().await? {
                let content = match &look.key {
                    Ok(key) => overview_of(self, key).await,
                    Err(_) => Ok(None),
                };
                overviews.push(ChatOverview { key: look.key, content });
            }
            Ok(overviews)
        })
    }

    /// Opens a chat; `None` if there is none of that key. Changes nothing.
    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, StorageError>;

    /// Opens a chat, making it if there is none of that key. What a known chat is about stays.
    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, StorageError>;

    /// Keeps bytes under their digest.
    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError>;

    /// Returns the bytes of a digest.
    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError>;
}

/// What a list of chats shows of one.
#[derive(Debug)]
pub struct ChatOverview {
    /// The chat, or what is wrong with its folder.
    pub key: Result<ChatKey, StorageProblem>,
    /// What is in it, or why that cannot be read; `None` if it is gone meanwhile.
    pub content: Result<Option<ChatContent>, ReadError>,
}

/// What is in a chat, in short.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatContent {
    /// What it is about.
    pub about: About,
    /// The head of its active context; `None` before the first.
    pub head: Option<Head>,
    /// How many messages the active context has.
    pub messages: usize,
    /// The last of them.
    pub last_message: Option<UiMessage>,
    /// The lines of the ledger behind the context's inbox cursor.
    pub new_lines: Vec<LedgerLine>,
}

impl ChatContent {
    /// Keeps of a view what a list shows.
    pub(crate) fn new(about: About, view: Option<View>, new_lines: Vec<LedgerLine>) -> Self {
        let messages = view.as_ref().map_or(0, |view| view.messages().count());
        let last_message = view.as_ref().and_then(|view| view.messages().last().cloned());
        Self { about, head: view.map(|view| view.head), messages, last_message, new_lines }
    }
}

async fn overview_of<S: Store + ?Sized>(
    store: &S,
    key: &ChatKey,
) -> Result<Option<ChatContent>, ReadError> {
    let Some(chat) = store.open(key).await? else { return Ok(None) };
    let state = chat.state(usize::MAX).await?;
    Ok(Some(ChatContent::new(state.about, state.view, state.new_lines)))
}

/// What one look at a chat tells.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatLook {
    /// The chat, or what is wrong with its folder.
    pub key: Result<ChatKey, StorageProblem>,
    /// Bytes in the active context's log.
    pub context_bytes: u64,
    /// Bytes in the ledger.
    pub ledger_bytes: u64,
    /// Bytes in the journal of the last run.
    pub journal_bytes: u64,
}

/// Where bytes are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRef {
    /// Their digest, 64 hex digits.
    pub sha256: String,
    /// The number of bytes.
    pub size: u64,
    /// What they are.
    pub media_type: String,
}

/// How a store is kept.
#[derive(Clone)]
pub struct StoreOptions {
    /// `durability` of ship.json.
    pub durability: Durability,
    /// `lock.waitMs`: how long to wait for a right that another process or task has.
    pub lock_wait_ms: u64,
    /// `limits.messageBytes`: how long a message may be as JSON.
    pub message_bytes_max: usize,
    /// Tells the time.
    pub clock: Arc<dyn crate::Clock>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            lock_wait_ms: 10_000,
            message_bytes_max: 8_388_608,
            clock: Arc::new(crate::SystemClock),
        }
    }
}

impl std::fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("durability", &self.durability)
            .field("lock_wait_ms", &self.lock_wait_ms)
            .field("message_bytes_max", &self.message_bytes_max)
            .finish_non_exhaustive()
    }
}

impl StoreOptions {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
