//! Conversion and validation beside the npm package, on the same messages in the same run.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ship_message::json::{Json, Object};
use ship_message::{
    ConvertOptions, UiMessage, ValidateOptions, convert_to_model_messages, validate_messages,
};

use crate::report::{Report, Want};

const MESSAGES: usize = 10_000;
const ROUNDS: usize = 15;

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
    let convert = median(|| {
        let start = Instant::now();
        black_box(convert_to_model_messages(black_box(&messages), &ConvertOptions::default()).ok());
        start.elapsed()
    });
    let validate = median(|| {
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

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64()
}

fn median(mut round: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    times.sort();
    times[ROUNDS / 2]
}

/// The package's median times for conversion and validation, after it has warmed up.
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
