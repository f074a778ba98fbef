//! A store around another one, whose calls let other tasks go first.
//!
//! Each call is one step: once it has begun, no other task goes on before its end, also where the store inside works on
//! another thread. Only the waits for a lane and for a change let others go on.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use ship_message::json::Object;
use ship_store::{
    About, AcceptError, Accepted, AppendError, BlobError, BlobRef, ChangeFuture, ChangedChats,
    Chat, ChatCursor, ChatKey, ChatPage, ChatSizes, ContextId, ContextLog, Delivery, Derived,
    DerivedFiles, DerivedState, IndexFiles, Lane, LaneError, LaneHolder, Ledger, LedgerEntry,
    LedgerLine, LedgerSeq, LogFeatures, MemoryError, Moment, NewLine, Position, ProjectRecords,
    PurgeError, Purged, ReadError, RotateError, Rotated, Rotation, RunRecords, SealedLog,
    SealedName, StorageError, StorageProblem, Store, StoreFuture, Synced, View,
};
use tokio::task::unconstrained;

use super::next_step;

/// A store of which each call is one step of its task.
pub struct InterleavedStore(Arc<dyn Store>);

struct InterleavedChat(Arc<dyn Chat>);

struct InterleavedLane(Arc<dyn Lane>);

impl InterleavedStore {
    /// Wraps the store of one process.
    pub fn new(store: impl Store + 'static) -> Self {
        Self(Arc::new(store))
    }
}

/// Wakes the thread that runs a call.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Lets other tasks go first, and then makes a call of the store inside in one step.
async fn step<T>(call: impl Future<Output = T>) -> T {
    next_step().await;
    // A call that waits for another thread must not run out of its share of the runtime's time meanwhile.
    let mut call = pin!(unconstrained(call));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match call.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

fn wrap(chat: Arc<dyn Chat>) -> Arc<dyn Chat> {
    Arc::new(InterleavedChat(chat))
}

impl Store for InterleavedStore {
    fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError> {
        Box::pin(step(self.0.chats(after, limit)))
    }

    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, StorageError> {
        let open = self.0.open(key);
        Box::pin(async { Ok(step(open).await?.map(wrap)) })
    }

    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, StorageError> {
        let create = self.0.create(key, about);
        Box::pin(async { Ok(wrap(step(create).await?)) })
    }

    fn moment(&self) -> Moment {
        self.0.moment()
    }

    fn changed(&self, after: Moment) -> ChangeFuture<'_, ChangedChats> {
        self.0.changed(after)
    }

    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError> {
        Box::pin(step(self.0.put_blob(bytes, media_type)))
    }

    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError> {
        Box::pin(step(self.0.blob(sha256)))
    }

    fn memory(&self, chat: &ChatKey) -> StoreFuture<'_, Option<String>, MemoryError> {
        Box::pin(step(self.0.memory(chat)))
    }

    fn set_memory(&self, chat: &ChatKey, text: String) -> StoreFuture<'_, (), MemoryError> {
        Box::pin(step(self.0.set_memory(chat, text)))
    }

    fn indexes(&self) -> Option<&dyn IndexFiles> {
        self.0.indexes()
    }

    fn records(&self) -> &dyn ProjectRecords {
        self.0.records()
    }
}

impl Chat for InterleavedChat {
    fn key(&self) -> &ChatKey {
        self.0.key()
    }

    fn log(&self) -> &dyn ContextLog {
        self
    }

    fn ledger(&self) -> &dyn Ledger {
        self
    }

    fn runs(&self) -> &dyn RunRecords {
        self
    }

    fn derived(&self) -> &dyn DerivedFiles {
        self
    }

    fn about(&self) -> StoreFuture<'_, About, ReadError> {
        Box::pin(step(self.0.about()))
    }

    fn set_about(&self, about: About) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.set_about(about)))
    }

    fn lane(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let lane = self.0.lane(purpose);
        Box::pin(async {
            next_step().await;
            Ok(Arc::new(InterleavedLane(lane.await?)) as Arc<dyn Lane>)
        })
    }

    fn lane_now(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let lane = self.0.lane_now(purpose);
        Box::pin(async { Ok(Arc::new(InterleavedLane(step(lane).await?)) as Arc<dyn Lane>) })
    }

    fn lane_holder(&self) -> StoreFuture<'_, Option<LaneHolder>, ReadError> {
        Box::pin(step(self.0.lane_holder()))
    }

    fn moment(&self) -> Moment {
        self.0.moment()
    }

    fn changed(&self, after: Moment) -> ChangeFuture<'_, Moment> {
        self.0.changed(after)
    }

    fn sizes(&self) -> StoreFuture<'_, ChatSizes, ReadError> {
        Box::pin(step(self.0.sizes()))
    }

    fn note_idle(&self, sizes: ChatSizes) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.note_idle(sizes)))
    }

    fn verify(&self) -> StoreFuture<'_, Vec<StorageProblem>, ReadError> {
        Box::pin(step(self.0.verify()))
    }

    fn repair(&self) -> StoreFuture<'_, Vec<StorageProblem>, StorageError> {
        Box::pin(step(self.0.repair()))
    }

    fn acknowledge(&self, problems: Vec<StorageProblem>) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.acknowledge(problems)))
    }
}

impl ContextLog for InterleavedChat {
    fn features(&self) -> LogFeatures {
        self.0.log().features()
    }

    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError> {
        Box::pin(step(self.0.log().view()))
    }

    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        Box::pin(step(self.0.log().sealed()))
    }

    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError> {
        Box::pin(step(self.0.log().sealed_view(name)))
    }
}

impl Ledger for InterleavedChat {
    fn accept(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        Box::pin(step(self.0.ledger().accept(entry)))
    }

    fn before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        Box::pin(step(self.0.ledger().before(before, limit)))
    }

    fn after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        Box::pin(step(self.0.ledger().after(after, limit)))
    }

    fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
    ) -> StoreFuture<'_, Option<LedgerSeq>, ReadError> {
        Box::pin(step(self.0.ledger().entry_of(key, after)))
    }

    fn open_deliveries(&self) -> StoreFuture<'_, Vec<Delivery>, ReadError> {
        Box::pin(step(self.0.ledger().open_deliveries()))
    }
}

impl RunRecords for InterleavedChat {
    fn journal(&self) -> StoreFuture<'_, Vec<Object>, ReadError> {
        Box::pin(step(self.0.runs().journal()))
    }

    fn requests(&self, limit: usize) -> StoreFuture<'_, Vec<Object>, ReadError> {
        Box::pin(step(self.0.runs().requests(limit)))
    }
}

impl DerivedFiles for InterleavedChat {
    fn read(&self, which: Derived) -> StoreFuture<'_, Option<DerivedState>, ReadError> {
        Box::pin(step(self.0.derived().read(which)))
    }

    fn put(&self, which: Derived, state: DerivedState) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.derived().put(which, state)))
    }

    fn remove(&self, which: Derived) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.derived().remove(which)))
    }

    fn set_aside(&self, which: Derived) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.derived().set_aside(which)))
    }

    fn archived_contexts(&self) -> StoreFuture<'_, Vec<ContextId>, ReadError> {
        Box::pin(step(self.0.derived().archived_contexts()))
    }
}

impl Lane for InterleavedLane {
    fn release(&self) -> ChangeFuture<'_, ()> {
        Box::pin(step(self.0.release()))
    }

    fn lost(&self) -> ChangeFuture<'_, ()> {
        self.0.lost()
    }

    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError> {
        Box::pin(step(self.0.append(batch, expected)))
    }

    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError> {
        Box::pin(step(self.0.rotate(rotation)))
    }

    fn check_seal(&self) -> StoreFuture<'_, (), RotateError> {
        Box::pin(step(self.0.check_seal()))
    }

    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError> {
        Box::pin(step(self.0.purge(log, by)))
    }

    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError> {
        Box::pin(step(self.0.deliver(states)))
    }

    fn record(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        Box::pin(step(self.0.record(entry)))
    }

    fn begin_journal(&self, about: Object, when: Synced) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.begin_journal(about, when)))
    }

    fn journal(&self, parts: Vec<Object>, when: Synced) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.journal(parts, when)))
    }

    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.record_request(request)))
    }

    fn touch(&self) -> StoreFuture<'_, (), StorageError> {
        Box::pin(step(self.0.touch()))
    }
}
