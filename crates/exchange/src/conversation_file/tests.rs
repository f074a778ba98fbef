//! Sessions of other programs in their publicly known shape.

use std::io::Cursor;

use ship_message::json::Json;
use ship_message::{UiMessage, ValidateOptions, validate_messages};

use crate::{ConversationFile, FileFormat, Wishes, kept_kind};

/// A context that was read: its key, title, and the messages of its logs.
#[derive(Debug)]
struct ReadContext {
    key: String,
    title: Option<String>,
    logs: Vec<Vec<UiMessage>>,
}

impl ReadContext {
    fn lines(&self) -> Vec<Vec<String>> {
        self.logs.iter().map(|log| log.iter().map(line).collect()).collect()
    }
}

/// A message in a line: its role, id and parts.
fn line(message: &UiMessage) -> String {
    let part = |part: &ship_message::UiPart| {
        let object = part.object().unwrap();
        let text = |key: &str| object.str(key).unwrap_or_default().to_owned();
        match text("type").as_str() {
            "text" => text("text"),
            "step-start" => "|".to_owned(),
            "reasoning" => format!("({})", text("text")),
            "file" => format!("<{}>", text("mediaType")),
            "data-imported" => format!("[{}]", kept_kind(part).unwrap()),
            kind => {
                let output = object.get("output").map(Json::to_string);
                format!("{kind}={}", output.unwrap_or_else(|| format!("!{}", text("errorText"))))
            }
        }
    };
    let parts: Vec<String> = message.parts().iter().map(part).collect();
    let role = message.role().name().unwrap();
    let (id, fork) = match message.id().unwrap().split_once('_') {
        Some((id, fork)) if fork.len() == 8 && id.len() < 8 => (id, "_fork"),
        _ => (message.id().unwrap(), ""),
    };
    format!("{role} {id}{fork}: {}", parts.join(" "))
}

fn read(format: FileFormat, file: &str) -> (Vec<ReadContext>, Vec<u64>) {
    let entries = |_: &[Json]| Err("no entries here".to_owned());
    let wishes = Wishes { format, entries, progress: &mut |_| {} };
    let source = Box::new(Cursor::new(file.as_bytes().to_vec()));
    let mut file = ConversationFile::survey(source, wishes).unwrap();
    let contexts = file.contexts();
    let mut read = Vec::new();
    for context in contexts.iter() {
        let (mut logs, mut nth) = (Vec::new(), 0);
        for log in &context.logs {
            let mut messages = Vec::new();
            for planned in &log.messages {
                messages.extend(file.messages(context, nth, planned).unwrap());
                nth += 1;
            }
            validate_messages(messages.clone(), &ValidateOptions::default()).unwrap();
            logs.push(messages);
        }
        read.push(ReadContext { key: context.key.clone(), title: context.title.clone(), logs });
    }
    (read, file.bad_items().iter().map(|item| item.line).collect())
}

/// A line of a session of Claude Code.
fn claude(uuid: &str, parent: Option<&str>, kind: &str, rest: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s1","timestamp":"2026-01-05T10:00:03.120Z","cwd":"/w","version":"2.1.0","userType":"external",{rest}}}"#
    )
}

fn user(uuid: &str, parent: Option<&str>, content: &str) -> String {
    claude(
        uuid,
        parent,
        "user",
        &format!(r#""isSidechain":false,"message":{{"role":"user","content":{content}}}"#),
    )
}

fn assistant(uuid: &str, parent: &str, answer: &str, block: &str) -> String {
    let message = format!(
        r#""isSidechain":false,"requestId":"req_{answer}","message":{{"id":"{answer}","type":"message","role":"assistant","model":"claude-x","content":[{block}],"stop_reason":null,"usage":{{"input_tokens":9,"output_tokens":21}}}}"#
    );
    claude(uuid, Some(parent), "assistant", &message)
}

fn tool_use(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#)
}

fn tool_result(id: &str, content: &str) -> String {
    format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":{content}}}]"#)
}

#[test]
fn an_answer_of_claude_code_in_many_lines_is_one_message_with_its_results() {
    let lines = [
        r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{}}"#.to_owned(),
        user(
            "u1",
            None,
            r#"[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]"#,
        ),
        assistant("a1", "u1", "m1", r#"{"type":"thinking","thinking":"hm","signature":"sig"}"#),
        assistant("a2", "a1", "m1", &tool_use("t1")),
        assistant("a3", "a2", "m1", &tool_use("t2")),
        user("r1", Some("a2"), &tool_result("t1", "\"one\"")),
        user(
            "r2",
            Some("a3"),
            &tool_result(
                "t2",
                r#"[{"type":"text","text":"two"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]"#,
            ),
        ),
        assistant("a4", "r2", "m2", r#"{"type":"text","text":"done"}"#),
        r#"{"type":"summary","summary":"A look","leafUuid":"a4"}"#.to_owned(),
        user("u2", Some("a4"), "\"and?\""),
        assistant("a5", "u2", "m3", &tool_use("t3")),
    ];
    let (contexts, bad) = read(FileFormat::ClaudeCode, &lines.join("\n"));
    assert_eq!((contexts.len(), bad), (1, vec![]));
    assert_eq!((contexts[0].key.as_str(), contexts[0].title.as_deref()), ("s1", Some("A look")));
    assert_eq!(
        contexts[0].lines(),
        [[
            "user u1: [file-history-snapshot] look <image/png>",
            r#"assistant a1: | (hm) tool-Bash="one" tool-Bash="two\n[image]" <image/png> | done [summary]"#,
            "user u2: and?",
            "assistant a5: | tool-Bash=!The file has no result of this call.",
        ]]
    );
}

#[test]
fn sub_agents_retries_and_compactions_of_claude_code_are_contexts_and_logs() {
    let of_agent = |uuid: &str, parent: Option<&str>, kind: &str, content: &str| {
        let rest = format!(
            r#""isSidechain":true,"agentId":"g7","message":{{"role":"{kind}","content":{content}}}"#
        );
        claude(uuid, parent, kind, &rest)
    };
    let lines = [
        user("u1", None, "\"go\""),
        assistant("a1", "u1", "m1", &tool_use("t1")),
        of_agent("g1", None, "user", "\"sub task\""),
        of_agent("g2", Some("g1"), "assistant", r#"[{"type":"text","text":"sub done"}]"#),
        user("r1", Some("a1"), &tool_result("t1", "\"sub done\"")),
        assistant("a2", "r1", "m2", r#"{"type":"text","text":"first try"}"#),
        assistant("a3", "r1", "m3", r#"{"type":"text","text":"second try"}"#),
        claude(
            "b1",
            None,
            "system",
            r#""subtype":"compact_boundary","logicalParentUuid":"a3","compactMetadata":{"trigger":"auto"}"#,
        ),
        claude(
            "c1",
            Some("b1"),
            "user",
            r#""isCompactSummary":true,"message":{"role":"user","content":"It was about going."}"#,
        ),
        user("u1", None, "\"go\""),
        claude(
            "x1",
            Some("c1"),
            "user",
            r#""isMeta":true,"message":{"role":"user","content":"caveat"}"#,
        ),
        user("u2", Some("x1"), "\"on\""),
        assistant("a4", "u2", "m4", r#"{"type":"text","text":"ok"}"#),
    ];
    let (contexts, bad) = read(FileFormat::ClaudeCode, &lines.join("\n"));
    assert!(bad.is_empty(), "{bad:?}");
    let keys: Vec<&str> = contexts.iter().map(|context| context.key.as_str()).collect();
    assert_eq!(keys, ["s1/g7", "s1#a2", "s1"]);
    assert_eq!(contexts[0].lines(), [["user g1: sub task", "assistant g2: | sub done"]]);
    assert_eq!(
        contexts[1].lines(),
        [["user u1: go", "assistant a1_fork: | tool-Bash=\"sub done\" | first try"]]
    );
    assert_eq!(
        contexts[2].lines(),
        [
            vec!["user u1: go", "assistant a1: | tool-Bash=\"sub done\" | second try [system]"],
            vec![
                "assistant c1: | It was about going. [text that was not typed]",
                "user u2: on",
                "assistant a4: | ok",
            ],
        ]
    );
}

#[test]
fn a_cut_tail_and_odd_lines_of_claude_code_are_bad_and_the_rest_is_read() {
    let lines = [
        user("u1", None, "\"go\""),
        "7".to_owned(),
        claude("u9", None, "user", r#""message":{"role":"user","content":null}"#),
        r#"{"type":"user","message":{"content":["raw text",{"type":"text","text":"more"}]}}"#
            .to_owned(),
        r#"{"type":"assistant","uuid":"a1","message":{"role":"assi"#.to_owned(),
    ];
    let (contexts, bad) = read(FileFormat::ClaudeCode, &lines.join("\n"));
    assert_eq!(bad, [2, 3, 5]);
    let lines = contexts[0].lines().concat();
    assert_eq!((lines.len(), lines[0].as_str()), (2, "user u1: go"));
    assert!(lines[1].ends_with(": raw text more"), "{lines:?}");
}

/// A line of a session of Codex.
fn codex(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-05T10:00:04.001Z","type":"{kind}","payload":{payload}}}"#)
}

fn item(payload: &str) -> String {
    codex("response_item", payload)
}

fn said(role: &str, text: &str) -> String {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(&format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}"#
    ))
}

fn typed(text: &str) -> String {
    codex("event_msg", &format!(r#"{{"type":"user_message","message":"{text}"}}"#))
}

fn meta() -> String {
    codex(
        "session_meta",
        r#"{"id":"th1","timestamp":"2026-01-05T10:00:00Z","cwd":"/w","originator":"cli","cli_version":"1","source":"cli"}"#,
    )
}

/// The messages without their derived ids.
fn without_ids(logs: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let without = |line: String| {
        let (head, rest) = line.split_once(": ").unwrap();
        format!("{}: {rest}", head.split(' ').next().unwrap())
    };
    logs.into_iter().map(|log| log.into_iter().map(without).collect()).collect()
}

#[test]
fn items_of_codex_become_messages_with_their_calls_and_put_text_is_data() {
    let lines = [
        meta(),
        said("developer", "be safe"),
        said("user", "<environment_context/>"),
        said("user", "list"),
        typed("list"),
        item(
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"zzz"}"#,
        ),
        item(
            r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}"#,
        ),
        item(
            r#"{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c2"}"#,
        ),
        item(r#"{"type":"function_call_output","call_id":"c1","output":"a b"}"#),
        codex("event_msg", r#"{"type":"token_count","info":{"total":3}}"#),
        item(
            r#"{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"ok"}]}"#,
        ),
        codex("event_msg", r#"{"type":"agent_message","message":"two files"}"#),
        said("assistant", "two files"),
        item(
            r#"{"type":"local_shell_call","call_id":"c3","status":"completed","action":{"type":"exec","command":["ls"]}}"#,
        ),
        item(r#"{"type":"web_search_call","id":"w1","status":"completed"}"#),
    ];
    let (contexts, bad) = read(FileFormat::Codex, &lines.join("\n"));
    assert_eq!((contexts.len(), contexts[0].key.as_str(), bad), (1, "th1", vec![]));
    assert_eq!(
        without_ids(contexts[0].lines()),
        [[
            "system: [session_meta] be safe",
            "user: [text that was not typed] list",
            r#"assistant: | (hm) tool-shell="a b" tool-apply_patch="ok" [token_count] | two files tool-local_shell=!The file has no result of this call. [web_search_call]"#,
        ]]
    );
}

#[test]
fn compactions_and_turns_taken_back_of_codex_are_logs_and_contexts() {
    let lines = [
        meta(),
        said("user", "one"),
        said("assistant", "1"),
        said("user", "two"),
        said("assistant", "2"),
        codex("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
        said("user", "three"),
        said("assistant", "3"),
        codex(
            "compacted",
            r#"{"message":"They counted.","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}]}"#,
        ),
        said("user", "four"),
        item(r#"{"type":"function_call","name":"shell","arguments":"not json","call_id":"c1"}"#),
    ];
    let (contexts, bad) = read(FileFormat::Codex, &lines.join("\n"));
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(contexts.len(), 2);
    assert_eq!(
        without_ids(contexts[0].lines()),
        [["user: [session_meta] one", "assistant: | 1", "user: two", "assistant: | 2"]]
    );
    assert_eq!(
        without_ids(contexts[1].lines()),
        [
            vec![
                "user: [session_meta] one",
                "assistant: | 1",
                "user: [thread_rolled_back] three",
                "assistant: | 3"
            ],
            vec![
                "assistant: | They counted. [replacement_history]",
                "user: four",
                "assistant: | tool-shell=!The file has no result of this call.",
            ],
        ]
    );
}

/// A node of an export of ChatGPT.
fn node(id: &str, parent: &str, author: &str, rest: &str) -> String {
    format!(
        r#""{id}":{{"id":"{id}","parent":"{parent}","children":[],"message":{{"id":"{id}","author":{author},"create_time":1767607203.5,{rest},"metadata":{{}}}}}}"#
    )
}

fn words(text: &str) -> String {
    format!(r#""content":{{"content_type":"text","parts":["{text}"]}}"#)
}

#[test]
fn the_tree_of_chatgpt_becomes_a_conversation_and_its_branches() {
    let (user, assistant) = (r#"{"role":"user"}"#, r#"{"role":"assistant"}"#);
    let nodes = [
        r#""root":{"id":"root","message":null,"parent":null,"children":["s"]}"#.to_owned(),
        node("s", "root", r#"{"role":"system"}"#, &words("")),
        node(
            "p",
            "s",
            r#"{"role":"system"}"#,
            r#""content":{"content_type":"user_editable_context","user_profile":"tall"}"#,
        ),
        node(
            "q",
            "p",
            user,
            r#""content":{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer","asset_pointer":"file-service://x"},"what is it?"]}"#,
        ),
        node("old", "q", assistant, &words("a dog")),
        node(
            "call",
            "q",
            assistant,
            r#""recipient":"python","content":{"content_type":"code","language":"unknown","text":"print(1)"}"#,
        ),
        node(
            "out",
            "call",
            r#"{"role":"tool","name":"python"}"#,
            r#""content":{"content_type":"execution_output","text":"1"}"#,
        ),
        node(
            "think",
            "out",
            assistant,
            r#""content":{"content_type":"thoughts","thoughts":[{"summary":"s","content":"hm"}]}"#,
        ),
        node("new", "think", assistant, &words("a cat")),
    ];
    let first = format!(
        r#"{{"title":"Pets","create_time":1767607200.0,"conversation_id":"c1","current_node":"new","mapping":{{{}}}}}"#,
        nodes.join(",")
    );
    let second = format!(
        r#"{{"title":"","id":"c2","current_node":"u","mapping":{{{},"loop":{{"parent":"loop","message":null}}}}}}"#,
        node("u", "gone", user, &words("hi"))
    );
    let (contexts, bad) =
        read(FileFormat::ChatGpt, &format!("[{first},\n{second},{{\"title\":\"x\"}}]"));
    assert_eq!(bad, [2]);
    let keys: Vec<(&str, Option<&str>)> =
        contexts.iter().map(|context| (context.key.as_str(), context.title.as_deref())).collect();
    assert_eq!(keys, [("c1#old", Some("Pets (branch 1)")), ("c1", Some("Pets")), ("c2", None)]);
    let question = "user q: [system message] [image_asset_pointer] what is it?";
    assert_eq!(contexts[0].lines(), [[question, "assistant old: | a dog"]]);
    let answer = r#"assistant call: | tool-python="1" | (hm) a cat"#;
    assert_eq!(contexts[1].lines(), [[question, answer]]);
    assert_eq!(contexts[2].lines(), [["user u: hi"]]);
}

#[test]
fn the_object_around_a_list_names_its_conversation() {
    let file = r#"{"id":"c7","title":"Soup","messages":[{"role":"user","content":"leek"}]}"#;
    for file in [file.to_owned(), format!("{file}\n{file}")] {
        let (contexts, _) = read(FileFormat::OpenAi, &file);
        assert_eq!((contexts[0].key.as_str(), contexts[0].title.as_deref()), ("c7", Some("Soup")));
    }
}

#[test]
fn hostile_lines_of_any_format_are_bad_or_data_and_never_a_panic() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let values = [
        "{}".to_owned(),
        "null".to_owned(),
        r#"{"type":"user","message":{"content":[]},"uuid":"","parentUuid":""}"#.to_owned(),
        format!(r#"{{"type":"user","message":{{"content":{deep}}}}}"#),
        r#"{"type":"response_item","payload":7}"#.to_owned(),
        r#"{"type":"response_item","payload":{"type":"function_call"}}"#.to_owned(),
        r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1e300}}"#.to_owned(),
        r#"{"mapping":{"a":{"parent":"b","message":{}},"b":{"parent":"a","message":{"content":null}}}}"#.to_owned(),
        r#"{"role":"tool","content":{"x":"\ud800\u0000"},"tool_call_id":7}"#.to_owned(),
        format!(r#"{{"role":"user","content":{deep}}}"#),
        r#"{"id":"\ud800","role":"user","parts":[{"type":"text","text":"\u0000\udfff"}]}"#.to_owned(),
        r#"{"messages":[]}"#.to_owned(),
        "{\"role\":\"user\",\"content\":\"\0\"}".to_owned(),
    ];
    for format in [
        FileFormat::UiMessage,
        FileFormat::OpenAi,
        FileFormat::ClaudeCode,
        FileFormat::Codex,
        FileFormat::ChatGpt,
    ] {
        for file in [values.join("\n"), format!("[{}]", values.join(","))] {
            let (_, bad) = read(format, &file);
            assert!(!bad.is_empty(), "{format:?}");
        }
    }
}
