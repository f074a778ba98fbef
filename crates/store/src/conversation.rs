//! A conversation in one file: messages and events, a line for each.
//!
//! A [`Conversation`] is a context that stands on its own, in memory or in a file of JSON lines that any
//! program can read. Lines are only ever appended. The last line of an id counts, at the place of the
//! first; that is how a compaction marks what it covers and deletes nothing. Forking is copying the file.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("chats/task-001.jsonl");
//! # let retry = folder.path().join("chats/task-001-retry.jsonl");
//! use ship_store::SystemClock;
//! use ship_store::conversation::{Conversation, NewMessage};
//!
//! let mut chat = Conversation::create(&path, SystemClock)?;
//! chat.append(NewConversationMessage::system("You are a careful cook."))?;
//! chat.append(NewConversationMessage::user("Soup or salad?"))?;
//! chat.checkpoint("before-the-answer")?;
//! chat.append(NewConversationMessage::assistant("Soup."))?;
//! drop(chat);
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
//! # What is promised
//!
//! A method that appends returns when its lines are on disk, all of them or none. One process at a time
//! has a file open for writing; anybody may read it meanwhile, sees whole batches, and changes nothing.
//! What a crash left half written was never acknowledged: [`Conversation::load`] moves it to
//! `<file>.quarantine` and says so ([`Conversation::repair`]). Any other damage is an error that names the
//! line, and leaves the file alone. A failed write is taken back before the next one. Files are the
//! owner's only, and a symbolic link is not followed.
//!
//! # What a model is shown
//!
//! [`Conversation::llm_messages`] are the messages that are not compacted. The system's stand first, even
//! when a compaction marked them, since an agent without its instructions is another agent. A summary
//! stands where the messages stood that it stands for, and a tool's result with its call.
//! [`Conversation::view`] is the same as [`UiMessage`]s; [`view`] tells how entries and messages relate.

mod compaction;
mod entry;
mod error;
mod file;
mod ids;
mod lines;
mod log;
mod message;
mod place;
mod state;
pub mod view;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::Object;

use crate::Clock;
use log::{Access, EntryFile};
use state::ConversationState;

pub use entry::{ContextEntry, EntryError, EntryRole, EventEntry, MessageEntry};
pub use error::{CompactError, CreateError, ForkError, LoadConversationError, WriteError};
pub use file::Repair;
pub use message::{NewConversationMessage, SkillActivation};

/// A conversation, in memory or in a file. See the [module docs](self).
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

    /// Begins a conversation in a new file, with the folders above it.
    pub fn create(
        path: impl AsRef<Path>,
        clock: impl Clock + 'static,
    ) -> Result<Self, CreateError> {
        let place = file::publish(path.as_ref(), std::io::empty())?;
        Ok(Self::new(EntryFile::on_disk(place, 0, Access::Write), Arc::new(clock)))
    }

    /// Goes on with the conversation in a file: its messages, its skills, its checkpoints.
    pub fn load(
        path: impl AsRef<Path>,
        clock: impl Clock + 'static,
    ) -> Result<Self, LoadConversationError> {
        let path = path.as_ref();
        let mut place = file::open_to_write(path)?;
        let mut state = ConversationState::default();
        let extent = log::scan(&place.file, path, |offset, entry| state.apply(offset, entry))?;
        let is_torn = extent.whole < extent.total;
        let repair = is_torn.then(|| file::cut_tail_aside(&mut place, extent)).transpose()?;
        let log = EntryFile::on_disk(place, extent.whole, Access::Write);
        Ok(Self { log, state, clock: Arc::new(clock), repair })
    }

    /// Reads the conversation in a file, which may be in use, and changes nothing. What is appended
    /// later is not seen, and appending here is refused.
    pub fn read(
        path: impl AsRef<Path>,
        clock: impl Clock + 'static,
    ) -> Result<Self, LoadConversationError> {
        let place = file::open_to_read(path.as_ref())?;
        let mut state = ConversationState::default();
        let each = |offset, entry| state.apply(offset, entry);
        let extent = log::scan(&place.file, path.as_ref(), each)?;
        let log = EntryFile::on_disk(place, extent.whole, Access::Read);
        Ok(Self { log, state, clock: Arc::new(clock), repair: None })
    }

    fn new(log: EntryFile, clock: Arc<dyn Clock>) -> Self {
        Self { log, state: ConversationState::default(), clock, repair: None }
    }

    /// Gives a conversation that is in memory a new file, with all its lines, and goes on in it. In a file
    /// nothing waits to be saved, so for the path of its own file this does nothing.
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

    /// Copies the conversation to a new file and goes on in the copy. This one stays as it is.
    pub fn fork(&self, path: impl AsRef<Path>) -> Result<Self, ForkError> {
        self.fork_at(self.log.len(), path.as_ref())
    }

    /// Copies everything before a checkpoint to a new file and goes on there. Of several checkpoints of
    /// one name the newest counts.
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
        let id = self.state.ids().message();
        let entry = message.entry(id.clone(), self.now());
        self.commit(vec![entry.into()])?;
        Ok(id)
    }

    /// Appends messages of a view, as [`view`] tells, and returns the ids of the entries they became.
    ///
    /// # Errors
    /// When a message has an id that an entry has: a message of this conversation is not appended twice.
    pub fn append_view(&mut self, messages: &[UiMessage]) -> Result<Vec<String>, WriteError> {
        let taken = messages.iter().filter_map(UiMessage::id).find(|id| self.state.has(id));
        if let Some(id) = taken {
            return Err(WriteError::IdTaken { id: id.to_owned() });
        }
        let entries = view::new_entries(&self.state, messages, self.clock.now());
        if let Some(entry) = entries.iter().find(|entry| self.state.has(entry.id())) {
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
        let mut entry = self.event(event, data, self.now());
        entry.ref_msg_id = ref_msg_id.map(str::to_owned);
        let id = entry.id.clone();
        self.commit(vec![entry.into()])?;
        Ok(id)
    }

    /// Names this point, to fork from it later.
    pub fn checkpoint(&mut self, name: &str) -> Result<String, WriteError> {
        self.record_event("checkpoint", Object::from([("name", name)]), None)
    }

    /// Activates a skill: the event, then the answer to the call that asked for it, then the skill's prompt
    /// as a user's message with `is_meta`. In this order, because nothing may stand between a call and
    /// its result.
    pub fn activate_skill(&mut self, activation: SkillActivation) -> Result<(), WriteError> {
        let SkillActivation { skill, answer, prompt } = activation;
        let now = self.now();
        let mut ids = self.state.ids();
        let event = self.event("skill_activated", Object::from([("skill", skill)]), now.clone());
        let prompt = NewConversationMessage::user(prompt).meta();
        let messages = answer.into_iter().chain([prompt]);
        let messages = messages.map(|message| message.entry(ids.message(), now.clone()).into());
        let batch = [ContextEntry::from(event)].into_iter().chain(messages).collect();
        self.commit(batch)
    }

    /// Deactivates a skill: the event `skill_deactivated`. What its prompt said stays where it was said.
    pub fn deactivate_skill(&mut self, skill: &str) -> Result<String, WriteError> {
        self.record_event("skill_deactivated", Object::from([("skill", skill)]), None)
    }

    /// Puts a summary in the place of the messages from `from` to `to`, both included, in the order of
    /// [`llm_messages`](Self::llm_messages), and returns the summary's id.
    ///
    /// Nothing is deleted: what is appended is the event `compaction`, the summary as a user's message
    /// `[Summary] …`, and each message again with `compacted`. The system's messages may be in the range
    /// and are shown all the same.
    ///
    /// # Errors
    /// A range that parts a tool call from its result is refused and not widened, because the summary
    /// tells of the range that was asked for, and what it does not tell must stay.
    pub fn mark_compacted(
        &mut self,
        from: &str,
        to: &str,
        summary: &str,
    ) -> Result<String, CompactError> {
        let id = self.state.ids().message();
        self.mark_compacted_as(id.clone(), from, to, summary)?;
        Ok(id)
    }

    /// The same, with a summary of this id: for who has promised the next one to a message that is still to
    /// come.
    ///
    /// # Errors
    /// As [`mark_compacted`](Self::mark_compacted), and when there is an entry of this id.
    pub fn mark_compacted_as(
        &mut self,
        id: String,
        from: &str,
        to: &str,
        summary: &str,
    ) -> Result<(), CompactError> {
        let covered = compaction::covered(&self.state, from, to)?;
        if self.state.has(&id) {
            return Err(WriteError::IdTaken { id }.into());
        }
        let text = match summary.starts_with("[Summary]") {
            true => summary.to_owned(),
            false => format!("[Summary] {summary}"),
        };
        let data = Object::from([("from", from), ("to", to), ("summary", &id)]);
        let now = self.now();
        let event = self.event("compaction", data, now.clone());
        let summary = NewConversationMessage::user(text).entry(id, now);
        let marks =
            covered.into_iter().map(|message| MessageEntry { compacted: true, ..message.clone() });
        let marks: Vec<ContextEntry> = marks.map(ContextEntry::from).collect();
        let batch = [event.into(), summary.into()].into_iter().chain(marks).collect();
        self.commit(batch)?;
        Ok(())
    }

    /// Whether a message is the summary of a compaction.
    pub fn is_summary(&self, id: &str) -> bool {
        self.state.is_summary(id)
    }

    /// The messages for a model: those that are not compacted, the system's first.
    pub fn llm_messages(&self) -> Vec<&MessageEntry> {
        let shown = self.state.shown().map(|(_, message)| message);
        let (mut messages, others): (Vec<_>, Vec<_>) =
            shown.partition(|message| message.role == EntryRole::System);
        messages.extend(others);
        messages
    }

    /// The messages for a model as the request compiler takes them.
    pub fn view(&self) -> Vec<UiMessage> {
        view::of_messages(self.llm_messages())
    }

    /// Reads every entry, compacted ones and events as well: the last line of each id, at the place of
    /// the first. Those that are compacted are not in memory, so this goes back to the file.
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

    /// The ids that the next messages get, in order: for who must name a message before it is appended.
    pub fn next_ids(&self) -> impl Iterator<Item = String> {
        let mut ids = self.state.ids();
        std::iter::repeat_with(move || ids.message())
    }

    /// The skills that are active, in the order in which they were activated.
    pub fn active_skills(&self) -> impl Iterator<Item = &str> {
        self.state.skills().iter().map(String::as_str)
    }

    /// The names of the checkpoints, oldest first.
    pub fn checkpoints(&self) -> impl Iterator<Item = &str> {
        self.state.checkpoints()
    }

    /// The file; none in memory.
    pub fn path(&self) -> Option<&Path> {
        self.log.path()
    }

    /// What was cut aside when the conversation was loaded.
    pub fn repair(&self) -> Option<&Repair> {
        self.repair.as_ref()
    }

    fn now(&self) -> String {
        self.clock.now().to_string()
    }

    fn event(&self, event: &str, data: Object, ts: String) -> EventEntry {
        EventEntry {
            id: self.state.ids().event(),
            ts,
            event: event.to_owned(),
            data,
            ref_msg_id: None,
            other: Object::new(),
        }
    }

    /// Writes a batch, and only then believes it.
    fn commit(&mut self, batch: Vec<ContextEntry>) -> Result<(), WriteError> {
        if batch.is_empty() {
            return Ok(());
        }
        let (text, offsets) = lines::write_batch(&batch);
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
