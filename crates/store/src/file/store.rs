//! The file store behind the traits. A call that reads little, or that writes without a sync, is done at once; each other
//! call moves to a thread that may block.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ship_message::json::{Json, Object};
use tokio::sync::RwLock;
use tokio::time::Instant;

use super::blobs;
use super::chat::{ChatFiles, Paths};
use super::chat_list::look_at_logs;
use super::idle_chats::IdleNotes;
use super::journal;
use super::known_chats::{ChatListEntry, KnownChats};
use super::log_reading::first_line;
use super::message_count;
use super::open_chats::OpenChats;
use super::overview;
use super::records::FileRecords;
use super::right::{Attempt, HeldRight, LostLane};
use super::store_env::Env;
use crate::chat_folder::{decoded_name, folder_name};
use crate::disk::{Disk, MemoryDisk, NodeKind, RealDisk};
use crate::{
    About, AcceptError, Accepted, AppendError, BlobError, BlobRef, ChangeFuture, ChangedChats,
    Chat, ChatContent, ChatCursor, ChatKey, ChatLook, ChatOverview, ChatPage, ChatSizes, ChatState,
    ContextId, ContextLog, Delivery, Derived, DerivedFiles, DerivedState, Import, ImportError,
    Imported, Lane, LaneError, LaneHolder, Ledger, LedgerEntry, LedgerLine, LedgerSeq, LinesCursor,
    LinesPage, MemoryError, MessageId, MessagePlace, Moment, NewLine, OverviewPage, Position,
    ProjectRecords, PurgeError, Purged, ReadError, RepairEffect, RotateError, Rotated, Rotation,
    RunRecords, SealedLog, SealedName, StorageError, StorageProblem, StorageProblemKind, Store,
    StoreFuture, StoreOptions, Synced, View,
};

/// The time after which a waiting caller looks again without a change, on a disk that reports none. Changes are
/// reported nearly everywhere, so it is long.
const SLOW_LOOK: Duration = Duration::from_secs(10);
/// The time after which a lane is tried again without a change: a killed process releases it and reports nothing.
const LANE_LOOK: Duration = Duration::from_millis(500);

/// A store in the `.ship` folder of a project. Clones share it. It needs a tokio runtime with a timer.
#[derive(Clone)]
pub struct FileStore {
    pub(super) env: Arc<Env>,
    open: Arc<OpenChats>,
    records: Arc<FileRecords>,
    pub(super) idle: Arc<IdleNotes>,
    pub(super) known: Arc<Mutex<KnownChats>>,
}

impl FileStore {
    /// Opens the store of a project folder, which must be there. Nothing is written yet.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn new(project: &Path, options: StoreOptions) -> Result<Self, StorageError> {
        let disk = RealDisk::new(project)
            .map_err(|error| StorageError::io("open project", project, error))?;
        Ok(Self::on_disk(Box::new(disk), options))
    }

    /// Opens the store on a disk of your own.
    pub fn on_disk(disk: Box<dyn Disk>, options: StoreOptions) -> Self {
        let env = Arc::new(Env::new(disk, options));
        let records = Arc::new(FileRecords::new(Arc::clone(&env)));
        let open = Arc::new(OpenChats::new(env.options.cache_bytes));
        let idle = Arc::new(IdleNotes::new(Arc::clone(&env)));
        Self { env, open, records, idle, known: Arc::default() }
    }

    /// Opens a store that is gone when it is dropped: the same code, on a disk made of maps.
    pub fn in_memory(options: StoreOptions) -> Self {
        Self::on_disk(Box::new(MemoryDisk::new()), options)
    }

    fn chat(&self, key: &ChatKey) -> Arc<ChatFiles> {
        self.open.chat(key, || ChatFiles::new(Arc::clone(&self.env), key.clone()))
    }

    /// Returns the chat of a key; `None` if there is none.
    fn existing_chat(&self, key: &ChatKey) -> Result<Option<Arc<ChatFiles>>, StorageError> {
        let chat = self.chat(key);
        if chat.find_about()?.is_none() {
            self.open.forget(key);
            return Ok(None);
        }
        Ok(Some(chat))
    }

    fn create_chat(
        &self,
        mut chat: Arc<ChatFiles>,
        is_there: bool,
        about: &About,
    ) -> Result<Arc<dyn Chat>, StorageError> {
        if !is_there {
            // What was known is of a chat that is gone.
            let key = chat.key.clone();
            drop(chat);
            self.open.forget(&key);
            chat = self.chat(&key);
        }
        chat.create(about)?;
        Ok(self.to_chat(chat))
    }

    /// Returns a chat as a trait object.
    fn to_chat(&self, chat: Arc<ChatFiles>) -> Arc<dyn Chat> {
        Arc::new(FileChat { chat, store: self.clone() })
    }

    /// Returns what a list shows of the chat in a folder; `None` if the folder is not a chat.
    pub(super) fn overview(&self, listed: &ChatListEntry) -> Option<ChatOverview> {
        // The quick reading suffices for nearly every chat. The slow one finds out what is wrong with the others.
        if let Some((key, content)) = overview::read_overview(&self.env, &listed.place.1) {
            let (sizes, activity) = (listed.sizes, listed.place.0.0);
            let may_have_work = listed.may_have_work();
            let look = ChatLook { key: Ok(key), sizes, activity, may_have_work };
            return Some(ChatOverview { look, content: Ok(Some(content)) });
        }
        let look = self.look_at_folder(listed)?;
        let content = look.key.as_ref().map_or(Ok(None), |key| self.content(key));
        Some(ChatOverview { look, content })
    }

    /// Reads what a list shows of a chat, whatever is wrong with its files.
    fn content(&self, key: &ChatKey) -> Result<Option<ChatContent>, ReadError> {
        let Some(chat) = self.existing_chat(key)? else { return Ok(None) };
        let view = chat.view()?;
        let inbox = view.as_ref().and_then(|view| view.inbox);
        let about = chat.find_about()?.unwrap_or_default();
        let mut content = ChatContent::new(about, view, chat.ledger_after(inbox, usize::MAX)?);
        let live = self.env.read(&chat.paths.live)?;
        if let Some((head, new)) = live.and_then(|(_, bytes)| message_count::count_new(&bytes)) {
            let sealed = message_count::count_sealed(&self.env, &chat.paths, head.sealed.as_ref());
            content.messages_said = new + sealed;
        }
        Ok(Some(content))
    }

    /// Looks at a folder below `.ship/chat`; `None` if it is not a chat. A problem is reported for its own chat,
    /// and the others are listed all the same.
    pub(super) fn look_at_folder(&self, listed: &ChatListEntry) -> Option<ChatLook> {
        let folder = &*listed.place.1;
        let paths = Paths::new(folder);
        let (sizes, activity) = look_at_logs(&self.env, folder);
        let key = match self.key_in_folder(folder, &paths, sizes) {
            Ok(key) => key?,
            Err(error) => {
                Err(unreadable_chat(&paths, StorageProblemKind::Damage, &error.to_string()))
            }
        };
        Some(ChatLook { key, sizes, activity, may_have_work: listed.idle != Some(sizes) })
    }

    /// Returns the key of the chat in a folder, or the problem with it; `None` if the folder is not a chat.
    fn key_in_folder(
        &self,
        folder: &str,
        paths: &Paths,
        sizes: ChatSizes,
    ) -> Result<Option<Result<ChatKey, StorageProblem>>, StorageError> {
        // A stray file belongs to no chat.
        if self.env.stat(&paths.chat)?.is_none_or(|look| look.node == NodeKind::File) {
            return Ok(None);
        }
        if sizes.context_bytes == 0 || sizes.ledger_bytes == 0 {
            // A log that cannot be looked at counts as empty in the list, but here it is told.
            for log in [&paths.live, &paths.conversations.join("history.jsonl")] {
                self.env.stat(log)?;
            }
        }
        let about = self.env.read(&paths.about)?.map(|(_, bytes)| Json::parse_bytes(&bytes).ok());
        let is_missing = about.is_none();
        let named = about.flatten().and_then(|about| about.get("chatKey")?.as_str()?.parse().ok());
        let problem = |kind, message: &str| Ok(Some(Err(unreadable_chat(paths, kind, message))));
        let key: ChatKey = match named {
            // The file may be a copy from another chat. Then the head of a log has the right key.
            Some(key) if folder_name(&key) != folder => match self.key_in_logs(folder, paths)? {
                Some(key) => key,
                None => {
                    let message = format!("it names chat `{key}`, which belongs in another folder");
                    return problem(StorageProblemKind::Damage, &message);
                }
            },
            Some(key) => key,
            // A chat is there once its `chat.json` is; one that has said something has lost it.
            None if is_missing && sizes.context_bytes == 0 && sizes.ledger_bytes == 0 => {
                return Ok(None);
            }
            None => match self.key_of(folder, paths)? {
                Some(key) => key,
                None => {
                    let message = "it is missing or has no chat key, and no log has one";
                    return problem(StorageProblemKind::Missing, message);
                }
            },
        };
        Ok(Some(Ok(key)))
    }

    /// Finds the key of a chat that has lost its `chat.json`. The head of a log has it, and a short key is also the
    /// name of the folder.
    fn key_of(&self, folder: &str, paths: &Paths) -> Result<Option<ChatKey>, StorageError> {
        let in_logs = self.key_in_logs(folder, paths)?;
        Ok(in_logs.or_else(|| decoded_name(folder).filter(|key| folder_name(key) == folder)))
    }

    /// Returns the key in the head of a log, if it belongs to this folder.
    fn key_in_logs(&self, folder: &str, paths: &Paths) -> Result<Option<ChatKey>, StorageError> {
        for path in [&paths.live, &paths.conversations.join("history.jsonl")] {
            let head = first_line(&self.env, path)?;
            let key: Option<ChatKey> =
                head.and_then(|line| line.body.get("data")?.get("chatKey")?.as_str()?.parse().ok());
            if let Some(key) = key.filter(|key| folder_name(key) == folder) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}

fn unreadable_chat(paths: &Paths, kind: StorageProblemKind, message: &str) -> StorageProblem {
    let remedy = "restore it from a backup; `chat.json` names this chat";
    let problem = StorageProblem::new(paths.about.display().to_string(), kind, message, remedy);
    StorageProblem { repair: RepairEffect::Nothing, ..problem }
}

/// Runs `work` where it may block. It runs to its end even if the caller no longer waits for it.
pub(super) fn blocking<'a, T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> StoreFuture<'a, T, E>
where
    T: Send + 'static,
    E: Send + 'static,
{
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                // A panic is a fault of the program, and must not look like an error of the disk.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => panic!("the store needs its runtime to the end: {error}"),
            },
        }
    })
}

/// Takes the lane, waiting up to `lock.waitMs`. No thread is blocked meanwhile: a run may hold a lane for long,
/// and the other work of the process needs the threads.
#[expect(clippy::disallowed_methods, reason = "a lock with a time limit can only be tried again")]
async fn wait_for_lane(chat: &Arc<ChatFiles>, purpose: &str) -> Result<HeldRight, StorageError> {
    let deadline = Instant::now() + Duration::from_millis(chat.env.options.lock_wait_ms);
    let mut has_waited = false;
    loop {
        let moment = chat.env.changes.now();
        // The last attempt comes after the deadline, so that even a wait of zero makes one.
        let attempt = match Instant::now() < deadline {
            true => Attempt::MoreToCome,
            false => Attempt::Last,
        };
        if let Some(held) = chat.try_lane(purpose, attempt)? {
            // The holder before may wait for this one to begin. One in another process has seen this caller wait.
            match has_waited {
                true => chat.env.note_arrival(&chat.key),
                false => chat.env.changes.note_arrival(&chat.key),
            }
            return Ok(held);
        }
        has_waited = true;
        if chat.env.begin_watch() {
            continue;
        }
        tokio::select! {
            _ = chat.env.changes.chat_changed(&chat.key, moment) => {}
            () = tokio::time::sleep_until(deadline.min(Instant::now() + LANE_LOOK)) => {}
        }
    }
}

impl Store for FileStore {
    fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError> {
        let store = self.clone();
        blocking(move || store.chat_page(after.as_ref(), limit))
    }

    fn chats_with_work(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, ChatPage, StorageError> {
        let store = self.clone();
        blocking(move || store.page_with_work(after.as_ref(), limit))
    }

    fn overviews(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> StoreFuture<'_, OverviewPage, StorageError> {
        let store = self.clone();
        // All in one go: a hop between threads for each chat would cost more than reading it.
        blocking(move || store.overview_page(after.as_ref(), limit))
    }

    fn open(&self, key: &ChatKey) -> StoreFuture<'_, Option<Arc<dyn Chat>>, StorageError> {
        let (store, key) = (self.clone(), key.clone());
        // One small file is read.
        Box::pin(async move { Ok(store.existing_chat(&key)?.map(|chat| store.to_chat(chat))) })
    }

    fn create(&self, key: &ChatKey, about: About) -> StoreFuture<'_, Arc<dyn Chat>, StorageError> {
        let (store, chat) = (self.clone(), self.chat(key));
        Box::pin(async move {
            let is_there = chat.read_whole_about()?.is_some();
            if is_there && chat.is_made() {
                return Ok(store.to_chat(chat));
            }
            blocking(move || store.create_chat(chat, is_there, &about)).await
        })
    }

    fn moment(&self) -> Moment {
        self.env.changes.now()
    }

    #[expect(clippy::disallowed_methods, reason = "a disk that reports nothing is looked at again")]
    fn changed(&self, after: Moment) -> ChangeFuture<'_, ChangedChats> {
        Box::pin(async move {
            if !self.env.begin_watch() {
                tokio::select! {
                    changed = self.env.changes.any_changed(after) => return changed,
                    () = tokio::time::sleep(SLOW_LOOK) => {}
                }
            }
            let moment = self.env.changes.now();
            ChangedChats { moment, chats: Vec::new(), is_partial: true }
        })
    }

    fn put_blob(&self, bytes: Vec<u8>, media_type: &str) -> StoreFuture<'_, BlobRef, BlobError> {
        let (env, media_type) = (Arc::clone(&self.env), media_type.to_owned());
        blocking(move || Ok(blobs::put_blob(&env, &bytes, &media_type)?))
    }

    fn blob(&self, sha256: &str) -> StoreFuture<'_, Vec<u8>, BlobError> {
        let (env, sha256) = (Arc::clone(&self.env), sha256.to_owned());
        blocking(move || blobs::read_blob(&env, &sha256))
    }

    fn memory(&self, chat: &ChatKey) -> StoreFuture<'_, Option<String>, MemoryError> {
        let chat = self.chat(chat);
        Box::pin(async move {
            match chat.known_memory() {
                Some(memory) => Ok(memory),
                None => blocking(move || chat.read_memory()).await,
            }
        })
    }

    fn set_memory(&self, chat: &ChatKey, text: String) -> StoreFuture<'_, (), MemoryError> {
        let chat = self.chat(chat);
        blocking(move || chat.set_memory(&text))
    }

    fn records(&self) -> &dyn ProjectRecords {
        &*self.records
    }
}

#[derive(Clone)]
struct FileChat {
    chat: Arc<ChatFiles>,
    store: FileStore,
}

impl Drop for FileChat {
    fn drop(&mut self) {
        self.store.open.note_use(&self.chat);
    }
}

impl FileChat {
    /// Makes the lane of this chat from its right, which is held.
    fn into_lane(self, held: HeldRight) -> Arc<dyn Lane> {
        let lost = held.lost();
        Arc::new(FileLane { chat: self, held: Arc::new(RwLock::new(Some(held))), lost })
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

struct FileLane {
    chat: FileChat,
    /// The right, until it is given back. Every write reads it to its end, so that the lane is not given back before.
    held: Arc<RwLock<Option<HeldRight>>>,
    lost: Arc<LostLane>,
}

impl FileLane {
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
