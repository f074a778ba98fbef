//! A message can be taken apart into chunks, at any time, and is assembled again from them.

use proptest::prelude::*;
use ship_message::json::Json;
use ship_message::{Assembler, Chunk, Role, UiMessage, UiPart, chunks_of};

use crate::random_message::message;
use crate::random_stream::stream;
use crate::robust::near_message;

/// Assembles chunks that have been sent as JSON.
fn assemble(chunks: Vec<Chunk>) -> Assembler {
    let mut assembler = Assembler::new("none", None);
    for chunk in chunks {
        assembler.push(Chunk::from_json(chunk.into_json()).unwrap()).unwrap();
    }
    assembler
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_chunks_of_a_message_make_the_message(message in message()) {
        prop_assert_eq!(assemble(chunks_of(&message)).into_message(), message);
    }

    #[test]
    fn the_first_version_6_knows_every_key_except_those_for_values_that_it_does_not_have(
        message in message(),
    ) {
        for chunk in chunks_of(&without_newer_values(message)) {
            let chunk = chunk.into_json();
            let kind = chunk.get("type").and_then(Json::as_str).unwrap();
            let known = keys_of_6_0_0(kind);
            let keys = chunk.as_object().unwrap().keys();
            let unknown: Vec<&str> = keys.filter(|key| !known.contains(key)).collect();
            prop_assert_eq!(unknown, [] as [&str; 0], "{}", chunk);
        }
    }

    #[test]
    fn chunks_of_anything_fit_together_and_lose_nothing_the_second_time(message in near_message()) {
        let message = UiMessage::from_json(message).unwrap();
        let mut once = Assembler::new("m", None);
        for chunk in chunks_of(&message) {
            once.push(chunk).unwrap();
        }
        let once = once.into_message();
        let mut twice = Assembler::new("m", None);
        for chunk in chunks_of(&once) {
            twice.push(chunk).unwrap();
        }
        prop_assert_eq!(twice.into_message(), once);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_late_subscriber_assembles_what_the_first_did_wherever_it_joins(
        last in prop::option::of(message()),
        chunks in stream(),
    ) {
        let mut trial = Assembler::new("new", last.clone());
        let chunks = chunks.into_iter().map(|chunk| Chunk::from_json(chunk).unwrap());
        // A chunk that does not fit is sent to no subscriber.
        let sent: Vec<Chunk> =
            chunks.filter(|chunk| trial.push(chunk.clone()).is_ok()).collect();
        let first = |sent: &[Chunk]| {
            let mut first = Assembler::new("new", last.clone());
            sent.iter().for_each(|chunk| first.push(chunk.clone()).unwrap());
            first
        };
        let whole = first(&sent).into_message();
        for cut in 0..=sent.len() {
            let mut before = first(&sent[..cut]);
            let mut late = assemble(before.chunks());
            prop_assert_eq!(late.message(), before.message(), "joined before {}", cut);
            for chunk in &sent[cut..] {
                prop_assert_eq!(late.push(chunk.clone()), Ok(()), "joined before {}", cut);
            }
            prop_assert_eq!(late.message(), &whole, "joined before {}", cut);
        }
    }
}

/// The keys of chunks in `ai` 6.0.0, which refuses a chunk with any other.
fn keys_of_6_0_0(kind: &str) -> &'static [&'static str] {
    match kind {
        "start" => &["type", "messageId", "messageMetadata"],
        "start-step" | "finish-step" => &["type"],
        "text-start" | "text-end" | "reasoning-start" | "reasoning-end" => {
            &["type", "id", "providerMetadata"]
        }
        "text-delta" | "reasoning-delta" => &["type", "id", "delta", "providerMetadata"],
        "tool-input-start" => {
            &["type", "toolCallId", "toolName", "providerExecuted", "dynamic", "title"]
        }
        "tool-input-delta" => &["type", "toolCallId", "inputTextDelta"],
        "tool-input-available" => &[
            "type",
            "toolCallId",
            "toolName",
            "input",
            "providerExecuted",
            "providerMetadata",
            "dynamic",
            "title",
        ],
        "tool-input-error" => &[
            "type",
            "toolCallId",
            "toolName",
            "input",
            "errorText",
            "providerExecuted",
            "providerMetadata",
            "dynamic",
            "title",
        ],
        "tool-approval-request" => &["type", "approvalId", "toolCallId"],
        "tool-output-available" => {
            &["type", "toolCallId", "output", "providerExecuted", "dynamic", "preliminary"]
        }
        "tool-output-error" => &["type", "toolCallId", "errorText", "providerExecuted", "dynamic"],
        "tool-output-denied" => &["type", "toolCallId"],
        "source-url" => &["type", "sourceId", "url", "title", "providerMetadata"],
        "source-document" => {
            &["type", "sourceId", "mediaType", "title", "filename", "providerMetadata"]
        }
        "file" => &["type", "url", "mediaType", "providerMetadata"],
        kind if kind.starts_with("data-") => &["type", "id", "data", "transient"],
        _ => &[],
    }
}

/// Removes the values that `ai` 6.0.0 does not have.
fn without_newer_values(message: UiMessage) -> UiMessage {
    let mut parts: Vec<Json> =
        message.parts().iter().map(|part| part.clone().into_json()).collect();
    for part in parts.iter_mut().filter_map(Json::as_object_mut) {
        // Without a complete input, the metadata of the call would stand in `tool-input-start`.
        let is_complete = part.has("input") && !part.has("rawInput");
        part.retain(|key, _| match key {
            "toolMetadata" | "inputEncoding" | "resultProviderMetadata" => false,
            "callProviderMetadata" => is_complete,
            _ => true,
        });
        if let Some(approval) = part.get_mut("approval").and_then(Json::as_object_mut) {
            approval.retain(|key, _| key == "id");
        }
    }
    UiMessage::new("m1", Role::Assistant, parts.into_iter().map(UiPart::from_json).collect())
}

/// Returns the parts that come of these parts when they are streamed.
fn streamed(parts: &str) -> String {
    let message = format!(r#"{{"id":"m1","role":"assistant","parts":{parts}}}"#);
    let again = assemble(chunks_of(&UiMessage::parse(&message).unwrap())).into_message();
    again.into_object().remove("parts").unwrap().to_string()
}

#[test]
fn what_a_stream_cannot_express_is_left_out_or_as_near_as_possible() {
    for (part, expected) in [
        // An approved call needed no approval; a denied one is denied.
        (
            r#"{"type":"tool-w","toolCallId":"c","state":"approval-responded","input":1,"approval":{"id":"a","approved":true}}"#,
            r#"{"type":"tool-w","toolCallId":"c","state":"input-available","input":1}"#,
        ),
        (
            r#"{"type":"tool-w","toolCallId":"c","state":"output-available","input":1,"output":2,"approval":{"id":"a","approved":true,"reason":"r"}}"#,
            r#"{"type":"tool-w","toolCallId":"c","state":"output-available","input":1,"output":2}"#,
        ),
        (
            r#"{"type":"tool-w","toolCallId":"c","state":"approval-responded","input":1,"approval":{"id":"a","approved":false}}"#,
            r#"{"type":"tool-w","toolCallId":"c","state":"output-denied","input":1,"approval":{"id":"a"}}"#,
        ),
        (
            r#"{"type":"tool-w","toolCallId":"c","state":"output-denied","input":1,"approval":{"id":"a","approved":false,"reason":"r"}}"#,
            r#"{"type":"tool-w","toolCallId":"c","state":"output-denied","input":1,"approval":{"id":"a"}}"#,
        ),
        (
            r#"{"type":"file","mediaType":"a/b","url":"u","filename":"f"}"#,
            r#"{"type":"file","mediaType":"a/b","url":"u"}"#,
        ),
        (r#"{"type":"text","text":"hi"}"#, r#"{"type":"text","text":"hi","state":"done"}"#),
        (
            r#"{"type":"reasoning","text":"hi"}"#,
            r#"{"type":"reasoning","id":"0","text":"hi","state":"done"}"#,
        ),
        // An input of which only the value is known gets a text.
        (
            r#"{"type":"tool-w","toolCallId":"c","state":"input-streaming","input":{"a":1}}"#,
            r#"{"type":"tool-w","toolCallId":"c","state":"input-streaming","input":{"a":1},"rawInput":"{\"a\":1}"}"#,
        ),
        (
            r#"{"type":"dynamic-tool","toolName":"w","dynamic":false,"toolCallId":"c","state":"output-error","rawInput":"{","errorText":"e"}"#,
            r#"{"type":"dynamic-tool","toolName":"w","toolCallId":"c","state":"output-error","input":"{","errorText":"e"}"#,
        ),
        (
            r#"{"type":"tool-w","toolCallId":"c","state":"output-error","input":1,"rawInput":"x","errorText":"e"}"#,
            r#"{"type":"tool-w","toolCallId":"c","state":"output-error","input":1,"errorText":"e"}"#,
        ),
        (
            r#"{"type":"text","text":"hi","state":"done","providerMetadata":null,"x":1}"#,
            r#"{"type":"text","text":"hi","state":"done"}"#,
        ),
        (r#"{"type":"data-x","data":1,"transient":true}"#, r#"{"type":"data-x","data":1}"#),
        (r#"{"type":"steering-message","text":"x"}"#, ""),
        (r#"{"type":"source-url","url":"u"}"#, ""),
        (r#"{"type":"tool-w","state":"input-available","input":1}"#, ""),
    ] {
        let [part, expected] = [part, expected].map(|part| format!("[{part}]"));
        let parts = Json::parse(&streamed(&part)).unwrap();
        assert_eq!(parts, Json::parse(&expected).unwrap(), "{part}");
    }
}

#[test]
fn a_second_call_with_the_id_of_another_leaves_the_first_as_it_is() {
    let first =
        r#"{"type":"tool-w","toolCallId":"c","state":"output-available","input":1,"output":2}"#;
    let second = r#"{"type":"dynamic-tool","toolName":"v","toolCallId":"c","state":"output-error","input":3,"errorText":"e"}"#;
    assert_eq!(streamed(&format!("[{first},{second}]")), format!("[{first}]"));
}

#[test]
fn a_text_of_a_step_that_never_ended_goes_on_for_a_late_subscriber_too() {
    let mut first = Assembler::new("m1", None);
    let open = [r#"{"type":"start-step"}"#, r#"{"type":"text-start","id":"t"}"#];
    for chunk in [open[0], open[1], open[0]] {
        first.push(Chunk::parse(chunk).unwrap()).unwrap();
    }
    let delta = Chunk::parse(r#"{"type":"text-delta","id":"t","delta":"hi"}"#).unwrap();
    assert_eq!(assemble(first.chunks()).push(delta), Ok(()));
}

#[test]
fn chunks_have_the_order_of_the_sdk_itself() {
    let message = r#"{"id":"m1","role":"assistant","metadata":{"k":1},"parts":[
        {"type":"step-start"},
        {"type":"reasoning","id":"r","text":"Need weather.","state":"done","providerMetadata":{"p":{"signature":"s"}}},
        {"type":"tool-weather","toolCallId":"c1","state":"output-available","input":{"city":"A"},"output":"sunny"},
        {"type":"tool-weather","toolCallId":"c2","state":"output-error","rawInput":"{\"city\": ","errorText":"bad"},
        {"type":"tool-pay","toolCallId":"c3","state":"approval-requested","input":{},"approval":{"id":"a3"}},
        {"type":"tool-pay","toolCallId":"c4","state":"output-denied","input":{},"approval":{"id":"a4","approved":false}},
        {"type":"step-start"},
        {"type":"text","text":"Sunny.","state":"streaming"}]}"#;
    let chunks = chunks_of(&UiMessage::parse(message).unwrap());
    let chunks: Vec<String> =
        chunks.into_iter().map(|chunk| chunk.into_json().to_string()).collect();
    assert_eq!(
        chunks,
        [
            r#"{"type":"start","messageId":"m1","messageMetadata":{"k":1}}"#,
            r#"{"type":"start-step"}"#,
            r#"{"type":"reasoning-start","id":"r","providerMetadata":{"p":{"signature":"s"}}}"#,
            r#"{"type":"reasoning-delta","id":"r","delta":"Need weather."}"#,
            r#"{"type":"reasoning-end","id":"r"}"#,
            r#"{"type":"tool-input-available","toolCallId":"c1","toolName":"weather","input":{"city":"A"}}"#,
            r#"{"type":"tool-input-error","toolCallId":"c2","toolName":"weather","input":"{\"city\": ","errorText":"bad"}"#,
            r#"{"type":"tool-input-available","toolCallId":"c3","toolName":"pay","input":{}}"#,
            r#"{"type":"tool-approval-request","approvalId":"a3","toolCallId":"c3"}"#,
            r#"{"type":"tool-input-available","toolCallId":"c4","toolName":"pay","input":{}}"#,
            r#"{"type":"tool-approval-request","approvalId":"a4","toolCallId":"c4"}"#,
            r#"{"type":"tool-output-available","toolCallId":"c1","output":"sunny"}"#,
            r#"{"type":"tool-output-denied","toolCallId":"c4"}"#,
            r#"{"type":"finish-step"}"#,
            r#"{"type":"start-step"}"#,
            r#"{"type":"text-start","id":"0"}"#,
            r#"{"type":"text-delta","id":"0","delta":"Sunny."}"#,
            r#"{"type":"finish-step"}"#,
        ]
    );
}
