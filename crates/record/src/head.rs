//! The first line of a context log.

use ship_message::json::{Array, Json, Object};

use crate::carry::{Carry, ImportedFrom, PublishedBy};
use crate::{ChatKey, ContextId, Gen, LedgerSeq, MessageId, SealedName, Seq};

/// The version of the format that this program writes.
pub const FORMAT_VERSION: u64 = 1;

/// The first line of every context log, with everything that must outlive a rotation.
///
/// The store sets `generation`, `sealed` and `inbox`, and ignores the values that a rotation is given. The one
/// exception is the first log of a chat: it begins behind the `inbox` that it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The id of the context in this log.
    pub context: ContextId,
    /// The title of the context; `None` before it has one.
    pub title: Option<String>,
    /// The number of rotations before this log.
    pub generation: Gen,
    /// The sealed log that this one replaced.
    pub sealed: Option<SealedName>,
    /// The place that the context was forked from, in the engine's words.
    pub forked_from: Option<Json>,
    /// The highest ledger position promoted before this log.
    pub inbox: Option<LedgerSeq>,
    /// The named places. One without a sealed log is in the log that a rotation is about to seal.
    pub checkpoints: Vec<Checkpoint>,
    /// The engine's data that must outlive a rotation: loaded skills, cool-down, token anchor.
    pub carry: Carry,
}

/// A named place in a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name that a person or a model gave it.
    pub name: String,
    /// The sealed log that holds the place; `None` while the log is live.
    pub sealed: Option<SealedName>,
    /// The line of the event that made the checkpoint.
    pub seq: Seq,
    /// The message that the checkpoint names, if there was one.
    pub message: Option<MessageId>,
}

impl Head {
    /// Makes the head of an empty context.
    pub fn new(context: ContextId) -> Self {
        Self {
            context,
            title: None,
            generation: Gen::new(0),
            sealed: None,
            forked_from: None,
            inbox: None,
            checkpoints: Vec::new(),
            carry: Carry::default(),
        }
    }

    /// Notes the log that the last operation has left, unless it is noted. An undo brings that log back, any number
    /// of logs later.
    pub fn note_left_log(&mut self, log: Option<&SealedName>) {
        if let Some(by) = self.carry.published_by().filter(|by| by.left.is_none()) {
            self.carry.set_published_by(&PublishedBy { left: log.cloned(), ..by });
        }
    }

    /// Returns the origin of the log, if an import has written it, and no later operation.
    pub fn import(&self) -> Option<ImportedFrom> {
        self.carry.imported_from().filter(|from| from.generation == self.generation)
    }

    /// Returns the id and the title of the context, for the event of the switch that enters it.
    pub fn entered(&self) -> Object {
        let mut entered = Object::from([("contextId", self.context.as_str())]);
        entered.set_or_remove("title", self.title.as_deref().map(Json::from));
        entered
    }

    /// Returns the `data` of the head event.
    pub fn to_data(&self, chat: &ChatKey) -> Object {
        self.data_in(Some(chat))
    }

    /// Returns the `data` of the head event; without a chat, its key is left out.
    pub(crate) fn data_in(&self, chat: Option<&ChatKey>) -> Object {
        let mut data = Object::new();
        data.set("v", FORMAT_VERSION);
        data.set_or_remove("chatKey", chat.map(|chat| chat.as_str().into()));
        data.set("contextId", self.context.as_str());
        data.set("title", self.title.as_deref().map_or(Json::Null, Json::from));
        data.set("gen", self.generation.get());
        data.set("sealed", sealed_json(self.sealed.as_ref()));
        data.set_or_remove("forkedFrom", self.forked_from.clone());
        data.set_or_remove("inbox", self.inbox.map(|seq| seq.get().into()));
        let checkpoints: Array = self.checkpoints.iter().map(Checkpoint::to_json).collect();
        data.set("checkpoints", checkpoints);
        data.set("carry", self.carry.to_object());
        data
    }

    /// Reads the `data` of a head event. Returns `None` if a required field is missing or invalid.
    pub fn from_data(data: &Object) -> Option<Self> {
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
            carry: Carry::from_object(
                data.get("carry").and_then(Json::as_object).cloned().unwrap_or_default(),
            ),
        })
    }
}

fn sealed_json(name: Option<&SealedName>) -> Json {
    name.map_or(Json::Null, |name| name.as_str().into())
}

impl Checkpoint {
    pub(crate) fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.set("name", self.name.as_str());
        object.set("sealed", sealed_json(self.sealed.as_ref()));
        object.set("seq", self.seq.get());
        object.set_or_remove("messageId", self.message.as_ref().map(|id| id.as_str().into()));
        object.into()
    }

    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        Some(Self {
            name: object.str("name")?.to_owned(),
            sealed: object.str("sealed").and_then(SealedName::parse),
            seq: Seq::new(object.get("seq")?.as_u64()?),
            message: object.str("messageId").and_then(MessageId::new),
        })
    }
}
