//! The lane of one chat behind the trait. A write without a sync is done at once if the write right is free.

use std::sync::Arc;

use ship_message::json::Object;
use tokio::sync::RwLock;

use super::chat::ChatFiles;
use super::file_chat::FileChat;
use super::journal;
use super::right::{HeldRight, LostLane};
use super::store::blocking;
use crate::{
    AcceptError, Accepted, AppendError, ChangeFuture, Delivery, Import, ImportError, Imported,
    Lane, LedgerEntry, LedgerSeq, NewLine, Position, PurgeError, Purged, RotateError, Rotated,
    Rotation, SealedName, StorageError, StoreFuture, Synced,
};

/// A lane that this process holds.
pub(super) struct FileLane {
    chat: FileChat,
    /// The right, until it is given back. Every write reads it to its end, so that the lane is not given back before.
    held: Arc<RwLock<Option<HeldRight>>>,
    lost: Arc<LostLane>,
}

impl FileLane {
    /// Makes the lane of a chat from its right, which is held.
    pub(super) fn new(chat: FileChat, held: HeldRight) -> Self {
        let lost = held.lost();
        Self { chat, held: Arc::new(RwLock::new(Some(held))), lost }
    }

    /// Runs `work` with the lane held to its end, even if the caller is gone by then.
    fn run<T: Send + 'static, E: From<StorageError> + Send + 'static>(
        &self,
        work: impl FnOnce(&ChatFiles) -> Result<T, E> + Send + 'static,
    ) -> StoreFuture<'_, T, E> {
        self.with_right(move |chat, right| {
            right.check()?;
            work(chat)
        })
    }

    /// Runs `work`, which writes without a sync: at once if the write right is free, otherwise where it may block.
    fn write_at_once<T: Send + 'static, E: From<StorageError> + Send + 'static>(
        &self,
        purpose: &'static str,
        work: impl FnOnce(&ChatFiles, &HeldRight) -> Result<T, E> + Send + 'static,
    ) -> StoreFuture<'_, T, E> {
        Box::pin(async move {
            let chat = &self.chat.chat;
            if let Some(right) = &*self.held.read().await {
                right.check()?;
                if let Some(writing) = chat.write_right_if_free(purpose)? {
                    return work(chat, &writing);
                }
            }
            self.run(move |chat| work(chat, &chat.take_write_right(purpose)?)).await
        })
    }

    /// Does the same for work that checks the right itself.
    fn with_right<T: Send + 'static, E: From<StorageError> + Send + 'static>(
        &self,
        work: impl FnOnce(&ChatFiles, &HeldRight) -> Result<T, E> + Send + 'static,
    ) -> StoreFuture<'_, T, E> {
        let (held, chat) = (Arc::clone(&self.held), Arc::clone(&self.chat.chat));
        Box::pin(async move {
            let held = held.read_owned().await;
            blocking(move || match &*held {
                Some(right) => work(&chat, right),
                None => {
                    let (chat, how) = (chat.key.clone(), "it was given back".to_owned());
                    Err(StorageError::LaneLost { chat, how }.into())
                }
            })
            .await
        })
    }
}

impl Lane for FileLane {
    fn release(&self) -> ChangeFuture<'_, ()> {
        Box::pin(async { drop(self.held.write().await.take()) })
    }

    fn lost(&self) -> ChangeFuture<'_, ()> {
        Box::pin(self.lost.until_lost())
    }

    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError> {
        self.run(move |chat| chat.append(batch, expected))
    }

    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError> {
        let store = self.chat.store.clone();
        self.run(move |chat| chat.rotate(rotation, &|other| store.existing_chat(other)))
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Imported, ImportError> {
        // The lines may take long to write, and the lane may be lost meanwhile.
        self.with_right(move |chat, right| chat.import(import, &|| right.check()))
    }

    fn check_seal(&self) -> StoreFuture<'_, (), RotateError> {
        self.run(|chat| Ok(chat.check_seal()?))
    }

    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError> {
        let (log, by) = (log.clone(), by.to_owned());
        self.run(move |chat| chat.purge(&log, &by))
    }

    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError> {
        self.run(move |chat| chat.deliver(states))
    }

    fn record(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        self.run(move |chat| chat.accept(entry))
    }

    fn begin_journal(&self, about: Object, when: Synced) -> StoreFuture<'_, (), StorageError> {
        match when == Synced::Now && self.chat.chat.env.syncs() {
            true => self.run(move |chat| {
                chat.begin_journal(&chat.take_write_right("begin_journal")?, about, true)
            }),
            false => self.write_at_once("begin_journal", move |chat, right| {
                chat.begin_journal(right, about, false)
            }),
        }
    }

    fn journal(&self, parts: Vec<Object>, when: Synced) -> StoreFuture<'_, (), StorageError> {
        Box::pin(async move {
            let ChatFiles { env, run, .. } = &*self.chat.chat;
            let parts = journal::wrap_objects(run, parts)?;
            let sync = when == Synced::Now && env.syncs();
            if sync || !parts.texts.is_empty() {
                let write = move |chat: &ChatFiles| {
                    chat.add_to_journal(&chat.take_write_right("journal")?, &parts, sync)
                };
                return self.run(write).await;
            }
            let write =
                move |chat: &ChatFiles, right: &HeldRight| chat.add_to_journal(right, &parts, sync);
            self.write_at_once("journal", write).await
        })
    }

    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError> {
        let chat = &self.chat.chat;
        match journal::only_appends(&chat.requests) {
            true => self
                .write_at_once("record_request", |chat, right| chat.record_request(right, request)),
            false => self.run(move |chat| {
                chat.record_request(&chat.take_write_right("record_request")?, request)
            }),
        }
    }

    fn touch(&self) -> StoreFuture<'_, (), StorageError> {
        self.with_right(|_, right| right.touch())
    }
}
