//! The engine's data in the metadata of a message.
//!
//! The values are kept in the order in which they were set, and those of other programs stay. A message may come from
//! anywhere, so a value of another type counts as absent.

use ship_message::json::{Array, Json, Object};
use ship_message::{FinishReason, UiMessage, names};

use crate::{LedgerEntry, LedgerSeq, Timestamp};

/// The metadata of a message, for reading.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'m>(Option<&'m Object>);

/// The metadata of a message that is made or changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewMetadata(Object);

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A person or the agent has said it.
    Normal,
    /// It stands for older messages.
    Summary,
    /// It shows a part of the past.
    Reference,
}

names!(MessageKind { Normal = "normal", Summary = "summary", Reference = "reference" });

/// The origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSource {
    /// A channel has handed it in.
    Ingress,
    /// A run has written it.
    Egress,
    /// A compaction has written it.
    Compact,
    /// It was lost, and came back from the ledger.
    Ledger,
    /// It was lost, and came back from the snapshot of its context.
    Snapshot,
}

names!(MessageSource {
    Ingress = "ingress",
    Egress = "egress",
    Compact = "compact",
    Ledger = "ledger",
    Snapshot = "snapshot",
});

/// The messages that a summary stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRange {
    /// The id of the first message, if it is known.
    pub from_id: Option<String>,
    /// The id of the last message, if it is known.
    pub to_id: Option<String>,
    /// The number of messages.
    pub count: u64,
}

/// Gives each text a reader and a writer. A row has the key, both names, and what the text is.
macro_rules! texts {
    ($($key:literal $read:ident $set:ident $what:literal,)+) => {
        impl<'m> Metadata<'m> {
            $(
                #[doc = concat!("Returns ", $what, ".")]
                pub fn $read(self) -> Option<&'m str> {
                    self.0?.str($key)
                }
            )+
        }

        impl NewMetadata {
            $(
                #[doc = concat!("Sets ", $what, ".")]
                pub fn $set<'a>(&mut self, text: impl Into<Option<&'a str>>) {
                    self.0.set_or_remove($key, text.into().map(Json::from));
                }
            )+
        }
    };
}

texts! {
    "chatKey" chat_key set_chat_key "the chat in which the message was written",
    "channel" channel set_channel "the channel of the chat",
    "chatId" chat_id set_chat_id "the id of the chat on its platform",
    "messageThreadId" thread_id set_thread_id "the id of the thread or topic on its platform",
    "chatType" chat_type set_chat_type "the type of the chat on its platform, such as `private` or `group`",
    "userId" user_id set_user_id "the id of the author on the platform",
    "username" username set_username "the name of the author",
    "requestId" request_id set_request_id "the id of the request in logs",
    "runId" run_id set_run_id "the run that has written the message",
    "error" error set_error "the sentence about the failure that ended the run",
    "contextId" context_id set_context_id "the context that a reference shows",
    "mode" mode set_mode "the mode of a reference",
    "noteToModel" note_to_model set_note_to_model "what the model must know about its last answer",
    "recallHint" recall_hint set_recall_hint "the line about earlier messages that are about the same",
    "promptOfSkill" prompt_of_skill set_prompt_of_skill "the skill of which the message is the prompt, in a conversation",
    "forMessageId" for_message set_for_message "the message that a reference was fetched for",
}

impl<'m> Metadata<'m> {
    /// Returns the metadata of a message.
    pub fn of(message: &'m UiMessage) -> Self {
        Self(message.metadata().and_then(Json::as_object))
    }

    /// Returns the time of the message.
    pub fn ts(self) -> Option<Timestamp> {
        Timestamp::from_json(self.0?.get("ts")?)
    }

    /// Returns the kind of the message.
    pub fn kind(self) -> Option<MessageKind> {
        MessageKind::named(self.0?.str("kind")?)
    }

    /// Returns the origin of the message.
    pub fn source(self) -> Option<MessageSource> {
        MessageSource::named(self.0?.str("source")?)
    }

    /// Returns the messages that a summary stands for.
    pub fn source_range(self) -> Option<SourceRange> {
        SourceRange::from_json(self.0?.get("sourceRange")?)
    }

    /// Returns the ledger entries that a reference shows.
    pub fn entries(self) -> Option<impl Iterator<Item = LedgerSeq>> {
        let entries = self.0?.get("entries")?.as_array()?;
        Some(entries.iter().filter_map(Json::as_u64).map(LedgerSeq::new))
    }

    /// Whether a person stopped the run.
    pub fn is_interrupted(self) -> bool {
        self.0.and_then(|object| object.get("interrupted")?.as_bool()) == Some(true)
    }

    /// Returns the reason why the answer is incomplete.
    pub fn finish_reason(self) -> Option<FinishReason> {
        FinishReason::named(self.0?.str("finishReason")?)
    }

    /// Returns the last ledger entry that the run had read when it ended.
    pub fn answers_to(self) -> Option<LedgerSeq> {
        self.0?.get("answersTo")?.as_u64().map(LedgerSeq::new)
    }

    /// Returns the number of the journal's parts in a settled message; `None` if it is none.
    pub fn settled_parts(self) -> Option<u64> {
        self.0?.get("settled")?.as_u64()
    }

    /// Returns the messages that a switch took along; `None` if no switch ended the message.
    pub fn moved(self) -> Option<impl Iterator<Item = &'m str>> {
        Some(self.0?.get("moved")?.as_array()?.iter().filter_map(Json::as_str))
    }

    /// Whether the message waits in the ledger.
    pub fn is_queued(self) -> bool {
        self.0.is_some_and(|object| object.has("queued"))
    }
}

impl SourceRange {
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.set_or_remove("fromId", self.from_id.as_deref().map(Json::from));
        object.set_or_remove("toId", self.to_id.as_deref().map(Json::from));
        object.set("count", self.count);
        object
    }

    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        Some(Self {
            from_id: json.get("fromId").and_then(Json::as_str).map(str::to_owned),
            to_id: json.get("toId").and_then(Json::as_str).map(str::to_owned),
            count: json.get("count")?.as_u64()?,
        })
    }
}

impl NewMetadata {
    /// Takes the values as they are in a message.
    pub fn from_object(object: Object) -> Self {
        Self(object)
    }

    /// Returns the values as they are in a message.
    pub fn to_object(&self) -> Object {
        self.0.clone()
    }

    /// Makes the metadata of a message that is written at this time.
    pub fn new(ts: Timestamp) -> Self {
        Self(Object::from([("v", Json::from(1u64)), ("ts", ts.to_json())]))
    }

    /// Makes the metadata of the message that a ledger entry becomes.
    pub fn of_entry(entry: &LedgerEntry) -> Self {
        let mut metadata = Self::default();
        for key in [
            "v",
            "ts",
            "chatKey",
            "channel",
            "chatId",
            "messageThreadId",
            "chatType",
            "userId",
            "username",
            "messageId",
            "clientId",
            "language",
            "requestId",
        ] {
            metadata.0.set_or_remove(key, entry.entry.get(key).cloned());
        }
        metadata.set_kind(MessageKind::Normal);
        metadata
    }

    /// Makes the metadata of a message that waits in the ledger.
    pub fn of_queued(mut entry: LedgerEntry) -> Self {
        entry.entry.retain(|key, _| !matches!(key, "role" | "text"));
        entry.entry.set("queued", true);
        Self(entry.entry)
    }

    /// Changes the metadata of a message.
    pub fn edit(message: &mut UiMessage, change: impl FnOnce(&mut Self)) {
        let known = message.metadata().and_then(Json::as_object).cloned();
        let mut metadata = Self(known.unwrap_or_default());
        change(&mut metadata);
        metadata.write_to(message);
    }

    /// Gives a message this metadata. If it is empty, the message has none.
    pub fn write_to(self, message: &mut UiMessage) {
        message.set_metadata_or_remove((!self.0.is_empty()).then(|| self.0.into()));
    }

    /// Sets the place of the message to that of another one: chat, channel, thread.
    pub fn set_place_of(&mut self, other: Metadata<'_>) {
        self.set_chat_key(other.chat_key());
        self.set_channel(other.channel());
        self.set_chat_id(other.chat_id());
        self.set_thread_id(other.thread_id());
        self.set_chat_type(other.chat_type());
    }

    /// Sets the time of the message.
    pub fn set_ts(&mut self, ts: Timestamp) {
        self.0.set("ts", ts.to_json());
    }

    /// Sets the kind of the message.
    pub fn set_kind(&mut self, kind: MessageKind) {
        self.0.set("kind", kind.name());
    }

    /// Sets the origin of the message.
    pub fn set_source(&mut self, source: MessageSource) {
        self.0.set("source", source.name());
    }

    /// Sets the messages that a summary stands for.
    pub fn set_source_range(&mut self, range: &SourceRange) {
        self.0.set("sourceRange", range.to_object());
    }

    /// Sets the ledger entries that a reference shows.
    pub fn set_entries(&mut self, entries: impl Iterator<Item = LedgerSeq>) {
        self.0.set("entries", entries.map(|entry| entry.get().into()).collect::<Array>());
    }

    /// Notes that a person stopped the run.
    pub fn set_interrupted(&mut self) {
        self.0.set("interrupted", true);
    }

    /// Sets the reason why the answer is incomplete.
    pub fn set_finish_reason(&mut self, reason: Option<FinishReason>) {
        self.0.set_or_remove("finishReason", reason.map(|reason| reason.name().into()));
    }

    /// Sets the last ledger entry that the run had read.
    pub fn set_answers_to(&mut self, entry: Option<LedgerSeq>) {
        self.0.set_or_remove("answersTo", entry.map(|entry| entry.get().into()));
    }

    /// Sets the number of the journal's parts in a settled message.
    pub fn set_settled_parts(&mut self, count: u64) {
        self.0.set("settled", count);
    }

    /// Sets the messages that a switch took along.
    pub fn set_moved<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        self.0.set("moved", ids.map(Json::from).collect::<Array>());
    }

    /// Removes the marks that count ledger entries of a chat or messages of its runs.
    pub fn remove_marks_of_chat(&mut self) {
        self.0.retain(|key, _| !matches!(key, "answersTo" | "settled" | "moved" | "queued"));
    }

    /// Keeps only what is valid wherever the message is read: how the run ended.
    pub fn retain_outcome(&mut self) {
        self.0.retain(|key, _| matches!(key, "interrupted" | "error" | "finishReason"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(metadata: &str) -> UiMessage {
        let text = format!(r#"{{"id":"m","role":"assistant","parts":[],"metadata":{metadata}}}"#);
        UiMessage::parse(&text).unwrap()
    }

    #[test]
    fn what_was_read_is_written_in_the_same_bytes() {
        let on_disk = r#"{"v":1,"ts":5,"chatKey":"t:1","channel":"t","chatId":"1","newer":[1],"requestId":"r","runId":"run_1","kind":"summary","source":"compact","sourceRange":{"fromId":"a","toId":"b","count":2},"entries":[3,4],"contextId":"c_1","mode":"full","forMessageId":"u","interrupted":true,"error":"no","finishReason":"length","answersTo":7,"settled":2,"moved":["u2"]}"#;
        let read = message(on_disk);
        let known = Metadata::of(&read);
        let mut written = read.clone();
        NewMetadata::edit(&mut written, |metadata| {
            metadata.set_moved(known.moved().unwrap());
            metadata.set_settled_parts(known.settled_parts().unwrap());
            metadata.set_answers_to(known.answers_to());
            metadata.set_finish_reason(Some(FinishReason::Length));
            metadata.set_error(known.error());
            metadata.set_interrupted();
            metadata.set_for_message(known.for_message());
            metadata.set_mode(known.mode());
            metadata.set_context_id(known.context_id());
            metadata.set_entries(known.entries().unwrap());
            metadata.set_source_range(&known.source_range().unwrap());
            metadata.set_source(known.source().unwrap());
            metadata.set_kind(known.kind().unwrap());
            metadata.set_run_id(known.run_id());
            metadata.set_request_id(known.request_id());
            metadata.set_chat_id(known.chat_id());
            metadata.set_channel(known.channel());
            metadata.set_chat_key(known.chat_key());
            metadata.set_ts(known.ts().unwrap());
        });
        assert_eq!(written.metadata().unwrap().to_string(), on_disk);
    }

    #[test]
    fn a_value_of_another_type_counts_as_absent() {
        for odd in
            [r#"{"ts":"now","runId":7,"moved":1,"settled":-1,"answersTo":"x"}"#, "[]", "null"]
        {
            let odd = message(odd);
            let read = Metadata::of(&odd);
            assert_eq!((read.ts(), read.run_id(), read.answers_to()), (None, None, None));
            assert!(read.moved().is_none() && read.settled_parts().is_none());
        }
    }

    #[test]
    fn a_message_whose_metadata_says_nothing_of_its_end_loses_it() {
        let mut ended = message(r#"{"v":1,"finishReason":"length","runId":"run_1"}"#);
        NewMetadata::edit(&mut ended, NewMetadata::retain_outcome);
        assert_eq!(ended.metadata().unwrap().to_string(), r#"{"finishReason":"length"}"#);
        let mut plain = message(r#"{"v":1}"#);
        NewMetadata::edit(&mut plain, NewMetadata::retain_outcome);
        assert_eq!(plain.field("metadata"), None);
    }
}
