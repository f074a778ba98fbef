//! Tests what both readers promise for any input, however it is cut.

use std::fmt::Write as _;

use proptest::prelude::*;
use ship_message::json::Json;
use ship_message::{Assembler, Chunk, TextChunk};

use super::answer_draft::Origin;
use super::answer_fault::AnswerFault;
use super::api::Api;
use super::stream_reader::{ANSWER_BYTES_MAX, AnswerReceiver};
use crate::AnswerEnd;

/// Feeds bytes in pieces of `size`, then ends or breaks the connection.
pub(crate) fn feed(
    api: Api,
    bytes: &[u8],
    size: usize,
    ends: bool,
) -> (Vec<Chunk>, Result<AnswerEnd, AnswerFault>) {
    let origin = Origin { provider: api.name(), model: "m".to_owned(), serial: 7 };
    let mut receiver = AnswerReceiver::new(api.reader(origin));
    let mut chunks = Vec::new();
    for piece in bytes.chunks(size.max(1)) {
        match receiver.push(piece, &mut chunks) {
            Ok(None) => {}
            Ok(Some(answered)) => return (chunks, Ok(answered)),
            Err(fault) => return (chunks, Err(fault)),
        }
    }
    let ended = match ends {
        true => receiver.end(&mut chunks),
        false => receiver.end_broken(&mut chunks).ok_or(AnswerFault::Unfinished),
    };
    (chunks, ended)
}

/// Describes an answer in a few lines: its parts as in a message, and its end.
pub(crate) fn describe_answer(api: Api, text: &str) -> String {
    let (chunks, ended) = feed(api, text.as_bytes(), usize::MAX, true);
    let mut out = parts(chunks);
    match ended {
        Ok(AnswerEnd { finish_reason, usage }) => {
            write!(out, "end: {}", finish_reason.name()).unwrap();
            if let Some(usage) = usage {
                write!(out, " {}/{}/{}", usage.input, usage.cached, usage.output).unwrap();
            }
        }
        Err(AnswerFault::Reported(said)) => {
            write!(out, "said: {:?} {}", said.verdict(), said.message).unwrap();
        }
        Err(AnswerFault::Protocol(came) | AnswerFault::BadEvent(came)) => {
            write!(out, "protocol: {came}").unwrap()
        }
        Err(AnswerFault::Empty) => out.push_str("empty"),
        Err(AnswerFault::Unfinished) => out.push_str("unfinished"),
    }
    out
}

/// Lists the parts of the assembled chunks, one on each line.
fn parts(chunks: Vec<Chunk>) -> String {
    let mut assembler = Assembler::new("id", None);
    for chunk in chunks {
        assembler.push(chunk).unwrap();
    }
    let mut out = String::new();
    for part in assembler.into_message().parts() {
        let json = part.clone().into_json();
        let text = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default();
        let show = |key: &str| json.get(key).map(|value| format!(" {value}")).unwrap_or_default();
        match text("type") {
            "text" => write!(out, "text: {}", text("text")).unwrap(),
            "reasoning" => {
                write!(out, "reasoning: {}{}", text("text"), show("providerMetadata")).unwrap();
            }
            tool => {
                let state = text("state");
                let input = [show("input"), show("rawInput")].concat();
                let metadata = show("callProviderMetadata");
                write!(out, "{tool} {}: {state}{input}{metadata}", text("toolCallId")).unwrap();
            }
        }
        out.push('\n');
    }
    out
}

/// Generates some of everything that streams contain, right and wrong.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let event = prop_oneof![
        Just(r#"{"choices":[{"delta":{"content":"h\ud83d"}}]}"#),
        Just(r#"{"choices":[{"delta":{"content":"\ude00 你好"}}]}"#),
        Just(r#"{"choices":[{"delta":{"reasoning":"hm"}}]}"#),
        Just(
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}"#
        ),
        Just(
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}"#
        ),
        Just(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#),
        Just(r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#),
        Just(r#"{"error":{"message":"x","type":"server_error"}}"#),
        Just(
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
        ),
        Just(
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#
        ),
        Just(
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#
        ),
        Just(
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#
        ),
        Just(
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":""}}"#
        ),
        Just(
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"s"}}"#
        ),
        Just(r#"{"type":"content_block_stop","index":1}"#),
        Just(
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#
        ),
        Just(r#"{"type":"message_stop"}"#),
        Just("[DONE]"),
        Just("{broken"),
        Just("null"),
        Just("\u{0}"),
    ];
    let end = prop_oneof![Just("\n\n"), Just("\r\n\r\n"), Just("\r\r"), Just("\n"), Just("")];
    let line = prop_oneof![
        8 => (event, end).prop_map(|(data, end)| format!("data: {data}{end}").into_bytes()),
        1 => Just(b": ping\n\n".to_vec()),
        1 => Just(b"event: ping\ndata: {\"type\":\"ping\"}\n\n".to_vec()),
        1 => Just(b"\xff\xfe\n".to_vec()),
        1 => any::<Vec<u8>>(),
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn how_the_bytes_are_cut_changes_nothing(bytes in stream(), size in 1_usize..40) {
        for api in [Api::OpenAi, Api::Anthropic] {
            let (whole, ended) = feed(api, &bytes, usize::MAX, true);
            let (cut, cut_ended) = feed(api, &bytes, size, true);
            prop_assert_eq!(&whole, &cut);
            prop_assert_eq!(format!("{ended:?}"), format!("{cut_ended:?}"));
        }
    }

    #[test]
    fn whatever_comes_the_chunks_fit_and_calls_come_last_and_only_at_the_end(
        bytes in stream(),
        ends in any::<bool>(),
    ) {
        for api in [Api::OpenAi, Api::Anthropic] {
            let (chunks, ended) = feed(api, &bytes, 16, ends);
            let is_call = |chunk: &Chunk| {
                matches!(chunk, Chunk::ToolInputAvailable { .. } | Chunk::ToolInputError { .. })
            };
            let first_call = chunks.iter().position(is_call).unwrap_or(chunks.len());
            prop_assert!(chunks[first_call..].iter().all(is_call));
            prop_assert!(ended.is_ok() || first_call == chunks.len());
            let mut assembler = Assembler::new("id", None);
            for chunk in chunks {
                prop_assert_eq!(assembler.push(chunk), Ok(()));
            }
        }
    }

    #[test]
    fn no_bytes_whatever_make_it_panic(bytes in any::<Vec<u8>>(), text in "\\PC*") {
        for api in [Api::OpenAi, Api::Anthropic] {
            feed(api, &bytes, 5, true).1.ok();
            let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{}}}}}]}}\n\n", Json::from(text.as_str()));
            let (chunks, _) = feed(api, event.as_bytes(), 3, false);
            if api == Api::OpenAi && !text.is_empty() {
                let delta = Chunk::TextDelta(
                    TextChunk { id: "0".to_owned(), provider_metadata: None },
                    text.as_str().into(),
                );
                prop_assert_eq!(chunks.last(), Some(&delta));
            }
        }
    }
}

#[test]
fn what_is_no_answer_is_told_apart_by_how_it_begins() {
    for api in [Api::OpenAi, Api::Anthropic] {
        assert_eq!(describe_answer(api, ""), "empty");
        assert_eq!(describe_answer(api, "\u{feff} \r\n\n"), "empty");
        assert_eq!(
            describe_answer(api, "\n<!doctype html><p>hi"),
            "protocol: an HTML page, not an answer"
        );
        assert_eq!(describe_answer(api, "{\"a\":1}"), "protocol: JSON without an answer");
        assert!(
            describe_answer(api, "{\"a\":1").starts_with("protocol: text that begins like JSON")
        );
        assert_eq!(
            describe_answer(api, "upstream reset\n"),
            "protocol: text that is neither an event stream nor JSON"
        );
        assert_eq!(describe_answer(api, ": PROCESSING\n\n: PROCESSING\n\n"), "unfinished");
        assert_eq!(
            describe_answer(api, "data: {oops\n\n"),
            "protocol: an event whose data is not JSON: expected a key in quotes at byte 1"
        );
        // Half an event at the end is a cut and not nonsense.
        assert_eq!(describe_answer(api, "data: {\"choi"), "unfinished");
    }
}

#[test]
fn an_answer_without_end_is_ended() {
    let origin = Origin { provider: "openai", model: "m".to_owned(), serial: 7 };
    let mut receiver = AnswerReceiver::new(Api::OpenAi.reader(origin));
    let comments = b": ping\n\n".repeat(1 << 17);
    let mut chunks = Vec::new();
    let pieces = ANSWER_BYTES_MAX / comments.len();
    for _ in 0..pieces {
        assert!(receiver.push(&comments, &mut chunks).unwrap().is_none());
    }
    assert!(matches!(receiver.push(&comments, &mut chunks), Err(AnswerFault::Protocol(_))));
}

#[test]
fn only_events_that_carry_something_are_progress() {
    let progress = |api: Api, events: &[&str]| {
        let origin = Origin { provider: api.name(), model: "m".to_owned(), serial: 7 };
        let mut receiver = AnswerReceiver::new(api.reader(origin));
        let push = |event: &&str| {
            let text = format!("data: {event}\n\n");
            receiver.push(text.as_bytes(), &mut Vec::new()).unwrap();
            receiver.progress()
        };
        events.iter().map(push).collect::<Vec<_>>()
    };
    let role = r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#;
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a"}]}}]}"#;
    let empty_call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":""}}]}}]}"#;
    let text = r#"{"choices":[{"delta":{"content":"<"}}]}"#;
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":3}}"#;
    let other = r#"{"choices":[{"delta":{"reasoning_details":[{"text":"a"}]}}]}"#;
    let no_other = r#"{"choices":[{"delta":{"reasoning_details":[],"audio":null}}]}"#;
    let events =
        [role, role, call, empty_call, text, other, no_other, end, end, usage, usage, "{}"];
    assert_eq!(progress(Api::OpenAi, &events), [1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 6]);
    let start = r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#;
    let empty = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":""}}"#;
    let text = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#;
    let ping = r#"{"type":"ping"}"#;
    let citation =
        r#"{"type":"content_block_delta","delta":{"type":"citations_delta","citation":{}}}"#;
    let events = [r#"{"type":"message_start"}"#, ping, start, empty, text, ping, "{}", citation];
    assert_eq!(progress(Api::Anthropic, &events), [1, 1, 2, 2, 3, 3, 3, 4]);
}
