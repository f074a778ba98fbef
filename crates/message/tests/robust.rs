//! Whatever comes in: no panic, nothing lost, and time in proportion to size.

use proptest::prelude::*;
use ship_message::json::{Array, Json, Object};
use ship_message::{
    Assembler, Chunk, ConvertOptions, ModelMessage, PruneOptions, PruneReasoning, PruneScope,
    PruneToolCalls, UiMessage, UiPart, ValidateOptions, convert_to_model_messages, prune_messages,
    validate_ui_messages,
};

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<f64>().prop_map(Json::Number),
        any::<String>().prop_map(Json::from),
        prop::sample::select(WORDS).prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec((prop::sample::select(KEYS), inner), 0..10)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

/// Values that mean something somewhere, so that random JSON comes near to messages.
const WORDS: &[&str] = &[
    "user",
    "assistant",
    "system",
    "tool",
    "text",
    "reasoning",
    "file",
    "source-url",
    "source-document",
    "step-start",
    "data-x",
    "tool-w",
    "dynamic-tool",
    "streaming",
    "done",
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
    "start",
    "start-step",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-available",
    "tool-input-error",
    "tool-approval-request",
    "tool-output-available",
    "tool-output-error",
    "tool-output-denied",
    "message-metadata",
    "finish-step",
    "finish",
    "abort",
    "error",
    "stop",
    "id",
    "c1",
    "tool-call",
    "tool-result",
    "tool-approval-response",
    "image",
    "json",
    "{\"a\":[1,",
    "😀",
];

const KEYS: &[&str] = &[
    "id",
    "role",
    "parts",
    "metadata",
    "type",
    "text",
    "state",
    "providerMetadata",
    "mediaType",
    "url",
    "filename",
    "sourceId",
    "title",
    "data",
    "toolCallId",
    "toolName",
    "input",
    "output",
    "errorText",
    "rawInput",
    "inputEncoding",
    "approval",
    "approved",
    "reason",
    "signature",
    "inputSchemaInput",
    "preliminary",
    "providerExecuted",
    "callProviderMetadata",
    "resultProviderMetadata",
    "toolMetadata",
    "dynamic",
    "delta",
    "inputTextDelta",
    "messageId",
    "messageMetadata",
    "finishReason",
    "approvalId",
    "transient",
    "content",
    "providerOptions",
    "__proto__",
    "constructor",
    "0",
];

/// A part with the fields of its type, each right, wrong or missing.
fn near_part() -> impl Strategy<Value = Json> {
    let field = (prop::sample::select(KEYS), any_json());
    let kind = prop::sample::select(WORDS);
    (kind, prop::collection::vec(field, 0..8), prop::sample::select(WORDS)).prop_map(
        |(kind, fields, state)| {
            let mut object = Object::from([("type", kind), ("state", state)]);
            for (key, value) in fields.into_iter().filter(|(key, _)| *key != "type") {
                object.set(key, value);
            }
            Json::Object(object)
        },
    )
}

pub(crate) fn near_message() -> impl Strategy<Value = Json> {
    let role = prop::sample::select(&["user", "assistant", "system", "tool"][..]);
    (role, prop::collection::vec(prop_oneof![8 => near_part(), 1 => any_json()], 0..6)).prop_map(
        |(role, parts)| {
            Json::Object(Object::from([
                ("id", Json::from("m")),
                ("role", role.into()),
                ("parts", parts.into()),
            ]))
        },
    )
}

/// Does with messages everything that can be done with them.
fn use_messages(messages: Vec<Json>) {
    let _ = validate_ui_messages(messages.clone().into(), &ValidateOptions::default());
    let ui: Vec<UiMessage> =
        messages.into_iter().filter_map(|json| UiMessage::from_json(json).ok()).collect();
    for ignore_incomplete_tool_calls in [false, true] {
        let options = ConvertOptions { ignore_incomplete_tool_calls, ..ConvertOptions::default() };
        if let Ok(model) = convert_to_model_messages(&ui, &options) {
            use_model(model);
        }
    }
    // One by one as well, so that one bad message does not hide the others.
    for message in &ui {
        let one = std::slice::from_ref(message);
        if let Ok(model) = convert_to_model_messages(one, &ConvertOptions::default()) {
            use_model(model);
        }
    }
}

fn use_model(model: Vec<ModelMessage<'_>>) {
    for message in &model {
        let text = message.to_string();
        let json = Json::parse(&text).unwrap();
        assert_eq!(ModelMessage::from_json(json).unwrap().to_string(), text);
    }
    let rule = PruneToolCalls { scope: PruneScope::BeforeLast(1), tools: None };
    let options = PruneOptions {
        reasoning: PruneReasoning::BeforeLastMessage,
        tool_calls: vec![rule],
        ..PruneOptions::default()
    };
    let before = model.len();
    assert!(prune_messages(model, &options).len() <= before);
}

proptest! {
    #[test]
    fn no_json_makes_a_message_panic(values in prop::collection::vec(any_json(), 0..4)) {
        use_messages(values);
    }

    #[test]
    fn no_near_message_makes_anything_panic(messages in prop::collection::vec(near_message(), 0..4)) {
        use_messages(messages);
    }

    #[test]
    fn any_message_read_and_written_again_is_the_same_text(message in near_message()) {
        let text = message.to_string();
        prop_assert_eq!(UiMessage::parse(&text).unwrap().to_string(), text);
    }

    #[test]
    fn no_chunk_makes_the_assembler_panic(
        chunks in prop::collection::vec(prop_oneof![6 => near_part(), 1 => any_json()], 0..24),
        last in prop::option::of(near_message()),
    ) {
        let last = last.and_then(|last| UiMessage::from_json(last).ok());
        let mut assembler = Assembler::new("id", last);
        for chunk in chunks {
            // A chunk that is refused leaves the assembler usable.
            if let Ok(chunk) = Chunk::from_json(chunk) {
                let text = chunk.clone().into_json();
                prop_assert_eq!(Chunk::from_json(text).unwrap(), chunk.clone());
                let _ = assembler.push(chunk);
            }
        }
        let message = assembler.into_message().to_string();
        prop_assert_eq!(UiMessage::parse(&message).unwrap().to_string(), message);
    }
}

fn nested(depth: usize) -> Json {
    let mut value = Json::Null;
    for _ in 0..depth {
        value = Json::Array(Array::from(vec![value]));
    }
    value
}

#[test]
fn nesting_deeper_than_any_stack_goes_through_everything() {
    let tool = Object::from([
        ("type", Json::from("tool-w")),
        ("toolCallId", "c1".into()),
        ("state", "output-available".into()),
        ("input", nested(300_000)),
        ("output", nested(300_000)),
        (
            "callProviderMetadata",
            Json::Object(Object::from([("p", Object::from([("k", nested(300_000))]))])),
        ),
    ]);
    let message = Json::Object(Object::from([
        ("id", Json::from("m")),
        ("role", "assistant".into()),
        ("metadata", nested(300_000)),
        ("parts", vec![Json::Object(tool)].into()),
    ]));
    let text = message.to_string();
    assert_eq!(UiMessage::parse(&text).unwrap().to_string(), text);
    let valid = validate_ui_messages(vec![message].into(), &ValidateOptions::default()).unwrap();
    let model = convert_to_model_messages(&valid, &ConvertOptions::default()).unwrap();
    assert!(model.iter().map(|message| message.to_string().len()).sum::<usize>() > 1_200_000);
}

#[test]
fn metadata_nested_deeper_than_any_stack_is_merged() {
    let deep = |leaf: &str| {
        let text = format!("{}{leaf}{}", "{\"a\":".repeat(200_000), "}".repeat(200_000));
        Json::parse(&text).unwrap()
    };
    let mut assembler = Assembler::new("id", None);
    assembler.push(Chunk::MessageMetadata(deep("{\"x\":1}"))).unwrap();
    assembler.push(Chunk::MessageMetadata(deep("{\"y\":2}"))).unwrap();
    let merged = assembler.message().metadata().unwrap().to_string();
    assert!(merged.contains("{\"x\":1,\"y\":2}"));
}

#[test]
fn a_delta_cut_inside_a_character_is_joined_with_the_next() {
    let mut assembler = Assembler::new("id", None);
    for text in [
        r#"{"type":"text-start","id":"t"}"#,
        r#"{"type":"text-delta","id":"t","delta":"a\ud83d"}"#,
        r#"{"type":"text-delta","id":"t","delta":"\ude00b\ud83d"}"#,
        r#"{"type":"text-delta","id":"t","delta":"c"}"#,
        r#"{"type":"tool-input-start","toolCallId":"c","toolName":"w"}"#,
        r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"k\":\"\ud83d"}"#,
        r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"\ude00\"}"}"#,
    ] {
        assembler.push(Chunk::parse(text).unwrap()).unwrap();
    }
    let message = assembler.into_message();
    assert_eq!(message.text(), "a😀b\u{FFFD}c");
    let UiPart::Tool(tool) = &message.parts()[1] else { panic!("the second part is the call") };
    assert_eq!(tool.input().unwrap().to_string(), r#"{"k":"😀"}"#);
}

#[test]
fn a_tool_input_that_comes_in_a_hundred_thousand_pieces_is_read_once() {
    // Read anew at every delta, this would be ten thousand million characters.
    let mut assembler = Assembler::new("id", None);
    assembler
        .push(
            Chunk::parse(r#"{"type":"tool-input-start","toolCallId":"c","toolName":"w"}"#).unwrap(),
        )
        .unwrap();
    for i in 0..100_000 {
        let delta = if i == 0 { "[1" } else { ",1" };
        let chunk = Chunk::ToolInputDelta { call_id: "c".to_owned(), delta: delta.into() };
        assembler.push(chunk).unwrap();
    }
    let message = assembler.into_message();
    let UiPart::Tool(tool) = &message.parts()[0] else { panic!("the part is the call") };
    assert_eq!(tool.input().and_then(Json::as_array).unwrap().len(), 100_000);
}

#[test]
fn a_copy_that_is_changed_leaves_the_original_as_it_was() {
    let text = r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}],"x":1}"#;
    let original = UiMessage::parse(text).unwrap();
    let mut copy = original.clone();
    copy.set_id("m2");
    copy.parts_mut().push(UiPart::text("there"));
    assert_eq!(original.to_string(), text);
    assert_eq!((copy.id(), copy.text().as_str()), (Some("m2"), "hi\nthere"));
    assert_eq!(original.clone().into_json().to_string(), text, "it is shared");
}
