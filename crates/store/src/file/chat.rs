//! One chat on disk: its files, its two rights, and the operations on them.
//!
//! Everything here blocks. The traits in front of it move each call to a thread that may.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use ship_message::json::{Json, Object};

use super::blobs::put_texts;
use super::chat_list::look_at_logs;
use super::context::{self, ContextFold};
use super::copied_lines::{CopySources, OtherChats};
use super::inbox_cursor::CursorCache;
use super::journal::{self, JournalFile, JournalLines};
use super::known_file::KnownFile;
use super::ledger::{self, LedgerFold, LedgerWriter};
use super::ledger_reader::LedgerReader;
use super::log::{LogFile, LogTail, Writing};
use super::log_reading::first_line;
use super::lookup::KnownKey;
use super::min_reader::check_min_reader;
use super::overview::read_about;
use super::published;
use super::right::{Attempt, HeldRight, RightFile};
use super::rotate::{self, sealed_path};
use super::sealed_chain::SealedChain;
use super::store_env::Env;
use super::view_cache::ViewCache;
use super::write_group::WriteGroup;
use super::{quarantine, verify};
use crate::chat_folder::folder_name;
use crate::rules::{
    Appending, Batch, BatchState, LedgerAddition, PlannedRotation, PreparedRotation, TextBlob,
    prepare_deliveries, prepare_entry, source_logs,
};
use crate::{
    About, AcceptError, Accepted, AppendError, ChatKey, ChatSizes, ContextId, Delivery, Derived,
    DerivedState, FORMAT_VERSION, Gen, LaneHolder, LedgerBody, LedgerEntry, LedgerLine, LedgerSeq,
    NewLine, Position, ReadError, RefusedInput, Right, RotateError, Rotated, Rotation, SealedName,
    Seq, StorageError, StorageProblem, View,
};

/// The folders of a chat, below its own.
const FOLDERS: [&str; 6] =
    ["conversations", "messages", "messages/archive", "contexts", "contexts/archive", "memory"];

/// The number of ledger lines that are searched for the description of a chat.
const ABOUT_LINES: usize = 20;

/// The approximate memory of a chat of which nothing was read: its paths, its rights and its empty caches.
const OPEN_CHAT_BYTES: u64 = 8 * 1024;

/// The length of a known log that is read without a move to another thread. Its bytes are compared with their
/// checksum, which takes less than the move.
const READ_AT_ONCE_MAX: u64 = 1024 * 1024;

/// The paths of the files of a chat.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) chat: PathBuf,
    pub(crate) about: PathBuf,
    pub(crate) conversations: PathBuf,
    pub(crate) messages: PathBuf,
    pub(crate) archive: PathBuf,
    pub(crate) live: PathBuf,
    pub(crate) quarantine: PathBuf,
}

impl Paths {
    pub(crate) fn new(folder: &str) -> Self {
        let chat = Path::new(".ship/chat").join(folder);
        let messages = chat.join("messages");
        Self {
            about: chat.join("chat.json"),
            conversations: chat.join("conversations"),
            archive: messages.join("archive"),
            live: messages.join("history.jsonl"),
            quarantine: chat.join("quarantine"),
            messages,
            chat,
        }
    }

    pub(super) fn derived(&self, which: &Derived) -> PathBuf {
        match which {
            Derived::Meta => self.messages.join("meta.json"),
            Derived::ContextIndex => self.chat.join("contexts/index.json"),
            Derived::Context(id) => self.chat.join(format!("contexts/archive/{id}.json")),
            Derived::TokenCounts => self.messages.join("tokens.json"),
        }
    }
}

/// A chat, shared by all tasks of this process that have it open.
pub(crate) struct ChatFiles {
    pub(crate) env: Arc<Env>,
    pub(crate) key: ChatKey,
    pub(crate) paths: Paths,
    write_right: Arc<RightFile>,
    lane: Arc<RightFile>,
    pub(crate) context: LogFile<ContextFold>,
    view_cache: ViewCache,
    pub(crate) cursors: CursorCache,
    pub(super) chain: SealedChain,
    pub(super) ledger: LogFile<LedgerFold>,
    pub(super) run: JournalFile,
    pub(super) requests: JournalFile,
    batches: WriteGroup<Batch, Result<Position, AppendError>>,
    additions: WriteGroup<LedgerAddition, Result<Accepted, AcceptError>>,
    /// Whether this process has synced the folders, which another may have made just before it died.
    adopted: AtomicBool,
    pub(super) about_file: KnownFile,
    pub(super) memory_file: KnownFile,
    /// The repairs of files other than logs.
    pub(super) notes: Mutex<Vec<StorageProblem>>,
}

impl ChatFiles {
    pub(crate) fn new(env: Arc<Env>, key: ChatKey) -> Self {
        let paths = Paths::new(&folder_name(&key));
        let right = |right, name| {
            let path = paths.chat.join(name);
            Arc::new(RightFile::new(Arc::clone(&env), key.clone(), right, path))
        };
        let quarantine = paths.quarantine.clone();
        let journal = |name| {
            JournalFile::new(Arc::clone(&env), paths.messages.join(name), quarantine.clone())
        };
        let ledger = paths.conversations.join("history.jsonl");
        Self {
            write_right: right(Right::Write, "lock"),
            lane: right(Right::Lane, "lane"),
            context: LogFile::new(Arc::clone(&env), paths.live.clone(), quarantine.clone()),
            view_cache: ViewCache::default(),
            cursors: CursorCache::default(),
            chain: SealedChain::default(),
            ledger: LogFile::new(Arc::clone(&env), ledger, quarantine.clone()),
            run: journal("run.jsonl"),
            requests: journal("requests.jsonl"),
            batches: WriteGroup::new(),
            additions: WriteGroup::new(),
            adopted: AtomicBool::new(false),
            about_file: KnownFile::default(),
            memory_file: KnownFile::default(),
            notes: Mutex::new(Vec::new()),
            env,
            key,
            paths,
        }
    }

    /// Reads `chat.json`; `None` if there is none. Refuses a folder of another chat.
    pub(crate) fn read_about(&self) -> Result<Option<About>, StorageError> {
        let path = &self.paths.about;
        let Some(bytes) = self.about_file.read(&self.env, path)? else { return Ok(None) };
        let about = Json::parse_bytes(&bytes).ok();
        let object = about.as_ref().and_then(Json::as_object);
        let owner = object.and_then(|object| object.str("chatKey"));
        let Some((object, owner)) = object.zip(owner) else {
            let what = "it is not JSON with a `chatKey`".to_owned();
            return Err(StorageError::Damaged { path: path.clone(), what });
        };
        if owner != self.key.as_str() {
            let (path, owner, wanted) = (path.clone(), owner.to_owned(), self.key.clone());
            // The folder of another chat, copied or renamed, has its logs, too.
            if self.log_owners()?.iter().any(|(_, owner)| owner == wanted.as_str()) {
                let what = format!("it names chat `{owner}`, but the logs beside it name this one");
                return Err(StorageError::Damaged { path, what });
            }
            return Err(StorageError::OtherChat { path, owner, wanted });
        }
        check_min_reader(path, object)?;
        Ok(Some(read_about(object)))
    }

    /// Takes the write right, in a chat that this program may write.
    pub(crate) fn take_write_right(&self, purpose: &str) -> Result<HeldRight, StorageError> {
        let held = self.write_right.take(purpose)?;
        // Once is enough: from then on, this process syncs each name that it makes.
        if !self.adopted.load(Ordering::Relaxed) {
            self.adopt()?;
            self.adopted.store(true, Ordering::Relaxed);
        }
        Ok(held)
    }

    /// Takes the write right if that needs no wait and no sync.
    pub(crate) fn write_right_if_free(
        &self,
        purpose: &str,
    ) -> Result<Option<HeldRight>, StorageError> {
        match self.adopted.load(Ordering::Relaxed) {
            true => self.write_right.take_if_free(purpose),
            false => Ok(None),
        }
    }

    /// Whether the logs of the chat are in memory, so that reading them costs what is new.
    pub(crate) fn is_in_memory(&self) -> bool {
        let is_short = self.view_cache.known_len().is_some_and(|len| len <= READ_AT_ONCE_MAX);
        is_short
            && self.ledger.last_known(|_| Some(())).is_some()
            && self.run.last_known(|known| Some(known.len <= READ_AT_ONCE_MAX)) == Some(true)
    }

    /// Returns the sizes of the logs. Only the ledger is looked at if the others are known: a process without the lane
    /// adds to nothing else.
    pub(crate) fn sizes(&self) -> ChatSizes {
        let context = self.context.last_known(|known| Some(known.len));
        let ledger = self.env.glance(&ledger::live_path(&self.paths.conversations));
        match (context, ledger, self.run.last_known(|known| Some(known.len))) {
            (Some(context_bytes), Ok(Some(ledger)), Some(journal_bytes)) => {
                ChatSizes { context_bytes, ledger_bytes: ledger.len, journal_bytes }
            }
            _ => look_at_logs(&self.env, &folder_name(&self.key)).0,
        }
    }

    fn adopt(&self) -> Result<(), StorageError> {
        if let Some(about) = self.stored_about()? {
            let found = about.get("v").and_then(Json::as_u64).unwrap_or(0);
            if found > FORMAT_VERSION {
                let (path, known) = (self.paths.about.clone(), FORMAT_VERSION);
                return Err(StorageError::Newer { path, found, known });
            }
            check_min_reader(&self.paths.about, &about)?;
        }
        for folder in FOLDERS.map(|name| self.paths.chat.join(name)) {
            if self.env.stat(&folder)?.is_none() {
                self.env.ensure_folder(&folder)?;
            }
        }
        // A folder is synced for the names in it, so the project folder comes first, for the name `.ship`. The folders
        // of the logs are synced with the logs.
        let above = ["", ".ship", ".ship/chat"].map(Path::new);
        let mut folders = above.into_iter().chain([&*self.paths.chat]);
        folders.try_for_each(|folder| self.env.sync_folder(folder))
    }

    /// Whether this process has synced the folders of the chat, so that nothing is left to make.
    pub(crate) fn is_made(&self) -> bool {
        self.adopted.load(Ordering::Relaxed) && !self.env.is_unsynced(&self.paths.chat)
    }

    /// Makes the folders and `chat.json` of a chat that does not exist yet.
    pub(crate) fn create(&self, about: &About) -> Result<(), StorageError> {
        self.make_folders()?;
        let _right = self.take_write_right("create")?;
        let made = self.ensure_about(about);
        // A name that may be there or not must be synced before anything stands on it.
        if made.is_err() {
            self.adopted.store(false, Ordering::Relaxed);
        }
        made
    }

    pub(super) fn make_folders(&self) -> Result<(), StorageError> {
        for above in [".ship", ".ship/chat"] {
            self.env.ensure_folder(Path::new(above))?;
        }
        self.env.ensure_folder(&self.paths.chat)?;
        for folder in FOLDERS {
            self.env.ensure_folder(&self.paths.chat.join(folder))?;
        }
        Ok(())
    }

    fn ensure_about(&self, about: &About) -> Result<(), StorageError> {
        match self.read_whole_about()? {
            // Its name may not last, though it is there: only a new one can be made to.
            Some(known) if self.env.is_unsynced(&self.paths.chat) => self.write_about(&known),
            Some(_) => Ok(()),
            None => self.write_about_anew(about),
        }
    }

    /// Returns what `chat.json` says; `None` also if it is empty or half written.
    pub(crate) fn read_whole_about(&self) -> Result<Option<About>, StorageError> {
        match self.read_about() {
            Err(StorageError::Damaged { .. }) => Ok(None),
            read => read,
        }
    }

    /// Returns the description of the chat; `None` if there is no such chat. A chat that has lost its `chat.json`
    /// exists as long as its logs do.
    pub(crate) fn find_about(&self) -> Result<Option<About>, StorageError> {
        if let Some(about) = self.read_whole_about()? {
            return Ok(Some(about));
        }
        if !self.has_logs()? {
            return Ok(None);
        }
        self.check_logs()?;
        Ok(Some(self.about_in_ledger()))
    }

    pub(crate) fn has_logs(&self) -> Result<bool, StorageError> {
        let live = [self.paths.live.clone(), ledger::live_path(&self.paths.conversations)];
        for path in live {
            if self.env.stat(&path)?.is_some_and(|look| look.len > 0) {
                return Ok(true);
            }
        }
        let archives = ledger::newest_archive(&self.env, &self.paths.conversations)?;
        Ok(archives > 0 || !self.sealed_names()?.is_empty())
    }

    /// Reads the description of the chat from the newest entry of the ledger.
    pub(super) fn about_in_ledger(&self) -> About {
        let channel = |line: &LedgerLine| match &line.body {
            LedgerBody::Entry(entry) => entry.entry.str("channel").map(str::to_owned),
            LedgerBody::Delivery(_) => None,
        };
        // What is wrong with the ledger is told where that is looked at.
        let lines = self.ledger_before(None, ABOUT_LINES).unwrap_or_default();
        About { channel: lines.iter().rev().find_map(channel), ..About::default() }
    }

    /// Writes `chat.json` if it is missing or cannot be read. The unreadable file is set aside.
    pub(super) fn write_about_anew(&self, about: &About) -> Result<(), StorageError> {
        self.check_logs()?;
        if let Some((_, bytes)) = self.env.read(&self.paths.about)? {
            quarantine::quarantine_bytes(
                &self.env,
                &self.paths.quarantine,
                &self.paths.about,
                0,
                &bytes,
            )?;
        }
        self.write_about(about)
    }

    /// Refuses to make a chat of logs that belong to another.
    fn check_logs(&self) -> Result<(), StorageError> {
        let owners = self.log_owners()?;
        match owners.into_iter().find(|(_, owner)| owner != self.key.as_str()) {
            Some((path, owner)) => {
                Err(StorageError::OtherChat { path, owner, wanted: self.key.clone() })
            }
            None => Ok(()),
        }
    }

    /// Returns the chats that the heads of the live logs name.
    fn log_owners(&self) -> Result<Vec<(PathBuf, String)>, StorageError> {
        let mut owners = Vec::new();
        for path in [self.paths.live.clone(), ledger::live_path(&self.paths.conversations)] {
            let head = first_line(&self.env, &path)?;
            let owner = head
                .and_then(|line| Some(line.body.get("data")?.get("chatKey")?.as_str()?.to_owned()));
            owners.extend(owner.map(|owner| (path, owner)));
        }
        Ok(owners)
    }

    /// Replaces the description of the chat.
    pub(crate) fn set_about(&self, about: &About) -> Result<(), StorageError> {
        let _right = self.take_write_right("describe")?;
        match self.read_whole_about()? {
            Some(_) => self.write_about(about),
            None => self.write_about_anew(about),
        }
    }

    fn write_about(&self, about: &About) -> Result<(), StorageError> {
        let mut object = Object::new();
        object.set("v", FORMAT_VERSION);
        object.set("chatKey", self.key.as_str());
        object.set_or_remove("channel", about.channel.as_deref().map(Json::from));
        object.set_or_remove("target", about.target.clone());
        object.set_or_remove("model", about.model.as_deref().map(Json::from));
        object.set_or_remove("minReader", self.min_reader()?.map(Json::from));
        let text = format!("{}\n", Json::from(object));
        self.env.replace(&self.paths.about, text.as_bytes())?;
        self.env.mark_synced(&self.paths.chat);
        Ok(())
    }

    pub(crate) fn try_lane(
        &self,
        purpose: &str,
        attempt: Attempt,
    ) -> Result<Option<HeldRight>, StorageError> {
        let held = self.lane.try_take(purpose, attempt)?;
        if held.is_some() {
            // The holder before may have been a newer program.
            self.check_reader()?;
        }
        Ok(held)
    }

    /// Appends a batch to the context log, durably.
    pub(crate) fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> Result<Position, AppendError> {
        let (batch, texts) = self.prepare_batch(batch, expected)?;
        self.append_prepared(batch, &texts)
    }

    /// Makes the lines of a batch.
    pub(crate) fn prepare_batch(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> Result<(Batch, Vec<TextBlob>), RefusedInput> {
        Batch::prepare(batch, expected, self.env.options.message_bytes_max)
    }

    pub(crate) fn append_prepared(
        &self,
        batch: Batch,
        texts: &[TextBlob],
    ) -> Result<Position, AppendError> {
        put_texts(&self.env, texts)?;
        self.batches.submit(batch, |waiting| self.commit(waiting))
    }

    fn commit(&self, waiting: Vec<Batch>) -> Vec<Result<Position, AppendError>> {
        match self.take_write_right("append") {
            Ok(right) => self.commit_with(&right, waiting, self.env.syncs()),
            Err(error) => waiting.iter().map(|_| Err(error.share().into())).collect(),
        }
    }

    fn commit_with(
        &self,
        right: &HeldRight,
        waiting: Vec<Batch>,
        sync: bool,
    ) -> Vec<Result<Position, AppendError>> {
        let mut writing = match self.context.begin_writing(right) {
            Ok(writing) => writing,
            Err(error) => return waiting.iter().map(|_| Err(error.share().into())).collect(),
        };
        let end = writing.tail().map(|known| context::live_log(known).end);
        let mut appending = Appending::new(&self.key, end);
        let add = |batch| self.add_batch(right, &writing, &mut appending, batch);
        let added: Vec<Result<Position, AppendError>> = waiting.into_iter().map(add).collect();
        let lines = appending.into_lines();
        if lines.is_empty() {
            return added;
        }
        match writing.append(&lines, sync) {
            Ok(_) => {
                if let Some((before, after)) = writing.looks() {
                    self.view_cache.note_append(before, after);
                }
                self.env.changes.note_write(&self.key);
                added
            }
            // All batches were one write, so its failure is the failure of each.
            Err(error) => {
                let failed = |added: Result<_, _>| added.and_then(|_| Err(error.share().into()));
                added.into_iter().map(failed).collect()
            }
        }
    }

    fn add_batch(
        &self,
        right: &HeldRight,
        writing: &Writing<'_, ContextFold>,
        appending: &mut Appending,
        batch: Batch,
    ) -> Result<Position, AppendError> {
        let ledger_end = match batch.promoted() {
            Some(_) => self.ledger_end(right)?,
            None => None,
        };
        let present = context::present_lines(writing, &batch)?;
        appending.add(batch, &BatchState { present, ledger_end })
    }

    /// Returns the last number that the ledger has given for good.
    pub(super) fn ledger_end(&self, right: &HeldRight) -> Result<Option<LedgerSeq>, StorageError> {
        let given = |known: &LogTail<LedgerFold>| LedgerSeq::new(known.given);
        if let Some(end) = self.ledger.unchanged(right, given)? {
            return Ok(Some(end));
        }
        let ledger = self.ledger.begin_writing(right)?;
        Ok(ledger.tail().map(given))
    }

    /// Looks at the holder of the lane. Changes nothing.
    pub(crate) fn lane_holder(&self) -> Result<Option<LaneHolder>, ReadError> {
        let Some(holder) = self.lane.holder()? else { return Ok(None) };
        let lane = self.paths.chat.join("lane");
        let is_stopped = self.lane.is_stopped(&holder);
        let mut last_write = None;
        for path in [&lane, &self.paths.live, &self.run.path, &self.requests.path] {
            last_write = last_write.max(self.env.modified(path)?);
        }
        Ok(Some(LaneHolder { holder, is_stopped, last_write }))
    }

    /// Rotates the context log; `others` opens the chats that lines are copied from.
    pub(crate) fn rotate(
        &self,
        rotation: Rotation,
        others: &OtherChats<'_>,
    ) -> Result<Rotated, RotateError> {
        let names = source_logs(&rotation, &self.key);
        let sources = CopySources::read(self, others, names)?;
        let bytes_max = self.env.options.message_bytes_max;
        let (prepared, texts) =
            PreparedRotation::prepare(rotation, &self.key, &sources.logs, bytes_max)?;
        put_texts(&self.env, &texts)?;
        let right = self.take_write_right("rotate")?;
        let mut writing = self.context.begin_unsynced(&right)?;
        if writing.tail().is_none() {
            self.check_first()?;
        }
        let live = writing.tail().map(context::live_log);
        let ledger_end = match prepared.promoted(live.as_ref()) {
            Some(_) => self.ledger_end(&right)?,
            None => None,
        };
        let kept = rotate::kept_lines(&writing, &prepared)?;
        let now = self.env.options.now();
        let PlannedRotation { log, rotated } =
            prepared.publish(&self.key, live.as_ref(), kept, ledger_end, now)?;
        let damage = sources.quarantine_damage(&self.env, &self.paths.quarantine)?;
        let sealed = rotated.sealed.as_ref().map(|name| sealed_path(&self.paths.archive, name));
        published::publish(log, &self.env, &mut writing, &self.key, sealed.as_deref())?;
        // The view of the log before is not asked for again.
        self.view_cache.keep_published(writing.take_published());
        self.link_active();
        self.env.changes.note_write(&self.key);
        Ok(Rotated { damage, ..rotated })
    }

    /// Checks that the context log can be sealed. Changes nothing.
    pub(crate) fn check_seal(&self) -> Result<(), StorageError> {
        let right = self.take_write_right("check_seal")?;
        let writing = self.context.begin_writing(&right)?;
        let Some(known) = writing.tail() else { return Ok(()) };
        let range = (Seq::new(known.first_seq), Seq::new(known.last_seq));
        let name = SealedName::new(self.env.options.now(), range.0, range.1);
        writing.check_seal(&sealed_path(&self.paths.archive, &name))
    }

    /// Links the active log under a fixed name, for people and scripts. An existing link stays as it is.
    pub(super) fn link_active(&self) {
        let link = self.paths.chat.join("contexts/active.jsonl");
        let _ = self.env.disk.symlink("../messages/history.jsonl", &link);
    }

    /// Checks that a chat without a live log is new: with sealed logs, the live one is missing.
    pub(crate) fn check_first(&self) -> Result<(), StorageError> {
        match self.sealed_names()?.is_empty() {
            true => Ok(()),
            false => Err(self.live_missing_error()),
        }
    }

    fn live_missing_error(&self) -> StorageError {
        let what = "it is missing, though the chat has sealed logs".to_owned();
        StorageError::Damaged { path: self.paths.live.clone(), what }
    }

    pub(crate) fn is_begun(&self) -> Result<bool, ReadError> {
        let is_begun = self.env.stat(&self.paths.live)?.is_some();
        if !is_begun {
            self.check_first()?;
        }
        Ok(is_begun)
    }

    pub(crate) fn view(&self) -> Result<Option<View>, ReadError> {
        let view = self.view_cache.read(&self.env, &self.paths.live)?;
        if view.is_none() {
            self.check_first()?;
        }
        Ok(view)
    }

    /// Returns the approximate memory of the chat, in bytes.
    pub(crate) fn cached_bytes(&self) -> u64 {
        OPEN_CHAT_BYTES
            + self.view_cache.bytes()
            + self.context.cached_bytes()
            + self.ledger.cached_bytes()
            + self.chain.cached_bytes()
            + self.memory_file.cached_bytes()
    }

    /// Forgets the cached view.
    pub(crate) fn forget_view(&self) {
        self.view_cache.forget();
    }

    /// Forgets what was read, to free its memory.
    pub(crate) fn forget(&self) {
        self.forget_view();
        self.context.forget();
        self.ledger.forget();
        self.chain.forget();
        self.memory_file.forget();
    }

    pub(crate) fn accept(&self, entry: LedgerEntry) -> Result<Accepted, AcceptError> {
        let prepared = prepare_entry(entry, self.env.options.message_bytes_max)?;
        self.submit(prepared)
    }

    pub(crate) fn deliver(&self, states: Vec<Delivery>) -> Result<LedgerSeq, AcceptError> {
        let prepared = prepare_deliveries(states, self.env.options.message_bytes_max)?;
        self.submit(prepared).map(|added| added.seq)
    }

    fn submit(
        &self,
        (addition, texts): (LedgerAddition, Vec<TextBlob>),
    ) -> Result<Accepted, AcceptError> {
        put_texts(&self.env, &texts)?;
        self.additions.submit(addition, |waiting| self.add_to_ledger(waiting))
    }

    fn add_to_ledger(&self, waiting: Vec<LedgerAddition>) -> Vec<Result<Accepted, AcceptError>> {
        let count = waiting.len();
        let right = self.take_write_right("accept");
        let writing = right.and_then(|right| Ok((self.ledger_to_write(&right)?, right)));
        match writing {
            Ok((writing, right)) => {
                let (env, folder) = (&*self.env, &*self.paths.conversations);
                let cursor = || self.cursor_for(&right);
                let chat = &self.key;
                let mut writer = LedgerWriter { env, chat, folder, writing, cursor: &cursor };
                let added = writer.add(waiting, self.env.syncs());
                if added.iter().any(Result::is_ok) {
                    self.env.note_arrival(&self.key);
                }
                added
            }
            Err(error) => (0..count).map(|_| Err(error.share().into())).collect(),
        }
    }

    /// Whether the ledger is missing although there was one.
    pub(crate) fn is_ledger_lost(&self) -> Result<bool, StorageError> {
        let folder = &self.paths.conversations;
        if self.env.stat(&ledger::live_path(folder))?.is_some() {
            return Ok(false);
        }
        Ok(ledger::newest_archive(&self.env, folder)? > 0 || self.cursor()?.is_some())
    }

    fn ledger_reader(&self) -> LedgerReader<'_> {
        LedgerReader { env: &self.env, folder: &self.paths.conversations }
    }

    pub(crate) fn ledger_before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, ReadError> {
        Ok(self.ledger_reader().before(before, limit)?)
    }

    pub(crate) fn ledger_after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, ReadError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let start = self.ledger.last_known(|known| ledger::start_after(known, after));
        if let Some(start) = start
            && let Some(lines) = self.ledger_reader().after_known_line(start, after, limit)?
        {
            return Ok(lines);
        }
        Ok(self.ledger_reader().after(after, limit)?)
    }

    pub(crate) fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
    ) -> Result<Option<LedgerSeq>, ReadError> {
        let known = self.ledger.last_known(|known| Some(KnownKey::find(known, key)));
        Ok(self.ledger_reader().entry_of(key, after, known)?)
    }

    pub(crate) fn open_deliveries(&self) -> Result<Vec<Delivery>, ReadError> {
        Ok(self.ledger_reader().open_deliveries()?)
    }

    pub(crate) fn begin_journal(
        &self,
        right: &HeldRight,
        about: Object,
        sync: bool,
    ) -> Result<(), StorageError> {
        journal::begin_journal(&self.run, right, about, sync)
    }

    pub(crate) fn add_to_journal(
        &self,
        right: &HeldRight,
        parts: &JournalLines,
        sync: bool,
    ) -> Result<(), StorageError> {
        put_texts(&self.env, &parts.texts)?;
        journal::append(&self.run, right, &parts.lines, sync)
    }

    pub(crate) fn journal(&self) -> Result<Vec<Object>, ReadError> {
        Ok(journal::read(&self.run)?)
    }

    pub(crate) fn record_request(
        &self,
        right: &HeldRight,
        request: Object,
    ) -> Result<(), StorageError> {
        let Paths { quarantine, archive, .. } = &self.paths;
        journal::record(&self.requests, right, request, quarantine, archive)
    }

    pub(crate) fn requests(&self, limit: usize) -> Result<Vec<Object>, ReadError> {
        let live = journal::read_parts(&self.env, &self.requests.path)?.into_iter().rev();
        let mut newest_first: Vec<(u64, Object)> = live.take(limit).collect();
        // The folder is looked at only when the live file does not have enough.
        let mut files = match newest_first.len() < limit {
            true => journal::sealed_files(&self.requests, &self.paths.archive)?,
            false => Vec::new(),
        };
        while let Some(path) = files.pop().filter(|_| newest_first.len() < limit) {
            // An interrupted sealing gives one file two names.
            let oldest = newest_first.last().map_or(u64::MAX, |(seq, _)| *seq);
            let parts = journal::read_parts(&self.env, &path)?.into_iter().rev();
            let left = limit - newest_first.len();
            newest_first.extend(parts.filter(|(seq, _)| *seq < oldest).take(left));
        }
        Ok(newest_first.into_iter().rev().map(|(_, request)| request).collect())
    }

    pub(crate) fn derived(&self, which: &Derived) -> Result<Option<DerivedState>, ReadError> {
        let read = self.env.read(&self.paths.derived(which))?;
        Ok(read.and_then(|(_, bytes)| derived_state(&bytes)))
    }

    pub(crate) fn put_derived(
        &self,
        which: &Derived,
        state: DerivedState,
    ) -> Result<(), StorageError> {
        let DerivedState { mut value, position, crc } = state;
        let mut source = Object::new();
        source.set("gen", position.generation.get());
        source.set("seq", position.seq.get());
        source.set("crc", u64::from(crc));
        source.set("sum", checksum(&value));
        value.set("source", source);
        let _right = self.take_write_right("put_derived")?;
        let text = format!("{}\n", Json::from(value));
        self.env.replace_unsynced(&self.paths.derived(which), text.as_bytes())
    }

    pub(crate) fn remove_derived(&self, which: &Derived) -> Result<(), StorageError> {
        let _right = self.take_write_right("remove_derived")?;
        self.env.remove(&self.paths.derived(which))
    }

    pub(crate) fn set_derived_aside(&self, which: &Derived) -> Result<(), StorageError> {
        let path = self.paths.derived(which);
        if let Some((_, bytes)) = self.env.read(&path)? {
            quarantine::quarantine_bytes(&self.env, &self.paths.quarantine, &path, 0, &bytes)?;
        }
        self.remove_derived(which)
    }

    pub(crate) fn archived_contexts(&self) -> Result<Vec<ContextId>, ReadError> {
        let names = self.env.list(&self.paths.chat.join("contexts/archive"))?;
        let id = |name: &String| name.strip_suffix(".json")?.parse().ok();
        Ok(names.iter().filter_map(id).collect())
    }

    pub(crate) fn verify(&self) -> Result<Vec<StorageProblem>, ReadError> {
        let mut problems = verify::verify_chat(self)?;
        self.mark_known(&mut problems)?;
        Ok(problems)
    }
}

/// Reads the bytes of a derived file; `None` if a byte of it is wrong.
pub(super) fn derived_state(bytes: &[u8]) -> Option<DerivedState> {
    let Ok(Json::Object(mut value)) = Json::parse_bytes(bytes) else { return None };
    let source = value.remove("source");
    let number = |name: &str| source.as_ref()?.get(name)?.as_u64();
    let position = Position { generation: Gen::new(number("gen")?), seq: Seq::new(number("seq")?) };
    let crc = u32::try_from(number("crc")?).ok()?;
    // Files of older programs have none.
    let sum = source.as_ref().and_then(|source| source.get("sum")?.as_str());
    let is_whole = sum.is_none_or(|sum| sum == checksum(&value));
    is_whole.then_some(DerivedState { value, position, crc })
}

/// Returns the checksum of the content of a derived file.
fn checksum(value: &Object) -> String {
    format!("{:08x}", crc32c::crc32c(Json::from(value.clone()).to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread::scope;

    use super::*;
    use crate::StoreOptions;
    use crate::disk::MemoryDisk;

    fn entry(key: &str) -> LedgerEntry {
        LedgerEntry { key: key.to_owned(), entry: Object::from([("text", "hi")]) }
    }

    /// The lines of one batch are written and synced together.
    #[test]
    fn entries_that_come_during_a_write_are_one_batch() {
        let env = Arc::new(Env::new(Box::new(MemoryDisk::new()), StoreOptions::default()));
        let chat = ChatFiles::new(env, "a".parse().unwrap());
        chat.create(&About::default()).unwrap();
        chat.accept(entry("first")).unwrap();
        // The first writer takes as long as this is held.
        let right = chat.take_write_right("test").unwrap();
        let seqs: BTreeSet<u64> = scope(|scope| {
            let accept = |number: usize| {
                let chat = &chat;
                scope.spawn(move || chat.accept(entry(&number.to_string())).unwrap().seq.get())
            };
            let leader = accept(0);
            chat.additions.wait_for(0);
            let others: Vec<_> = (1..8).map(accept).collect();
            chat.additions.wait_for(others.len());
            drop(right);
            leader.join().unwrap();
            others.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let (first, last) = (seqs.first().unwrap(), seqs.last().unwrap());
        assert_eq!((seqs.len(), last - first), (7, 6));
        let (_, bytes) =
            chat.env.read(&chat.paths.conversations.join("history.jsonl")).unwrap().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches(&format!(r#""batch":[{first},{last}]"#)).count(), 7, "{text}");
    }
}
