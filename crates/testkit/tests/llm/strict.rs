//! What the strictest hosts ask for besides, and what the real services let pass.

use serde_json::{Value, json};
use ship_testkit::llm::{Rules, judge_anthropic, judge_openai};

use crate::cases::{Case, anthropic_error, hold, openai_error, with};
use crate::{anthropic_rules, openai_rules};

/// Holds cases against the strict rules, and shows that the real service takes what breaks them.
fn hold_strict(judge: crate::cases::Judge, cases: Vec<Case>) {
    for case in &cases {
        let real = judge(&case.refused.to_string(), &Rules::default());
        assert!(real.is_ok(), "the real service takes {}: {real:?}", case.rule);
    }
    hold(judge, &Rules::strict(), cases);
}

#[test]
fn strict_hosts_of_openais_format_take_less() {
    use openai_rules::{call, calls, result, said, user};
    let assistant = |text: &str| json!({"role": "assistant", "content": text});
    let case = |rule, refused: Value, param: Option<&str>, message: &str, accepted: Value| {
        let (refused, accepted) = (said(refused), said(accepted));
        Case { rule, refused, body: openai_error(None, param, message), accepted }
    };
    let argued = |arguments: &str| {
        let function = json!({"name": "look", "arguments": arguments});
        let call = with(call("a"), json!({"function": function}));
        json!([user("go"), {"role": "assistant", "tool_calls": [call]}, result("a")])
    };
    let at = "messages[1].tool_calls[0].function.arguments";
    let object = format!("Invalid '{at}': arguments must be a valid JSON object.");
    let alternate = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...";
    let empty = |at: usize| format!("Invalid 'messages[{at}].content': content must not be empty.");
    let system = json!({"role": "system", "content": "Be kind."});
    let one = json!([system, user("a"), assistant("b"), user("c")]);
    let looped =
        json!([user("a"), calls(json!([call("a")])), result("a"), assistant("b"), user("c")]);
    let spoken_after = json!([user("a"), calls(json!([call("a")])), result("a"), user("c")]);
    hold_strict(
        openai_rules::JUDGE,
        vec![
            case("strict_arguments", argued("[1]"), Some(at), &object, argued("{\"a\":[1]}")),
            case("strict_arguments", argued(""), Some(at), &object, argued("{}")),
            case(
                "strict_empty",
                json!([user("")]),
                Some("messages.[0].content"),
                &empty(0),
                json!([user("(empty)")]),
            ),
            case(
                "strict_empty",
                json!([user("a"), {"role": "assistant", "content": "", "tool_calls": [call("a")]}, result("a")]),
                Some("messages.[1].content"),
                &empty(1),
                argued("{}"),
            ),
            case(
                "strict_empty",
                json!([{"role": "user", "content": [{"type": "text", "text": ""}]}]),
                Some("messages.[0].content"),
                &empty(0),
                one.clone(),
            ),
            case(
                "strict_field",
                json!([{"role": "user", "content": "a", "id": "m1"}]),
                None,
                "Additional properties are not allowed ('id' was unexpected) - 'messages.0'",
                json!([{"role": "user", "content": "a", "name": "bob"}]),
            ),
            case("strict_alternation", json!([user("a"), user("b")]), None, alternate, one.clone()),
            case(
                "strict_alternation",
                json!([user("a"), assistant("b"), assistant("c"), user("d")]),
                None,
                alternate,
                looped,
            ),
            case(
                "strict_alternation",
                json!([assistant("a"), user("b")]),
                None,
                alternate,
                spoken_after,
            ),
            case(
                "strict_system",
                json!([user("a"), system, user("b")]),
                None,
                "System message must be at the beginning.",
                one.clone(),
            ),
            case(
                "strict_last",
                json!([user("a"), assistant("b")]),
                None,
                "Expected last role user or tool for serving but got assistant",
                one,
            ),
        ],
    );
}

#[test]
fn a_strict_host_may_know_further_fields() {
    let message = json!({"role": "assistant", "content": "b", "reasoning_content": "hm"});
    let messages = json!([openai_rules::user("a"), message, openai_rules::user("c")]);
    let request = openai_rules::said(messages).to_string();
    assert_eq!(judge_openai(&request, &Rules::strict()).unwrap_err().rule, "strict_field");
    let extra_message_fields = vec!["reasoning_content".to_owned()];
    let knowing = Rules { extra_message_fields, ..Rules::strict() };
    assert!(judge_openai(&request, &knowing).is_ok());
}

#[test]
fn strict_hosts_of_anthropics_format_take_less() {
    use anthropic_rules::said;
    let message = |role: &str, text: &str| json!({"role": role, "content": text});
    let case = |rule, refused: Value, message: &str, accepted: Value| {
        let (refused, accepted) = (said(refused), said(accepted));
        Case { rule, refused, body: anthropic_error(message), accepted }
    };
    let fine = json!([message("user", "a"), message("assistant", "b"), message("user", "c")]);
    let again = "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row";
    let prefill = "This model does not support assistant message prefill. The conversation must end with a user message.";
    hold_strict(
        |body, rules| judge_anthropic(body, rules),
        vec![
            case(
                "strict_first",
                json!([message("assistant", "a"), message("user", "b")]),
                "messages: first message must use the \"user\" role",
                fine.clone(),
            ),
            case(
                "strict_alternation",
                json!([message("user", "a"), message("user", "b")]),
                again,
                fine.clone(),
            ),
            case(
                "prefill",
                json!([message("user", "a"), message("assistant", "b")]),
                prefill,
                fine,
            ),
        ],
    );
}
