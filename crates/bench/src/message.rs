//! Conversion and validation beside the npm package, on the same messages in the same run.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ship_message::json::{Json, Object};
use ship_message::{
    Assembler, Chunk, ConvertOptions, ToolChunk, UiMessage, ValidateOptions,
    convert_to_model_messages, validate_messages, validate_ui_messages,
};

use crate::report::{Report, Want};

const MESSAGES: usize = 10_000;
const ROUNDS: usize = 25;

/// Measures conversion and validation of the same messages, ours and the package's.
///
/// # Errors
/// When Node or the package is not there, or a file cannot be written.
pub fn bench(report: &mut Report) -> std::io::Result<()> {
    report.section("Messages: 10,000 of them, beside the npm package `ai`");
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("messages.json");
    let text = conversation();
    std::fs::write(&file, &text)?;
    let Some((their_convert, their_validate)) = npm(&file)? else {
        report
            .skipped("`node` or the package is missing: run `npm ci` in crates/message/tests/npm");
        return Ok(());
    };
    let Ok(Json::Array(list)) = Json::parse(&text) else { unreachable!("we wrote a list") };
    let messages: Vec<UiMessage> =
        list.into_vec().into_iter().filter_map(|json| UiMessage::from_json(json).ok()).collect();
    assert_eq!(messages.len(), MESSAGES);
    let convert = best(|| {
        let start = Instant::now();
        black_box(convert_to_model_messages(black_box(&messages), &ConvertOptions::default()).ok());
        start.elapsed()
    });
    let validate = best(|| {
        let copy = messages.clone();
        let start = Instant::now();
        let valid = validate_messages(black_box(copy), &ValidateOptions::default());
        let time = start.elapsed();
        assert!(black_box(valid).is_ok());
        time
    });
    report.note(&format!(
        "ours {convert:.2?} and {validate:.2?}, theirs {their_convert:.2?} and {their_validate:.2?}"
    ));
    report.ratio("convert, times faster", ratio(their_convert, convert), Want::AtLeast(20.0));
    report.ratio("validate, times faster", ratio(their_validate, validate), Want::AtLeast(20.0));
    Ok(())
}

/// Measures what an eightfold message costs: more than eightfold would not be linear.
pub fn bench_growth(report: &mut Report) {
    report.section("Messages: cost of a message eight times as large, for each part of it");
    type Make = fn(usize) -> String;
    let cases: [(&str, usize, Make); 4] = [
        ("a long text", 100_000, |n| one_message(&text("x\n\u{e9}😀".repeat(n)).to_string())),
        ("nesting", 20_000, |n| {
            let deep = format!("{}{}", "[".repeat(n), "]".repeat(n));
            one_message(&format!(r#"{{"type":"data-x","data":{deep}}}"#))
        }),
        ("many parts", 5_000, |n| one_message(&vec![r#"{"type":"step-start"}"#; n].join(","))),
        ("an object with many keys", 10_000, |n| {
            let keys: Vec<String> = (0..n).map(|i| format!("\"k{i}\":{i}")).collect();
            one_message(&format!(r#"{{"type":"data-x","data":{{{}}}}}"#, keys.join(",")))
        }),
    ];
    for (what, size, make) in cases {
        let [small, large] = [size, 8 * size].map(|size| through_everything(&make(size)));
        let growth = large.as_secs_f64() / small.as_secs_f64() / 8.0;
        report.ratio(&format!("read, validate, convert, write: {what}"), growth, Want::AtMost(2.0));
    }
    type MakeStream = fn(usize) -> Vec<Chunk>;
    let streams: [(&str, MakeStream); 3] = [
        ("tool calls in one step", many_calls),
        ("two inputs that come by turns", inputs_by_turns),
        ("metadata with every chunk", much_metadata),
    ];
    for (what, make) in streams {
        let [small, large] = [10_000, 80_000].map(|size| assemble(&make(size)));
        let growth = large.as_secs_f64() / small.as_secs_f64() / 8.0;
        report.ratio(&format!("put together: {what}"), growth, Want::AtMost(2.0));
    }
}

fn one_message(parts: &str) -> String {
    format!(r#"{{"id":"m","role":"assistant","parts":[{parts}]}}"#)
}

fn through_everything(text: &str) -> Duration {
    best(|| {
        let start = Instant::now();
        let json = Json::from(vec![Json::parse(text).unwrap_or_default()]);
        let valid = validate_ui_messages(json, &ValidateOptions::default()).unwrap_or_default();
        assert_eq!(valid.len(), 1);
        let model =
            convert_to_model_messages(&valid, &ConvertOptions::default()).unwrap_or_default();
        black_box(model.iter().map(|message| message.to_string().len()).sum::<usize>());
        black_box(valid[0].to_string());
        start.elapsed()
    })
}

/// Calls, each with a piece of input and an output.
fn many_calls(chunks: usize) -> Vec<Chunk> {
    let call = |i: usize| {
        let tool = ToolChunk { call_id: format!("c{i}"), ..ToolChunk::default() };
        let name = "w".to_owned();
        [
            Chunk::ToolInputStart {
                tool: tool.clone(),
                tool_name: name.clone(),
                input_encoding: None,
            },
            Chunk::ToolInputDelta { call_id: tool.call_id.clone(), delta: "{\"a\":1".into() },
            Chunk::ToolInputAvailable { tool: tool.clone(), tool_name: name, input: Json::Null },
            Chunk::ToolOutputAvailable { tool, output: Json::Null, preliminary: None },
        ]
    };
    (0..chunks / 4).flat_map(call).collect()
}

/// Two calls whose inputs arrive piece by piece, one piece of each at a time.
fn inputs_by_turns(chunks: usize) -> Vec<Chunk> {
    let start = |id: &str| Chunk::ToolInputStart {
        tool: ToolChunk { call_id: id.to_owned(), ..ToolChunk::default() },
        tool_name: "w".to_owned(),
        input_encoding: None,
    };
    let delta = |i: usize| Chunk::ToolInputDelta {
        call_id: ["a", "b"][i % 2].to_owned(),
        delta: if i < 2 { "[1" } else { ",1" }.into(),
    };
    [start("a"), start("b")].into_iter().chain((0..chunks).map(delta)).collect()
}

/// A new key of metadata with every chunk.
fn much_metadata(chunks: usize) -> Vec<Chunk> {
    let metadata = |i: usize| Json::Object([(format!("k{i}"), i as u64)].into_iter().collect());
    (0..chunks).map(|i| Chunk::MessageMetadata(metadata(i))).collect()
}

fn assemble(stream: &[Chunk]) -> Duration {
    best(|| {
        let stream = stream.to_vec();
        let start = Instant::now();
        let mut assembler = Assembler::new("m", None);
        for chunk in stream {
            assert!(assembler.push(chunk).is_ok());
        }
        black_box(assembler.into_message());
        start.elapsed()
    })
}

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64()
}

/// The fastest of several rounds: what is left when nothing else disturbs the machine.
fn best(mut round: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

/// The package's best times for conversion and validation, after it has warmed up.
fn npm(messages: &Path) -> std::io::Result<Option<(Duration, Duration)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../message/tests/npm");
    let output = Command::new("node").current_dir(folder).arg("bench.mjs").arg(messages).output();
    let Ok(output) = output else { return Ok(None) };
    let json = Json::parse(String::from_utf8_lossy(&output.stdout).trim()).unwrap_or_default();
    let time = |key: &str| {
        json.get(key).and_then(Json::as_number).map(|ms| Duration::from_secs_f64(ms / 1e3))
    };
    Ok(time("convert").zip(time("validate")))
}

/// A chat as an agent has it: questions, answers in steps, tool calls with results of some size.
fn conversation() -> String {
    let mut list = Vec::with_capacity(MESSAGES);
    for i in 0..MESSAGES {
        list.push(Json::Object(if i % 2 == 0 { question(i) } else { answer(i) }));
    }
    Json::from(list).to_string()
}

fn object<const N: usize>(entries: [(&'static str, Json); N]) -> Json {
    Json::Object(Object::from(entries))
}

fn message(i: usize, role: &str, parts: Vec<Json>) -> Object {
    let metadata =
        object([("ts", Json::from(1_700_000_000_000 + i as u64)), ("kind", "normal".into())]);
    Object::from([
        ("id", Json::from(format!("m{i}"))),
        ("role", role.into()),
        ("metadata", metadata),
        ("parts", parts.into()),
    ])
}

fn text(text: String) -> Json {
    object([("type", "text".into()), ("text", text.into()), ("state", "done".into())])
}

fn question(i: usize) -> Object {
    message(
        i,
        "user",
        vec![text(format!("Please look at file number {i} and tell me what it does."))],
    )
}

fn answer(i: usize) -> Object {
    let step = || object([("type", "step-start".into())]);
    let tool = object([
        ("type", "tool-read_file".into()),
        ("toolCallId", format!("call_{i}").into()),
        ("state", "output-available".into()),
        ("input", object([("path", format!("src/file{i}.rs").into())])),
        ("output", object([("text", "fn main() {}\n".repeat(20).into()), ("lines", 20u64.into())])),
    ]);
    let reasoning = object([
        ("type", "reasoning".into()),
        ("text", "The person wants to know what the file does.".into()),
        ("state", "done".into()),
        (
            "providerMetadata",
            object([("anthropic", object([("signature", "c2lnbmF0dXJl".into())]))]),
        ),
    ]);
    let answer = text(format!("File {i} has an empty main function, twenty times over."));
    message(i, "assistant", vec![step(), reasoning, tool, step(), answer])
}
