//! The file store behind the traits. A call that reads little, or that writes without a sync, is done at once; each other
//! call moves to a thread that may block.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ship_message::json::Json;
use tokio::time::Instant;

use super::blobs;
use super::chat::{ChatFiles, Paths};
use super::chat_list::look_at_logs;
use super::file_chat::FileChat;
use super::idle_chats::IdleNotes;
use super::index_files::FileIndexes;
use super::known_chats::{ChatListEntry, KnownChats};
use super::log_reading::first_line;
use super::message_count;
use super::open_chats::OpenChats;
use super::overview;
use super::records::FileRecords;
use super::right::{Attempt, HeldRight};
use super::store_env::Env;
use crate::chat_folder::{decoded_name, folder_name};
use crate::disk::{Disk, MemoryDisk, NodeKind, RealDisk};
use crate::{
    About, BlobError, BlobRef, ChangeFuture, ChangedChats, Chat, ChatContent, ChatCursor, ChatKey,
    ChatLook, ChatOverview, ChatPage, ChatSizes, IndexFiles, MemoryError, Moment, OverviewPage,
    ProjectRecords, ReadError, RepairEffect, StorageError, StorageProblem, StorageProblemKind,
    Store, StoreFuture, StoreOptions,
};

/// The time after which a waiting caller looks again without a change, on a disk that reports none. Changes are
/// reported nearly everywhere, so it is long.
pub(super) const SLOW_LOOK: Duration = Duration::from_secs(10);
/// The time after which a lane is tried again without a change: a killed process releases it and reports nothing.
const LANE_LOOK: Duration = Duration::from_millis(500);

/// A store in the `.ship` folder of a project. Clones share it. It needs a tokio runtime with a timer.
#[derive(Clone)]
pub struct FileStore {
    pub(super) env: Arc<Env>,
    pub(super) open: Arc<OpenChats>,
    records: Arc<FileRecords>,
    indexes: Arc<FileIndexes>,
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
        let indexes = Arc::new(FileIndexes::new(Arc::clone(&env)));
        let open = Arc::new(OpenChats::new(env.options.cache_bytes));
        let idle = Arc::new(IdleNotes::new(Arc::clone(&env)));
        Self { env, open, records, indexes, idle, known: Arc::default() }
    }

    /// Opens a store that is gone when it is dropped: the same code, on a disk made of maps.
    pub fn in_memory(options: StoreOptions) -> Self {
        Self::on_disk(Box::new(MemoryDisk::new()), options)
    }

    fn chat(&self, key: &ChatKey) -> Arc<ChatFiles> {
        self.open.chat(key, || ChatFiles::new(Arc::clone(&self.env), key.clone()))
    }

    /// Returns the chat of a key; `None` if there is none.
    pub(super) fn existing_chat(
        &self,
        key: &ChatKey,
    ) -> Result<Option<Arc<ChatFiles>>, StorageError> {
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
pub(super) async fn wait_for_lane(
    chat: &Arc<ChatFiles>,
    purpose: &str,
) -> Result<HeldRight, StorageError> {
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

    fn indexes(&self) -> Option<&dyn IndexFiles> {
        Some(&*self.indexes)
    }

    fn records(&self) -> &dyn ProjectRecords {
        &*self.records
    }
}
