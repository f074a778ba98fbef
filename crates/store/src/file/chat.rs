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
use super::ledger::{self, LedgerFold};
use super::log::{LogFile, Writing};
use super::min_reader::check_min_reader;
use super::published;
use super::right::{Attempt, HeldRight, RightFile};
use super::rotate::{self, sealed_path};
use super::sealed_chain::SealedChain;
use super::store_env::Env;
use super::verify;
use super::view_cache::ViewCache;
use super::write_group::WriteGroup;
use crate::chat_folder::folder_name;
use crate::error::place;
use crate::rules::{
    Appending, Batch, BatchState, LedgerAddition, PlannedRotation, PreparedRotation, TextBlob,
    source_logs,
};
use crate::{
    About, AcceptError, Accepted, AppendError, ChatKey, ChatSizes, FORMAT_VERSION, LaneHolder,
    NewLine, Position, ReadError, RefusedInput, Right, RotateError, Rotated, Rotation, SealedName,
    Seq, StorageError, StorageProblem, View,
};

/// The folders of a chat, below its own.
const FOLDERS: [&str; 6] =
    ["conversations", "messages", "messages/archive", "contexts", "contexts/archive", "memory"];

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
    pub(super) additions: WriteGroup<LedgerAddition, Result<Accepted, AcceptError>>,
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
                let (place, known) = (place(&self.paths.about), FORMAT_VERSION);
                return Err(StorageError::Newer { place, found, known });
            }
            check_min_reader(&self.paths.about, &about)?;
        }
        for folder in FOLDERS.map(|name| self.paths.chat.join(name)) {
            // A link on the way is found by the first write.
            if self.env.glance(&folder)?.is_none() {
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
        StorageError::damaged(&self.paths.live, what)
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

    pub(crate) fn verify(&self) -> Result<Vec<StorageProblem>, ReadError> {
        let mut problems = verify::verify_chat(self)?;
        self.mark_known(&mut problems)?;
        Ok(problems)
    }
}
