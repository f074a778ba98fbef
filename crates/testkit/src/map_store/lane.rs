//! A lane as a lease: a row that names its holder, with a token that every write of the holder carries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use ship_message::json::Object;
use ship_store::rules::{Batch, prepare_deliveries, prepare_entry};
use ship_store::{
    AcceptError, Accepted, AppendError, Busy, ChangeFuture, Chat as _, Delivery, Holder, Import,
    ImportError, Imported, Lane, LaneError, LedgerEntry, LedgerSeq, NewLine, Position, PurgeError,
    Purged, Right, RotateError, Rotated, Rotation, SealedName, StorageError, StoreFuture, Synced,
    Timestamp,
};

use super::calls::CallKind;
use super::chat::MapChat;
use super::log_rows::ChatRows;
use super::tables::{Tables, put_texts};
use super::{LEASE_MS, MESSAGE_BYTES_MAX};

/// The lease of a lane.
pub(super) struct LaneRow {
    holder: Holder,
    token: u64,
    renewed: Timestamp,
}

impl LaneRow {
    fn is_held(&self, now: Timestamp) -> bool {
        now.millis() < self.renewed.millis() + LEASE_MS
    }
}

/// A lane as its holder knows it.
pub(super) struct MapLane {
    chat: MapChat,
    token: u64,
    /// The time until which the holder counts on it: it counts from before a renewal was sent.
    until: AtomicI64,
    is_released: AtomicBool,
}

impl MapLane {
    /// Takes the lane of a chat if its lease is free or has run out.
    pub(super) async fn take(chat: &MapChat, purpose: &str) -> Result<Arc<dyn Lane>, LaneError> {
        let (process, since) = (chat.store.process.clone(), chat.store.now());
        let holder = Holder { host: None, process, since, purpose: purpose.to_owned() };
        let take = |tables: &mut Tables| {
            tables.check(&chat.key)?;
            let token = tables.next_number();
            let row = &mut tables.chat(&chat.key).0.lane;
            if let Some(held) = row.as_ref().filter(|row| row.is_held(chat.store.now())) {
                let (holder, right) = (Some(held.holder.clone()), Right::Lane);
                let chat = chat.key.clone();
                let busy = Busy { chat, right, holder, is_stopped: false, waited_ms: 0 };
                return Err(StorageError::Busy(Box::new(busy)));
            }
            *row = Some(LaneRow { holder, token, renewed: since });
            Ok(token)
        };
        let token = chat.store.call(CallKind::Write, "lane", take).await?;
        let until = AtomicI64::new(since.millis() + LEASE_MS);
        Ok(Arc::new(Self { chat: chat.clone(), token, until, is_released: AtomicBool::new(false) }))
    }

    /// Writes to the chat if the lane is still held.
    fn write<'a, T: Send + 'a, E: From<StorageError> + Send + 'a>(
        &'a self,
        name: &'static str,
        work: impl FnOnce(&mut Tables) -> Result<T, E> + Send + 'a,
    ) -> StoreFuture<'a, T, E> {
        let store = &self.chat.store;
        Box::pin(store.call(CallKind::Write, name, |tables| {
            self.check(tables)?;
            self.rows(tables).activity = Some(store.now());
            let done = work(tables)?;
            store.database.changes.note_write(&self.chat.key);
            Ok(done)
        }))
    }

    fn rows<'t>(&self, tables: &'t mut Tables) -> &'t mut ChatRows {
        tables.chat(&self.chat.key).0
    }

    /// Fails unless the database knows this holder as that of the lane.
    fn check(&self, tables: &mut Tables) -> Result<(), StorageError> {
        let (row, now) = (self.rows(tables).lane.as_ref(), self.chat.store.now());
        if row.is_some_and(|row| row.token == self.token && row.is_held(now)) {
            return Ok(());
        }
        let how = match self.is_released.load(Ordering::Relaxed) {
            true => "it was given back",
            false => "its lease has run out",
        };
        Err(StorageError::LaneLost { chat: self.chat.key.clone(), how: how.to_owned() })
    }

    fn is_lost(&self) -> bool {
        let is_over = self.chat.store.now().millis() >= self.until.load(Ordering::Relaxed);
        is_over && !self.is_released.load(Ordering::Relaxed)
    }
}

/// Removes the lease of a lane, unless another process has taken it.
async fn give_back(chat: MapChat, token: u64) {
    let remove = |tables: &mut Tables| {
        let row = &mut tables.chat(&chat.key).0.lane;
        if row.take_if(|row| row.token == token).is_some() {
            chat.note_arrival();
        }
        Ok::<(), StorageError>(())
    };
    // A lease that cannot be removed runs out.
    let _ = chat.store.call(CallKind::Write, "release", remove).await;
}

impl Drop for MapLane {
    fn drop(&mut self) {
        if !self.is_released.load(Ordering::Relaxed)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(give_back(self.chat.clone(), self.token));
        }
    }
}

impl Lane for MapLane {
    fn release(&self) -> ChangeFuture<'_, ()> {
        Box::pin(async {
            if !self.is_released.swap(true, Ordering::Relaxed) {
                give_back(self.chat.clone(), self.token).await;
            }
        })
    }

    fn lost(&self) -> ChangeFuture<'_, ()> {
        Box::pin(async {
            loop {
                let moment = self.chat.moment();
                if self.is_lost() {
                    return;
                }
                self.chat.changed(moment).await;
            }
        })
    }

    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError> {
        self.write("append", move |tables| {
            let (batch, texts) = Batch::prepare(batch, expected, MESSAGE_BYTES_MAX)?;
            put_texts(&mut tables.blobs, texts);
            self.rows(tables).append(batch)
        })
    }

    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError> {
        let now = self.chat.store.now();
        self.write("rotate", move |tables| tables.rotate(&self.chat.key, rotation, now))
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Imported, ImportError> {
        let now = self.chat.store.now();
        self.write("import", move |tables| {
            let (rows, blobs) = tables.chat(&self.chat.key);
            rows.import(blobs, import, now)
        })
    }

    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError> {
        let (log, by, now) = (log.clone(), by.to_owned(), self.chat.store.now());
        self.write("purge", move |tables| self.rows(tables).purge(&log, &by, now))
    }

    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError> {
        self.write("deliver", move |tables| {
            let prepared = prepare_deliveries(states, MESSAGE_BYTES_MAX)?;
            Ok(self.chat.add_to_ledger(tables.chat(&self.chat.key), prepared)?.seq)
        })
    }

    fn record(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        self.write("record", move |tables| {
            self.chat.add_to_ledger(
                tables.chat(&self.chat.key),
                prepare_entry(entry, MESSAGE_BYTES_MAX)?,
            )
        })
    }

    fn begin_journal(&self, about: Object, _when: Synced) -> StoreFuture<'_, (), StorageError> {
        self.write("begin_journal", move |tables| {
            self.rows(tables).journal = vec![about];
            Ok(())
        })
    }

    fn journal(&self, parts: Vec<Object>, _when: Synced) -> StoreFuture<'_, (), StorageError> {
        self.write("add_to_journal", move |tables| {
            self.rows(tables).journal.extend(parts);
            Ok(())
        })
    }

    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError> {
        self.write("record_request", move |tables| {
            self.rows(tables).requests.push(request);
            Ok(())
        })
    }

    fn touch(&self) -> StoreFuture<'_, (), StorageError> {
        let before = self.chat.store.now();
        Box::pin(async move {
            let renewed = self.write("touch", |tables| {
                self.rows(tables).lane.as_mut().expect("a lane that is held").renewed =
                    self.chat.store.now();
                Ok::<(), StorageError>(())
            });
            renewed.await?;
            self.until.store(before.millis() + LEASE_MS, Ordering::Relaxed);
            Ok(())
        })
    }
}
