//! One chat behind the traits.

use std::sync::Arc;
use std::time::Duration;

use ship_message::json::Object;
use ship_store::rules::{LedgerAddition, TextBlob, prepare_entry};
use ship_store::{
    About, AcceptError, Accepted, Busy, ChangeFuture, Chat, ChatKey, ChatSizes, ContextId,
    ContextLog, Delivery, Derived, DerivedFiles, DerivedState, Lane, LaneError, Ledger,
    LedgerEntry, LedgerLine, LedgerSeq, LinesCursor, LinesPage, Moment, ReadError, RunRecords,
    SealedLog, SealedName, StorageError, StoreFuture, View,
};

use super::calls::CallKind;
use super::lane::MapLane;
use super::log_rows::ChatRows;
use super::tables::{Blobs, put_texts};
use super::{MESSAGE_BYTES_MAX, MapStore};

/// The time that a caller waits for a lane.
const LANE_WAIT: Duration = Duration::from_millis(300);

/// A chat as one process has it open.
#[derive(Clone)]
pub(super) struct MapChat {
    pub(super) store: MapStore,
    pub(super) key: ChatKey,
}

impl MapChat {
    fn read<'a, T: Send + 'a, E: From<StorageError> + Send + 'a>(
        &'a self,
        name: &'static str,
        work: impl FnOnce(&ChatRows, &Blobs) -> Result<T, E> + Send + 'a,
    ) -> StoreFuture<'a, T, E> {
        Box::pin(self.store.call(CallKind::Read, name, |tables| {
            let (rows, blobs) = tables.chat(&self.key);
            work(rows, blobs)
        }))
    }

    fn write<'a, T: Send + 'a, E: From<StorageError> + Send + 'a>(
        &'a self,
        name: &'static str,
        work: impl FnOnce(&mut ChatRows) -> T + Send + 'a,
    ) -> StoreFuture<'a, T, E> {
        Box::pin(self.store.call(CallKind::Write, name, |tables| {
            let rows = tables.chat(&self.key).0;
            Ok(work(rows))
        }))
    }

    pub(super) fn note_arrival(&self) {
        self.store.database.changes.note_arrival(&self.key);
    }

    pub(super) fn add_to_ledger(
        &self,
        (rows, blobs): (&mut ChatRows, &mut Blobs),
        (addition, texts): (LedgerAddition, Vec<TextBlob>),
    ) -> Result<Accepted, AcceptError> {
        put_texts(blobs, texts);
        rows.activity = Some(self.store.now());
        self.note_arrival();
        rows.add_to_ledger(addition)
    }
}

impl Chat for MapChat {
    fn key(&self) -> &ChatKey {
        &self.key
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
        self.read("about", |rows, _| Ok(rows.about.clone()))
    }

    fn set_about(&self, about: About) -> StoreFuture<'_, (), StorageError> {
        self.write("set_about", |rows| rows.about = about)
    }

    fn lane(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let purpose = purpose.to_owned();
        Box::pin(async move {
            let deadline = tokio::time::Instant::now() + LANE_WAIT;
            loop {
                let moment = self.moment();
                match MapLane::take(self, &purpose).await {
                    Err(LaneError::Storage(StorageError::Busy(busy))) => {
                        let changed = tokio::time::timeout_at(deadline, self.changed(moment)).await;
                        let waited_ms = LANE_WAIT.as_millis() as u64;
                        let busy = Box::new(Busy { waited_ms, ..*busy });
                        changed.map_err(|_| StorageError::Busy(busy))?;
                    }
                    taken => {
                        self.note_arrival();
                        return taken;
                    }
                }
            }
        })
    }

    fn lane_now(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let purpose = purpose.to_owned();
        Box::pin(async move { MapLane::take(self, &purpose).await })
    }

    fn moment(&self) -> Moment {
        self.store.database.changes.now()
    }

    fn changed(&self, after: Moment) -> ChangeFuture<'_, Moment> {
        Box::pin(self.store.database.changes.chat_changed(&self.key, after))
    }

    fn sizes(&self) -> StoreFuture<'_, ChatSizes, ReadError> {
        self.read("sizes", |rows, _| Ok(rows.sizes()))
    }

    fn note_idle(&self, sizes: ChatSizes) -> StoreFuture<'_, (), StorageError> {
        self.write("note_idle", move |rows| rows.idle = Some(sizes))
    }
}

impl ContextLog for MapChat {
    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError> {
        self.read("view", |rows, blobs| Ok(rows.view(blobs)?))
    }

    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        self.read("sealed", |rows, _| Ok(rows.sealed()))
    }

    fn lines_after(
        &self,
        cursor: Option<LinesCursor>,
        limit: usize,
    ) -> StoreFuture<'_, LinesPage, ReadError> {
        self.read("lines_after", move |rows, blobs| Ok(rows.lines_after(blobs, cursor, limit)?))
    }

    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError> {
        let name = name.clone();
        self.read("sealed_view", move |rows, blobs| rows.sealed_view(blobs, &name))
    }
}

impl Ledger for MapChat {
    fn accept(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        Box::pin(self.store.call(CallKind::Write, "accept", move |tables| {
            self.add_to_ledger(tables.chat(&self.key), prepare_entry(entry, MESSAGE_BYTES_MAX)?)
        }))
    }

    fn before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        let end = before.map_or(u64::MAX, LedgerSeq::get);
        self.read("before", move |rows, blobs| {
            let mut lines = rows.ledger_lines(blobs, ..end)?;
            Ok(lines.split_off(lines.len().saturating_sub(limit)))
        })
    }

    fn after(
        &self,
        start: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        let first = start.map_or(0, |line| line.next().get());
        self.read("after", move |rows, blobs| {
            let mut lines = rows.ledger_lines(blobs, first..)?;
            lines.truncate(limit);
            Ok(lines)
        })
    }

    fn entry_of(
        &self,
        key: &str,
        _after: Option<LedgerSeq>,
    ) -> StoreFuture<'_, Option<LedgerSeq>, ReadError> {
        let key = key.to_owned();
        self.read("entry_of", move |rows, _| Ok(rows.keys.get(&key).copied()))
    }

    fn open_deliveries(&self) -> StoreFuture<'_, Vec<Delivery>, ReadError> {
        self.read("open_deliveries", |rows, blobs| Ok(rows.open_deliveries(blobs)?))
    }
}

impl RunRecords for MapChat {
    fn journal(&self) -> StoreFuture<'_, Vec<Object>, ReadError> {
        self.read("journal", |rows, _| Ok(rows.journal.clone()))
    }

    fn requests(&self, limit: usize) -> StoreFuture<'_, Vec<Object>, ReadError> {
        self.read("requests", move |rows, _| {
            let first = rows.requests.len().saturating_sub(limit);
            Ok(rows.requests[first..].to_vec())
        })
    }
}

impl DerivedFiles for MapChat {
    fn read(&self, which: Derived) -> StoreFuture<'_, Option<DerivedState>, ReadError> {
        Self::read(self, "read_derived", move |rows, _| Ok(rows.derived.get(&which).cloned()))
    }

    fn put(&self, which: Derived, state: DerivedState) -> StoreFuture<'_, (), StorageError> {
        self.write("put_derived", move |rows| {
            rows.derived.insert(which, state);
        })
    }

    fn remove(&self, which: Derived) -> StoreFuture<'_, (), StorageError> {
        self.write("remove_derived", move |rows| drop(rows.derived.remove(&which)))
    }

    fn archived_contexts(&self) -> StoreFuture<'_, Vec<ContextId>, ReadError> {
        Self::read(self, "archived_contexts", |rows, _| {
            let id = |which: &Derived| match which {
                Derived::Context(id) => Some(id.clone()),
                Derived::Meta | Derived::ContextIndex | Derived::TokenCounts => None,
            };
            Ok(rows.derived.keys().filter_map(id).collect())
        })
    }
}
