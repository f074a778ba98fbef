//! Both directions, on samples that show the rules and on whatever a generator comes up with.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use ship_message::json::{Json, Object};

use super::*;
use crate::conversation::EventEntry;

const NOW: Timestamp = Timestamp::from_millis(1_770_286_500_000);

fn entries(lines: &str) -> Vec<ContextEntry> {
    lines.lines().map(|line| ContextEntry::parse(line).unwrap()).collect()
}

fn lines(entries: &[ContextEntry]) -> Vec<String> {
    entries.iter().map(ToString::to_string).collect()
}

/// The messages without their records, as JSON.
fn shown(view: &[UiMessage]) -> Vec<String> {
    view.iter().map(|message| without_record(message).to_string()).collect()
}

fn messages(view: &[&str]) -> Vec<UiMessage> {
    view.iter().map(|message| UiMessage::parse(message).unwrap()).collect()
}

#[test]
fn calls_and_results_are_one_message_with_a_step_for_each_assistant_line() {
    let entries = entries(concat!(
        r#"{"id":"m001","ts":"t1","type":"msg","role":"user","content":"Read a and b."}"#,
        "\n",
        r#"{"id":"m002","ts":"t2","type":"msg","role":"assistant","content":"On it.","tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}},{"id":"c2","type":"function","function":{"name":"Read","arguments":"{}"}}]}"#,
        "\n",
        r#"{"id":"m003","ts":"t3","type":"msg","role":"tool","tool_call_id":"c1","tool_name":"Read","content":{"text":"A"}}"#,
        "\n",
        r#"{"id":"e001","ts":"t3","type":"evt","event":"noted","data":{}}"#,
        "\n",
        r#"{"id":"m004","ts":"t4","type":"msg","role":"tool","tool_call_id":"c2","tool_name":"Read","content":"no path","is_error":true}"#,
        "\n",
        r#"{"id":"m005","ts":"t5","type":"msg","role":"assistant","content":"a says A."}"#,
    ));
    let view = to_view(&entries);
    assert_eq!(
        shown(&view),
        [
            r#"{"id":"m001","role":"user","parts":[{"type":"text","text":"Read a and b."}]}"#,
            concat!(
                r#"{"id":"m002","role":"assistant","parts":[{"type":"step-start"},"#,
                r#"{"type":"text","text":"On it.","state":"done"},"#,
                r#"{"type":"tool-Read","toolCallId":"c1","state":"output-available","input":{"path":"a"},"output":{"text":"A"}},"#,
                r#"{"type":"tool-Read","toolCallId":"c2","state":"output-error","input":{},"errorText":"no path"},"#,
                r#"{"type":"step-start"},{"type":"text","text":"a says A.","state":"done"}]}"#,
            ),
        ]
    );
    assert_eq!(lines(&to_entries(&view, NOW)), lines(&entries));
}

#[test]
fn what_no_message_can_say_is_in_its_record() {
    let entries = entries(concat!(
        r#"{"id":"m001","ts":"t1","type":"msg","role":"developer","content":"Be brief.","mood":1}"#,
        "\n",
        r#"{"id":"m002","ts":"t2","type":"msg","role":"user","content":"<skill>","is_meta":true}"#,
    ));
    let view = to_view(&entries);
    assert_eq!(
        view[0].to_string(),
        r#"{"id":"m001","role":"system","parts":[{"type":"text","text":"Be brief."}],"metadata":{"conversation":{"entries":[{"id":"m001","ts":"t1","role":"developer","mood":1}]}}}"#
    );
    assert_eq!(
        view[1].metadata().unwrap().to_string(),
        r#"{"conversation":{"entries":[{"id":"m002","ts":"t2","is_meta":true}]}}"#
    );
    assert_eq!(lines(&to_entries(&view, NOW)), lines(&entries));
}

#[test]
fn what_no_field_can_hold_is_content_as_parts() {
    let view = messages(&[
        r#"{"id":"x1","role":"user","metadata":{"userId":7},"parts":[{"type":"text","text":"look"}]}"#,
        r#"{"id":"x2","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"tool-Read","toolCallId":"c1","state":"output-available","input":1,"output":2}]}"#,
        r#"{"id":"x3","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-Pay","toolCallId":"c2","state":"approval-requested","input":{},"approval":{"id":"a"}}]}"#,
    ]);
    let entries = to_entries(&view, NOW);
    assert_eq!(
        lines(&entries),
        [
            r#"{"id":"x1","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":[{"type":"data-message","data":{"metadata":{"userId":7}}},{"type":"text","text":"look"}]}"#,
            r#"{"id":"x2","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"assistant","content":[{"type":"step-start"},{"type":"reasoning","text":"hm"}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"1"}}]}"#,
            r#"{"id":"m001","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"tool","tool_call_id":"c1","tool_name":"Read","content":2}"#,
            r#"{"id":"x3","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"assistant","content":[{"type":"data-message","data":{}},{"type":"step-start"},{"type":"tool-Pay","toolCallId":"c2","state":"approval-requested","input":{},"approval":{"id":"a"}}]}"#,
        ]
    );
    assert_eq!(shown(&to_view(&entries)).len(), 3);
}

#[test]
fn a_plain_message_is_a_line_of_text() {
    let view = messages(&[
        r#"{"id":"m001","role":"user","parts":[{"type":"text","text":"hi"}]}"#,
        r#"{"id":"m002","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"hello","state":"done"}]}"#,
    ]);
    let contents = to_entries(&view, NOW);
    let contents: Vec<_> =
        contents.iter().map(|entry| entry.as_message().unwrap().content.as_str()).collect();
    assert_eq!(contents, [Some("hi"), Some("hello")]);
}

#[test]
fn a_changed_message_keeps_its_line_while_the_record_fits_and_is_a_new_one_when_not() {
    let more = |view: &mut Vec<UiMessage>| {
        view[0].parts_mut().push(ship_message::UiPart::text("more"));
        to_entries(view, NOW)
    };
    let mut fits = to_view(&entries(
        r#"{"id":"m001","ts":"t1","type":"msg","role":"user","content":"hi","is_meta":true}"#,
    ));
    let changed = more(&mut fits);
    assert_eq!(changed[0].as_message().unwrap().ts, "t1");
    assert_eq!(to_view(&changed), fits);

    let mut unfit = to_view(&entries(
        r#"{"id":"m001","ts":"t1","type":"msg","role":"user","content":{"not":"parts"}}"#,
    ));
    let changed = more(&mut unfit);
    assert_eq!(changed[0].as_message().unwrap().ts, NOW.to_string());
    assert_eq!(without_record(&to_view(&changed)[0]), unfit[0]);
}

/// A whole line in the record once left its plain twin to the line behind it.
#[test]
fn a_line_that_is_recorded_whole_may_stand_before_one_that_is_not() {
    let entries = entries(concat!(
        r#"{"id":"m001","ts":"t","type":"msg","role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"}}],"x":null}"#,
        "\n",
        r#"{"id":"m002","ts":"t","type":"msg","role":"tool","tool_call_id":"c1","content":"A"}"#,
    ));
    assert_eq!(lines(&to_entries(&to_view(&entries), NOW)), lines(&entries));
}

/// A message whose record is right by itself, but which the message before it would swallow.
#[test]
fn a_recorded_step_behind_an_answered_call_begins_a_message_of_its_own() {
    let view = messages(&[
        r#"{"id":"x","role":"assistant","parts":[{"type":"tool-Read","toolCallId":"c1","state":"output-available","input":1,"output":2}]}"#,
        r#"{"id":"m001","role":"assistant","metadata":{"conversation":{"entries":[{"id":"m001","ts":"t"}]}},"parts":[{"type":"step-start"}]}"#,
    ]);
    let again = to_view(&to_entries(&view, NOW));
    assert_eq!(again.iter().map(without_record).collect::<Vec<_>>(), view);
}

fn text() -> impl Strategy<Value = String> {
    select(vec!["", "hi", "c1", "{\"a\":1}", "\n\"\\", "你好😀", "[Summary] x"])
        .prop_map(Into::into)
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-9_i32..9).prop_map(|number| Json::from(f64::from(number) / 4.0)),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::from),
            vec((select(vec!["a", "b", "type", "data"]), inner), 0..3)
                .prop_map(|fields| fields.into_iter().collect::<Object>().into()),
        ]
    })
}

/// Call ids from a small pool, so that calls and results meet.
fn call_id() -> impl Strategy<Value = String> {
    select(vec!["c1", "c2", "c3", ""]).prop_map(Into::into)
}

fn call() -> impl Strategy<Value = Json> {
    let arguments = select(vec!["{}", "", "{\"b\":1,\"a\":[2]}", "{ }", "not json", "\"x\""]);
    let function = (call_id(), select(vec!["Read", ""]), arguments).prop_map(|(id, name, text)| {
        let function = Object::from([("name", name), ("arguments", text)]);
        let call: [(&str, Json); 3] =
            [("id", id.into()), ("type", "function".into()), ("function", function.into())];
        Json::from(Object::from(call))
    });
    let bare = (call_id(), json()).prop_map(|(id, input)| {
        Object::from([("input", input), ("name", "Read".into()), ("id", id.into())]).into()
    });
    prop_oneof![6 => function, 1 => bare, 1 => json()]
}

fn object(fields: Vec<(&'static str, Json)>) -> Json {
    fields.into_iter().collect::<Object>().into()
}

/// A part of any kind, as a stream leaves it or in a form that no program writes.
fn part() -> impl Strategy<Value = Json> {
    let state = select(vec![
        "input-streaming",
        "input-available",
        "approval-requested",
        "output-available",
        "output-error",
        "output-denied",
    ]);
    let kind = select(vec!["tool-Read", "tool-Read", "tool-", "dynamic-tool"]);
    let extra = option::weighted(0.2, select(vec!["approval", "callProviderMetadata", "toolName"]));
    let tool = (kind, call_id(), state, json(), json(), text(), extra).prop_map(
        |(kind, id, state, input, output, error, extra)| {
            let mut fields = vec![
                ("type", kind.into()),
                ("toolCallId", id.into()),
                ("state", state.into()),
                ("input", input),
            ];
            match state {
                "output-available" => fields.push(("output", output)),
                "output-error" => fields.push(("errorText", error.into())),
                _ => {}
            }
            fields.extend(extra.map(|key| (key, Json::from("x"))));
            object(fields)
        },
    );
    let said = (text(), option::of(select(vec!["done", "streaming"]))).prop_map(|(text, state)| {
        let mut fields = vec![("type", "text".into()), ("text", text.into())];
        fields.extend(state.map(|state| ("state", Json::from(state))));
        object(fields)
    });
    let other = select(vec![
        r#"{"type":"reasoning","text":"hm","providerMetadata":{"x":{"signature":"s"}}}"#,
        r#"{"type":"file","mediaType":"image/png","url":"data:,"}"#,
        r#"{"type":"data-message","data":{"id":"stolen","metadata":1,"parts":null}}"#,
        r#"{"type":"data-message"}"#,
        r#"{"type":"source-url","sourceId":"s","url":"u"}"#,
        r#"{"type":"step-start","x":1}"#,
        "null",
        "7",
    ])
    .prop_map(|part| Json::parse(part).unwrap());
    let start = Just(object(vec![("type", "step-start".into())]));
    prop_oneof![4 => tool, 2 => said, 2 => start, 2 => other]
}

fn content() -> impl Strategy<Value = Json> {
    prop_oneof![3 => text().prop_map(Json::from), 2 => vec(part(), 0..4).prop_map(Json::from), 2 => json()]
}

fn message_entry() -> impl Strategy<Value = ContextEntry> {
    use EntryRole::{Assistant, Developer, System, Tool, User};
    let role = select(vec![System, User, Assistant, Assistant, Assistant, Tool, Tool, Developer]);
    let flag = || proptest::bool::weighted(0.15);
    let name = select(vec!["Read", "other"]).prop_map(str::to_owned);
    let other = option::weighted(0.15, (select(vec!["x", "metadata"]), json()));
    let fields = (role, content(), option::of(call_id()), option::of(name), other);
    let more = (option::of(vec(call(), 0..3)), flag(), flag(), flag());
    (fields, more).prop_map(|(fields, more)| {
        let (role, content, tool_call_id, tool_name, other) = fields;
        let (tool_calls, is_error, is_meta, compacted) = more;
        let is_tool = role == Tool;
        let mut entry = MessageEntry::new("", "t", role, content);
        entry.tool_call_id = tool_call_id.filter(|_| is_tool);
        entry.tool_name = tool_name.filter(|_| is_tool);
        entry.tool_calls = tool_calls.filter(|_| role == Assistant || is_meta);
        (entry.is_error, entry.is_meta, entry.compacted) = (is_error, is_meta, compacted);
        entry.other = other.into_iter().collect();
        entry.into()
    })
}

fn event_entry() -> impl Strategy<Value = ContextEntry> {
    json().prop_map(|data| {
        EventEntry {
            id: String::new(),
            ts: "t".into(),
            event: "noted".into(),
            data: Object::from([("data", data)]),
            ref_msg_id: None,
            other: Object::new(),
        }
        .into()
    })
}

/// Entries with ids of their own, as a conversation has them.
fn some_entries() -> impl Strategy<Value = Vec<ContextEntry>> {
    vec(prop_oneof![6 => message_entry(), 1 => event_entry()], 0..9).prop_map(|mut entries| {
        for (at, entry) in entries.iter_mut().enumerate() {
            match entry {
                ContextEntry::Message(message) => message.id = format!("m{at:03}"),
                ContextEntry::Event(event) => event.id = format!("e{at:03}"),
            }
        }
        entries
    })
}

fn some_view() -> impl Strategy<Value = Vec<UiMessage>> {
    let id = option::weighted(0.9, select(vec!["m001", "m002", "e001", "x", ""]));
    let role = select(vec!["user", "assistant", "assistant", "assistant", "system", "robot"]);
    let metadata = option::weighted(
        0.3,
        select(vec![
            "{}",
            "null",
            "7",
            r#"{"userId":7}"#,
            r#"{"conversation":{"entries":[]}}"#,
            r#"{"conversation":{"entries":[{"id":"m001","ts":"t"}]}}"#,
        ]),
    );
    let message = (id, role, option::weighted(0.9, vec(part(), 0..6)), metadata, any::<bool>());
    let message = message.prop_map(|(id, role, parts, metadata, has_more)| {
        let mut fields = Object::new();
        fields.set_or_remove("id", id.map(Json::from));
        fields.set("role", role);
        fields.set_or_remove("metadata", metadata.map(|text| Json::parse(text).unwrap()));
        fields.set_or_remove("parts", parts.map(Json::from));
        fields.set_or_remove("more", has_more.then(|| 1.0.into()));
        UiMessage::from_json(fields.into()).unwrap()
    });
    vec(message, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn entries_to_view_to_entries_is_the_identity(entries in some_entries()) {
        let view = to_view(&entries);
        prop_assert_eq!(lines(&to_entries(&view, NOW)), lines(&entries));
    }

    #[test]
    fn view_to_entries_to_view_is_equal(view in some_view()) {
        let entries = to_entries(&view, NOW);
        let again = to_view(&entries);
        prop_assert_eq!(again.len(), view.len());
        for (again, message) in again.iter().zip(&view) {
            // The generator makes records that happen to be right; such a message comes back with it.
            prop_assert!(again == message || without_record(again) == *message, "{again}\n{message}");
        }
        // And with its record it is as good as the entries.
        prop_assert_eq!(lines(&to_entries(&again, NOW)), lines(&entries));
    }

    #[test]
    fn a_line_written_and_read_is_the_same_entry(entries in some_entries()) {
        for entry in entries {
            prop_assert_eq!(ContextEntry::parse(&entry.to_string()).unwrap().to_string(), entry.to_string());
        }
    }
}
