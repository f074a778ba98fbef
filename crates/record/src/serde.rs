//! Serde for records, in the form of their JSON.
//!
//! A line has the form that it has in its log, without the fields that only a file needs (`batch`, `blobs`, `crc`).
//! Everything passes through [`Json`], so nothing nests deeper than its limit.

mod line_fields;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ship_message::json::{Json, Object};

use self::line_fields::{LineFields, LineForm};
use crate::carry::{Beginning, Carry, ImportedFrom, PublishedBy, SettledRun};
use crate::{
    ChatKey, Checkpoint, ContextBody, ContextEvent, ContextId, ContextLine, Delivery,
    DeliveryState, Head, LedgerBody, LedgerEntry, LedgerLine, LedgerSeq, MessageId, MessageKind,
    MessageSource, NewLine, NewMessage, NewMetadata, NoticeKind, RepairEffect, SealedName, Seq,
    SourceRange, StorageProblemKind, Timestamp,
};

/// The reason why a body cannot be written into its line.
const TAKEN: &str = "the content has a field that belongs to its line, such as `seq` or `key`";

/// Gives a record serde by the functions that write and read its JSON. A row has what the record is, how it is
/// written, and how it is read. A derive would refuse what the readers of files accept, such as an odd value in
/// an optional field.
macro_rules! serde_by_json {
    ($($type:ty, $what:literal, $write:expr, $read:expr;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn(&Self) -> Option<Json> = $write;
                write(self).ok_or_else(|| S::Error::custom(TAKEN))?.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read: fn(Json) -> Option<Self> = $read;
                let wrong = concat!("the JSON is not ", $what, ": a field is missing or invalid");
                read(Json::deserialize(deserializer)?).ok_or_else(|| D::Error::custom(wrong))
            }
        }
    )+};
}

/// Gives an id or a case of an enum serde as its text.
macro_rules! serde_by_text {
    ($($type:ty, $what:literal, $write:expr, $read:expr;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn(&Self) -> &str = $write;
                serializer.serialize_str(write(self))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read: fn(&str) -> Option<Self> = $read;
                let text = String::deserialize(deserializer)?;
                read(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is not {}", $what)))
            }
        }
    )+};
}

serde_by_text! {
    ChatKey, "a chat key", Self::as_str, |text| text.parse().ok();
    MessageId, "the id of a message", Self::as_str, |text| Self::new(text);
    ContextId, "the id of a context", Self::as_str, |text| text.parse().ok();
    SealedName, "the name of a sealed log", Self::as_str, Self::parse;
    DeliveryState, "the state of a delivery", |state| state.name(), Self::named;
    MessageKind, "the kind of a message", |kind| kind.name(), Self::named;
    MessageSource, "the origin of a message", |source| source.name(), Self::named;
    NoticeKind, "the kind of a notice", |kind| kind.name(), Self::named;
    RepairEffect, "the effect of a repair", |effect| effect.name(), Self::named;
    StorageProblemKind, "the kind of a problem", |kind| kind.name(), Self::named;
}

serde_by_json! {
    Timestamp, "a time", |time| Some(time.to_json()), |json| Self::from_json(&json);
    Head, "the head of a log", |head| Some(head.data_in(None).into()),
        |json| Self::from_data(json.as_object()?);
    Checkpoint, "a checkpoint", |checkpoint| Some(checkpoint.to_json()),
        |json| Self::from_json(&json);
    Carry, "the data of a head", |carry| Some(carry.to_object().into()),
        |json| into_object(json).map(Self::from_object);
    Beginning, "the beginning of a context", |beginning| Some(beginning.to_object().into()),
        |json| json.as_object().map(|_| Self::from_json(&json));
    PublishedBy, "an operation", |by| Some(by.to_object().into()),
        |json| json.as_object().map(|_| Self::from_json(&json));
    ImportedFrom, "the origin of a context", |from| Some(from.to_object().into()),
        |json| Self::from_json(&json);
    SettledRun, "what a run left", |settled| Some(settled.to_object().into()),
        |json| Self::from_json(&json);
    NewMetadata, "the metadata of a message", |metadata| Some(metadata.to_object().into()),
        |json| into_object(json).map(Self::from_object);
    SourceRange, "a range of messages", |range| Some(range.to_object().into()),
        |json| Self::from_json(&json);
    Delivery, "a delivery", |delivery| Some(delivery.to_body().into()),
        |json| Self::from_body(json.as_object()?);
    LedgerEntry, "an entry of the ledger", |entry| LineFields::of_entry(entry)?.write(),
        |json| LineFields::read(json)?.into_entry();
    LedgerBody, "the content of a ledger line", |body| LineFields::of_ledger(body)?.write(),
        |json| LineFields::read(json)?.into_ledger();
    LedgerLine, "a line of the ledger", write_ledger_line, read_ledger_line;
    ContextEvent, "an event", |event| LineFields::of_event(event).write(),
        |json| LineFields::read(json)?.into_event();
    NewMessage, "a message to append", |new| LineFields::of_new_message(new).write(),
        |json| Some(LineFields::read(json)?.into_new_message());
    NewLine, "a line to append", write_new_line, read_new_line;
    ContextBody, "the content of a context line", |body| LineFields::of_context(body).write(),
        |json| LineFields::read(json)?.into_context();
    ContextLine, "a line of a context", write_context_line, read_context_line;
}

fn into_object(json: Json) -> Option<Object> {
    match json {
        Json::Object(object) => Some(object),
        _ => None,
    }
}

fn write_ledger_line(line: &LedgerLine) -> Option<Json> {
    LineFields { seq: Some(line.seq.get()), ..LineFields::of_ledger(&line.body)? }.write()
}

fn read_ledger_line(json: Json) -> Option<LedgerLine> {
    let fields = LineFields::read(json)?;
    Some(LedgerLine { seq: LedgerSeq::new(fields.seq?), body: fields.into_ledger()? })
}

fn write_new_line(line: &NewLine) -> Option<Json> {
    let (kind, fields) = match line {
        NewLine::Message(new) => (LineForm::Message, LineFields::of_new_message(new)),
        NewLine::Event(event) => (LineForm::Event, LineFields::of_event(event)),
    };
    LineFields { kind: Some(kind), ..fields }.write()
}

fn read_new_line(json: Json) -> Option<NewLine> {
    let fields = LineFields::read(json)?;
    match fields.kind? {
        LineForm::Message => Some(fields.into_new_message().into()),
        LineForm::Event => fields.into_event().map(NewLine::from),
    }
}

/// Writes a line of a context. Its event has no `inbox` of its own.
fn write_context_line(line: &ContextLine) -> Option<Json> {
    let fields = LineFields::of_context(&line.body);
    let (seq, rev, inbox) = (Some(line.seq.get()), line.rev, line.inbox);
    LineFields { seq, rev, inbox, ..fields }.write()
}

fn read_context_line(json: Json) -> Option<ContextLine> {
    let mut fields = LineFields::read(json)?;
    let (seq, rev, inbox) = (Seq::new(fields.seq?), fields.rev, fields.inbox.take());
    Some(ContextLine { seq, rev, inbox, body: fields.into_context()? })
}
