//! The examples do what they say.

#![expect(clippy::unwrap_used, reason = "an example that cannot be run fails the test")]

use std::path::Path;
use std::process::Command;

use ship_testkit::example::example;

/// Runs an example and gives what it printed.
fn run(name: &str, arguments: &[&Path]) -> String {
    let output = Command::new(example(name)).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A file's lines as `id role`, or `id event`.
fn outline(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let outline = |line: &str| {
        let json = ship_message::json::Json::parse(line).unwrap();
        let of = |key: &str| json.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        format!("{} {}", of("id").unwrap(), of("role").or_else(|| of("event")).unwrap())
    };
    text.lines().map(outline).collect()
}

#[test]
fn the_example_talks_in_memory_in_a_file_loads_it_again_and_forks_it() {
    let folder = tempfile::tempdir().unwrap();
    let told = run("conversations", &[folder.path()]);
    let who = "I am the offline model, a small stand-in without a language model.";
    let expected = format!(
        "in memory: {who} You said: Hello!\n\
         new: {who} The tools answered:\n- weather: It rains in Hamburg.\n\
         resumed with 4 messages\n\
         forked with 2 messages\n\
         in the fork: {who} You said: Then let us go to the harbour.\n\
         the original:\n"
    );
    assert!(told.starts_with(&expected), "{told}");

    let before = ["m001 system", "m002 user", "m003 assistant", "m004 tool", "m005 assistant"];
    let original = outline(&folder.path().join("task-001.jsonl"));
    assert_eq!(original[..5], before);
    assert_eq!(original[5..], ["e001 checkpoint", "m006 user", "m007 assistant"]);
    let fork = outline(&folder.path().join("task-001-retry.jsonl"));
    assert_eq!(fork[..5], before);
    assert_eq!(fork[5..], ["m006 user", "m007 assistant"]);
}

const WHO: &str = "I am the offline model, a small stand-in without a language model.";

#[test]
fn an_agent_has_a_tool_of_its_own() {
    let told = run("own_tool", &[]);
    assert_eq!(told, format!("{WHO} The tools answered:\n- weather: It rains in Hamburg.\n"));
}

#[test]
fn an_answer_is_printed_as_it_comes() {
    assert_eq!(run("stream", &[]), format!("{WHO} You said: Tell me of the sea.\n[Done]\n"));
}

#[test]
fn a_store_of_ones_own_is_asked_for_the_chat() {
    let told = run("custom_store", &[]);
    assert!(told.starts_with(&format!("{WHO} You said: hello\nchats were opened ")), "{told}");
}
