//! The store of one conversation: its context is the conversation, all else is memory.
//!
//! The engine works on a chat, with a ledger and a journal beside its context. A conversation has neither,
//! because its file is for anyone to read; they last as long as the agent is in it.
//!
//! Some methods keep their defaults, and each for a reason. `Store::overviews`: no list shows a conversation.
//! `Chat::state`: the default reads the log of this chat, which is the conversation; the store in memory has an empty
//! log of its own. `Chat::lane_holder` and `Lane::touch`: no other process can wait for this lane. `Lane::check_seal`: a
//! compaction marks lines and seals nothing. `Lane::import`: a conversation has no chain of logs to import into.

use std::sync::Arc;

use ship_message::json::Object;
use ship_store::{
    About, AcceptError, Accepted, AppendError, BlobError, BlobRef, ChangeFuture, ChangedChats,
    Chat, ChatCursor, ChatKey, ChatPage, ContextLog, Delivery, DerivedFiles, FileStore, Lane,
    LaneError, Ledger, LedgerEntry, LedgerSeq, MemoryError, Moment, NewLine, Position,
    ProjectRecords, PurgeError, Purged, ReadError, RotateError, Rotated, Rotation, RunRecords,
    SealedName, StorageError, StorageProblem, Store, StoreFuture, Synced,
};

use crate::conversation_log::ConversationLog;

pub(super) struct ConversationStore {
    pub(super) memory: FileStore,
    pub(super) log: ConversationLog,
}

impl ConversationStore {
    fn chat(&self, memory: Arc<dyn Chat>) -> Arc<dyn Chat> {
        Arc::new(ConversationChat { memory, log: self.log.clone() })
    }
}

impl Store for ConversationStore {
    fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError> {
        self.memory.chats(after, limit)
    }

    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, StorageError> {
        let opening = self.memory.open(key);
        Box::pin(async move { Ok(opening.await?.map(|memory| self.chat(memory))) })
    }

    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, StorageError> {
        let creating = self.memory.create(key, about);
        Box::pin(async move { Ok(self.chat(creating.await?)) })
    }

    fn moment(&self) -> Moment {
        self.memory.moment()
    }

    fn changed(&self, after: Moment) -> ChangeFuture<'_, ChangedChats> {
        self.memory.changed(after)
    }

    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError> {
        self.memory.put_blob(bytes, media_type)
    }

    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError> {
        self.memory.blob(sha256)
    }

    fn memory(&self, chat: &ChatKey) -> StoreFuture<'_, Option<String>, MemoryError> {
        self.memory.memory(chat)
    }

    fn set_memory(&self, chat: &ChatKey, text: String) -> StoreFuture<'_, (), MemoryError> {
        self.memory.set_memory(chat, text)
    }

    fn records(&self) -> &dyn ProjectRecords {
        self.memory.records()
    }
}

struct ConversationChat {
    memory: Arc<dyn Chat>,
    log: ConversationLog,
}

impl ConversationChat {
    fn with_lane(&self, memory: Arc<dyn Lane>) -> Arc<dyn Lane> {
        Arc::new(ConversationLane { memory, log: self.log.clone() })
    }
}

impl Chat for ConversationChat {
    fn key(&self) -> &ChatKey {
        self.memory.key()
    }

    fn log(&self) -> &dyn ContextLog {
        &self.log
    }

    fn ledger(&self) -> &dyn Ledger {
        self.memory.ledger()
    }

    fn runs(&self) -> &dyn RunRecords {
        self.memory.runs()
    }

    fn derived(&self) -> &dyn DerivedFiles {
        self.memory.derived()
    }

    fn about(&self) -> StoreFuture<'_, About, ReadError> {
        self.memory.about()
    }

    fn set_about(&self, about: About) -> StoreFuture<'_, (), StorageError> {
        self.memory.set_about(about)
    }

    fn lane(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let taking = self.memory.lane(purpose);
        Box::pin(async move { Ok(self.with_lane(taking.await?)) })
    }

    fn lane_now(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let taking = self.memory.lane_now(purpose);
        Box::pin(async move { Ok(self.with_lane(taking.await?)) })
    }

    fn moment(&self) -> Moment {
        self.memory.moment()
    }

    fn changed(&self, after: Moment) -> ChangeFuture<'_, Moment> {
        self.memory.changed(after)
    }

    fn verify(&self) -> StoreFuture<'_, Vec<StorageProblem>, ReadError> {
        self.memory.verify()
    }

    fn repair(&self) -> StoreFuture<'_, Vec<StorageProblem>, StorageError> {
        self.memory.repair()
    }

    fn acknowledge(&self, problems: Vec<StorageProblem>) -> StoreFuture<'_, (), StorageError> {
        self.memory.acknowledge(problems)
    }
}

struct ConversationLane {
    memory: Arc<dyn Lane>,
    log: ConversationLog,
}

impl Lane for ConversationLane {
    fn release(&self) -> ChangeFuture<'_, ()> {
        self.memory.release()
    }

    fn lost(&self) -> ChangeFuture<'_, ()> {
        self.memory.lost()
    }

    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError> {
        Box::pin(self.log.with(move |context| context.append(batch, expected)))
    }

    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError> {
        Box::pin(self.log.with(move |context| context.rotate(&rotation)))
    }

    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError> {
        self.memory.purge(log, by)
    }

    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError> {
        self.memory.deliver(states)
    }

    fn record(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        self.memory.record(entry)
    }

    fn begin_journal(&self, about: Object, when: Synced) -> StoreFuture<'_, (), StorageError> {
        self.memory.begin_journal(about, when)
    }

    fn journal(&self, parts: Vec<Object>, when: Synced) -> StoreFuture<'_, (), StorageError> {
        self.memory.journal(parts, when)
    }

    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError> {
        self.memory.record_request(request)
    }
}
