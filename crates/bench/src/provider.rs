//! Requests and answers: what it costs to compile a request, and to read an answer that comes in one piece.
//!
//! A request is compiled for every step of a run, so a millisecond is the limit, in time of the processor.
//! Beside it stands what a window eight times as long costs, and an event eight times as large.

use std::hint::black_box;

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_provider::wire::{Format, Parameters};
use ship_provider::{CompileTarget, HostForms, Request, SendFiles, ToolSpec, compile, read_answer};

use crate::processor::best_time_of;
use crate::report::{Report, Want};

const MESSAGES: usize = 30;
const COMPILE_MS_MAX: f64 = 1.0;
const MODEL: &str = "m";

/// What an Ethernet packet brings.
const PIECE_BYTES: usize = 1460;
const EVENT_BYTES: usize = 512 * 1024;

/// Measures compiling and reading.
pub fn bench(report: &mut Report) {
    report.section("Requests: a window of 30 messages, compiled, in ms");
    let formats = [("OpenAI", Format::OpenAi), ("Anthropic", Format::Anthropic)];
    let mut growths = Vec::new();
    for (name, format) in formats {
        let [(time, bytes), (long, _)] =
            [MESSAGES, 8 * MESSAGES].map(|messages| compiled(messages, format));
        report.note(&format!("{} KB for {name}", bytes / 1000));
        report.ratio(name, time * 1e3, Want::AtMost(COMPILE_MS_MAX));
        growths.push((name, long / time / 8.0));
    }
    report.section("Requests: cost of a window eight times as long, by its length");
    for (name, growth) in growths {
        report.ratio(name, growth, Want::AtMost(2.0));
    }
    report.section("Answers: cost by the byte of an event of 4 MB beside one of 0.5 MB");
    for (name, format) in formats {
        let [small, large] =
            [EVENT_BYTES, 8 * EVENT_BYTES].map(|bytes| read(&answer(bytes, format), format));
        report.note(&format!("{:.1} ms for 4 MB from {name}", large * 1e3));
        report.ratio(name, large / small / 8.0, Want::AtMost(2.0));
    }
}

/// The seconds that it takes to compile a window, and how large the body is.
fn compiled(messages: usize, format: Format) -> (f64, usize) {
    let provider = format.name();
    let view: Vec<UiMessage> = (0..messages).map(|number| message(number, provider)).collect();
    let system = ["You are a shipmate.\n".repeat(40), "Today is Sunday.".to_owned()];
    let tools: Vec<ToolSpec> = (0..8).map(tool).collect();
    let request = Request { system: &system, view: &view, tools: &tools, max_tokens: 8_192 };
    let parameters = Parameters {
        max_tokens: Some(8_192),
        stream: true,
        cache_marks: true,
        ..Parameters::new(MODEL)
    };
    let target = CompileTarget {
        format,
        provider,
        files: SendFiles::Yes,
        forms: HostForms::default(),
        parameters,
    };
    let bytes = compile(&request, &target).map_or(0, |body| body.len());
    assert!(bytes > messages * 2_000, "nothing of a window is left out");
    let time = best_time_of(|| {
        black_box(compile(black_box(&request), &target).ok());
    });
    (time, bytes)
}

fn tool(number: usize) -> ToolSpec {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    ToolSpec {
        name: format!("tool_{number}"),
        description: "Reads a file of the project, whole or from a line on.".to_owned(),
        input_schema: Json::parse(schema).unwrap_or_default(),
    }
}

/// Questions and answers by turns; an answer has thought, called two tools and said something.
fn message(number: usize, provider: &str) -> UiMessage {
    let id = format!("m{number}");
    if number.is_multiple_of(2) {
        let text = format!("Please look at file {number} and tell me what it does. ").repeat(4);
        return UiMessage::new(id, Role::User, vec![UiPart::text(text)]);
    }
    let step = || UiPart::from_json(object([("type", "step-start".into())]));
    let thought = |text: String| {
        let own = [("provider", provider), ("model", MODEL), ("field", "reasoning_content")];
        let signed = object([("signature", "c2lnbmF0dXJl".into())]);
        UiPart::from_json(object([
            ("type", "reasoning".into()),
            ("text", text.into()),
            (
                "providerMetadata",
                object([("ship", Object::from(own).into()), ("anthropic", signed)]),
            ),
        ]))
    };
    let parts = vec![
        step(),
        thought("The person wants to know what the file does. ".repeat(8)),
        call(number, "a"),
        call(number, "b"),
        step(),
        UiPart::text(format!("File {number} opens a socket and waits for a word. ").repeat(12)),
    ];
    UiMessage::new(id, Role::Assistant, parts)
}

/// A call with two kilobytes of result.
fn call(number: usize, which: &str) -> UiPart {
    let line = "    let socket = listener.accept(\"now\")?;\n";
    UiPart::from_json(object([
        ("type", "tool-tool_1".into()),
        ("toolCallId", format!("call_{number}_{which}").into()),
        ("state", "output-available".into()),
        ("input", object([("path", format!("src/file{number}.rs").into())])),
        ("output", object([("text", line.repeat(48).into()), ("lines", 48u64.into())])),
    ]))
}

fn object<const N: usize>(fields: [(&'static str, Json); N]) -> Json {
    Json::Object(Object::from(fields))
}

/// An answer whose text is one event.
fn answer(bytes: usize, format: Format) -> String {
    let text = "x".repeat(bytes);
    match format {
        Format::OpenAi => format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}\n\n\
             data: [DONE]\n\n"
        ),
        Format::Anthropic => format!(
            "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n\
             data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n\
             data: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
             data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}}}}\n\n\
             data: {{\"type\":\"message_stop\"}}\n\n"
        ),
    }
}

/// The seconds that it takes to read an answer.
fn read(answer: &str, format: Format) -> f64 {
    best_time_of(|| {
        let chunks = read_answer(format, black_box(answer.as_bytes()), PIECE_BYTES);
        assert_eq!(chunks.map(|chunks| chunks.len()), Some(3), "a beginning, the text and an end");
    })
}
