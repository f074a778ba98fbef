//! The npm package itself, beside ours, on random cases. Run only when named, as by `./check`, which installs it.
//!
//! `SHIP_SEED` chooses the first case and `SHIP_CASES` how many; a failure names its seed.

#![expect(clippy::unwrap_used, reason = "an oracle that cannot be asked fails the test")]

#[path = "../examples/cases/assemble.rs"]
mod assemble;
#[path = "../examples/cases/convert.rs"]
mod convert;
#[path = "../examples/cases/options.rs"]
mod options;
mod random_message;
mod random_stream;
#[path = "../examples/cases/validate.rs"]
mod validate;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{RngAlgorithm, RngSeed, TestRunner};
use ship_message::json::{Json, Object};
use ship_message::{
    Assembler, Chunk, EmptyMessages, ModelMessage, PruneOptions, PruneReasoning, PruneScope,
    PruneToolCalls, UiMessage, chunks_of, prune_messages,
};

fn setting(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or(default.to_owned())
}

/// Runs the program that asks the npm package.
fn ask(args: &[&str], input: &[u8]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm");
    assert!(folder.join("node_modules/ai").is_dir(), "run `npm ci` in {}", folder.display());
    let mut node = Command::new("node")
        .current_dir(folder)
        .arg("oracle.mjs")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program reads all of it before it prints anything.
    node.stdin.take().unwrap().write_all(input).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Asks the npm package for its answers to random cases of a kind.
fn oracle(kind: &str) -> Vec<u8> {
    ask(&[kind, &setting("SHIP_SEED", "1"), &setting("SHIP_CASES", "3000")], &[])
}

/// Returns random values, the same for the same seed.
fn random<T: std::fmt::Debug>(strategy: &impl Strategy<Value = T>) -> Vec<T> {
    let seed = setting("SHIP_SEED", "1").parse().unwrap();
    let count: usize = setting("SHIP_CASES", "3000").parse().unwrap();
    let mut runner = TestRunner::new(proptest::test_runner::Config {
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed),
        ..Default::default()
    });
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Compares messages with those that the npm client assembles from chunks.
fn compare_assembled(cases: Vec<(Vec<Chunk>, UiMessage)>) {
    let mut input = String::new();
    for (chunks, _) in &cases {
        let chunks: Vec<Json> = chunks.iter().map(|chunk| chunk.clone().into_json()).collect();
        Json::Object(Object::from([("chunks", chunks)])).write_to(&mut input);
        input.push('\n');
    }
    let theirs = lines(&ask(&["assemble"], input.as_bytes()));
    assert_eq!(theirs.len(), cases.len());
    for (their, (chunks, message)) in theirs.iter().zip(cases) {
        assert_eq!(their.get("error").and_then(Json::as_bool), Some(false), "{chunks:?}");
        assert_eq!(their.get("message"), Some(&message.into_json()), "{chunks:?}");
    }
}

fn lines(text: &[u8]) -> Vec<Json> {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Json::parse_bytes(line).unwrap()).collect()
}

/// Compares the fields `keys` of every answer, and how many of the cases are `good`, so that a generator
/// that makes only one kind of case does not go unnoticed.
fn compare(
    kind: &str,
    answer: impl Fn(&mut Object) -> Object,
    keys: &[&str],
    good: impl Fn(&Json) -> bool,
) {
    let theirs = lines(&oracle(kind));
    for their in &theirs {
        let our = answer(&mut their.as_object().unwrap().clone());
        assert_eq!(our.get("skip"), None, "nothing here needs a function");
        for key in keys {
            assert_eq!(our.get(key), their.get(key), "`{key}` of {their}");
        }
    }
    let good = theirs.iter().filter(|case| good(case)).count();
    let share = good as f64 / theirs.len() as f64;
    assert!((0.2..0.95).contains(&share), "{share} of the {kind} cases are good ones");
}

#[test]
fn convert_gives_what_the_npm_package_gives() {
    compare("convert", convert::answer, &["model", "error"], |case| case.get("model").is_some());
}

#[test]
fn validate_gives_what_the_npm_package_gives() {
    let valid = |case: &Json| case.get("valid").and_then(Json::as_bool) == Some(true);
    compare("validate", validate::answer, &["valid"], valid);
}

#[test]
fn assemble_gives_what_the_npm_client_gives() {
    let whole = |case: &Json| case.get("error").and_then(Json::as_bool) == Some(false);
    compare("stream", assemble::answer, &["message", "error"], whole);
}

#[test]
fn the_npm_client_makes_a_message_again_from_its_chunks() {
    let messages = random(&random_message::message());
    compare_assembled(messages.into_iter().map(|message| (chunks_of(&message), message)).collect());
}

#[test]
fn the_npm_client_that_joins_late_assembles_what_the_first_did() {
    let strategy = (random_stream::stream(), proptest::prelude::any::<proptest::sample::Index>());
    let cases = random(&strategy).into_iter().map(|(chunks, cut)| {
        // Half a character in a chunk does not survive being written.
        let chunks = chunks.into_iter().map(|chunk| Chunk::parse(&chunk.to_string()).unwrap());
        let mut trial = Assembler::new("new", None);
        let mut rest: Vec<Chunk> =
            chunks.filter(|chunk| trial.push(chunk.clone()).is_ok()).collect();
        let mut first = Assembler::new("new", None);
        for chunk in rest.drain(..cut.index(rest.len() + 1)) {
            first.push(chunk).unwrap();
        }
        let late = [first.chunks(), rest].concat();
        (late, trial.into_message())
    });
    compare_assembled(cases.collect());
}

/// Reads the options of a case as ours.
fn prune_options(options: &Json) -> PruneOptions {
    let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_str).unwrap().to_owned();
    let rule = |rule: &Json| {
        let kind = text(rule, "type");
        let count =
            kind.strip_prefix("before-last-").and_then(|rest| rest.strip_suffix("-messages"));
        let scope = match (kind.as_str(), count) {
            ("all", _) => PruneScope::All,
            ("before-last-message", _) => PruneScope::BeforeLast(1),
            (_, count) => PruneScope::BeforeLast(count.unwrap().parse().unwrap()),
        };
        let tools = rule
            .get("tools")
            .and_then(Json::as_array)
            .map(|tools| tools.iter().map(|tool| tool.as_str().unwrap().to_owned()).collect());
        PruneToolCalls { scope, tools }
    };
    PruneOptions {
        reasoning: match text(options, "reasoning").as_str() {
            "all" => PruneReasoning::All,
            "before-last-message" => PruneReasoning::BeforeLastMessage,
            _ => PruneReasoning::None,
        },
        tool_calls: options
            .get("toolCalls")
            .and_then(Json::as_array)
            .unwrap()
            .iter()
            .map(rule)
            .collect(),
        empty_messages: match text(options, "emptyMessages").as_str() {
            "keep" => EmptyMessages::Keep,
            _ => EmptyMessages::Remove,
        },
    }
}

#[test]
fn prune_gives_what_the_npm_package_gives() {
    let answer = |case: &mut Object| {
        let Some(Json::Array(messages)) = case.remove("messages") else { panic!("a list") };
        let messages = messages.into_vec().into_iter().map(|m| ModelMessage::from_json(m).unwrap());
        let pruned =
            prune_messages(messages.collect(), &prune_options(case.get("options").unwrap()));
        let pruned = pruned.iter().map(|message| Json::parse(&message.to_string()).unwrap());
        Object::from([("pruned", pruned.collect::<Vec<_>>())])
    };
    let changed = |case: &Json| case.get("pruned") != case.get("messages");
    compare("prune", answer, &["pruned"], changed);
}
