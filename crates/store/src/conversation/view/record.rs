//! Keeps a record of the lines of a message in its metadata, as far as the plain rules do not give them.
//!
//! `metadata.conversation` is `{"entries":[…]}`. An item with a `type` is a whole line. Any other item has the
//! fields of a line that differ from the plain rules, with null for a field that the line lacks. Metadata that
//! already has a `conversation`, that is not an object, or that is empty is kept inside the record as `metadata`.

use ship_message::UiMessage;
use ship_message::json::{Json, Object};

use super::group::EntryGroup;
use super::plain_entries::{self, Opening};
use super::to_view;
use crate::conversation::{ContextEntry, MessageEntry};

const KEY: &str = "conversation";

/// Returns the message without the record of its lines.
pub fn without_record(message: &UiMessage) -> UiMessage {
    match take_record(message) {
        Some((message, _)) => message,
        None => message.clone(),
    }
}

/// Returns the record of a message's lines, each with its `id` and `ts`.
pub fn recorded_lines(message: &UiMessage) -> &[Json] {
    let record = message.metadata().and_then(|metadata| metadata.get(KEY)?.get("entries"));
    record.and_then(Json::as_array).unwrap_or_default()
}

/// Returns the message of a group of lines, with their record.
pub(super) fn with_record(group: EntryGroup<'_>) -> UiMessage {
    let (message, lines) = group.finish();
    let messages = || lines.iter().filter_map(|line| line.as_message());
    let first_id = messages().next().map(|first| first.id.as_str());
    let plain = plain_entries::entries_of(&message, opening(&message, first_id));
    // The plain rules may divide a message into other lines; then a difference to them means nothing.
    let is_in_step = plain.len() == messages().count();
    let mut plain = plain.iter();
    let items = lines.iter().map(|line| match line {
        ContextEntry::Message(entry) if is_in_step => plain
            .next()
            .and_then(|plain| difference(entry, plain))
            .unwrap_or_else(|| line.to_json()),
        line => line.to_json(),
    });
    put_record(&message, items.collect())
}

/// Returns the lines of a message if it has a valid record of them.
pub(super) fn recorded_entries(message: &UiMessage) -> Option<Vec<ContextEntry>> {
    let (bare, items) = take_record(message)?;
    let first = items.iter().find(|item| item.get("type").and_then(Json::as_str) != Some("evt"));
    let first_id = first.and_then(|item| item.get("id")?.as_str());
    let mut plain = plain_entries::entries_of(&bare, opening(&bare, first_id)).into_iter();
    let lines = items.iter().map(|item| match item.get("type").map(Json::as_str) {
        Some(Some("evt")) => ContextEntry::from_json(item.clone()).ok(),
        // A whole line takes the place of the plain one.
        Some(_) => ContextEntry::from_json(item.clone()).ok().inspect(|_| drop(plain.next())),
        None => with_difference(&plain.next()?, item.as_object()?),
    });
    let lines: Vec<ContextEntry> = lines.collect::<Option<_>>()?;
    let shown = to_view(&lines);
    (shown.len() == 1 && shown[0] == *message).then_some(lines)
}

fn opening(message: &UiMessage, first_id: Option<&str>) -> Opening {
    let keeps_id = message.id().is_some() && message.id() == first_id;
    Opening { keeps_id, could_be_taken_for_a_step: false }
}

/// Returns the fields of a line that the plain rules do not give; `None` if fields alone cannot restore the line.
fn difference(line: &MessageEntry, plain: &MessageEntry) -> Option<Json> {
    let (Json::Object(wanted), Json::Object(given)) = (line.to_json(), plain.to_json()) else {
        return None;
    };
    let mut item = Object::new();
    for (key, value) in wanted.iter() {
        if given.get(key).is_none_or(|given| !is_same(given, value)) {
            item.set(key.to_owned(), value.clone());
        }
    }
    for key in given.keys().filter(|key| !wanted.has(key)) {
        item.set(key.to_owned(), Json::Null);
    }
    let back = with_difference(plain, &item)?;
    is_same(&back.to_json(), &line.to_json()).then(|| item.into())
}

fn with_difference(plain: &MessageEntry, item: &Object) -> Option<ContextEntry> {
    let Json::Object(mut line) = plain.to_json() else { return None };
    for (key, value) in item.iter() {
        // Null is real content: a message of calls alone has it.
        let is_gone = value.is_null() && key != "content";
        line.set_or_remove(key.to_owned(), (!is_gone).then(|| value.clone()));
    }
    ContextEntry::from_json(line.into()).ok()
}

/// Whether two values are equal to the byte; `==` ignores the order of keys.
fn is_same(a: &Json, b: &Json) -> bool {
    a == b && a.to_string() == b.to_string()
}

fn put_record(message: &UiMessage, items: Vec<Json>) -> UiMessage {
    let mut record = Object::from([("entries", Json::from(items))]);
    let metadata = match message.field("metadata") {
        None => Object::from([(KEY, record)]),
        Some(Json::Object(known)) if !known.is_empty() && !known.has(KEY) => {
            let mut metadata = known.clone();
            metadata.set(KEY, record);
            metadata
        }
        Some(other) => {
            record.set("metadata", other.clone());
            Object::from([(KEY, record)])
        }
    };
    let mut message = message.clone();
    message.set_metadata(metadata.into());
    message
}

/// Returns the message without its record, and the items of the record.
fn take_record(message: &UiMessage) -> Option<(UiMessage, Vec<Json>)> {
    let Json::Object(mut metadata) = message.field("metadata")?.clone() else { return None };
    let Json::Object(mut record) = metadata.remove(KEY)? else { return None };
    let Json::Array(items) = record.remove("entries")? else { return None };
    let metadata = match record.remove("metadata") {
        Some(metadata) => Some(metadata),
        None => (!metadata.is_empty()).then(|| metadata.into()),
    };
    let Json::Object(mut fields) = message.to_json() else { return None };
    fields.set_or_remove("metadata", metadata);
    Some((UiMessage::from_json(fields.into()).ok()?, items.into_vec()))
}
