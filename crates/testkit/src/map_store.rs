//! A second back end: a database in maps, which shows that a store needs no files.
//!
//! All lines of a chat are rows under their numbers, and a sealed log is a range of them. A lane is a lease: a row with
//! a token that no other lease ever has, which runs out when the test moves the clock. Every write of a lane compares
//! token and time. A value is one process of a database that several share; at each of its calls the database
//! can be out of reach, lose its answer, or keep the process waiting.
//!
//! ```
//! # ship_testkit::runtime::block_on(async {
//! use ship_store::{About, Store};
//! let first = ship_testkit::map_store::MapStore::default();
//! let chat = first.create(&"a".parse()?, About::default()).await?;
//! let lane = chat.lane("run").await?;
//! first.end_leases();
//! lane.lost().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod calls;
mod chat;
mod lane;
mod log_rows;
mod records;
mod tables;

use std::sync::Arc;

use parking_lot::Mutex;
use ship_store::rules::blob_ref;
use ship_store::{
    About, BlobError, BlobRef, ChangeFeed, ChangeFuture, ChangedChats, Chat, ChatCursor, ChatKey,
    ChatPage, Clock as _, IndexFiles, MemoryError, Moment, ProjectRecords, ReadError, RecordName,
    StorageError, Store, StoreFuture, TEXT_BYTES_MAX, Timestamp,
};

use calls::CallKind;
pub use calls::{CallFault, CallStop, Calls};
use chat::MapChat;
use log_rows::ChatRows;
use tables::{Tables, read_blob};

use crate::clock::ManualClock;

/// The time after which a lane that is not renewed is lost.
pub const LEASE_MS: i64 = 15_000;
/// The maximum length of a message.
const MESSAGE_BYTES_MAX: usize = 8_388_608;

/// One process of a database in maps. Clones are the same process.
#[derive(Clone)]
pub struct MapStore {
    database: Arc<Database>,
    /// The name of this process, which no other has.
    process: String,
    calls: Arc<Calls>,
}

/// What the processes share.
#[derive(Default)]
struct Database {
    tables: Mutex<Tables>,
    clock: ManualClock,
    changes: ChangeFeed,
}

impl Default for MapStore {
    fn default() -> Self {
        Self::new(ManualClock::default())
    }
}

impl MapStore {
    /// Makes an empty database with this clock, and its first process.
    pub fn new(clock: ManualClock) -> Self {
        Self::process_of(Arc::new(Database { clock, ..Database::default() }))
    }

    /// Returns another process of the same database. No fault of this one is one of that.
    pub fn another_process(&self) -> Self {
        Self::process_of(Arc::clone(&self.database))
    }

    fn process_of(database: Arc<Database>) -> Self {
        let process = format!("worker {}", database.tables.lock().next_number());
        Self { database, process, calls: Arc::default() }
    }

    /// Moves the clock, so that every lease runs out that is held now.
    pub fn end_leases(&self) {
        self.database.clock.advance(LEASE_MS);
        let chats: Vec<ChatKey> = self.database.tables.lock().chats.keys().cloned().collect();
        chats.iter().for_each(|chat| self.database.changes.note_arrival(chat));
    }

    /// Returns the calls of this process, which may fail or stop it.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Counts a call that is not one of the store, such as that of a model, so that a process can stop there.
    pub async fn visit(&self, name: &'static str) {
        let visited: Result<(), StorageError> = self.call(CallKind::Visit, name, |_| Ok(())).await;
        visited.expect("only calls of the store fail");
    }

    /// Returns every row that only the holder of a lane may write, as text, to find out whether one was written.
    pub fn rows(&self) -> Vec<String> {
        self.database.tables.lock().chats.values().flat_map(|rows| rows.to_texts()).collect()
    }

    fn now(&self) -> Timestamp {
        self.database.clock.now()
    }

    /// Makes a call of the database, which does all of `work` or nothing.
    async fn call<T, E: From<StorageError>>(
        &self,
        kind: CallKind,
        name: &'static str,
        work: impl FnOnce(&mut Tables) -> Result<T, E>,
    ) -> Result<T, E> {
        self.calls.make(kind, name, || work(&mut self.database.tables.lock())).await
    }

    fn to_chat(&self, key: &ChatKey) -> Arc<dyn Chat> {
        Arc::new(MapChat { store: self.clone(), key: key.clone() })
    }
}

impl Store for MapStore {
    fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError> {
        Box::pin(self.call(CallKind::Read, "chats", move |tables| Ok(tables.page(after, limit))))
    }

    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, StorageError> {
        let key = key.clone();
        Box::pin(async move {
            let is_there = self.call(CallKind::Read, "open", |tables| tables.check(&key)).await?;
            Ok(is_there.then(|| self.to_chat(&key)))
        })
    }

    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, StorageError> {
        let (key, now) = (key.clone(), self.now());
        Box::pin(async move {
            let create = |tables: &mut Tables| {
                if !tables.check(&key)? {
                    tables.chats.insert(key.clone(), ChatRows::new(&key, about, now));
                }
                Ok::<(), StorageError>(())
            };
            self.call(CallKind::Write, "create", create).await?;
            Ok(self.to_chat(&key))
        })
    }

    fn moment(&self) -> Moment {
        self.database.changes.now()
    }

    fn changed(&self, after: Moment) -> ChangeFuture<'_, ChangedChats> {
        Box::pin(self.database.changes.any_changed(after))
    }

    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError> {
        let blob = blob_ref(&bytes, media_type);
        Box::pin(self.call(CallKind::Write, "put_blob", move |tables| {
            tables.blobs.insert(blob.sha256.clone(), bytes);
            Ok(blob)
        }))
    }

    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError> {
        let sha256 = sha256.to_owned();
        Box::pin(self.call(CallKind::Read, "blob", move |tables| read_blob(&tables.blobs, &sha256)))
    }

    fn memory(&self, chat: &ChatKey) -> StoreFuture<'_, Option<String>, MemoryError> {
        let chat = chat.clone();
        Box::pin(self.call(CallKind::Read, "memory", move |tables| {
            let text = tables.memories.get(&chat).map(|text| text.trim().to_owned());
            Ok(text.filter(|text| !text.is_empty()))
        }))
    }

    fn set_memory(&self, chat: &ChatKey, text: String) -> StoreFuture<'_, (), MemoryError> {
        let (chat, len) = (chat.clone(), text.len() as u64);
        Box::pin(self.call(CallKind::Write, "set_memory", move |tables| {
            if len > TEXT_BYTES_MAX {
                return Err(MemoryError::TooLong { chat, len });
            }
            tables.memories.insert(chat, text);
            Ok(())
        }))
    }

    fn indexes(&self) -> Option<&dyn IndexFiles> {
        Some(self)
    }

    fn records(&self) -> &dyn ProjectRecords {
        self
    }
}

impl IndexFiles for MapStore {
    fn read_all(
        &self,
        chats: Vec<ChatKey>,
        piece: &RecordName,
    ) -> StoreFuture<'_, Vec<Option<Vec<u8>>>, ReadError> {
        let piece = piece.clone();
        Box::pin(self.call(CallKind::Read, "read_index", move |tables| {
            let read = |chat: ChatKey| tables.indexes.get(&(chat, piece.clone())).cloned();
            Ok(chats.into_iter().map(read).collect())
        }))
    }

    fn put(
        &self,
        chat: &ChatKey,
        piece: &RecordName,
        bytes: Vec<u8>,
    ) -> StoreFuture<'_, (), StorageError> {
        let key = (chat.clone(), piece.clone());
        Box::pin(self.call(CallKind::Write, "put_index", move |tables| {
            tables.indexes.insert(key, bytes);
            Ok(())
        }))
    }

    fn keep_only(
        &self,
        chat: &ChatKey,
        pieces: Vec<RecordName>,
    ) -> StoreFuture<'_, (), StorageError> {
        let chat = chat.clone();
        Box::pin(self.call(CallKind::Write, "keep_index", move |tables| {
            tables.indexes.retain(|(owner, piece), _| *owner != chat || pieces.contains(piece));
            Ok(())
        }))
    }

    fn drop_strays(&self) -> StoreFuture<'_, (), StorageError> {
        Box::pin(self.call(CallKind::Write, "drop_stray_indexes", |tables| {
            let chats = &tables.chats;
            tables.indexes.retain(|(owner, _), _| chats.contains_key(owner));
            Ok(())
        }))
    }
}
