//! Each rule of OpenAI's about messages, with a request that breaks it and a neighbour that does not.

use serde_json::{Value, json};
use ship_testkit::llm::{Rules, judge_openai};

use crate::cases::{Case, Judge, hold, openai_error, with};

pub(crate) const JUDGE: Judge = |body, rules| judge_openai(body, rules);

pub(crate) fn request(changes: Value) -> Value {
    with(json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}), changes)
}

pub(crate) fn said(messages: Value) -> Value {
    request(json!({"messages": messages}))
}

pub(crate) fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}})
}

pub(crate) fn calls(calls: Value) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

pub(crate) fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "ok"})
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn a_body_has_a_model_and_messages() {
    let missing = |name: &str| format!("Missing required parameter: '{name}'.");
    let code = Some("missing_required_parameter");
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            Case {
                rule: "model_missing",
                refused: request(json!({"model": null})),
                body: openai_error(None, None, "you must provide a model parameter"),
                accepted: request(json!({"model": "x"})),
            },
            Case {
                rule: "messages_missing",
                refused: request(json!({"messages": null})),
                body: openai_error(code, Some("messages"), &missing("messages")),
                accepted: request(json!({})),
            },
            Case {
                rule: "messages_empty",
                refused: said(json!([])),
                body: openai_error(
                    Some("empty_array"),
                    Some("messages"),
                    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
                ),
                accepted: said(json!([user("hi")])),
            },
            Case {
                rule: "messages_type",
                refused: said(json!("hi")),
                body: openai_error(
                    Some("invalid_type"),
                    Some("messages"),
                    "Invalid type for 'messages': expected an array of objects, but got a string instead.",
                ),
                accepted: said(json!([user("hi")])),
            },
            Case {
                rule: "message_type",
                refused: said(json!([user("hi"), 7])),
                body: openai_error(
                    Some("invalid_type"),
                    Some("messages[1]"),
                    "Invalid type for 'messages[1]': expected an object, but got an integer instead.",
                ),
                accepted: said(json!([user("hi"), user("ho")])),
            },
        ],
    );
}

#[test]
fn what_is_not_json_is_refused_and_so_is_half_of_a_surrogate_pair() {
    let message = "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)";
    let lone = r#"{"model":"m","messages":[{"role":"user","content":"\ud83d"}]}"#;
    let pair = r#"{"model":"m","messages":[{"role":"user","content":"\ud83d\ude42"}]}"#;
    for body in ["", "{", "[]", lone] {
        let refusal = judge_openai(body, &Rules::default()).expect_err(body);
        assert_eq!((refusal.status, refusal.rule), (400, "json"));
        assert_eq!(refusal.body, openai_error(None, None, message));
    }
    assert!(judge_openai(b"\xff{}", &Rules::default()).is_err());
    assert!(judge_openai(pair, &Rules::default()).is_ok());
}

#[test]
fn roles_are_known() {
    let wrong = |role: &str| {
        format!(
            "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
        )
    };
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            Case {
                rule: "role",
                refused: said(json!([{"role": "human", "content": "hi"}])),
                body: openai_error(
                    Some("invalid_value"),
                    Some("messages[0].role"),
                    &wrong("human"),
                ),
                accepted: said(json!([{"role": "developer", "content": "hi"}])),
            },
            Case {
                rule: "role_missing",
                refused: said(json!([{"content": "hi"}])),
                body: openai_error(
                    Some("missing_required_parameter"),
                    Some("messages[0].role"),
                    "Missing required parameter: 'messages[0].role'.",
                ),
                accepted: said(json!([{"role": "system", "content": "hi"}])),
            },
            Case {
                rule: "role_type",
                refused: said(json!([{"role": 1, "content": "hi"}])),
                body: openai_error(
                    Some("invalid_type"),
                    Some("messages[0].role"),
                    "Invalid type for 'messages[0].role': expected a string, but got an integer instead.",
                ),
                accepted: said(json!([user("hi")])),
            },
        ],
    );
}

#[test]
fn content_is_there_unless_the_assistant_calls_something() {
    let null = |at: usize| {
        openai_error(
            None,
            Some(&format!("messages.[{at}].content")),
            "Invalid value for 'content': expected a string, got null.",
        )
    };
    let answered = json!([calls(json!([call("a")])), result("a")]);
    let null_result =
        json!([calls(json!([call("a")])), {"role": "tool", "tool_call_id": "a", "content": null}]);
    let type_error = |param: &str, expected: &str, found: &str| {
        let message =
            format!("Invalid type for '{param}': expected {expected}, but got {found} instead.");
        openai_error(Some("invalid_type"), Some(param), &message)
    };
    let case = |rule, refused, body, accepted| Case { rule, refused, body, accepted };
    let part = |role: &str, part: Value| said(json!([{"role": role, "content": [part]}]));
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "content_null",
                said(json!([{"role": "user", "content": null}])),
                null(0),
                said(json!([user("")])),
            ),
            case(
                "content_null",
                said(json!([user("a"), {"role": "assistant"}])),
                null(1),
                said(answered.clone()),
            ),
            case(
                "content_null",
                said(json!([{"role": "system", "content": null}])),
                null(0),
                said(json!([{"role": "assistant", "content": null, "refusal": "no"}])),
            ),
            case("content_null", said(null_result), null(1), said(answered)),
            case(
                "content_type",
                said(json!([{"role": "user", "content": 7}])),
                type_error(
                    "messages[0].content",
                    "one of a string or array of objects",
                    "an integer",
                ),
                said(json!([user("7")])),
            ),
            case(
                "content_empty_array",
                said(json!([{"role": "user", "content": []}])),
                openai_error(
                    Some("empty_array"),
                    Some("messages[0].content"),
                    "Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty array instead.",
                ),
                part("user", json!({"type": "text", "text": "a"})),
            ),
            case(
                "part_type",
                part("tool", json!({"type": "image_url", "image_url": {"url": "https://x/a.png"}})),
                openai_error(
                    Some("invalid_value"),
                    Some("messages[0].content[0].type"),
                    "Invalid value: 'image_url'. Supported values are: 'text'.",
                ),
                part("user", json!({"type": "image_url", "image_url": {"url": "https://x/a.png"}})),
            ),
            case(
                "part_text",
                part("user", json!({"type": "text", "text": ["a"]})),
                type_error("messages[0].content[0].text", "a string", "an array"),
                part("assistant", json!({"type": "text", "text": "a"})),
            ),
        ],
    );
}

#[test]
fn every_call_is_answered_at_once_and_every_answer_has_a_call() {
    let stray = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    let open = |ids: &str| {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
        )
    };
    let case = |rule, refused: Value, param: &str, message: &str, accepted: Value| Case {
        rule,
        refused: said(refused),
        body: openai_error(None, Some(param), message),
        accepted: said(accepted),
    };
    let two = calls(json!([call("a"), call("b")]));
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "result_without_call",
                json!([user("x"), result("a")]),
                "messages.[1].role",
                stray,
                json!([user("x"), calls(json!([call("a")])), result("a")]),
            ),
            case(
                "result_without_call",
                json!([two, result("a"), result("c")]),
                "messages.[2].role",
                stray,
                json!([two, result("b"), result("a")]),
            ),
            case(
                "result_without_call",
                json!([two, result("a"), result("b"), user("x"), result("a")]),
                "messages.[4].role",
                stray,
                json!([two, result("a"), result("b"), user("x")]),
            ),
            case(
                "call_unanswered",
                json!([two, result("a"), user("x")]),
                "messages.[2].role",
                &open("b"),
                json!([two, result("a"), result("b"), user("x")]),
            ),
            case(
                "call_unanswered",
                json!([user("x"), two]),
                "messages.[1].role",
                &open("a, b"),
                json!([user("x"), two, result("a"), result("b")]),
            ),
            case(
                "call_unanswered",
                json!([two, user("x"), result("a"), result("b")]),
                "messages.[1].role",
                &open("a, b"),
                json!([two, result("a"), result("b"), user("x")]),
            ),
            case(
                "result_twice",
                json!([two, result("a"), result("a"), result("b")]),
                "messages.[2].tool_call_id",
                "Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[1] and messages[2].",
                json!([two, result("a"), result("b"), two, result("a"), result("b")]),
            ),
        ],
    );
}

#[test]
fn calls_are_well_formed() {
    let history = |call: Value, id: &str| said(json!([calls(json!([call])), result(id)]));
    let long = "x".repeat(41);
    let changed = |changes: Value| with(call("a"), changes);
    let arguments =
        |value: Value| changed(json!({"function": {"name": "look", "arguments": value}}));
    let at = |field: &str| format!("messages[0].tool_calls[0].{field}");
    let case = |rule, refused, code, param: String, message: String, accepted| Case {
        rule,
        refused,
        body: openai_error(Some(code), Some(&param), &message),
        accepted,
    };
    let missing = |field: &str| format!("Missing required parameter: '{}'.", at(field));
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "calls_empty",
                said(json!([calls(json!([]))])),
                "empty_array",
                "messages[0].tool_calls".to_owned(),
                "Invalid 'messages[0].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.".to_owned(),
                history(call("a"), "a"),
            ),
            case(
                "calls_type",
                said(json!([calls(json!({}))])),
                "invalid_type",
                "messages[0].tool_calls".to_owned(),
                "Invalid type for 'messages[0].tool_calls': expected an array of objects, but got an object instead.".to_owned(),
                history(call("a"), "a"),
            ),
            case(
                "id_length",
                history(call(&long), &long),
                "string_above_max_length",
                at("id"),
                format!("Invalid '{}': string too long. Expected a string with maximum length 40, but got a string with length 41 instead.", at("id")),
                history(call(&long[1..]), &long[1..]),
            ),
            case("id_missing", history(changed(json!({"id": null})), "a"), "missing_required_parameter", at("id"), missing("id"), history(call("a"), "a")),
            case(
                "id_missing",
                said(json!([calls(json!([call("a")])), {"role": "tool", "content": "ok"}])),
                "missing_required_parameter",
                "messages[1].tool_call_id".to_owned(),
                "Missing required parameter: 'messages[1].tool_call_id'.".to_owned(),
                history(call("a"), "a"),
            ),
            case(
                "id_type",
                history(changed(json!({"id": 1})), "1"),
                "invalid_type",
                at("id"),
                format!("Invalid type for '{}': expected a string, but got an integer instead.", at("id")),
                history(call("1"), "1"),
            ),
            case("call_type", history(changed(json!({"type": null})), "a"), "missing_required_parameter", at("type"), missing("type"), history(call("a"), "a")),
            case(
                "name_pattern",
                history(changed(json!({"function": {"name": "a b", "arguments": "{}"}})), "a"),
                "invalid_value",
                at("function.name"),
                format!("Invalid '{}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at("function.name")),
                history(changed(json!({"function": {"name": "a-b_C9", "arguments": "{}"}})), "a"),
            ),
            case(
                "arguments_type",
                history(arguments(json!({"a": 1})), "a"),
                "invalid_type",
                at("function.arguments"),
                format!("Invalid type for '{}': expected a string, but got an object instead.", at("function.arguments")),
                // What a model wrote is taken back as it is, even when it is no JSON.
                history(arguments(json!("{\"a\": ")), "a"),
            ),
            case(
                "arguments_missing",
                history(changed(json!({"function": {"name": "look"}})), "a"),
                "missing_required_parameter",
                at("function.arguments"),
                missing("function.arguments"),
                history(arguments(json!("")), "a"),
            ),
        ],
    );
}
