//! The store as the engine sees it: chats, and for each chat what anyone may do and what only the
//! holder of its lane may do.
//!
//! The traits say nothing about files, so that a database fits behind them. Every write is durable when
//! its future is ready, and once begun it is finished even if the future is dropped: the caller may stop
//! waiting, never half-write.
//!
//! The write right is taken inside each operation. The lane is a value, [`Lane`], because only who holds
//! it may write the context log and the outbox; on files it is a lock that ends with its process, in a
//! database a lease.

use std::pin::Pin;
use std::sync::Arc;

use ship_message::json::{Json, Object};

use crate::{
    AcceptError, Accepted, AppendError, BlobError, ChatKey, ContextId, Delivery, Durability, Head,
    LaneError, LaneHolder, LedgerEntry, LedgerLine, LedgerSeq, ListError, MessageId, MessagePlace,
    NewLine, OpenError, Position, PurgeError, Purged, ReadError, RotateError, Rotated, Rotation,
    SealedLog, SealedName, Seq, StorageError, StorageProblem, Timestamp, View,
};

/// What an operation of the store gives, later.
pub type StoreFuture<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// All chats of a project, and the blobs they share.
pub trait Store: Send + Sync {
    /// Lists the chats, with one look at the sizes of each; none is opened.
    fn chats(&self) -> StoreFuture<'_, Vec<ChatLook>, ListError>;

    /// Tells of each chat what a list of chats shows, for little more than a look at its files.
    fn overviews(&self) -> StoreFuture<'_, Vec<ChatOverview>, ListError> {
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
    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, OpenError>;

    /// Opens a chat, making it if there is none of that key. What a known chat is about stays.
    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, OpenError>;

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
    pub last_message: Option<Object>,
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
    let opened = store.open(key).await.map_err(|error| match error {
        OpenError::Storage(error) => ReadError::Storage(error),
    })?;
    let Some(chat) = opened else { return Ok(None) };
    let state = chat.state(usize::MAX).await?;
    Ok(Some(ChatContent::new(state.about, state.view, state.new_lines)))
}

/// One chat.
pub trait Chat: Send + Sync {
    /// Returns its key.
    fn key(&self) -> &ChatKey;

    /// Returns what it is about.
    fn about(&self) -> StoreFuture<'_, About, ReadError>;

    /// Says anew what it is about.
    fn set_about(&self, about: About) -> StoreFuture<'_, (), OpenError>;

    /// Takes the lane, for a run, waiting up to `lock.waitMs`. `purpose` is told to who is refused.
    fn lane(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError>;

    /// Takes the lane if it is free, and waits for nobody.
    fn lane_now(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError>;

    /// Looks at the process that noted last that it holds the lane; `None` if there is no note, or if the store has
    /// no processes to tell of.
    fn lane_holder(&self) -> StoreFuture<'_, Option<LaneHolder>, ReadError> {
        Box::pin(async { Ok(None) })
    }

    /// Adds an entry to the ledger. The same key again is the same entry. Needs no lane.
    fn accept(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError>;

    /// Reads the ledger backwards: the last `limit` lines before `before` (or the end), in order.
    fn ledger_before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError>;

    /// Reads the ledger forwards: the first `limit` lines after `after` (or the start), in order.
    fn ledger_after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError>;

    /// Finds the entry of a key, however long ago it was accepted, if it is behind `after`. One that is before
    /// `after` may be found as well. What is behind `after` costs, not the age of the chat.
    fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
    ) -> StoreFuture<'_, Option<LedgerSeq>, ReadError>;

    /// Returns the newest state of every platform message that is not done, in order.
    fn open_deliveries(&self) -> StoreFuture<'_, Vec<Delivery>, ReadError>;

    /// Reads the active context; `None` before the first.
    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError>;

    /// Lists the sealed logs that the active one goes back to, the newest first.
    ///
    /// To read everything while others write, read the view first and then this: a log that is sealed in
    /// between is then in both, and none is missed.
    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError>;

    /// Lists up to `limit` of them that are before `before` (or before the live log), the newest first. Costs
    /// what it lists, however many there are.
    fn sealed_logs(
        &self,
        before: Option<SealedName>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        Box::pin(async move {
            let sealed = self.sealed().await?.into_iter();
            let is_before = |log: &SealedLog| {
                before.as_ref().is_none_or(|before| log.name.range() < before.range())
            };
            Ok(sealed.filter(is_before).take(limit).collect())
        })
    }

    /// Returns the sealed log that has a line, as the names tell: no log is opened.
    fn sealed_with(&self, seq: Seq) -> StoreFuture<'_, Option<SealedName>, ReadError> {
        Box::pin(async move {
            let names = self.sealed().await?.into_iter().map(|log| log.name);
            Ok(names.into_iter().find(|name| name.has(seq)))
        })
    }

    /// Finds the newest log that has a message of this id: the live one, then the sealed ones of all contexts,
    /// the newest first; only sealed ones before `before` if that is given. Costs what is read until then.
    fn find(
        &self,
        id: &MessageId,
        before: Option<SealedName>,
    ) -> StoreFuture<'_, Option<MessagePlace>, ReadError> {
        let id = id.clone();
        Box::pin(async move {
            if before.is_none()
                && let Some(seq) = self.view().await?.and_then(|view| view.line_of(&id))
            {
                return Ok(Some(MessagePlace { log: None, seq }));
            }
            for SealedLog { name, .. } in self.sealed_logs(before, usize::MAX).await? {
                let view = self.sealed_view_if_left(&name).await?;
                if let Some(seq) = view.and_then(|view| view.line_of(&id)) {
                    return Ok(Some(MessagePlace { log: Some(name), seq }));
                }
            }
            Ok(None)
        })
    }

    /// Reads a sealed log as the context it was. One that was purged is an error that says so.
    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError>;

    /// Reads a sealed log; `None` if it was purged or nothing can be read of it, and only what is left matters.
    fn sealed_view_if_left(&self, name: &SealedName) -> StoreFuture<'_, Option<View>, ReadError> {
        let name = name.clone();
        Box::pin(async move {
            match self.sealed_view(&name).await {
                Ok(view) => Ok(Some(view)),
                Err(ReadError::NoSealedLog { .. } | ReadError::Purged { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// Reads the journal of the last run that was begun.
    fn journal(&self) -> StoreFuture<'_, Vec<Object>, ReadError>;

    /// Reads what decides what is to be done about the chat, with the first `limit` lines that the context
    /// has not read of the ledger. A store that has them in one place gives them in one go.
    fn state(&self, limit: usize) -> StoreFuture<'_, ChatState, ReadError> {
        Box::pin(async move {
            let view = self.view().await?;
            let inbox = view.as_ref().and_then(|view| view.inbox);
            Ok(ChatState {
                about: self.about().await?,
                view,
                new_lines: self.ledger_after(inbox, limit).await?,
                journal: self.journal().await?,
            })
        })
    }

    /// Reads the last `limit` records of model calls.
    fn requests(&self, limit: usize) -> StoreFuture<'_, Vec<Object>, ReadError>;

    /// Reads derived state; `None` if there is none or it cannot be read: make it anew.
    fn derived(&self, which: Derived) -> StoreFuture<'_, Option<DerivedState>, ReadError>;

    /// Writes derived state.
    fn put_derived(&self, which: Derived, state: DerivedState)
    -> StoreFuture<'_, (), StorageError>;

    /// Takes derived state away, if it is there.
    fn remove_derived(&self, which: Derived) -> StoreFuture<'_, (), StorageError>;

    /// Lists the contexts that have a snapshot, [`Derived::Context`]; none is opened.
    fn archived_contexts(&self) -> StoreFuture<'_, Vec<ContextId>, ReadError>;

    /// Lists what is not as it should be. Changes nothing.
    fn verify(&self) -> StoreFuture<'_, Vec<StorageProblem>, ReadError>;

    /// Sets aside what is torn or left over and says what it did. Deletes nothing that was acknowledged.
    fn repair(&self) -> StoreFuture<'_, Vec<StorageProblem>, StorageError>;

    /// Writes down that a person has seen these problems, which cannot be healed: from then on a verification
    /// shows them as known.
    fn acknowledge(&self, problems: Vec<StorageProblem>) -> StoreFuture<'_, (), StorageError>;
}

/// The right to run the agent on a chat. It ends when this is dropped.
pub trait Lane: Send + Sync {
    /// Appends to the context log, all or nothing, if it still ends at `expected`.
    ///
    /// A message that is there already with the same content adds nothing.
    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError>;

    /// Seals the context log and puts a new one in its place.
    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError>;

    /// Takes the lines of a sealed log away for good, on behalf of `by`. Its name and its head stay, and what was
    /// there to tell: when, how many lines, by what. One that was purged before stays as it is. Blobs stay.
    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError>;

    /// Records what became of platform messages.
    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError>;

    /// Begins the journal of a run, which replaces that of the run before.
    fn begin_journal(&self, about: Object) -> StoreFuture<'_, (), StorageError>;

    /// Adds to the journal of the run.
    fn journal(&self, parts: Vec<Object>, when: Synced) -> StoreFuture<'_, (), StorageError>;

    /// Records a model call. Not synced: it explains, and nothing depends on it.
    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError>;
}

/// When what is written to a journal is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// Before the operation returns: for what must not happen twice.
    Now,
    /// With the next sync: it survives a killed process, not a power cut.
    Later,
}

/// What a chat is about: where it lives and how to reach it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// `terminal`, `http` or `telegram`.
    pub channel: Option<String>,
    /// The delivery target, as the channel knows it.
    pub target: Option<Json>,
}

/// What decides what is to be done about a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatState {
    /// What it is about.
    pub about: About,
    /// The active context; `None` before the first.
    pub view: Option<View>,
    /// The lines of the ledger behind the context's inbox cursor.
    pub new_lines: Vec<LedgerLine>,
    /// The journal of the last run that was begun.
    pub journal: Vec<Object>,
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
    /// How many.
    pub size: u64,
    /// What they are.
    pub media_type: String,
}

/// Which derived state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Derived {
    /// Compaction cursor and time, sizes, token totals.
    Meta,
    /// What `chat_context_list` shows.
    ContextIndex,
    /// A snapshot of an archived context.
    Context(ContextId),
}

/// Derived state and the place in the log that it was derived from.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedState {
    /// The state.
    pub value: Object,
    /// Where the log ended.
    pub position: Position,
    /// The checksum of the line there, so that another log of the same length is told apart.
    pub crc: u32,
}

/// How a store is kept.
#[derive(Clone)]
pub struct StoreOptions {
    /// `durability` of ship.json.
    pub durability: Durability,
    /// `lock.waitMs`: how long to wait for a right that somebody else has.
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
