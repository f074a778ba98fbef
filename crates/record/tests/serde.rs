//! Serde gives each record the JSON that logs and files have, and no depth overflows the stack.

#![cfg(feature = "serde")]

use std::fmt::Debug;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ship_message::UiMessage;
use ship_message::json::{DEPTH_MAX, Json, Object, from_json, to_json};
use ship_record::carry::{Beginning, Carry, PublishedBy, SettledRun};
use ship_record::*;

const HEAD: &str = r#"{"v":1,"contextId":"c_20260205_00000000002a","title":"Ports","gen":3,"sealed":"20260205T101500123Z-1-5","forkedFrom":{"gen":1},"inbox":7,"checkpoints":[{"name":"early","sealed":null,"seq":4,"messageId":"u_1"}],"carry":{"began":{"by":"new","ts":1},"newer":1}}"#;
const ENTRY: &str = r#"{"seq":8,"type":"msg","key":"t:1:2","v":1,"role":"user","text":"Hi"}"#;
const DELIVERY: &str = r#"{"seq":9,"type":"evt","id":"d_1","ts":"2026-02-05T10:15:00.123Z","event":"delivery","data":{"entry":8,"state":"sent","detail":{"attempt":1}}}"#;
const MESSAGE: &str = r#"{"seq":5,"type":"msg","rev":1,"in":8,"id":"u_8","role":"user","parts":[{"type":"text","text":"Hi"}],"metadata":{"ts":1}}"#;
const EVENT: &str = r#"{"seq":6,"type":"evt","in":8,"id":"e_1","ts":"2026-02-05T10:15:00.123Z","event":"switched","data":{"x":[1]},"ref_msg_id":"u_8"}"#;
const PROBLEM: &str = r#"{"file":"a.jsonl","offset":12,"kind":"torn_tail","message":"It is torn.","remedy":"Run `ship repair`.","blob":null,"repair":"heals","known":false}"#;

/// Reads a record from JSON, and checks that it is written as the same text and read from it as the same record.
#[track_caller]
fn same<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) -> T {
    let read: T = serde_json::from_str(text).expect("a record");
    let value: Value = serde_json::to_value(&read).expect("a value");
    assert_eq!(value.to_string(), text);
    assert_eq!(serde_json::from_value::<T>(value).expect("a record"), read);
    read
}

fn object(text: &str) -> Object {
    let Json::Object(object) = Json::parse(text).expect("JSON") else { panic!("{text}") };
    object
}

/// A line without the fields that its content does not have.
fn without(line: &str, fields: &[&str]) -> String {
    let mut object = object(line);
    fields.iter().for_each(|field| drop(object.remove(field)));
    Json::from(object).to_string()
}

#[test]
fn ids_times_and_kinds_are_texts_and_numbers() {
    assert_eq!(same::<ChatKey>(r#""terminal:main""#).as_str(), "terminal:main");
    assert_eq!(same::<MessageId>(r#""u_1""#).as_str(), "u_1");
    assert_eq!(same::<ContextId>(r#""c_20260205_a""#).as_str(), "c_20260205_a");
    assert_eq!(same::<SealedName>(r#""20260205T101500123Z-1-5""#).range().1, Seq::new(5));
    assert_eq!(
        (same::<Seq>("1"), same::<Gen>("2"), same::<LedgerSeq>("3")),
        (Seq::new(1), Gen::new(2), LedgerSeq::new(3))
    );
    assert_eq!(same::<Timestamp>("-5"), Timestamp::from_millis(-5));
    assert_eq!(same::<DeliveryState>(r#""uncertain""#), DeliveryState::Uncertain);
    assert_eq!(same::<MessageKind>(r#""summary""#), MessageKind::Summary);
    assert_eq!(same::<MessageSource>(r#""ledger""#), MessageSource::Ledger);
    assert_eq!(same::<NoticeKind>(r#""cut""#), NoticeKind::Cut);
    assert_eq!(same::<RepairEffect>(r#""marks_known""#), RepairEffect::MarksKnown);
    assert_eq!(same::<StorageProblemKind>(r#""not_plain""#), StorageProblemKind::NotPlain);
}

#[test]
fn a_head_is_the_data_of_its_event_without_the_chat() {
    let head: Head = same(HEAD);
    let chat: ChatKey = "terminal:main".parse().unwrap();
    let mut data = head.to_data(&chat);
    data.remove("chatKey");
    assert_eq!(Json::from(data).to_string(), HEAD);
    let checkpoint: Checkpoint =
        same(r#"{"name":"early","sealed":null,"seq":4,"messageId":"u_1"}"#);
    assert_eq!(head.checkpoints, [checkpoint]);
    let carry: Carry = same(r#"{"began":{"by":"new","ts":1},"newer":1}"#);
    assert_eq!(carry, head.carry);
    assert_eq!(same::<Beginning>(r#"{"by":"new","ts":1}"#), carry.beginning());
}

#[test]
fn the_values_of_a_head_and_of_a_message_are_as_they_stand_there() {
    let by = r#"{"op":"load","gen":3,"ts":2,"reason":"r","drops":true,"messages":4,"sealed":"20260205T101500123Z-1-5"}"#;
    let settled = r#"{"messageId":"a_1","callId":"c"}"#;
    let mut carry = Carry::default();
    carry.set_published_by(&same::<PublishedBy>(by));
    carry.set_settled_run(Some(&same::<SettledRun>(settled)));
    let written = Json::from(carry.to_object()).to_string();
    assert_eq!(written, format!(r#"{{"operation":{by},"settled":{settled}}}"#));
    let range = r#"{"fromId":"a","toId":"b","count":2}"#;
    let mut metadata: NewMetadata = same(r#"{"v":1,"newer":[1]}"#);
    metadata.set_source_range(&same::<SourceRange>(range));
    let written = Json::from(metadata.to_object()).to_string();
    assert_eq!(written, format!(r#"{{"v":1,"newer":[1],"sourceRange":{range}}}"#));
}

#[test]
fn a_line_of_the_ledger_is_as_it_stands_in_the_file() {
    let entry: LedgerLine = same(ENTRY);
    assert_eq!(same::<LedgerBody>(&without(ENTRY, &["seq"])), entry.body);
    let alone: LedgerEntry = same(&without(ENTRY, &["seq", "type"]));
    assert_eq!((alone.key.as_str(), alone.entry.str("text")), ("t:1:2", Some("Hi")));
    let delivery: LedgerLine = same(DELIVERY);
    let alone: Delivery = same(&without(DELIVERY, &["seq", "type"]));
    assert_eq!(Json::from(alone.to_body()).to_string(), without(DELIVERY, &["seq", "type"]));
    assert_eq!(delivery.body, LedgerBody::Delivery(alone));
    assert_eq!(same::<Accepted>(r#"{"seq":8,"new":true}"#).seq, LedgerSeq::new(8));
}

#[test]
fn a_line_of_a_context_is_as_it_stands_in_the_file() {
    let line: ContextLine = same(MESSAGE);
    assert_eq!((line.seq, line.rev, line.id()), (Seq::new(5), 1, "u_8"));
    let body: ContextBody = same(&without(MESSAGE, &["seq", "rev", "in"]));
    assert_eq!(body, line.body);
    let new: NewMessage = same(&without(MESSAGE, &["seq", "type"]));
    assert_eq!(same::<NewLine>(&without(MESSAGE, &["seq"])), NewLine::Message(new));
    let line: ContextLine = same(EVENT);
    assert_eq!(line.inbox, Some(LedgerSeq::new(8)));
    let event: ContextEvent = same(&without(EVENT, &["seq", "type"]));
    assert_eq!(same::<NewLine>(&without(EVENT, &["seq"])), NewLine::Event(event.clone()));
    let event = ContextEvent { inbox: None, ..event };
    assert_eq!(line.body, ContextBody::Event(event.clone()));
    let body = without(EVENT, &["seq", "type", "in"]);
    assert_eq!(Json::from(event.into_body()).to_string(), body);
}

#[test]
fn a_view_holds_its_records() {
    let view: View = same(&format!(
        r#"{{"head":{HEAD},"position":{{"gen":3,"seq":6}},"crc":4294967295,"inbox":8,"lines":[{MESSAGE},{EVENT}],"problems":[{PROBLEM}]}}"#
    ));
    assert_eq!(view.position, same::<Position>(r#"{"gen":3,"seq":6}"#));
    assert_eq!(view.lines[0], Arc::new(same::<ContextLine>(MESSAGE)));
    assert_eq!(view.problems, [same::<StorageProblem>(PROBLEM)]);
    let purged = r#"{"ts":1,"lines":4,"by":"ship context delete"}"#;
    assert_eq!(same::<Purged>(purged).lines, 4);
    let name = r#""20260205T101500123Z-1-5""#;
    let log: SealedLog = same(&format!(
        r#"{{"name":{name},"first":1,"last":5,"sealedAt":1770286500123,"head":{HEAD},"purged":{purged}}}"#
    ));
    assert_eq!(log.head, view.head);
    let place: MessagePlace = same(&format!(r#"{{"log":{name},"seq":5}}"#));
    assert_eq!(place.log, Some(log.name));
}

#[test]
fn what_is_no_record_is_an_error_that_says_which_record_was_expected() {
    let error = |text: &str| serde_json::from_str::<Head>(text).unwrap_err().to_string();
    let wanted = "the JSON is not the head of a log: a field is missing or invalid";
    for text in ["[]", "{}", r#"{"contextId":"..","gen":1}"#] {
        assert!(error(text).starts_with(wanted), "{}", error(text));
    }
    let wrong = ENTRY.replace("msg", "other");
    let error = serde_json::from_str::<LedgerLine>(&wrong).unwrap_err().to_string();
    assert!(error.starts_with("the JSON is not a line of the ledger: "), "{error}");
    let error = serde_json::from_str::<ContextId>(r#""../x""#).unwrap_err().to_string();
    assert!(error.starts_with(r#""../x" is not the id of a context"#), "{error}");
}

/// An odd value in an optional field is overlooked here as it is in a file.
#[test]
fn serde_reads_what_the_readers_of_files_read() {
    let odd = HEAD.replace(r#""inbox":7"#, r#""inbox":"seven""#);
    let head: Head = serde_json::from_str(&odd).unwrap();
    assert_eq!(Some(&head), Head::from_data(&object(&odd)).as_ref());
    assert_eq!(head.inbox, None);
}

#[test]
fn content_with_a_field_of_its_line_is_not_written() {
    let message = UiMessage::from_object(object(r#"{"id":"u","role":"user","parts":[],"seq":9}"#));
    let body = ContextBody::Message(message);
    let line = ContextLine { seq: Seq::FIRST, rev: 0, inbox: None, body };
    let entry = LedgerEntry { key: "k".to_owned(), entry: object(r#"{"key":"other"}"#) };
    for error in [to_json(&line).unwrap_err(), to_json(&entry).unwrap_err()] {
        assert!(error.to_string().contains("belongs to its line"), "{error}");
    }
}

#[test]
fn a_record_that_nests_too_deep_is_an_error_and_never_the_end_of_the_stack() {
    for levels in [DEPTH_MAX, 300_000] {
        let text = ["[".repeat(levels), "]".repeat(levels)].concat();
        let event = ContextEvent {
            id: "e".to_owned(),
            ts: Timestamp::from_millis(0),
            event: "deep".to_owned(),
            data: Json::parse(&text).unwrap(),
            ref_msg_id: None,
            inbox: None,
        };
        let error = to_json(&event).unwrap_err().to_string();
        assert_eq!(error, format!("JSON nests more than {DEPTH_MAX} levels deep"));
        let json = Json::from(event.into_body());
        assert!(from_json::<ContextEvent>(&json).is_err());
    }
}
