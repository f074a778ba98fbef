//! The engine's data in the head of a log, which outlives rotations.
//!
//! The values are kept as one JSON object in the order in which they were set, so that those of a newer program stay.
//! Each has a reader and a writer here; the values of a compaction are read by the crates that make them.

use ship_message::json::{Json, Object};

use crate::{ContextId, Gen, SealedName, Timestamp};

/// The event of a switch, in the log of the context that it has entered.
pub const SWITCHED: &str = "switched";

/// The field in that event with the id and the title of the context.
pub const ENTERED: &str = "entered";

const BEGAN: &str = "began";
const TITLE: &str = "title";
const OPERATION: &str = "operation";
const CONTINUES: &str = "continues";
const ANSWERED: &str = "answered";
const ASKED_AGAIN: &str = "askedAgain";
const SETTLED: &str = "settled";
const SALT: &str = "names";
const SKILLS: &str = "skills";
const TOKENS: &str = "tokens";
const PURGE: &str = "purge";
const IMPORTED: &str = "imported";
const LAST_IMPORT: &str = "lastImport";

/// The data that a head carries on to the next log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carry(Object);

/// Names one value of a compaction's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionData {
    /// The failures, the cool-down and the last warning.
    State,
    /// The tool outputs that are not shown.
    Pruned,
    /// The last operation before the compaction, which an undo takes back.
    Undo,
}

/// The beginning of a context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The operation that began it, or `first message`.
    pub by: Option<String>,
    /// The time at which it began.
    pub at: Option<Timestamp>,
}

/// The last operation that published a context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedBy {
    /// The name of the operation, such as `load`.
    pub operation: Option<String>,
    /// The generation of the log that it published.
    pub generation: Option<Gen>,
    /// The time of that operation.
    pub at: Option<Timestamp>,
    /// The reason for leaving the context before.
    pub reason: Option<String>,
    /// Whether the context that was left is not archived.
    pub drops_left: bool,
    /// The number of published messages.
    pub messages: Option<u64>,
    /// The log that an undo restores, if it is not the one that the head names.
    pub left: Option<SealedName>,
}

/// The origin of an imported context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFrom {
    /// The generation of the log that the import has written. In later logs of the context it is another one.
    pub generation: Gen,
    /// The time of the import.
    pub at: Timestamp,
    /// The name of the format that was read.
    pub format: String,
    /// The conversation in the file: its id there, or the digest of its first message.
    pub key: String,
    /// The digest of what was read.
    pub digest: String,
    /// The number of messages.
    pub messages: u64,
    /// The number of times that the file had grown.
    pub growths: u64,
    /// The suffix of the message ids, if the chat had other messages with theirs.
    pub suffix: Option<String>,
    /// The last message of the context, in the live log that the import has published.
    pub live_end: Option<String>,
}

/// The message that a run left in the log before, and the call that switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledRun {
    /// The id of the message.
    pub message: String,
    /// The id of the call, if a call of the model switched.
    pub call: Option<String>,
}

impl Carry {
    /// Takes the values of a head as they are on disk.
    pub fn from_object(object: Object) -> Self {
        Self(object)
    }

    /// Returns the values as they are on disk.
    pub fn to_object(&self) -> Object {
        self.0.clone()
    }

    /// Returns when the context began, and by which operation.
    pub fn beginning(&self) -> Beginning {
        self.0.get(BEGAN).map(Beginning::from_json).unwrap_or_default()
    }

    /// Notes the beginning of the context.
    pub fn set_beginning(&mut self, beginning: &Beginning) {
        self.0.set(BEGAN, beginning.to_object());
    }

    /// Returns the title that was made from the first messages.
    pub fn made_title(&self) -> Option<&str> {
        self.0.str(TITLE)
    }

    /// Sets the title that was made from the first messages.
    pub fn set_made_title(&mut self, title: Option<&str>) {
        self.0.set_or_remove(TITLE, title.map(Json::from));
    }

    /// Returns the last operation that published a context.
    pub fn published_by(&self) -> Option<PublishedBy> {
        self.0.get(OPERATION).map(PublishedBy::from_json)
    }

    /// Notes the operation that publishes the context.
    pub fn set_published_by(&mut self, by: &PublishedBy) {
        self.0.set(OPERATION, by.to_object());
    }

    /// Returns the sealed log whose lines a loaded context continues.
    pub fn continues(&self) -> Option<SealedName> {
        self.0.str(CONTINUES).and_then(SealedName::parse)
    }

    /// Sets the sealed log whose lines the context continues.
    pub fn set_continues(&mut self, log: Option<&SealedName>) {
        self.0.set_or_remove(CONTINUES, log.map(|log| log.as_str().into()));
    }

    /// Returns the id of the last message, if it is a question that needs no answer here.
    pub fn answered(&self) -> Option<&str> {
        self.0.str(ANSWERED)
    }

    /// Sets the question that needs no answer here.
    pub fn set_answered(&mut self, message: Option<&str>) {
        self.0.set_or_remove(ANSWERED, message.map(Json::from));
    }

    /// Returns the id of the question that is answered once more here, although the ledger has an answer to it.
    pub fn asked_again(&self) -> Option<&str> {
        self.0.str(ASKED_AGAIN)
    }

    /// Sets the question that is answered once more.
    pub fn set_asked_again(&mut self, message: Option<&str>) {
        self.0.set_or_remove(ASKED_AGAIN, message.map(Json::from));
    }

    /// Returns the work that a run left behind, until its next journal is begun.
    pub fn settled_run(&self) -> Option<SettledRun> {
        SettledRun::from_json(self.0.get(SETTLED)?)
    }

    /// Sets the work that a run leaves behind.
    pub fn set_settled_run(&mut self, settled: Option<&SettledRun>) {
        self.0.set_or_remove(SETTLED, settled.map(|settled| settled.to_object().into()));
    }

    /// Returns the suffix of message ids, in a chat that began as a copy. It tells new messages from the copied ones,
    /// whose ids come from the ledger of another chat.
    pub fn salt(&self) -> Option<&str> {
        self.0.str(SALT)
    }

    /// Sets the suffix of message ids.
    pub fn set_salt(&mut self, salt: Option<&str>) {
        self.0.set_or_remove(SALT, salt.map(Json::from));
    }

    /// Returns the names of the loaded skills, in the order in which they were loaded.
    pub fn skills(&self) -> impl Iterator<Item = &str> {
        let names = self.0.get(SKILLS).and_then(Json::as_array).unwrap_or_default();
        names.iter().filter_map(Json::as_str)
    }

    /// Sets the loaded skills.
    pub fn set_skills<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        self.0.set(SKILLS, names.map(Json::from).collect::<Vec<_>>());
    }

    /// Returns the learnt rates of token counts, by model.
    pub fn tokens(&self) -> Object {
        self.0.get(TOKENS).and_then(Json::as_object).cloned().unwrap_or_default()
    }

    /// Sets the learnt rates of token counts.
    pub fn set_tokens(&mut self, tokens: Object) {
        self.0.set(TOKENS, tokens);
    }

    /// Whether the log before this one must still be purged.
    pub fn is_purge_due(&self) -> bool {
        self.0.get(PURGE).and_then(Json::as_bool) == Some(true)
    }

    /// Notes whether the log before this one must be purged.
    pub fn set_purge_due(&mut self, is_due: bool) {
        self.0.set_or_remove(PURGE, is_due.then(|| Json::from(true)));
    }

    /// Returns the origin of the context, if it was imported.
    pub fn imported_from(&self) -> Option<ImportedFrom> {
        ImportedFrom::from_json(self.0.get(IMPORTED)?)
    }

    /// Sets the origin of an imported context.
    pub fn set_imported_from(&mut self, from: &ImportedFrom) {
        self.0.set(IMPORTED, from.to_object());
    }

    /// Returns the generation of the live log above the last import into the chat.
    pub fn last_import(&self) -> Option<Gen> {
        self.0.get(LAST_IMPORT).and_then(Json::as_u64).map(Gen::new)
    }

    /// Sets the generation of the live log above the last import into the chat.
    pub fn set_last_import(&mut self, generation: Gen) {
        self.0.set(LAST_IMPORT, generation.get());
    }

    /// Returns data of a compaction.
    pub fn compaction(&self, which: CompactionData) -> Option<&Json> {
        self.0.get(which.key())
    }

    /// Sets data of a compaction.
    pub fn set_compaction(&mut self, which: CompactionData, data: Option<Json>) {
        self.0.set_or_remove(which.key(), data);
    }

    /// Returns the values that belong to the chat, and not to one of its contexts.
    pub fn of_chat(&self) -> Self {
        let mut shared = Self::default();
        shared.set_salt(self.salt());
        for key in [TOKENS, LAST_IMPORT] {
            shared.0.set_or_remove(key, self.0.get(key).cloned());
        }
        shared
    }

    /// Returns the values for a copy in another chat, without those that name logs of this one.
    pub fn for_other_chat(&self) -> Self {
        let mut object = self.to_object();
        for key in [OPERATION, CONTINUES, SETTLED, IMPORTED, LAST_IMPORT] {
            object.remove(key);
        }
        Self(object)
    }
}

impl ImportedFrom {
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::from([
            ("gen", Json::from(self.generation.get())),
            ("ts", self.at.to_json()),
            ("format", self.format.as_str().into()),
            ("key", self.key.as_str().into()),
            ("digest", self.digest.as_str().into()),
            ("messages", self.messages.into()),
        ]);
        object.set_or_remove("growths", (self.growths > 0).then(|| self.growths.into()));
        object.set_or_remove("suffix", self.suffix.as_deref().map(Json::from));
        object.set_or_remove("liveEnd", self.live_end.as_deref().map(Json::from));
        object
    }

    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let number = |key| json.get(key).and_then(Json::as_u64);
        Some(Self {
            generation: Gen::new(number("gen")?),
            at: json.get("ts").and_then(Timestamp::from_json)?,
            format: text(json, "format")?,
            key: text(json, "key")?,
            digest: text(json, "digest")?,
            messages: number("messages")?,
            growths: number("growths").unwrap_or(0),
            suffix: text(json, "suffix"),
            live_end: text(json, "liveEnd"),
        })
    }
}

impl Beginning {
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.set_or_remove("by", self.by.as_deref().map(Json::from));
        object.set_or_remove("ts", self.at.map(Timestamp::to_json));
        object
    }

    pub(crate) fn from_json(json: &Json) -> Self {
        Self { by: text(json, "by"), at: json.get("ts").and_then(Timestamp::from_json) }
    }
}

impl PublishedBy {
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.set_or_remove("op", self.operation.as_deref().map(Json::from));
        object.set_or_remove("gen", self.generation.map(|generation| generation.get().into()));
        object.set_or_remove("ts", self.at.map(Timestamp::to_json));
        object.set_or_remove("reason", self.reason.as_deref().map(Json::from));
        object.set_or_remove("drops", self.drops_left.then(|| Json::from(true)));
        object.set_or_remove("messages", self.messages.map(Json::from));
        object.set_or_remove("sealed", self.left.as_ref().map(|log| log.as_str().into()));
        object
    }

    pub(crate) fn from_json(json: &Json) -> Self {
        Self {
            operation: text(json, "op"),
            generation: json.get("gen").and_then(Json::as_u64).map(Gen::new),
            at: json.get("ts").and_then(Timestamp::from_json),
            reason: text(json, "reason"),
            drops_left: json.get("drops").and_then(Json::as_bool).unwrap_or_default(),
            messages: json.get("messages").and_then(Json::as_u64),
            left: text(json, "sealed").as_deref().and_then(SealedName::parse),
        }
    }
}

impl SettledRun {
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::from([("messageId", self.message.as_str())]);
        object.set_or_remove("callId", self.call.as_deref().map(Json::from));
        object
    }

    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        Some(Self { message: text(json, "messageId")?, call: text(json, "callId") })
    }
}

fn text(json: &Json, key: &str) -> Option<String> {
    json.get(key)?.as_str().map(str::to_owned)
}

impl CompactionData {
    fn key(self) -> &'static str {
        match self {
            Self::State => "compaction",
            Self::Pruned => "pruned",
            Self::Undo => "undo",
        }
    }
}

/// Reads the value of [`ENTERED`].
pub fn entered_context(data: &Json) -> Option<(ContextId, Option<String>)> {
    let entered = data.get(ENTERED)?.as_object()?;
    Some((entered.str("contextId")?.parse().ok()?, entered.str("title").map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_written_in_the_same_bytes() {
        let on_disk = r#"{"began":{"by":"new","ts":1},"operation":{"op":"load","gen":3,"ts":2,"reason":"r","drops":true,"messages":4,"sealed":"20260205T101500123Z-1-5"},"settled":{"messageId":"a_1","callId":"c"},"newer":1}"#;
        let Json::Object(object) = Json::parse(on_disk).unwrap() else { panic!("an object") };
        let mut carry = Carry::from_object(object);
        carry.set_beginning(&carry.beginning());
        carry.set_published_by(&carry.published_by().unwrap());
        carry.set_settled_run(carry.settled_run().as_ref());
        assert_eq!(Json::from(carry.to_object()).to_string(), on_disk);
    }

    #[test]
    fn a_copy_in_another_chat_names_no_log_of_this_one() {
        let mut carry = Carry::default();
        carry.set_published_by(&PublishedBy::default());
        carry.set_continues(SealedName::parse("20260205T101500123Z-1-5").as_ref());
        carry.set_skills(["knots"].into_iter());
        let copy = carry.for_other_chat();
        assert_eq!((copy.published_by(), copy.continues()), (None, None));
        assert_eq!(copy.skills().collect::<Vec<_>>(), ["knots"]);
    }
}
