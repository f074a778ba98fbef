//! The store of one conversation: its context is the conversation, all else is memory.
//!
//! The engine works on a chat, with a ledger and a journal beside its context. A conversation has neither,
//! because its file is for anyone to read; they last as long as the agent is in it.

use std::io;
use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{
    About, AcceptError, Accepted, AppendError, BlobError, BlobRef, Chat, ChatKey, ChatLook,
    ContextId, Delivery, Derived, DerivedState, FileStore, Lane, LaneError, LedgerEntry,
    LedgerLine, LedgerSeq, ListError, LogPiece, NewLine, OpenError, Position, PurgeError, Purged,
    ReadError, RotateError, Rotated, Rotation, SealedLog, SealedName, Seq, StorageError,
    StorageProblem, Store, StoreFuture, Synced, View,
};

use crate::conversation_log::ConversationLog;

pub(super) struct ConversationStore {
    pub(super) memory: FileStore,
    pub(super) kept: ConversationLog,
}

impl ConversationStore {
    fn chat(&self, memory: Arc<dyn Chat>) -> Arc<dyn Chat> {
        Arc::new(ConversationChat { memory, kept: self.kept.clone() })
    }
}

impl Store for ConversationStore {
    fn chats(&self) -> StoreFuture<'_, Vec<ChatLook>, ListError> {
        self.memory.chats()
    }

    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, OpenError> {
        let opening = self.memory.open(key);
        Box::pin(async move { Ok(opening.await?.map(|memory| self.chat(memory))) })
    }

    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, OpenError> {
        let creating = self.memory.create(key, about);
        Box::pin(async move { Ok(self.chat(creating.await?)) })
    }

    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError> {
        self.memory.put_blob(bytes, media_type)
    }

    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError> {
        self.memory.blob(sha256)
    }
}

struct ConversationChat {
    memory: Arc<dyn Chat>,
    kept: ConversationLog,
}

impl ConversationChat {
    fn with_lane(&self, memory: Arc<dyn Lane>) -> Arc<dyn Lane> {
        let (chat, kept) = (self.key().clone(), self.kept.clone());
        Arc::new(ConversationLane { chat, memory, kept })
    }
}

impl Chat for ConversationChat {
    fn key(&self) -> &ChatKey {
        self.memory.key()
    }

    fn about(&self) -> StoreFuture<'_, About, ReadError> {
        self.memory.about()
    }

    fn set_about(&self, about: About) -> StoreFuture<'_, (), OpenError> {
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

    fn accept(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        self.memory.accept(entry)
    }

    fn ledger_before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        self.memory.ledger_before(before, limit)
    }

    fn ledger_after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        self.memory.ledger_after(after, limit)
    }

    fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
    ) -> StoreFuture<'_, Option<LedgerSeq>, ReadError> {
        self.memory.entry_of(key, after)
    }

    fn open_deliveries(&self) -> StoreFuture<'_, Vec<Delivery>, ReadError> {
        self.memory.open_deliveries()
    }

    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError> {
        Box::pin(async move { Ok(Some(self.kept.with(|context| context.view()).await)) })
    }

    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        self.memory.sealed()
    }

    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError> {
        self.memory.sealed_view(name)
    }

    fn journal(&self) -> StoreFuture<'_, Vec<Object>, ReadError> {
        self.memory.journal()
    }

    fn requests(&self, limit: usize) -> StoreFuture<'_, Vec<Object>, ReadError> {
        self.memory.requests(limit)
    }

    fn derived(&self, which: Derived) -> StoreFuture<'_, Option<DerivedState>, ReadError> {
        self.memory.derived(which)
    }

    fn put_derived(
        &self,
        which: Derived,
        state: DerivedState,
    ) -> StoreFuture<'_, (), StorageError> {
        self.memory.put_derived(which, state)
    }

    fn remove_derived(&self, which: Derived) -> StoreFuture<'_, (), StorageError> {
        self.memory.remove_derived(which)
    }

    fn archived_contexts(&self) -> StoreFuture<'_, Vec<ContextId>, ReadError> {
        self.memory.archived_contexts()
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

/// The text of a piece that is a new message.
fn summary(piece: &LogPiece) -> Option<String> {
    let LogPiece::New(NewLine::Message(new)) = piece else { return None };
    let message = UiMessage::from_json(Json::Object(new.message.clone())).ok()?;
    Some(message.text())
}

struct ConversationLane {
    chat: ChatKey,
    memory: Arc<dyn Lane>,
    kept: ConversationLog,
}

impl Lane for ConversationLane {
    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError> {
        let chat = self.chat.clone();
        Box::pin(self.kept.with(move |context| context.append(&chat, batch, expected)))
    }

    /// A conversation is never replaced: it has its context from the start. A rotation that puts a summary
    /// in the place of older messages marks them as compacted; there is no other.
    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError> {
        let stays = move |pieces: &[LogPiece], seq: Seq| {
            pieces.iter().any(|piece| match piece {
                LogPiece::Keep(first, last) => (*first..=*last).contains(&seq),
                LogPiece::KeepFrom(first) => seq >= *first,
                LogPiece::New(_) | LogPiece::Sealed { .. } | LogPiece::Of { .. } => false,
            })
        };
        let copies =
            |piece: &LogPiece| matches!(piece, LogPiece::Sealed { .. } | LogPiece::Of { .. });
        let failed = |path, source| StorageError::Io { doing: "compact", path, source };
        Box::pin(self.kept.with(move |context| {
            let pieces = &rotation.pieces;
            let summary = pieces.iter().find_map(summary).filter(|_| !pieces.iter().any(copies));
            let Some(summary) = summary else {
                let why = "a conversation's lines are only added to, never replaced";
                let source = io::Error::new(io::ErrorKind::Unsupported, why);
                return Err(failed(context.place(), source).into());
            };
            let position = context
                .compact(|seq| stays(pieces, seq), &summary)
                .map_err(|error| failed(context.place(), io::Error::other(error)))?;
            Ok(Rotated { position, sealed: None, damage: Vec::new() })
        }))
    }

    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError> {
        self.memory.purge(log, by)
    }

    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError> {
        self.memory.deliver(states)
    }

    fn begin_journal(&self, about: Object) -> StoreFuture<'_, (), StorageError> {
        self.memory.begin_journal(about)
    }

    fn journal(&self, parts: Vec<Object>, when: Synced) -> StoreFuture<'_, (), StorageError> {
        self.memory.journal(parts, when)
    }

    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError> {
        self.memory.record_request(request)
    }
}
