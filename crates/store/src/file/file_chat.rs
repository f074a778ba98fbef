//! One chat of the file store behind the traits. A call that reads logs which are in memory is done at once.

use std::sync::Arc;

use ship_message::json::Object;

use super::chat::ChatFiles;
use super::file_lane::FileLane;
use super::right::{Attempt, HeldRight};
use super::store::{FileStore, SLOW_LOOK, blocking, wait_for_lane};
use crate::chat_folder::folder_name;
use crate::{
    About, AcceptError, Accepted, ChangeFuture, Chat, ChatKey, ChatSizes, ChatState, ContextId,
    ContextLog, Delivery, Derived, DerivedFiles, DerivedState, Lane, LaneError, LaneHolder, Ledger,
    LedgerEntry, LedgerLine, LedgerSeq, LinesCursor, LinesPage, MessageId, MessagePlace, Moment,
    ReadError, RunRecords, SealedLog, SealedName, StorageError, StorageProblem, StoreFuture, View,
};

/// A chat as one handle of it sees it.
#[derive(Clone)]
pub(super) struct FileChat {
    pub(super) chat: Arc<ChatFiles>,
    pub(super) store: FileStore,
}

impl Drop for FileChat {
    fn drop(&mut self) {
        self.store.open.note_use(&self.chat);
    }
}

impl FileChat {
    /// Makes the lane of this chat from its right, which is held.
    fn into_lane(self, held: HeldRight) -> Arc<dyn Lane> {
        Arc::new(FileLane::new(self, held))
    }

    fn run<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&ChatFiles) -> Result<T, E> + Send + 'static,
    ) -> StoreFuture<'_, T, E> {
        let chat = Arc::clone(&self.chat);
        blocking(move || work(&chat))
    }

    /// Runs `work`, which reads logs: at once if they are in memory, otherwise where it may block.
    fn read<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&ChatFiles) -> Result<T, E> + Send + 'static,
    ) -> StoreFuture<'_, T, E> {
        let chat = Arc::clone(&self.chat);
        Box::pin(async move {
            match chat.is_in_memory() {
                true => work(&chat),
                false => blocking(move || work(&chat)).await,
            }
        })
    }
}

impl Chat for FileChat {
    fn key(&self) -> &ChatKey {
        &self.chat.key
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
        Box::pin(async { Ok(self.chat.find_about()?.unwrap_or_default()) })
    }

    fn set_about(&self, about: About) -> StoreFuture<'_, (), StorageError> {
        self.run(move |chat| chat.set_about(&about))
    }

    fn lane(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let (this, purpose) = (self.clone(), purpose.to_owned());
        Box::pin(async move {
            let held = wait_for_lane(&this.chat, &purpose).await?;
            Ok(this.into_lane(held))
        })
    }

    fn lane_now(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError> {
        let (this, purpose) = (self.clone(), purpose.to_owned());
        Box::pin(async move {
            let held = this.chat.try_lane(&purpose, Attempt::Only)?;
            Ok(this.into_lane(held.expect("whoever does not get it the only time is refused")))
        })
    }

    fn lane_holder(&self) -> StoreFuture<'_, Option<LaneHolder>, ReadError> {
        self.run(ChatFiles::lane_holder)
    }

    fn moment(&self) -> Moment {
        self.chat.env.changes.now()
    }

    #[expect(clippy::disallowed_methods, reason = "a disk that reports nothing is looked at again")]
    fn changed(&self, after: Moment) -> ChangeFuture<'_, Moment> {
        Box::pin(async move {
            let env = &self.chat.env;
            if env.begin_watch() {
                return env.changes.now();
            }
            tokio::select! {
                moment = env.changes.chat_changed(&self.chat.key, after) => moment,
                () = tokio::time::sleep(SLOW_LOOK) => env.changes.now(),
            }
        })
    }

    fn state(&self, limit: usize) -> StoreFuture<'_, ChatState, ReadError> {
        self.read(move |chat| {
            let view = chat.view()?;
            let inbox = view.as_ref().and_then(|view| view.inbox);
            Ok(ChatState {
                about: chat.find_about()?.unwrap_or_default(),
                view,
                new_lines: chat.ledger_after(inbox, limit)?,
                journal: chat.journal()?,
            })
        })
    }

    fn sizes(&self) -> StoreFuture<'_, ChatSizes, ReadError> {
        self.read(|chat| Ok(chat.sizes()))
    }

    fn note_idle(&self, sizes: ChatSizes) -> StoreFuture<'_, (), StorageError> {
        Box::pin(async move { self.store.idle.note(&folder_name(&self.chat.key), sizes) })
    }

    fn verify(&self) -> StoreFuture<'_, Vec<StorageProblem>, ReadError> {
        self.run(ChatFiles::verify)
    }

    fn repair(&self) -> StoreFuture<'_, Vec<StorageProblem>, StorageError> {
        self.run(ChatFiles::repair)
    }

    fn acknowledge(&self, problems: Vec<StorageProblem>) -> StoreFuture<'_, (), StorageError> {
        self.run(move |chat| chat.acknowledge(&problems))
    }
}

impl ContextLog for FileChat {
    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError> {
        self.read(ChatFiles::view)
    }

    fn is_begun(&self) -> StoreFuture<'_, bool, ReadError> {
        self.run(ChatFiles::is_begun)
    }

    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        self.run(|chat| chat.sealed_logs(None, usize::MAX))
    }

    fn sealed_logs(
        &self,
        before: Option<SealedName>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        self.run(move |chat| chat.sealed_logs(before.as_ref(), limit))
    }

    fn find(
        &self,
        id: &MessageId,
        before: Option<SealedName>,
    ) -> StoreFuture<'_, Option<MessagePlace>, ReadError> {
        let id = id.clone();
        self.run(move |chat| chat.find(&id, before.as_ref()))
    }

    fn lines_after(
        &self,
        cursor: Option<LinesCursor>,
        limit: usize,
    ) -> StoreFuture<'_, LinesPage, ReadError> {
        self.run(move |chat| chat.lines_after(cursor, limit))
    }

    fn sealed_log(&self, name: &SealedName) -> StoreFuture<'_, Option<SealedLog>, ReadError> {
        let name = name.clone();
        self.run(move |chat| Ok(chat.sealed_log(&name)?))
    }

    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError> {
        let name = name.clone();
        self.run(move |chat| chat.sealed_view(&name))
    }
}

impl Ledger for FileChat {
    fn accept(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError> {
        self.run(move |chat| chat.accept(entry))
    }

    fn before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        self.read(move |chat| chat.ledger_before(before, limit))
    }

    fn after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError> {
        self.read(move |chat| chat.ledger_after(after, limit))
    }

    fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
    ) -> StoreFuture<'_, Option<LedgerSeq>, ReadError> {
        let key = key.to_owned();
        self.run(move |chat| chat.entry_of(&key, after))
    }

    fn open_deliveries(&self) -> StoreFuture<'_, Vec<Delivery>, ReadError> {
        self.run(ChatFiles::open_deliveries)
    }
}

impl RunRecords for FileChat {
    fn journal(&self) -> StoreFuture<'_, Vec<Object>, ReadError> {
        self.read(ChatFiles::journal)
    }

    fn requests(&self, limit: usize) -> StoreFuture<'_, Vec<Object>, ReadError> {
        self.run(move |chat| chat.requests(limit))
    }
}

impl DerivedFiles for FileChat {
    fn read(&self, which: Derived) -> StoreFuture<'_, Option<DerivedState>, ReadError> {
        self.run(move |chat| chat.derived(&which))
    }

    fn put(&self, which: Derived, state: DerivedState) -> StoreFuture<'_, (), StorageError> {
        self.run(move |chat| chat.put_derived(&which, state))
    }

    fn remove(&self, which: Derived) -> StoreFuture<'_, (), StorageError> {
        self.run(move |chat| chat.remove_derived(&which))
    }

    fn set_aside(&self, which: Derived) -> StoreFuture<'_, (), StorageError> {
        self.run(move |chat| chat.set_derived_aside(&which))
    }

    fn archived_contexts(&self) -> StoreFuture<'_, Vec<ContextId>, ReadError> {
        self.run(ChatFiles::archived_contexts)
    }
}
