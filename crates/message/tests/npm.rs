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
#[path = "../examples/cases/validate.rs"]
mod validate;

use std::path::Path;
use std::process::Command;

use ship_message::json::{Json, Object};
use ship_message::{
    EmptyMessages, ModelMessage, PruneOptions, PruneReasoning, PruneScope, PruneToolCalls,
    prune_messages,
};

/// Asks the npm package for its answers to `count` random cases of a kind.
fn oracle(kind: &str) -> Vec<u8> {
    let setting = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm");
    assert!(folder.join("node_modules/ai").is_dir(), "run `npm ci` in {}", folder.display());
    let output = Command::new("node")
        .current_dir(folder)
        .args(["oracle.mjs", kind, &setting("SHIP_SEED", "1"), &setting("SHIP_CASES", "3000")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
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
