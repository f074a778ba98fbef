//! The traits of a store. A chat has operations for every caller, and others for the holder of its lane alone.
//!
//! The traits say nothing about files, so that a database fits behind them. Every write is durable when
//! its future is ready, and once begun it is finished even if the future is dropped: the caller may stop
//! waiting, never half-write.
//!
//! The write right is taken inside each operation. The lane is a value, [`Lane`], because only its holder may write
//! the context log and the outbox; on files it is a lock that ends with its process, in a database a lease.

use std::sync::Arc;

use ship_message::UiMessage;

use crate::{
    About, BlobError, ChangeFuture, ChangedChats, Chat, ChatCursor, ChatKey, ChatLook, ChatPage,
    Durability, Head, IndexFiles, LedgerLine, MemoryError, Moment, ProjectRecords, ReadError,
    StorageError, StoreFuture, Timestamp, View,
};

/// All chats of a project, and the blobs they share.
pub trait Store: Send + Sync {
    /// Lists at most `limit` chats behind a place, the newest activity first, with one look at the sizes of each; none is
    /// opened. A chat that becomes active between two pages may be on neither: it is now at the beginning of the list.
    fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError>;

    /// Lists chats like [`Store::chats`], but only those in which something may be left to do. The others are not even
    /// looked into. A page may have fewer chats than the limit, or none, although others follow.
    fn chats_with_work(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError> {
        Box::pin(async move {
            let mut page = self.chats(after, limit).await?;
            page.chats.retain(|look| look.may_have_work);
            Ok(page)
        })
    }

    /// Lists chats like [`Store::chats`], with what a list shows of each. This costs little more than a look at the
    /// files of these chats.
    fn overviews(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, OverviewPage, StorageError> {
        Box::pin(async move {
            let ChatPage { chats: looks, next } = self.chats(after, limit).await?;
            let mut chats = Vec::with_capacity(looks.len());
            for look in looks {
                let content = match &look.key {
                    Ok(key) => overview_of(self, key).await,
                    Err(_) => Ok(None),
                };
                chats.push(ChatOverview { look, content });
            }
            Ok(OverviewPage { chats, next })
        })
    }

    /// Opens a chat; `None` if there is none with this key. It changes nothing.
    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, StorageError>;

    /// Opens a chat, or makes it if there is none with this key. The description of an existing chat stays.
    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, StorageError>;

    /// Returns the present moment, for a caller that reads chats and then waits for a change.
    fn moment(&self) -> Moment;

    /// Waits until any chat has changed after a moment: something has arrived in it, from any process, or this process
    /// has written to its context log. The first wait, which may have to begin a watch, and others now and then return
    /// without a change, and then say that they may have missed some.
    fn changed(&self, after: Moment) -> ChangeFuture<'_, ChangedChats>;

    /// Stores bytes under their digest.
    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError>;

    /// Returns the bytes with a digest.
    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError>;

    /// Reads the memory of a chat, as people and agents write it; `None` if there is none. Surrounding white space is
    /// removed, and what cannot be read as text is replaced. A person may write it before the chat exists.
    fn memory(&self, chat: &ChatKey) -> StoreFuture<'_, Option<String>, MemoryError>;

    /// Replaces the memory of a chat.
    fn set_memory(&self, chat: &ChatKey, text: String) -> StoreFuture<'_, (), MemoryError>;

    /// Returns the search indexes of the chats; `None` if the store keeps none, so that every search reads the logs.
    fn indexes(&self) -> Option<&dyn IndexFiles> {
        None
    }

    /// Returns the records and leases of the project.
    fn records(&self) -> &dyn ProjectRecords;
}

/// A page of the list of chats, with the content of each in short.
#[derive(Debug)]
pub struct OverviewPage {
    /// The chats of this page.
    pub chats: Vec<ChatOverview>,
    /// The place behind the page; `None` if no chat follows.
    pub next: Option<ChatCursor>,
}

/// The overview of a chat for a list of chats.
#[derive(Debug)]
pub struct ChatOverview {
    /// The key of the chat or the problem with its folder, and what a look at it tells.
    pub look: ChatLook,
    /// The content in short, or the reason why it cannot be read; `None` if the chat has just been removed.
    pub content: Result<Option<ChatContent>, ReadError>,
}

/// The content of a chat in short.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatContent {
    /// The description of the chat.
    pub about: About,
    /// The head of its active context; `None` before the first.
    pub head: Option<Head>,
    /// The number of messages in the active context.
    pub messages: usize,
    /// The number of messages that were said in the chat, in all its contexts, each once. A store that does not count
    /// them has those of the active context.
    pub messages_said: u64,
    /// The last message of the active context.
    pub last_message: Option<UiMessage>,
    /// The lines of the ledger behind the context's inbox cursor.
    pub new_lines: Vec<LedgerLine>,
}

impl ChatContent {
    /// Makes the content for a list from a view.
    pub(crate) fn new(about: About, view: Option<View>, new_lines: Vec<LedgerLine>) -> Self {
        let messages = view.as_ref().map_or(0, |view| view.messages().count());
        let last_message = view.as_ref().and_then(|view| view.messages().last().cloned());
        let (head, messages_said) = (view.map(|view| view.head), messages as u64);
        Self { about, head, messages, messages_said, last_message, new_lines }
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

/// A reference to stored bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRef {
    /// The digest of the bytes, as 64 hex digits.
    pub sha256: String,
    /// The number of bytes.
    pub size: u64,
    /// The media type of the bytes.
    pub media_type: String,
}

/// The options of a store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The setting `durability`.
    pub durability: Durability,
    /// The setting `lock.waitMs`: the time to wait for a right that another process or task has.
    pub lock_wait_ms: u64,
    /// The setting `limits.messageBytes`: the maximum length of a message as JSON.
    pub message_bytes_max: usize,
    /// The setting `limits.cacheBytes`: the memory for what was read of all chats together.
    pub cache_bytes: u64,
    /// The source of the time.
    pub clock: Arc<dyn crate::Clock>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            lock_wait_ms: 10_000,
            message_bytes_max: 8_388_608,
            cache_bytes: 268_435_456,
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
            .field("cache_bytes", &self.cache_bytes)
            .finish_non_exhaustive()
    }
}

impl StoreOptions {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
