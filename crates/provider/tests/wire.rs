//! What was recorded of the AI SDK, and what ours must do beside.

#[path = "../examples/cases/wire.rs"]
mod cases;

use proptest::prelude::*;
use ship_message::json::{Json, Object};
use ship_message::{ConvertOptions, ModelMessage, UiMessage, convert_to_model_messages};
use ship_provider::ToolSpec;
use ship_provider::wire::{
    Files, Format, MaxTokensField, Parameters, WireError, addresses, anthropic, openai,
};

#[test]
fn every_recorded_request_is_written_as_the_sdk_sent_it() {
    for line in include_str!("samples/wire.jsonl").lines() {
        let sample = Json::parse(line).unwrap();
        let our = cases::answer(&mut sample.as_object().unwrap().clone());
        assert_eq!(our.get("body"), sample.get("body"), "{line}");
        assert_eq!(our.get("error"), sample.get("error"), "{line}");
    }
}

/// Conversion makes messages that refer to stored ones, and have their fields from there.
#[test]
fn converted_messages_are_written_as_if_they_had_been_read() {
    let samples = include_str!("../../message/tests/fixtures/convert.jsonl");
    let mut compared = 0;
    for line in samples.lines() {
        let sample = Json::parse(line).unwrap();
        let (Some(Json::Array(ui)), Some(Json::Array(model))) =
            (sample.get("ui"), sample.get("model"))
        else {
            continue;
        };
        let ui: Vec<_> = ui.iter().filter_map(|ui| UiMessage::from_json(ui.clone()).ok()).collect();
        let Ok(converted) = convert_to_model_messages(&ui, &ConvertOptions::default()) else {
            continue;
        };
        let texts: Vec<String> = converted.iter().map(ToString::to_string).collect();
        let given: Vec<String> = model.iter().map(ToString::to_string).collect();
        // Options that need a function of the caller's make another conversion.
        if texts != given {
            continue;
        }
        let read: Vec<_> =
            model.iter().map(|json| ModelMessage::from_json(json.clone()).unwrap()).collect();
        let parameters = Parameters::new("claude-test");
        let mut files = Files::default();
        for address in addresses(&read, Format::OpenAi).unwrap_or_default() {
            files.add(address, b"hi".to_vec(), None);
        }
        assert_eq!(
            openai(&converted, &[], &parameters, &files),
            openai(&read, &[], &parameters, &files),
            "{line}"
        );
        assert_eq!(
            anthropic(&converted, &[], &parameters, &files),
            anthropic(&read, &[], &parameters, &files),
            "{line}"
        );
        compared += 1;
    }
    assert!(compared > 60, "only {compared} samples are compared");
}

fn messages(text: &str) -> Vec<ModelMessage<'static>> {
    let Json::Array(list) = Json::parse(text).unwrap() else { panic!("a list") };
    list.into_vec().into_iter().map(|json| ModelMessage::from_json(json).unwrap()).collect()
}

fn tool(name: &str) -> ToolSpec {
    let input_schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    ToolSpec { name: name.to_owned(), description: "does".to_owned(), input_schema }
}

#[test]
fn a_streamed_chat_completion_asks_for_its_usage() {
    let parameters = Parameters {
        max_tokens: Some(10),
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        temperature: Some(0.5),
        stream: true,
        ..Parameters::new("m")
    };
    let messages = messages(r#"[{"role":"user","content":"hi"}]"#);
    let body = openai(&messages, &[], &parameters, &Files::default()).unwrap();
    assert_eq!(
        body,
        r#"{"model":"m","max_completion_tokens":10,"temperature":0.5,"messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}"#
    );
}

#[test]
fn anthropic_gets_the_tokens_and_the_temperature_that_its_models_take() {
    let sent = |model: &str, max_tokens: Option<u64>| {
        let parameters = Parameters {
            max_tokens,
            temperature: Some(1.5),
            stream: true,
            ..Parameters::new(model)
        };
        let messages = messages(r#"[{"role":"user","content":"hi"}]"#);
        let body = anthropic(&messages, &[tool("t")], &parameters, &Files::default()).unwrap().body;
        let body = Json::parse(&body).unwrap();
        assert_eq!(body.get("stream"), Some(&Json::Bool(true)));
        let number = |key: &str| body.get(key).and_then(Json::as_number);
        (number("max_tokens").unwrap(), number("temperature"))
    };
    for (model, wanted, expected) in [
        ("claude-haiku-4-5", None, (64_000.0, Some(1.0))),
        ("claude-haiku-4-5", Some(100_000), (64_000.0, Some(1.0))),
        ("claude-opus-4-1-20250805", None, (32_000.0, Some(1.0))),
        ("claude-sonnet-5-5", Some(100), (100.0, None)),
        ("claude-of-tomorrow", Some(500_000), (500_000.0, None)),
        ("claude-instant-1", None, (4096.0, Some(1.0))),
        ("claude-3.7-x", None, (4096.0, Some(1.0))),
        ("claude-30", None, (128_000.0, None)),
        ("minimax", None, (4096.0, Some(1.0))),
    ] {
        assert_eq!(sent(model, wanted), expected, "{model} {wanted:?}");
    }
}

const CHAT: &str = r#"[
    {"role":"system","content":"be good"},
    {"role":"system","content":"be brief"},
    {"role":"user","content":"one","providerOptions":{"anthropic":{"cacheControl":{"type":"ephemeral"}}}},
    {"role":"assistant","content":[{"type":"text","text":"two"}]},
    {"role":"user","content":"three"},
    {"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"b","input":{}}]},
    {"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"b","output":{"type":"text","value":"four"}}]},
    {"role":"user","content":[{"type":"text","text":"five"},{"type":"text","text":"six"}]}
]"#;

/// What is marked: the text, name or id of every block that carries a mark of ours.
fn marked(chat: &str) -> Vec<String> {
    let parameters = Parameters { cache_marks: true, ..Parameters::new("claude-test") };
    let tools = [tool("a"), tool("b")];
    let body = anthropic(&messages(chat), &tools, &parameters, &Files::default()).unwrap().body;
    let body = Json::parse(&body).unwrap();
    let list = |json: Option<&Json>| json.and_then(Json::as_array).unwrap_or_default().to_vec();
    let mut blocks = [list(body.get("tools")), list(body.get("system"))].concat();
    for message in list(body.get("messages")) {
        blocks.extend(list(message.get("content")));
    }
    let ours = Json::from(Object::from([("type", "ephemeral")]));
    let is_marked = |block: &&Json| block.get("cache_control") == Some(&ours);
    let name = |block: &Json| {
        let named = ["text", "name", "tool_use_id"].iter().find_map(|key| block.get(key)?.as_str());
        named.unwrap_or_default().to_owned()
    };
    blocks.iter().filter(is_marked).map(name).collect()
}

#[test]
fn marks_stand_behind_tools_system_last_message_and_the_users_message_before() {
    assert_eq!(marked(CHAT), ["b", "be brief", "three", "six"]);
}

#[test]
fn the_next_request_finds_the_mark_of_the_one_before() {
    let longer = CHAT.trim_end().trim_end_matches(']').to_owned()
        + r#",{"role":"assistant","content":"seven"},{"role":"user","content":"eight"}]"#;
    assert_eq!(marked(&longer), ["b", "be brief", "six", "eight"]);
}

#[test]
fn thinking_and_empty_text_are_never_marked() {
    let chat = r#"[
        {"role":"user","content":"one"},
        {"role":"assistant","content":[
            {"type":"text","text":"two"},
            {"type":"reasoning","text":"hm","providerOptions":{"anthropic":{"signature":"s"}}}
        ]}
    ]"#;
    assert_eq!(marked(chat), ["b", "one", "two"]);
    assert_eq!(marked(r#"[{"role":"user","content":""}]"#), ["b"]);
}

#[test]
fn what_the_body_needs_is_told_for_the_header() {
    let chat = messages(
        r#"[
        {"role":"system","content":"a"},
        {"role":"user","content":[{"type":"file","mediaType":"application/pdf","data":"JVBERi0="}]},
        {"role":"system","content":"b"}
    ]"#,
    );
    let parameters = Parameters::new("claude-test");
    let request = anthropic(&chat, &[], &parameters, &Files::default()).unwrap();
    assert_eq!(request.betas, ["pdfs-2024-09-25", "mid-conversation-system-2026-04-07"]);
}

#[test]
fn an_address_that_the_provider_does_not_take_is_fetched_first() {
    let chat = messages(
        r#"[{"role":"user","content":[
            {"type":"file","mediaType":"image/png","data":"https://example.com/a.png"},
            {"type":"file","mediaType":"text/plain","data":"https://example.com/a.txt"}
        ]}]"#,
    );
    let all = ["https://example.com/a.png", "https://example.com/a.txt"];
    assert_eq!(addresses(&chat, Format::OpenAi).unwrap(), all);
    assert_eq!(addresses(&chat, Format::Anthropic).unwrap(), all[1..]);

    let parameters = Parameters::new("m");
    let error = openai(&chat, &[], &parameters, &Files::default()).unwrap_err();
    assert_eq!(error, WireError::NotFetched(all[0].to_owned()));

    let mut files = Files::default();
    files.add(all[0].to_owned(), b"\x89PNG".to_vec(), None);
    files.add(all[1].to_owned(), "\u{feff}hé".as_bytes().to_vec(), None);
    let body = openai(&chat, &[], &parameters, &files).unwrap();
    assert!(body.contains(r#""url":"data:image/png;base64,iVBORw==""#), "{body}");
    assert!(body.contains(r#"{"type":"text","text":"hé"}"#), "{body}");
}

/// Values that are as deep as no message is, and deeper than a stack.
#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let nested = format!("{}1{}", r#"{"a":"#.repeat(50_000), "}".repeat(50_000));
    let chat = format!(
        r#"[{{"role":"assistant","content":[
            {{"type":"tool-call","toolCallId":"c","toolName":"t","input":{deep},
              "providerOptions":{{"google":{{"thoughtSignature":{deep}}},"openaiCompatible":{{"x":{nested}}}}}}}
        ]}},{{"role":"tool","content":[
            {{"type":"tool-result","toolCallId":"c","toolName":"t","output":{{"type":"json","value":{nested}}},
              "providerOptions":{{"anthropic":{nested}}}}}
        ],"providerOptions":{{"anthropic":{nested}}}}},{{"role":"tool","content":[]}}]"#
    );
    let chat = messages(&chat);
    assert!(openai(&chat, &[], &Parameters::new("m"), &Files::default()).is_ok());
    assert!(anthropic(&chat, &[], &Parameters::new("m"), &Files::default()).is_ok());
}

/// JSON that looks like messages: their keys, their words, and anything else.
fn any_json() -> impl Strategy<Value = Json> {
    let words = prop::sample::select(vec![
        "text",
        "file",
        "image",
        "reasoning",
        "tool-call",
        "tool-result",
        "tool-approval-request",
        "tool-approval-response",
        "content",
        "json",
        "error-text",
        "error-json",
        "execution-denied",
        "media",
        "image-url",
        "file-url",
        "custom",
        "https://x/ü",
        "data:image/png;base64,AAAA",
        "data:",
        "image/*",
        "application/pdf",
        "text/plain",
        "c1",
        "web_search",
        "code_execution",
        "mcp-tool-use",
        "ephemeral",
        "",
        " é\u{feff}",
        "=",
    ]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        words.prop_map(Json::from),
        ".{0,6}".prop_map(Json::from),
    ];
    let keys = prop::sample::select(vec![
        "type",
        "text",
        "data",
        "image",
        "mediaType",
        "filename",
        "toolCallId",
        "toolName",
        "input",
        "output",
        "value",
        "providerOptions",
        "anthropic",
        "openaiCompatible",
        "google",
        "reason",
        "approvalId",
        "approved",
        "providerExecuted",
        "cacheControl",
        "signature",
        "url",
        "caller",
    ]);
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((keys.clone(), inner), 0..8)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

/// Puts a value somewhere into another: `path` chooses at every level where to go.
fn planted(json: &Json, path: &[prop::sample::Index], value: Json) -> Json {
    let Some((first, rest)) = path.split_first() else { return value };
    match json {
        Json::Array(list) if !list.is_empty() => {
            let mut list = list.to_vec();
            let at = first.index(list.len());
            list[at] = planted(&list[at], rest, value);
            list.into()
        }
        Json::Object(object) if !object.is_empty() => {
            let mut object = object.clone();
            let key = object.keys().nth(first.index(object.len())).unwrap().to_owned();
            let inner = planted(object.get(&key).unwrap(), rest, value);
            object.set(key, inner);
            object.into()
        }
        _ => value,
    }
}

proptest! {
    #[test]
    fn no_message_makes_either_format_panic(
        list in prop::collection::vec((0..4usize, any_json(), prop::option::of(any_json())), 0..5),
        cache_marks: bool,
    ) {
        let messages: Vec<_> = list
            .into_iter()
            .filter_map(|(role, content, options)| {
                let role = ["system", "user", "assistant", "tool"][role];
                let content = match content {
                    text @ Json::String(_) => text,
                    list @ Json::Array(_) => list,
                    part => vec![part].into(),
                };
                let mut message = Object::from([("role", role.into()), ("content", content)]);
                message.set_or_remove("providerOptions", options);
                ModelMessage::from_json(message.into()).ok()
            })
            .collect();
        let parameters = Parameters { cache_marks, ..Parameters::new("claude-test") };
        for format in [Format::OpenAi, Format::Anthropic] {
            let mut files = Files::default();
            for address in addresses(&messages, format).unwrap_or_default() {
                files.add(address, b"hi".to_vec(), None);
            }
            let body = match format {
                Format::OpenAi => openai(&messages, &[tool("t")], &parameters, &files),
                Format::Anthropic => {
                    anthropic(&messages, &[tool("t")], &parameters, &files).map(|sent| sent.body)
                }
            };
            if let Ok(body) = body {
                prop_assert!(Json::parse(&body).is_ok(), "{}", body);
            }
        }
    }
    #[test]
    fn no_recorded_case_with_something_strange_in_it_makes_either_format_panic(
        sample: prop::sample::Index,
        path in prop::collection::vec(any::<prop::sample::Index>(), 2..8),
        strange in any_json(),
    ) {
        let samples: Vec<&str> = include_str!("samples/wire.jsonl").lines().collect();
        let case = Json::parse(samples[sample.index(samples.len())]).unwrap();
        let messages = planted(case.get("messages").unwrap(), &path, strange);
        for provider in ["openai-compatible", "anthropic"] {
            let mut case = case.as_object().unwrap().clone();
            case.set("provider", provider);
            case.set("messages", messages.clone());
            let answer = cases::answer(&mut case);
            prop_assert!(answer.has("body") || answer.has("error") || answer.has("skip"));
        }
    }
}
