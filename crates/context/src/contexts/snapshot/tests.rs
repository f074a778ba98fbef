use proptest::prelude::*;
use ship_message::{Role, UiPart};

use super::*;

const LIMITS: SnapshotLimits = SnapshotLimits {
    utterances: UtteranceLimits { utterances_max: 120, chars_max: 48_000 },
    search_text_chars_max: 12_000,
};

fn context() -> ContextId {
    "c_20260205_abcd".parse().unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn user(id: &str, text: &str, ts: u64) -> UiMessage {
    let mut message = UiMessage::new(id, Role::User, vec![UiPart::text(text)]);
    let metadata = [("ts", Json::from(ts)), ("requestId", format!("r_{id}").into())];
    message.set_metadata(Json::Object(Object::from(metadata)));
    message
}

fn answer(id: &str, text: &str, ts: u64) -> UiMessage {
    let mut message = UiMessage::new(id, Role::Assistant, vec![UiPart::text(text)]);
    message.set_metadata(Json::Object(Object::from([("ts", Json::from(ts))])));
    message
}

fn archived(messages: &[UiMessage], limits: SnapshotLimits) -> Snapshot {
    let context = context();
    let known = ContextFacts { context: &context, created_at: at(1000), title: None };
    let sealed = SealedName::parse("20260205T101500123Z-1-42").unwrap();
    let left = ArchiveNote { at: at(9000), reason: "completed", sealed: Some(&sealed) };
    Snapshot::of_archived(messages, known, left, limits)
}

#[test]
fn an_archived_context_has_the_shape_that_is_promised() {
    let messages =
        [user("u1", "Fix the login. Please.", 1000), answer("a1", "Done: 登录 works.", 2000)];
    let snapshot = archived(&messages, LIMITS);
    assert_eq!(
        Json::Object(snapshot.to_object().clone()).to_string(),
        concat!(
            r#"{"v":1,"contextId":"c_20260205_abcd","status":"archived","createdAt":1000,"#,
            r#""updatedAt":2000,"archivedAt":9000,"archiveReason":"completed","#,
            r#""title":"Fix the login","#,
            r#""summary":"Asked first: Fix the login. Please.\nAnswered last: Done: 登录 works.","#,
            r#""checkpoint":{"messageId":"a1","ts":2000,"preview":"Done: 登录 works."},"#,
            r#""turns":[{"v":1,"ts":1000,"role":"user","text":"Fix the login. Please."},"#,
            r#"{"v":1,"ts":2000,"role":"assistant","text":"Done: 登录 works."}],"#,
            r#""searchText":"Fix the login\nAsked first: Fix the login. Please.\n"#,
            r#"Answered last: Done: 登录 works.\nFix the login. Please.\nDone: 登录 works.","#,
            r#""meta":{"lastUserTextPreview":"Fix the login. Please.","lastRequestId":"r_u1","#,
            r#""messageCount":2},"sealed":"20260205T101500123Z-1-42"}"#,
        )
    );
}

#[test]
fn the_active_context_has_the_shape_of_a_file_that_people_know() {
    let context = context();
    let known = ContextFacts { context: &context, created_at: at(1000), title: Some("The plan") };
    let messages = [user("u1", "one", 1000), answer("a1", "two", 2000)];
    let snapshot = Snapshot::of_active(
        &messages,
        known,
        UtteranceLimits { utterances_max: 1, chars_max: 100 },
    );
    assert_eq!(
        Json::Object(snapshot.to_object().clone()).to_string(),
        concat!(
            r#"{"v":1,"contextId":"c_20260205_abcd","status":"active","createdAt":1000,"#,
            r#""updatedAt":2000,"title":"The plan","#,
            r#""turns":[{"v":1,"ts":2000,"role":"assistant","text":"two"}],"#,
            r#""meta":{"lastUserTextPreview":"one","lastRequestId":"r_u1","messageCount":2,"#,
            r#""turnsLeftOut":1}}"#,
        )
    );
}

#[test]
fn a_context_that_was_compacted_is_summed_up_by_its_summary() {
    let summary = UiMessage::parse(
        r###"{"id":"s","role":"assistant","parts":[{"type":"text","text":"## Facts\n- the ship is **blue**\n\n## Decisions\n- (nothing)\n\n## Open request\nsail"}],"metadata":{"kind":"summary","sourceRange":{"fromId":"a","toId":"b","count":40}}}"###,
    );
    let snapshot = archived(&[summary.unwrap(), user("u1", "And now?", 5)], LIMITS);
    assert_eq!(snapshot.summary(), "## Facts\n- the ship is **blue**\n\n## Decisions\n- (nothing)");
    assert_eq!(snapshot.summary_preview(), "the ship is blue");
    assert_eq!(snapshot.message_count(), 41);
    assert_eq!(snapshot.utterances().len(), 1);
    assert!(snapshot.is_compacted());
}

#[test]
fn the_checkpoint_is_the_last_answer_that_told_something() {
    let switched = UiMessage::new("a2", Role::Assistant, vec![]);
    let messages = [user("u1", "?", 1), answer("a1", "!", 2), switched.clone()];
    assert_eq!(archived(&messages, LIMITS).checkpoint().unwrap().message_id, "a1");
    assert_eq!(archived(&[switched], LIMITS).checkpoint().unwrap().message_id, "a2");
    let unanswered = archived(&[user("u1", "hello?", 1)], LIMITS);
    assert_eq!(unanswered.checkpoint(), None);
    assert_eq!(unanswered.utterances().len(), 1, "what was not answered is archived all the same");
}

#[test]
fn what_a_newer_program_wrote_stays_and_another_file_is_none() {
    let object = |text: &str| Json::parse(text).unwrap().as_object().unwrap().clone();
    let text = r#"{"x":1,"v":1,"contextId":"c_20260205_abcd","status":"archived","turns":[{"v":1,"ts":1,"role":"user","text":"hi","y":2},{"role":"tool"},7],"meta":{"z":3}}"#;
    let read = Snapshot::read(object(text)).unwrap();
    assert_eq!(Json::Object(read.to_object().clone()).to_string(), text);
    assert_eq!((read.utterances().len(), read.message_count(), read.title()), (1, 0, ""));
    for other in [
        "{}",
        r#"{"v":1,"items":[]}"#,
        r#"{"v":2,"contextId":"c_20260205_abcd","status":"archived","turns":[]}"#,
        r#"{"v":1,"contextId":"../x","status":"archived","turns":[]}"#,
        r#"{"v":1,"contextId":"c_20260205_abcd","status":"gone","turns":[]}"#,
        r#"{"v":1,"contextId":"c_20260205_abcd","status":"archived","turns":{}}"#,
    ] {
        assert_eq!(Snapshot::read(object(other)), None, "{other}");
    }
}

#[test]
fn a_search_looks_through_the_newest_of_what_was_said() {
    let texts = [("u1", "oldest oldest oldest"), ("u2", "older"), ("u3", "newest")];
    let messages = texts.map(|(id, text)| user(id, text, 1));
    let context = context();
    let known = ContextFacts { context: &context, created_at: at(0), title: Some("T") };
    let left = ArchiveNote { at: at(9), reason: "new", sealed: None };
    let summary = "Asked first: oldest oldest oldest\nAsked last: newest";
    let room = "T\n".len() + summary.len() + "\nolder\nnewest".len() + 2;
    let limits = SnapshotLimits { search_text_chars_max: room, ..LIMITS };
    let snapshot = Snapshot::of_archived(&messages, known, left, limits);
    assert_eq!(snapshot.search_text(), format!("T\n{summary}\no\nolder\nnewest"));
}

#[test]
fn an_empty_context_can_be_written_down() {
    let snapshot = archived(&[], LIMITS);
    assert_eq!(snapshot.summary(), "Nothing was said.");
    assert_eq!(snapshot.title(), "Context of 1970-01-01");
    assert_eq!(snapshot.updated_at(), Some(at(1000)));
}

proptest! {
    #[test]
    fn every_snapshot_reads_back_and_is_within_its_limits(
        texts in prop::collection::vec("(?s).{0,40}", 0..12),
        utterances_max in 1usize..8,
        chars_max in 1usize..200,
        search_text_chars_max in 1usize..300,
    ) {
        let messages: Vec<UiMessage> = texts.iter().enumerate().map(|(at, text)| match at % 2 {
            0 => user(&format!("u{at}"), text, at as u64),
            _ => answer(&format!("a{at}"), text, at as u64),
        }).collect();
        let utterances = UtteranceLimits { utterances_max, chars_max };
        let snapshot = archived(&messages, SnapshotLimits { utterances, search_text_chars_max });
        let chars: usize = snapshot.utterances().iter().map(|turn| turn.text.chars().count()).sum();
        prop_assert!(snapshot.utterances().len() <= utterances_max && chars <= chars_max);
        prop_assert!(snapshot.search_text().chars().count() <= search_text_chars_max);
        if search_text_chars_max >= 200 {
            prop_assert!(snapshot.search_text().starts_with(snapshot.title()));
        }
        let text = Json::Object(snapshot.to_object().clone()).to_string();
        let read = Json::parse(&text).unwrap().as_object().unwrap().clone();
        prop_assert_eq!(Snapshot::read(read), Some(snapshot));
    }
}
