//! Keeps a conversation in one file of messages and events, one line for each.
//!
//! A [`Conversation`] is a context of its own, in memory or in a file of JSON lines that any program can read.
//! Lines are only appended. If several lines have one id, the last one counts, at the place of the first; so a
//! compaction can mark messages without deleting them. A fork is a copy of the file.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("chats/task-001.jsonl");
//! # let retry = folder.path().join("chats/task-001-retry.jsonl");
//! use ship_store::{SystemClock, conversation::{Conversation, NewConversationMessage}};
//!
//! let mut chat = Conversation::create(&path, SystemClock)?;
//! chat.append(NewConversationMessage::system("You are a careful cook."))?;
//! chat.append(NewConversationMessage::user("Soup or salad?"))?;
//! chat.checkpoint("before-the-answer")?;
//! chat.append(NewConversationMessage::assistant("Soup."))?;
//! drop(chat); // Now another process may write to the file.
//!
//! let chat = Conversation::load(&path, SystemClock)?;
//! let texts: Vec<_> = chat.llm_messages().iter().map(|message| message.content.as_str()).collect();
//! assert_eq!(texts, [Some("You are a careful cook."), Some("Soup or salad?"), Some("Soup.")]);
//!
//! let mut other = chat.fork_from_checkpoint("before-the-answer", &retry)?;
//! assert_eq!(other.append(NewConversationMessage::assistant("Salad."))?, "m003");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Promises
//!
//! A method that appends returns when its lines are on disk, all of them or none. One process at a time has a file
//! open for writing. Other processes may read it meanwhile; they see whole batches and change nothing. An
//! unfinished write, which a crash leaves, was never acknowledged: [`Conversation::load`] moves it to
//! `<file>.quarantine` and reports it ([`Conversation::repair`]). Any other damage is an error that names the line;
//! the file is not changed. A failed write is undone before the next one. Only the owner can read the files, and
//! symbolic links are not followed.
//!
//! # Messages for a model
//!
//! [`Conversation::llm_messages`] returns the messages that are not compacted. System messages stand first, even
//! those that a compaction has marked, because an agent needs its instructions. A summary stands in the place of
//! the messages that it covers, and a tool's result stands with its call. [`Conversation::view`] returns the same
//! messages as [`UiMessage`]s; [`view`] describes how entries become messages.

mod compaction;
mod entry;
mod entry_file;
mod entry_scan;
mod entry_storage;
mod error;
mod file;
mod ids;
mod message;
mod state;
mod system_line;
pub mod view;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::Object;

use crate::Clock;
use entry_file::{Access, EntryFile};
use state::ConversationState;

pub use entry::{ContextEntry, EntryError, EntryRole, EventEntry, MessageEntry};
pub use error::{CompactError, CreateError, ForkError, LoadConversationError, WriteError};
pub use file::Repair;
pub use message::{NewConversationMessage, NewViewMessage, SkillActivation, SkillChange};

/// A conversation in memory or in a file. See the [module docs](self).
pub struct Conversation {
    log: EntryFile,
    state: ConversationState,
    clock: Arc<dyn Clock>,
    repair: Option<Repair>,
}

impl Conversation {
    /// Begins a conversation in memory. [`Conversation::save`] gives it a file.
    pub fn in_memory(clock: impl Clock + 'static) -> Self {
        Self::new(EntryFile::in_memory(), Arc::new(clock))
    }

    /// Begins a conversation in a new file, and creates the folders above it.
    pub fn create(
        path: impl AsRef<Path>,
        clock: impl Clock + 'static,
    ) -> Result<Self, CreateError> {
        let place = file::publish(path.as_ref(), std::io::empty())?;
        Ok(Self::new(EntryFile::on_disk(place, 0, Access::Write), Arc::new(clock)))
    }

    /// Opens the conversation in a file to continue it, with its messages, skills and checkpoints.
    pub fn load(
        path: impl AsRef<Path>,
        clock: impl Clock + 'static,
    ) -> Result<Self, LoadConversationError> {
        let path = path.as_ref();
        let mut place = file::open_to_write(path)?;
        let mut state = ConversationState::default();
        let extent =
            entry_file::scan(&place.file, path, |offset, entry| state.apply(offset, entry))?;
        let is_torn = extent.whole < extent.total;
        let repair = is_torn.then(|| file::quarantine_tail(&mut place, extent)).transpose()?;
        let log = EntryFile::on_disk(place, extent.whole, Access::Write);
        Ok(Self { log, state, clock: Arc::new(clock), repair })
    }

    /// Reads the conversation in a file and changes nothing; another process may be writing it. Later appends are
    /// not seen, and appending through this value is refused.
    pub fn read(
        path: impl AsRef<Path>,
        clock: impl Clock + 'static,
    ) -> Result<Self, LoadConversationError> {
        let place = file::open_to_read(path.as_ref())?;
        let mut state = ConversationState::default();
        let each = |offset, entry| state.apply(offset, entry);
        let extent = entry_file::scan(&place.file, path.as_ref(), each)?;
        let log = EntryFile::on_disk(place, extent.whole, Access::Read);
        Ok(Self { log, state, clock: Arc::new(clock), repair: None })
    }

    fn new(log: EntryFile, clock: Arc<dyn Clock>) -> Self {
        Self { log, state: ConversationState::default(), clock, repair: None }
    }

    /// Writes a conversation in memory to a new file and continues there. For the file it already has, this does
    /// nothing, because every append is already saved.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<(), CreateError> {
        match self.log.path() {
            Some(own) if own == path.as_ref() => Ok(()),
            Some(own) => Err(CreateError::HasFile { path: own.to_owned() }),
            None => {
                let len = self.log.len();
                let place = file::publish(path.as_ref(), self.log.prefix(len))?;
                self.log = EntryFile::on_disk(place, len, Access::Write);
                Ok(())
            }
        }
    }

    /// Copies the conversation to a new file and returns the copy. This conversation stays as it is.
    pub fn fork(&self, path: impl AsRef<Path>) -> Result<Self, ForkError> {
        self.fork_at(self.log.len(), path.as_ref())
    }

    /// Copies everything before a checkpoint to a new file and returns the copy. If several checkpoints have this
    /// name, the newest counts.
    pub fn fork_from_checkpoint(
        &self,
        name: &str,
        path: impl AsRef<Path>,
    ) -> Result<Self, ForkError> {
        let Some(offset) = self.state.checkpoint(name) else {
            let known = self.checkpoints().map(str::to_owned).collect();
            return Err(ForkError::NoCheckpoint { name: name.to_owned(), known });
        };
        self.fork_at(offset, path.as_ref())
    }

    fn fork_at(&self, len: u64, path: &Path) -> Result<Self, ForkError> {
        let place = file::publish(path, self.log.prefix(len))?;
        let log = EntryFile::on_disk(place, len, Access::Write);
        let mut state = ConversationState::default();
        log.read(|offset, entry| state.apply(offset, entry))?;
        Ok(Self { log, state, clock: self.clock.clone(), repair: None })
    }

    /// Appends a message and returns its id.
    pub fn append(&mut self, message: NewConversationMessage) -> Result<String, WriteError> {
        let id = self.state.ids().next_message();
        let entry = message.into_entry(id.clone(), self.timestamp());
        self.commit(vec![entry.into()])?;
        Ok(id)
    }

    /// Appends messages of a view as entries (see [`view`]) and returns the ids of the entries.
    ///
    /// # Errors
    /// Fails if a message has the id of an entry: a message of this conversation is not appended twice.
    pub fn append_view(&mut self, messages: &[UiMessage]) -> Result<Vec<String>, WriteError> {
        let taken = messages.iter().filter_map(UiMessage::id).find(|id| self.state.contains(id));
        if let Some(id) = taken {
            return Err(WriteError::IdTaken { id: id.to_owned() });
        }
        let entries = view::new_entries(&self.state, messages, self.clock.now());
        self.commit_new(entries)
    }

    /// Appends messages of a view whose calls may have changed skills, all in one batch, and returns the ids of the
    /// entries. Each change is an event before the result of its call. Prompts follow their message as user messages
    /// with `is_meta`, so a message has to end with the step that has the call.
    ///
    /// # Errors
    /// Fails like [`append_view`](Self::append_view).
    pub fn append_with_skills(
        &mut self,
        messages: &[NewViewMessage],
    ) -> Result<Vec<String>, WriteError> {
        let entries = view::entries_with_skills(&self.state, messages, self.clock.now());
        self.commit_new(entries)
    }

    /// Writes entries whose ids must be free, and returns the ids.
    fn commit_new(&mut self, entries: Vec<ContextEntry>) -> Result<Vec<String>, WriteError> {
        // The record in a message may name further lines, and their ids must be free too.
        if let Some(entry) = entries.iter().find(|entry| self.state.contains(entry.id())) {
            return Err(WriteError::IdTaken { id: entry.id().to_owned() });
        }
        let ids = entries.iter().map(|entry| entry.id().to_owned()).collect();
        self.commit(entries)?;
        Ok(ids)
    }

    /// Appends an event and returns its id.
    pub fn record_event(
        &mut self,
        event: &str,
        data: Object,
        ref_msg_id: Option<&str>,
    ) -> Result<String, WriteError> {
        let mut entry = self.new_event(event, data, self.timestamp());
        entry.ref_msg_id = ref_msg_id.map(str::to_owned);
        let id = entry.id.clone();
        self.commit(vec![entry.into()])?;
        Ok(id)
    }

    /// Names this point of the conversation, so that a fork can begin here.
    pub fn checkpoint(&mut self, name: &str) -> Result<String, WriteError> {
        self.record_event("checkpoint", Object::from([("name", name)]), None)
    }

    /// Activates a skill. It appends the event, then the answer to the call for the skill, then the skill's prompt
    /// as a user message with `is_meta`. The order matters: nothing may stand between a call and its result.
    pub fn activate_skill(&mut self, activation: SkillActivation) -> Result<(), WriteError> {
        let SkillActivation { skill, answer, prompt } = activation;
        let now = self.timestamp();
        let mut ids = self.state.ids();
        let event =
            self.new_event("skill_activated", Object::from([("skill", skill)]), now.clone());
        let prompt = NewConversationMessage::user(prompt).meta();
        let messages = answer.into_iter().chain([prompt]);
        let messages =
            messages.map(|message| message.into_entry(ids.next_message(), now.clone()).into());
        let batch = [ContextEntry::from(event)].into_iter().chain(messages).collect();
        self.commit(batch)
    }

    /// Deactivates a skill with the event `skill_deactivated`. Its prompt stays in the conversation.
    pub fn deactivate_skill(&mut self, skill: &str) -> Result<String, WriteError> {
        self.record_event("skill_deactivated", Object::from([("skill", skill)]), None)
    }

    /// Puts a summary in the place of the messages from `from` to `to`, both included, in the order of
    /// [`llm_messages`](Self::llm_messages), and returns the summary's id.
    ///
    /// Nothing is deleted. The conversation gets the event `compaction`, the summary as a user
    /// message `[Summary] …`, and each covered message again with `compacted`. A system message in
    /// the range is still shown.
    ///
    /// # Errors
    /// Refuses a range that separates a tool call from its result. The range is not widened, because the summary
    /// covers only the range that the caller asked for.
    pub fn mark_compacted(
        &mut self,
        from: &str,
        to: &str,
        summary: &str,
    ) -> Result<String, CompactError> {
        let id = self.state.ids().next_message();
        self.mark_compacted_as(id.clone(), from, to, summary)?;
        Ok(id)
    }

    /// Does the same with a given id for the summary, for a caller that has promised the next id
    /// to a later message.
    ///
    /// # Errors
    /// Fails like [`mark_compacted`](Self::mark_compacted), and also if an entry has this id.
    pub fn mark_compacted_as(
        &mut self,
        id: String,
        from: &str,
        to: &str,
        summary: &str,
    ) -> Result<(), CompactError> {
        let covered = compaction::messages_between(&self.state, from, to)?;
        if self.state.contains(&id) {
            return Err(WriteError::IdTaken { id }.into());
        }
        let text = match summary.starts_with("[Summary]") {
            true => summary.to_owned(),
            false => format!("[Summary] {summary}"),
        };
        let data = Object::from([("from", from), ("to", to), ("summary", &id)]);
        let now = self.timestamp();
        let event = self.new_event("compaction", data, now.clone());
        let summary = NewConversationMessage::user(text).into_entry(id, now);
        let marks =
            covered.into_iter().map(|message| MessageEntry { compacted: true, ..message.clone() });
        let marks: Vec<ContextEntry> = marks.map(ContextEntry::from).collect();
        // The event comes first, because it tells where the summary stands.
        let batch = [event.into(), summary.into()].into_iter().chain(marks).collect();
        self.commit(batch)?;
        Ok(())
    }

    /// Whether a message is the summary of a compaction.
    pub fn is_summary(&self, id: &str) -> bool {
        self.state.is_summary(id)
    }

    /// Returns the messages that are not compacted, with the system messages first.
    pub fn llm_messages(&self) -> Vec<&MessageEntry> {
        let shown = self.state.visible_entries().map(|(_, message)| message);
        let (mut messages, others): (Vec<_>, Vec<_>) =
            shown.partition(|message| message.role == EntryRole::System);
        messages.extend(others);
        messages
    }

    /// Returns the messages for a model in the form that the request compiler takes.
    pub fn view(&self) -> Vec<UiMessage> {
        view::view_of_entries(self.llm_messages())
    }

    /// Reads every entry, with compacted messages and events: the last line of each id, at the place of the first.
    /// Compacted messages are not kept in memory, so this reads the file.
    pub fn entries(&self) -> Result<Vec<ContextEntry>, LoadConversationError> {
        let mut entries: Vec<ContextEntry> = Vec::new();
        let mut places = HashMap::new();
        self.log.read(|_, entry| match places.get(entry.id()) {
            Some(&at) => entries[at] = entry,
            None => {
                places.insert(entry.id().to_owned(), entries.len());
                entries.push(entry);
            }
        })?;
        Ok(entries)
    }

    /// Returns the ids of the next messages, in order, for a caller that names a message before appending it.
    pub fn next_ids(&self) -> impl Iterator<Item = String> {
        let mut ids = self.state.ids();
        std::iter::repeat_with(move || ids.next_message())
    }

    /// Returns the active skills in the order of their activation.
    pub fn active_skills(&self) -> impl Iterator<Item = &str> {
        self.state.skills().iter().map(String::as_str)
    }

    /// Returns the skill of which a message is the prompt: the first message with `is_meta` after an activation, with
    /// only results of tools between them.
    pub fn skill_of_prompt(&self, id: &str) -> Option<&str> {
        self.state.skill_of_prompt(id)
    }

    /// Returns the names of the checkpoints, oldest first.
    pub fn checkpoints(&self) -> impl Iterator<Item = &str> {
        self.state.checkpoints()
    }

    /// Returns the path of the file, or `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.log.path()
    }

    /// Returns the repair that [`Conversation::load`] made, if any.
    pub fn repair(&self) -> Option<&Repair> {
        self.repair.as_ref()
    }

    fn timestamp(&self) -> String {
        self.clock.now().to_string()
    }

    fn new_event(&self, event: &str, data: Object, ts: String) -> EventEntry {
        EventEntry {
            id: self.state.ids().next_event(),
            ts,
            event: event.to_owned(),
            data,
            ref_msg_id: None,
            other: Object::new(),
        }
    }

    /// Writes a batch, and changes the state in memory only when the batch is on disk.
    fn commit(&mut self, batch: Vec<ContextEntry>) -> Result<(), WriteError> {
        if batch.is_empty() {
            return Ok(());
        }
        let (text, offsets) = entry_scan::write_batch(&batch);
        let start = self.log.append(&text)?;
        for (entry, offset) in batch.into_iter().zip(offsets) {
            self.state.apply(start + offset, entry);
        }
        Ok(())
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("path", &self.path()).finish_non_exhaustive()
    }
}
