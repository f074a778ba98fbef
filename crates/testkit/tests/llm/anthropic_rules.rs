//! Each rule of Anthropic's about messages, with a request that breaks it and a neighbour that does not.

use serde_json::{Value, json};
use ship_testkit::llm::{Rules, judge_anthropic};

use crate::cases::{Case, Judge, anthropic_error, hold, with};

pub(crate) const JUDGE: Judge = |body, rules| judge_anthropic(body, rules);

pub(crate) fn request(changes: Value) -> Value {
    let messages = json!([{"role": "user", "content": "hi"}]);
    with(json!({"model": "claude-test", "max_tokens": 100, "messages": messages}), changes)
}

pub(crate) fn said(messages: Value) -> Value {
    request(json!({"messages": messages}))
}

pub(crate) fn case(rule: &'static str, refused: Value, message: &str, accepted: Value) -> Case {
    Case { rule, refused, body: anthropic_error(message), accepted }
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

pub(crate) fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

pub(crate) fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {}})
}

pub(crate) fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

/// A history in which something is called and answered.
pub(crate) fn called(calls: Value, results: Value) -> Value {
    said(json!([user(json!("go")), assistant(calls), user(results)]))
}

#[test]
fn roles_are_the_users_and_the_assistants() {
    let system = "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.";
    let told = with(request(json!({})), json!({"system": "Be kind."}));
    let spoken = said(json!([user(json!("hi"))]));
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "system_role",
                said(json!([{"role": "system", "content": "x"}, user(json!("hi"))])),
                system,
                told,
            ),
            case(
                "role",
                said(json!([{"role": "tool", "content": "x"}])),
                "messages.0.role: Input should be 'user' or 'assistant'",
                spoken.clone(),
            ),
            case(
                "role_missing",
                said(json!([{"content": "x"}])),
                "messages.0.role: Field required",
                spoken.clone(),
            ),
            case(
                "message_type",
                said(json!(["x"])),
                "messages.0: Input should be an object",
                spoken.clone(),
            ),
            case(
                "extra_field",
                said(json!([{"role": "user", "content": "x", "name": "Bob"}])),
                "messages.0.name: Extra inputs are not permitted",
                spoken,
            ),
        ],
    );
}

#[test]
fn a_model_that_takes_the_system_role_wants_it_after_the_user() {
    let rules = Rules { system_role: true, ..Rules::default() };
    let system = json!({"role": "system", "content": "x"});
    let message = |at: usize| {
        format!("messages.{at}: role \"system\" is only allowed directly after a \"user\" message")
    };
    let after_user = said(json!([user(json!("hi")), system]));
    hold(
        JUDGE,
        &rules,
        vec![
            case(
                "system_place",
                said(json!([system, user(json!("hi"))])),
                &message(0),
                after_user.clone(),
            ),
            case(
                "system_place",
                said(json!([user(json!("hi")), assistant(json!("a")), system])),
                &message(2),
                after_user,
            ),
        ],
    );
}

#[test]
fn messages_say_something() {
    let empty = |at: usize| {
        format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        )
    };
    let no_text = "messages: text content blocks must be non-empty";
    let blank = "messages: text content blocks must contain non-whitespace text";
    let fine = said(json!([user(json!([text("a")]))]));
    let last_empty = said(json!([user(json!("a")), assistant(json!([]))]));
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case("content_empty", said(json!([user(json!(""))])), &empty(0), fine.clone()),
            case(
                "content_empty",
                said(json!([user(json!("a")), assistant(json!([])), user(json!("b"))])),
                &empty(1),
                last_empty,
            ),
            case(
                "content_missing",
                said(json!([{"role": "user"}])),
                "messages.0.content: Field required",
                fine.clone(),
            ),
            case(
                "content_type",
                said(json!([user(json!(7))])),
                "messages.0.content: Input should be a valid list",
                fine.clone(),
            ),
            case(
                "text_empty",
                said(json!([user(json!([text("a"), text("")]))])),
                no_text,
                fine.clone(),
            ),
            case(
                "text_blank",
                said(json!([user(json!([text(" \n")]))])),
                blank,
                said(json!([user(json!([text(" a\n")]))])),
            ),
            case(
                "text_blank",
                said(json!([user(json!(" "))])),
                blank,
                said(json!([user(json!(" a"))])),
            ),
            case(
                "text_missing",
                said(json!([user(json!([{"type": "text"}]))])),
                "messages.0.content.0.text.text: Field required",
                fine.clone(),
            ),
            case(
                "extra_field",
                said(json!([user(json!([{"type": "text", "text": "a", "id": 1}]))])),
                "messages.0.content.0.text.id: Extra inputs are not permitted",
                fine,
            ),
        ],
    );
}

#[test]
fn blocks_are_known_and_in_the_right_hands() {
    let fine = said(json!([user(json!([text("a")]))]));
    let answered = called(json!([call("a")]), json!([result("a")]));
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case(
                "block_role",
                said(json!([user(json!([call("a")]))])),
                "messages.0: `tool_use` blocks can only be in `assistant` messages",
                answered.clone(),
            ),
            case(
                "block_role",
                said(json!([user(json!("a")), assistant(json!([result("a")]))])),
                "messages.1: `tool_result` blocks can only be in `user` messages",
                answered,
            ),
            case(
                "block_kind",
                said(json!([user(json!([{"type": "poem"}]))])),
                "messages.0.content.0: Input tag 'poem' found using 'type' does not match any of the expected tags: 'text', 'image', 'document', 'tool_result', 'search_result'",
                fine.clone(),
            ),
            case(
                "block_type",
                said(json!([user(json!([{"text": "a"}]))])),
                "messages.0.content.0.type: Field required",
                fine,
            ),
        ],
    );
}

#[test]
fn the_last_words_of_the_assistant_are_continued_only_where_the_model_can() {
    let last = |words: Value| said(json!([user(json!("Rhyme.")), assistant(words)]));
    let trailing = "messages: final assistant content cannot end with trailing whitespace";
    hold(
        JUDGE,
        &Rules::default(),
        vec![
            case("trailing_whitespace", last(json!("Roses ")), trailing, last(json!("Roses"))),
            case(
                "trailing_whitespace",
                last(json!([text("a"), text("b\n")])),
                trailing,
                last(json!([text("a "), text("b")])),
            ),
        ],
    );
    let message = "This model does not support assistant message prefill. The conversation must end with a user message.";
    let rules = Rules { prefill: false, ..Rules::default() };
    let on = said(json!([user(json!("Rhyme.")), assistant(json!("Roses")), user(json!("Go on."))]));
    hold(JUDGE, &rules, vec![case("prefill", last(json!("Roses")), message, on)]);
}
