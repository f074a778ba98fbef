//! What goes into a context log and what comes out of it.

use std::sync::Arc;

use ship_message::json::{Array, Json, Object};

use crate::{ChatKey, ContextId, Gen, LedgerSeq, MessageId, Position, SealedName, Seq, Timestamp};

/// The version of the format that this program writes.
pub const FORMAT_VERSION: u64 = 1;

/// Something to append.
#[derive(Debug, Clone, PartialEq)]
pub enum NewLine {
    /// A message.
    Message(NewMessage),
    /// An event.
    Event(ContextEvent),
}

/// A message to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The UIMessage: `id`, `role`, `parts`, `metadata`.
    pub message: Object,
    /// 0 for a new message; one more than the present one to replace it at its place.
    pub rev: u64,
    /// The ledger entry that this message was promoted from.
    pub inbox: Option<LedgerSeq>,
}

impl From<Object> for NewLine {
    fn from(message: Object) -> Self {
        Self::Message(NewMessage { message, rev: 0, inbox: None })
    }
}

impl From<NewMessage> for NewLine {
    fn from(message: NewMessage) -> Self {
        Self::Message(message)
    }
}

impl From<ContextEvent> for NewLine {
    fn from(event: ContextEvent) -> Self {
        Self::Event(event)
    }
}

/// An event, to append or as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextEvent {
    /// What names it.
    pub id: String,
    /// When it happened.
    pub ts: Timestamp,
    /// What happened. `head` is the store's own.
    pub event: String,
    /// The details.
    pub data: Json,
    /// The message it is about.
    pub ref_msg_id: Option<MessageId>,
    /// The ledger entry that asked for it, if one did; in a view the line tells.
    pub inbox: Option<LedgerSeq>,
}

/// A line of a context, its line fields apart from its content.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextLine {
    /// Which line it is. A message that was replaced is where it was first said.
    pub seq: Seq,
    /// How often the message was replaced.
    pub rev: u64,
    /// The ledger entry that the message was promoted from.
    pub inbox: Option<LedgerSeq>,
    /// What it says.
    pub body: ContextBody,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextBody {
    /// A UIMessage, blobs resolved, without line fields.
    Message(Object),
    /// An event.
    Event(ContextEvent),
}

/// A context as it is at one position: what the model could be shown, and the events beside it. Its lines are
/// shared: a copy of a view copies none of them.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// What the log began with.
    pub head: Head,
    /// Where the log ends; what an append must expect.
    pub position: Position,
    /// The checksum of the last line: with the position it tells this log from any other.
    pub crc: u32,
    /// The highest ledger position that was ever promoted.
    pub inbox: Option<LedgerSeq>,
    /// Messages and events in order, each message once, in its newest revision. The head is not among them.
    pub lines: Vec<Arc<ContextLine>>,
    /// What could not be read.
    pub problems: Vec<StorageProblem>,
}

impl View {
    /// Returns the messages in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Object> {
        self.lines.iter().filter_map(|line| match &line.body {
            ContextBody::Message(message) => Some(message),
            ContextBody::Event(_) => None,
        })
    }

    /// Returns the line of a message; `None` if it has none of that id.
    pub fn line_of(&self, id: &MessageId) -> Option<Seq> {
        let is_it = |line: &&Arc<ContextLine>| match &line.body {
            ContextBody::Message(message) => message.str("id") == Some(id.as_str()),
            ContextBody::Event(_) => false,
        };
        self.lines.iter().find(is_it).map(|line| line.seq)
    }
}

/// The first line of every context log: all that must outlive a rotation.
///
/// `generation`, `sealed` and `inbox` are the store's: what a rotation is given there is not used, except
/// that a chat's first log begins behind the `inbox` it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The context.
    pub context: ContextId,
    /// Its title.
    pub title: Option<String>,
    /// How often the chat's log has been rotated.
    pub generation: Gen,
    /// The sealed log that this one replaced.
    pub sealed: Option<SealedName>,
    /// Where the context was forked from, as the engine tells it.
    pub forked_from: Option<Json>,
    /// The highest ledger position promoted before this log.
    pub inbox: Option<LedgerSeq>,
    /// Named places. One without a sealed log is in the log that a rotation is about to seal.
    pub checkpoints: Vec<Checkpoint>,
    /// Whatever else must outlive a rotation: loaded skills, cool-down, token anchor.
    pub carry: Object,
}

/// A named place in a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its name.
    pub name: String,
    /// The sealed log it is in; `None` while that is the live one.
    pub sealed: Option<SealedName>,
    /// The line.
    pub seq: Seq,
    /// The message there.
    pub message: Option<MessageId>,
}

impl Head {
    /// Makes the head of a context that begins with nothing.
    pub fn new(context: ContextId) -> Self {
        Self {
            context,
            title: None,
            generation: Gen::new(0),
            sealed: None,
            forked_from: None,
            inbox: None,
            checkpoints: Vec::new(),
            carry: Object::new(),
        }
    }

    /// Returns the `data` of the head event.
    pub(crate) fn to_data(&self, chat: &ChatKey) -> Object {
        let mut data = Object::new();
        data.set("v", FORMAT_VERSION);
        data.set("chatKey", chat.as_str());
        data.set("contextId", self.context.as_str());
        data.set("title", self.title.as_deref().map_or(Json::Null, Json::from));
        data.set("gen", self.generation.get());
        data.set("sealed", sealed_json(self.sealed.as_ref()));
        data.set_or_remove("forkedFrom", self.forked_from.clone());
        data.set_or_remove("inbox", self.inbox.map(|seq| seq.get().into()));
        let checkpoints: Array = self.checkpoints.iter().map(Checkpoint::to_json).collect();
        data.set("checkpoints", checkpoints);
        data.set("carry", self.carry.clone());
        data
    }

    /// Reads the `data` of a head event.
    pub(crate) fn from_data(data: &Object) -> Option<Self> {
        let checkpoints = match data.get("checkpoints").and_then(Json::as_array) {
            Some(list) => list.iter().map(Checkpoint::from_json).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        Some(Self {
            context: data.str("contextId")?.parse().ok()?,
            title: data.str("title").map(str::to_owned),
            generation: Gen::new(data.get("gen")?.as_u64()?),
            sealed: data.str("sealed").and_then(SealedName::parse),
            forked_from: data.get("forkedFrom").cloned(),
            inbox: data.get("inbox").and_then(Json::as_u64).map(LedgerSeq::new),
            checkpoints,
            carry: data.get("carry").and_then(Json::as_object).cloned().unwrap_or_default(),
        })
    }
}

fn sealed_json(name: Option<&SealedName>) -> Json {
    name.map_or(Json::Null, |name| name.as_str().into())
}

impl Checkpoint {
    fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.set("name", self.name.as_str());
        object.set("sealed", sealed_json(self.sealed.as_ref()));
        object.set("seq", self.seq.get());
        object.set_or_remove("messageId", self.message.as_ref().map(|id| id.as_str().into()));
        object.into()
    }

    fn from_json(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        Some(Self {
            name: object.str("name")?.to_owned(),
            sealed: object.str("sealed").and_then(SealedName::parse),
            seq: Seq::new(object.get("seq")?.as_u64()?),
            message: object.str("messageId").and_then(MessageId::new),
        })
    }
}

/// Everything else that happens to a context: the live log is sealed whole and replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    /// The generation that the caller has read; `None` to begin a chat's first context.
    pub expected: Option<Gen>,
    /// What the new log begins with.
    pub head: Head,
    /// What it then holds, in this order.
    pub pieces: Vec<LogPiece>,
}

/// A part of the log that a rotation publishes.
///
/// A message that is in several of them is once in the new log: where the first of them has it, in its newest
/// revision. Something new counts as it is, and is refused where its id was there before.
#[derive(Debug, Clone, PartialEq)]
pub enum LogPiece {
    /// Lines of the old log, first and last included. A message is at the place of its first line and
    /// is kept in its newest revision.
    Keep(Seq, Seq),
    /// All lines of the old log from this one on, what is appended meanwhile included.
    KeepFrom(Seq),
    /// Lines of a sealed log of this chat, as `Keep` takes them. Nothing else is read, and blobs are shared.
    /// A copied message tells where in the ledger it came from, and never moves the inbox cursor.
    Sealed {
        /// The sealed log.
        log: SealedName,
        /// The first line.
        first: Seq,
        /// The last line.
        last: Seq,
    },
    /// Lines of another chat, as `Keep` takes them, whoever holds its lane. Blobs are shared. What is copied is
    /// from no entry of this chat's ledger.
    Of {
        /// The other chat.
        chat: ChatKey,
        /// Its sealed log; `None` for its live one.
        log: Option<SealedName>,
        /// The first line.
        first: Seq,
        /// The last line.
        last: Seq,
    },
    /// Something new.
    New(NewLine),
}

/// What a rotation has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// Where the new log ends.
    pub position: Position,
    /// The name under which the old log is sealed; `None` if there was none.
    pub sealed: Option<SealedName>,
    /// What cannot be read of the logs that lines were copied from, apart from the live one.
    pub damage: Vec<StorageProblem>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageProblem {
    /// The file, relative to the project folder.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// What kind of thing.
    pub kind: StorageProblemKind,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// What a repair does about it.
    pub repair: RepairEffect,
    /// Whether a person has seen this very place, by a repair.
    pub known: bool,
}

impl StorageProblem {
    /// Makes a problem of a whole file.
    pub fn new(
        file: impl Into<String>,
        kind: StorageProblemKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: file.into(),
            offset: 0,
            kind,
            message: message.into(),
            remedy: remedy.into(),
            repair: kind.repair(),
            known: false,
        }
    }

    /// Says where in the file it is.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Says that a repair heals it.
    #[must_use]
    pub(crate) fn healed_by_repair(self) -> Self {
        Self { repair: RepairEffect::Heals, ..self }
    }
}

/// What a repair does about a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairEffect {
    /// It is gone afterwards.
    Heals,
    /// It cannot be healed, and is known from then on.
    MarksKnown,
    /// Only a person can do something about it.
    Nothing,
}

impl RepairEffect {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Heals => "heals",
            Self::MarksKnown => "marks_known",
            Self::Nothing => "nothing",
        }
    }
}

/// What kind of thing is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StorageProblemKind {
    /// Bytes after the last whole batch; never acknowledged.
    TornTail,
    /// Bytes before the tail that are no line, or lines out of order.
    Damage,
    /// Two lines on one; both were read.
    Glued,
    /// A file that should be there is missing, or empty.
    Missing,
    /// A blob that a line refers to is missing or has other bytes.
    Blob,
    /// A file left over by an interrupted write; never read.
    Leftover,
    /// A sealed log that nothing refers to; complete, kept, not read.
    Unreferenced,
    /// A newer program wrote it.
    Newer,
    /// A symbolic link or the like where a file or folder should be.
    NotPlain,
}

impl StorageProblemKind {
    /// Returns what a repair does about problems of this kind, where nothing else is said.
    fn repair(self) -> RepairEffect {
        match self {
            Self::TornTail | Self::Leftover => RepairEffect::Heals,
            Self::Damage | Self::Glued | Self::Missing | Self::Blob | Self::Unreferenced => {
                RepairEffect::MarksKnown
            }
            Self::Newer | Self::NotPlain => RepairEffect::Nothing,
        }
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TornTail => "torn_tail",
            Self::Damage => "damage",
            Self::Glued => "glued",
            Self::Missing => "missing",
            Self::Blob => "blob",
            Self::Leftover => "leftover",
            Self::Unreferenced => "unreferenced",
            Self::Newer => "newer",
            Self::NotPlain => "not_plain",
        }
    }
}
