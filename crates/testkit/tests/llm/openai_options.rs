//! Each rule of OpenAI's about everything besides messages.

use serde_json::{Value, json};
use ship_testkit::llm::{Models, Rules};

use crate::cases::{Case, base64, hold, openai_error, png, with};
use crate::openai_rules::{JUDGE, request, said, user};

fn offered(function: Value) -> Value {
    request(json!({"tools": [{"type": "function", "function": function}]}))
}

fn shown(url: &str) -> Value {
    said(json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]))
}

#[test]
fn tools_are_well_formed() {
    let name = |name: &str| offered(json!({"name": name, "parameters": {"type": "object"}}));
    let at = "tools[0].function.name";
    let case = |rule, refused, code: &str, param: &str, message: String, accepted| {
        let code = (!code.is_empty()).then_some(code);
        Case { rule, refused, body: openai_error(code, Some(param), &message), accepted }
    };
    let tool = json!({"type": "function", "function": {"name": "a"}});
    let pattern = format!(
        "Invalid '{at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
    );
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case("name_pattern", name("a.b"), "invalid_value", at, pattern.clone(), name("a_b")),
            case("name_pattern", name(""), "invalid_value", at, pattern, name("a")),
            case("name_length", name(&"n".repeat(65)), "string_above_max_length", at, format!("Invalid '{at}': string too long. Expected a string with maximum length 64, but got a string with length 65 instead."), name(&"n".repeat(64))),
            case("name_missing", offered(json!({})), "missing_required_parameter", at, format!("Missing required parameter: '{at}'."), name("a")),
            case("name_type", offered(json!({"name": 1})), "invalid_type", at, format!("Invalid type for '{at}': expected a string, but got an integer instead."), name("1")),
            case("tool_type", request(json!({"tools": [{"function": {"name": "a"}}]})), "missing_required_parameter", "tools[0].type", "Missing required parameter: 'tools[0].type'.".to_owned(), name("a")),
            case("tool_function", request(json!({"tools": [{"type": "function"}]})), "missing_required_parameter", "tools[0].function", "Missing required parameter: 'tools[0].function'.".to_owned(), name("a")),
            case("tool_schema", offered(json!({"name": "a", "parameters": {"type": "array"}})), "invalid_function_parameters", "tools[0].function.parameters", "Invalid schema for function 'a': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.".to_owned(), offered(json!({"name": "a"}))),
            case("tool_schema", offered(json!({"name": "a", "parameters": {}})), "invalid_function_parameters", "tools[0].function.parameters", "Invalid schema for function 'a': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.".to_owned(), name("a")),
            case("tools_empty", request(json!({"tools": []})), "empty_array", "tools", "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.".to_owned(), name("a")),
            case("tools_count", request(json!({"tools": vec![tool.clone(); 129]})), "array_above_max_length", "tools", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.".to_owned(), request(json!({"tools": vec![tool; 128]}))),
            case("choice_without_tools", request(json!({"tool_choice": "auto"})), "", "tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.".to_owned(), with(name("a"), json!({"tool_choice": "auto"}))),
            case("choice_unknown", with(name("a"), json!({"tool_choice": {"type": "function", "function": {"name": "b"}}})), "", "tool_choice.function.name", "Invalid value for 'tool_choice': 'tool_choice' specifies a function that is not in 'tools'.".to_owned(), with(name("a"), json!({"tool_choice": {"type": "function", "function": {"name": "a"}}}))),
        ],
    );
}

#[test]
fn options_fit_the_model() {
    let case = |rule, refused, code: &str, param: &str, message: &str, accepted| {
        let code = (!code.is_empty()).then_some(code);
        Case {
            rule,
            refused: request(refused),
            body: openai_error(code, Some(param), message),
            accepted: request(accepted),
        }
    };
    let rules = Rules { max_output: Some(16384), ..Rules::default() };
    hold(
        JUDGE,
        &rules,
        vec![
            case(
                "max_tokens_reasoning",
                json!({"model": "gpt-5-mini", "max_tokens": 9}),
                "unsupported_parameter",
                "max_tokens",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                json!({"model": "gpt-5-mini", "max_completion_tokens": 9}),
            ),
            case(
                "max_tokens_reasoning",
                json!({"model": "o3", "max_tokens": 9}),
                "unsupported_parameter",
                "max_tokens",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                json!({"model": "gpt-4o", "max_tokens": 9}),
            ),
            case(
                "max_tokens_twice",
                json!({"max_tokens": 9, "max_completion_tokens": 9}),
                "invalid_parameter_combination",
                "max_tokens",
                "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
                json!({"max_completion_tokens": 9}),
            ),
            case(
                "max_tokens_minimum",
                json!({"max_tokens": 0}),
                "integer_below_min_value",
                "max_tokens",
                "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
                json!({"max_tokens": 1}),
            ),
            case(
                "max_tokens_type",
                json!({"max_tokens": "9"}),
                "invalid_type",
                "max_tokens",
                "Invalid type for 'max_tokens': expected an integer, but got a string instead.",
                json!({"max_tokens": 9}),
            ),
            case(
                "max_output",
                json!({"max_tokens": 16385}),
                "invalid_value",
                "max_tokens",
                "max_tokens is too large: 16385. This model supports at most 16384 completion tokens, whereas you provided 16385.",
                json!({"max_tokens": 16384}),
            ),
            case(
                "stream_options",
                json!({"stream_options": {"include_usage": true}}),
                "",
                "stream_options",
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
                json!({"stream": true, "stream_options": {"include_usage": true}}),
            ),
            case(
                "reasoning_effort",
                json!({"reasoning_effort": "huge"}),
                "invalid_value",
                "reasoning_effort",
                "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', and 'xhigh'.",
                json!({"reasoning_effort": "low"}),
            ),
        ],
    );
}

#[test]
fn pictures_are_png_jpeg_gif_or_webp() {
    let unsupported = openai_error(
        Some("invalid_image_format"),
        None,
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    );
    let data = |kind: &str, data: &str| shown(&format!("data:image/{kind};base64,{data}"));
    let case = |rule, refused, body, accepted| Case { rule, refused, body, accepted };
    let at = "messages[0].content[0].image_url.url";
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "image_format",
                data("bmp", &png(1, 1)),
                unsupported.clone(),
                data("png", &png(1, 1)),
            ),
            case(
                "image_format",
                data("png", &base64(b"BM0000")),
                unsupported.clone(),
                data("gif", &base64(b"GIF89a")),
            ),
            case(
                "image_format",
                data("png", "%%%"),
                unsupported,
                shown("https://example.com/a.bmp"),
            ),
            case(
                "image_url",
                shown("file:///etc/passwd"),
                openai_error(
                    Some("invalid_value"),
                    Some(at),
                    &format!(
                        "Invalid '{at}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without the 'data:' prefix."
                    ),
                ),
                shown("https://example.com/a.png"),
            ),
            case(
                "image_url_missing",
                said(
                    json!([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]),
                ),
                openai_error(
                    Some("missing_required_parameter"),
                    Some(at),
                    &format!("Missing required parameter: '{at}'."),
                ),
                shown("https://example.com/a.png"),
            ),
        ],
    );
}

#[test]
fn a_model_that_is_not_there_is_not_found() {
    let rules = Rules { models: Models::Only(vec!["gpt-4o".to_owned()]), ..Rules::default() };
    let refusal = JUDGE(&request(json!({"model": "gpt-9"})).to_string(), &rules).unwrap_err();
    let message = "The model `gpt-9` does not exist or you do not have access to it.";
    assert_eq!((refusal.status, refusal.rule), (404, "model"));
    assert_eq!(refusal.body, openai_error(Some("model_not_found"), None, message));
    assert!(JUDGE(&request(json!({})).to_string(), &rules).is_ok());
}

#[test]
fn the_window_holds_the_input_and_the_output_that_is_asked_for() {
    // 100 words are 100 tokens, and the message costs 4 more; counted 1.5 times that is 156.
    let words = " word".repeat(100);
    let asked = |tokens: u64| request(json!({"messages": [user(&words)], "max_tokens": tokens}));
    let rules = |window| Rules { window: Some(window), token_factor: 1.5, ..Rules::default() };
    let error =
        |message: &str| openai_error(Some("context_length_exceeded"), Some("messages"), message);

    let case = |refused, body| Case { rule: "window", refused, body, accepted: asked(44) };
    let both = "This model's maximum context length is 200 tokens. However, you requested 201 tokens (156 in the messages, 45 in the completion). Please reduce the length of the messages or completion.";
    hold(JUDGE, &rules(200), vec![case(asked(45), error(both))]);

    let refusal = JUDGE(&asked(1).to_string(), &rules(155)).unwrap_err();
    let input = "This model's maximum context length is 155 tokens. However, your messages resulted in 156 tokens. Please reduce the length of the messages.";
    assert_eq!(refusal.body, error(input));
    let accepted = JUDGE(&asked(44).to_string(), &rules(200)).unwrap();
    assert_eq!(accepted.input_tokens, Some(156));
}
