//! Each rule of Anthropic's about everything besides messages.

use serde_json::{Value, json};
use ship_testkit::llm::{Models, Rules, judge_anthropic};

use crate::anthropic_rules::{JUDGE, case, request, said};
use crate::cases::{anthropic_error, hold, with};

fn tool(changes: Value) -> Value {
    let tool = json!({"name": "look", "description": "Looks.", "input_schema": {"type": "object"}});
    request(json!({"tools": [with(tool, changes)]}))
}

#[test]
fn a_body_has_a_model_a_limit_and_messages() {
    let fine = request(json!({}));
    let rules = Rules { max_output: Some(64000), ..Rules::default() };
    hold(
        JUDGE,
        &rules,
        vec![
            case(
                "model_missing",
                request(json!({"model": null})),
                "model: Field required",
                fine.clone(),
            ),
            case(
                "max_tokens_missing",
                request(json!({"max_tokens": null})),
                "max_tokens: Field required",
                fine.clone(),
            ),
            case(
                "max_tokens_type",
                request(json!({"max_tokens": "9"})),
                "max_tokens: Input should be a valid integer",
                fine.clone(),
            ),
            case(
                "max_tokens_minimum",
                request(json!({"max_tokens": 0})),
                "max_tokens: must be greater than or equal to 1",
                request(json!({"max_tokens": 1})),
            ),
            case(
                "max_output",
                request(json!({"max_tokens": 64001})),
                "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-test",
                request(json!({"max_tokens": 64000})),
            ),
            case(
                "messages_missing",
                request(json!({"messages": null})),
                "messages: Field required",
                fine.clone(),
            ),
            case(
                "messages_empty",
                said(json!([])),
                "messages: at least one message is required",
                fine.clone(),
            ),
            case(
                "messages_type",
                said(json!("hi")),
                "messages: Input should be a valid list",
                fine.clone(),
            ),
            case("body_type", json!([]), "Input should be a valid dictionary", fine.clone()),
            case(
                "extra_field",
                request(json!({"max_completion_tokens": 9})),
                "max_completion_tokens: Extra inputs are not permitted",
                fine,
            ),
        ],
    );
}

#[test]
fn what_is_not_json_is_refused_with_the_place_where_it_breaks() {
    let body = r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"ü\ud83d"}]}"#;
    let refusal = judge_anthropic(body, &Rules::default()).unwrap_err();
    // The column counts bytes, the character does not.
    let message = "The request body is not valid JSON: no low surrogate in string: line 1 column 75 (char 73)";
    assert_eq!((refusal.status, refusal.rule), (400, "json"));
    assert_eq!(refusal.body, anthropic_error(message));
    let whole = body.replace(r"\ud83d", r"\ud83d\ude42");
    assert!(judge_anthropic(whole, &Rules::default()).is_ok());

    for broken in ["", "{", "{\"a\":1}\n\n}", "\u{feff}{}"] {
        let refusal = judge_anthropic(broken, &Rules::default()).expect_err(broken);
        assert_eq!(refusal.rule, "json", "{broken:?}");
        assert!(refusal.message().starts_with("The request body is not valid JSON: "));
    }
}

#[test]
fn thirty_two_megabytes_are_the_end() {
    let long = |bytes: usize| {
        let empty = request(json!({"messages": [{"role": "user", "content": ""}]})).to_string();
        said(json!([{"role": "user", "content": "x".repeat(bytes - empty.len())}])).to_string()
    };
    let refusal = JUDGE(&long((32 << 20) + 1), &Rules::default()).unwrap_err();
    assert_eq!((refusal.status, refusal.rule), (413, "body_size"));
    let body = json!({"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}});
    assert_eq!(refusal.body, body);
    assert!(JUDGE(&long(32 << 20), &Rules::default()).is_ok());
}

#[test]
fn the_system_text_says_something() {
    let system = |blocks: Value| request(json!({"system": blocks}));
    let block = |text: &str| json!([{"type": "text", "text": text}]);
    let fine = system(block("Be kind."));
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "system_empty",
                system(block("")),
                "system: text content blocks must be non-empty",
                fine.clone(),
            ),
            case(
                "system_blank",
                system(block(" ")),
                "system: text content blocks must contain non-whitespace text",
                fine.clone(),
            ),
            case(
                "system_text",
                system(json!([{"type": "text"}])),
                "system.0.text: Field required",
                fine.clone(),
            ),
            case(
                "system_block",
                system(json!([{"type": "image"}])),
                "system.0.type: Input should be 'text'",
                fine.clone(),
            ),
            case(
                "system_type",
                system(json!(7)),
                "system: Input should be a valid list",
                system(json!("Be kind.")),
            ),
            case(
                "stop_sequences",
                request(json!({"stop_sequences": [" "]})),
                "stop_sequences: each stop sequence must contain non-whitespace",
                request(json!({"stop_sequences": ["x"]})),
            ),
        ],
    );
}

#[test]
fn tools_are_well_formed() {
    let named = |name: &str| tool(json!({"name": name}));
    let schema = |schema: Value| tool(json!({"input_schema": schema}));
    let twice = |names: [&str; 2]| {
        let tools = names.map(|name| json!({"name": name, "input_schema": {"type": "object"}}));
        request(json!({"tools": tools}))
    };
    let at = "tools.0.custom";
    let pattern = format!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
    let union = format!(
        "{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
    );
    let fine = named("look-at_IT9");
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case("tool_name", named("a.b"), &pattern, fine.clone()),
            case("tool_name", named(""), &pattern, fine.clone()),
            case(
                "tool_name_length",
                named(&"n".repeat(129)),
                &format!("{at}.name: String should have at most 128 characters"),
                named(&"n".repeat(128)),
            ),
            case(
                "tool_name_missing",
                tool(json!({"name": null})),
                &format!("{at}.name: Field required"),
                fine.clone(),
            ),
            case(
                "tool_name_twice",
                twice(["a", "a"]),
                "tools: Tool names must be unique.",
                twice(["a", "b"]),
            ),
            case(
                "tool_schema_missing",
                schema(json!(null)),
                &format!("{at}.input_schema: Field required"),
                fine.clone(),
            ),
            case(
                "tool_schema_type",
                schema(json!("object")),
                &format!("{at}.input_schema: Input should be a valid dictionary"),
                fine.clone(),
            ),
            case(
                "tool_schema_object",
                schema(json!({})),
                &format!("{at}.input_schema.type: Field required"),
                fine.clone(),
            ),
            case(
                "tool_schema_object",
                schema(json!({"type": "array"})),
                &format!("{at}.input_schema.type: Input should be 'object'"),
                fine,
            ),
            case(
                "tool_schema_union",
                schema(json!({"type": "object", "oneOf": []})),
                &union,
                schema(json!({"type": "object", "properties": {"a": {"oneOf": []}}})),
            ),
        ],
    );
}

#[test]
fn a_choice_of_tools_fits_the_tools() {
    let choose = |choice: Value| with(tool(json!({})), json!({"tool_choice": choice}));
    let thinking = json!({"thinking": {"type": "adaptive"}});
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "choice_without_tools",
                request(json!({"tool_choice": {"type": "auto"}})),
                "tool_choice: tool_choice may only be specified while providing tools.",
                choose(json!({"type": "auto"})),
            ),
            case(
                "choice_unknown",
                choose(json!({"type": "tool", "name": "b"})),
                "tool_choice: Tool 'b' not found in provided tools",
                choose(json!({"type": "tool", "name": "look"})),
            ),
            case(
                "choice_type",
                choose(json!("auto")),
                "tool_choice: Input tag found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'",
                choose(json!({"type": "any"})),
            ),
            case(
                "choice_while_thinking",
                with(choose(json!({"type": "any"})), thinking.clone()),
                "Thinking may not be enabled when tool_choice forces tool use.",
                with(choose(json!({"type": "auto"})), thinking),
            ),
        ],
    );
}

#[test]
fn at_most_four_places_are_marked_for_the_cache() {
    let mark = json!({"type": "ephemeral"});
    let long = json!({"type": "ephemeral", "ttl": "1h"});
    let block = |mark: &Value| json!({"type": "text", "text": "a", "cache_control": mark});
    let marked = |marks: &[&Value]| {
        let blocks: Vec<Value> = marks.iter().map(|mark| block(mark)).collect();
        let tool = json!({"name": "a", "input_schema": {"type": "object"}, "cache_control": long});
        let messages = json!([{"role": "user", "content": blocks}]);
        request(json!({"tools": [tool], "system": [block(&long)], "messages": messages}))
    };
    let fine = marked(&[&long, &mark]);
    let order = "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.";
    let thought =
        json!({"type": "thinking", "thinking": "x", "signature": "y", "cache_control": mark});
    let on_thinking = said(
        json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": [thought]}]),
    );
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "marks",
                marked(&[&mark, &mark, &mark]),
                "A maximum of 4 blocks with cache_control may be provided. Found 5.",
                fine.clone(),
            ),
            case("mark_order", marked(&[&mark, &long]), order, fine.clone()),
            case(
                "mark_ttl",
                marked(&[&json!({"type": "ephemeral", "ttl": "2h"})]),
                "messages.0.content.0.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
                fine.clone(),
            ),
            case(
                "mark_type",
                marked(&[&json!({"type": "forever"})]),
                "messages.0.content.0.cache_control.type: Input should be 'ephemeral'",
                fine.clone(),
            ),
            case(
                "mark_on_thinking",
                on_thinking,
                "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
                fine,
            ),
        ],
    );
}

#[test]
fn a_budget_for_thinking_fits_the_answer() {
    let thinking =
        |thinking: Value, max: u64| request(json!({"thinking": thinking, "max_tokens": max}));
    let budget =
        |budget: u64, max: u64| thinking(json!({"type": "enabled", "budget_tokens": budget}), max);
    let warm = |degrees: f64| with(budget(1024, 2000), json!({"temperature": degrees}));
    let manual = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking";
    let larger = format!(
        "`max_tokens` must be greater than `thinking.budget_tokens`. {manual}#max-tokens-and-context-window-size"
    );
    let temperature = format!(
        "`temperature` may only be set to 1 when thinking is enabled. {manual}#important-considerations-when-using-extended-thinking"
    );
    let adaptive = thinking(json!({"type": "adaptive"}), 100);
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "thinking_budget_minimum",
                budget(1023, 2000),
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
                budget(1024, 2000),
            ),
            case("thinking_budget", budget(2000, 2000), &larger, budget(1999, 2000)),
            case(
                "thinking_budget_missing",
                thinking(json!({"type": "enabled"}), 2000),
                "thinking.enabled.budget_tokens: Field required",
                budget(1024, 2000),
            ),
            case("thinking_temperature", warm(0.5), &temperature, warm(1.0)),
            case(
                "thinking_type",
                thinking(json!({"type": "hard"}), 100),
                "thinking: Input tag found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
                adaptive.clone(),
            ),
        ],
    );
    let newest = Rules { thinking_budget: false, ..Rules::default() };
    let message = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
    hold(JUDGE, &newest, vec![case("thinking_enabled", budget(1024, 2000), message, adaptive)]);
}

#[test]
fn a_model_that_is_not_there_is_not_found() {
    let rules = Rules { models: Models::Only(vec!["claude-test".to_owned()]), ..Rules::default() };
    let refusal = JUDGE(&request(json!({"model": "claude-9"})).to_string(), &rules).unwrap_err();
    let body = json!({"type": "error", "error": {"type": "not_found_error", "message": "model: claude-9"}});
    assert_eq!((refusal.status, refusal.body), (404, body));
    assert!(JUDGE(&request(json!({})).to_string(), &rules).is_ok());
}

#[test]
fn the_window_holds_the_input_and_the_output_that_is_asked_for() {
    // 100 words are 100 tokens, and the message costs 4 more; counted 1.5 times that is 156.
    let asked = |tokens: u64| {
        let messages = json!([{"role": "user", "content": " word".repeat(100)}]);
        request(json!({"messages": messages, "max_tokens": tokens}))
    };
    let rules = |window| Rules { window: Some(window), token_factor: 1.5, ..Rules::default() };
    let both = "input length and `max_tokens` exceed context limit: 156 + 45 > 200, decrease input length or `max_tokens` and try again";
    hold(JUDGE, &rules(200), vec![case("window_with_output", asked(45), both, asked(44))]);
    let input = "prompt is too long: 156 tokens > 155 maximum";
    let refusal = JUDGE(&asked(1).to_string(), &rules(155)).unwrap_err();
    assert_eq!((refusal.rule, refusal.body), ("window", anthropic_error(input)));
}
