//! What single OpenAI-compatible hosts refuse although OpenAI takes it, in their words.

use serde_json::{Value, json};

use super::super::{Oddity, Refusal, prompt::list};
use super::refuse;

/// Judges a request as a host with this oddity does.
pub(super) fn judge(oddity: Oddity, body: &Value, messages: &[Value]) -> Result<(), Refusal> {
    match oddity {
        Oddity::NoUserAfterTool => judge_after_tool(messages),
        Oddity::StrictTemplate => judge_template(messages),
        Oddity::PlainTemplate => judge_plain_template(messages),
        Oddity::NoTextLists => judge_text_lists(messages),
        Oddity::NoStreamOptions => judge_stream_options(body),
        Oddity::NoTools => judge_tools(body, messages),
        Oddity::NineCharIds => judge_ids(messages).map_err(|id| {
            let words = "but must be a-z, A-Z, 0-9, with a length of 9.";
            mistral("nine_char_ids", "3280", &format!("Tool call id was {id} {words}"))
        }),
        Oddity::NineCharIdsTemplate => judge_ids(messages).map_err(|_| {
            let words = "Tool call IDs should be alphanumeric strings with length 9!";
            template_failure("nine_char_ids_template", words)
        }),
    }
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

fn judge_after_tool(messages: &[Value]) -> Result<(), Refusal> {
    match messages.windows(2).any(|pair| role(&pair[0]) == "tool" && role(&pair[1]) == "user") {
        false => Ok(()),
        true => {
            Err(mistral("no_user_after_tool", "3230", "Unexpected role 'user' after role 'tool'"))
        }
    }
}

/// An error as Mistral has it.
fn mistral(rule: &'static str, code: &str, message: &str) -> Refusal {
    let kind = "invalid_request_message_order";
    let body =
        json!({"object": "error", "message": message, "type": kind, "param": null, "code": code});
    Refusal { status: 400, body, rule }
}

/// A template renders calls and results as turns of the assistant and goes by the roles of the others alone.
fn judge_template(messages: &[Value]) -> Result<(), Refusal> {
    let has_calls = |message: &Value| !list(&message["tool_calls"]).is_empty();
    let is_turn = |message: &&Value| match role(message) {
        "user" => true,
        "assistant" => !has_calls(message),
        _ => false,
    };
    let turns: Vec<&str> = messages.iter().filter(is_turn).map(role).collect();
    let wanted = ["user", "assistant"].into_iter().cycle();
    match turns.iter().zip(wanted).all(|(turn, wanted)| *turn == wanted) {
        true => Ok(()),
        false => Err(template_failure("strict_template", ROLES_ALTERNATE)),
    }
}

const ROLES_ALTERNATE: &str = "Conversation roles must alternate user/assistant/user/assistant/...";

/// A template that goes by places: every second message is the person's.
fn judge_plain_template(messages: &[Value]) -> Result<(), Refusal> {
    let turns = messages.iter().map(role).filter(|role| *role != "system");
    match turns.enumerate().all(|(at, role)| (role == "user") == (at % 2 == 0)) {
        true => Ok(()),
        false => Err(template_failure("plain_template", ROLES_ALTERNATE)),
    }
}

/// A template that gives up, which llama.cpp reports as a failure of its own.
fn template_failure(rule: &'static str, message: &str) -> Refusal {
    Refusal { status: 500, ..refuse(rule, None, None, message) }
}

fn judge_stream_options(body: &Value) -> Result<(), Refusal> {
    if body["stream_options"].is_null() {
        return Ok(());
    }
    let problem = json!({"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted", "input": body["stream_options"]});
    let body = json!({"object": "error", "message": {"detail": [problem]}, "type": "invalid_request_error", "param": null, "code": null});
    Err(Refusal { status: 422, body, rule: "no_stream_options" })
}

fn judge_text_lists(messages: &[Value]) -> Result<(), Refusal> {
    let is_text_list = |message: &Value| {
        let parts = list(&message["content"]);
        !parts.is_empty() && parts.iter().all(|part| part["type"] == "text")
    };
    let Some(at) = messages.iter().position(is_text_list) else { return Ok(()) };
    let problem = json!({"type": "string_type", "loc": ["body", "messages", at, "content"], "msg": "Input should be a valid string"});
    Err(Refusal { status: 422, body: json!({"detail": [problem]}), rule: "no_text_lists" })
}

fn judge_tools(body: &Value, messages: &[Value]) -> Result<(), Refusal> {
    let in_messages = |message: &Value| role(message) == "tool" || !message["tool_calls"].is_null();
    if body["tools"].is_null() && !messages.iter().any(in_messages) {
        return Ok(());
    }
    let model = body["model"].as_str().unwrap_or_default();
    let message = format!("registry.ollama.ai/library/{model} does not support tools");
    Err(refuse("no_tools", None, None, message))
}

/// Returns the first id that is not of nine letters and digits.
fn judge_ids(messages: &[Value]) -> Result<(), &str> {
    let calls = messages.iter().flat_map(|message| list(&message["tool_calls"]));
    let ids = calls.map(|call| &call["id"]).chain(messages.iter().map(|it| &it["tool_call_id"]));
    let is_short = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    ids.filter_map(Value::as_str).find(|id| !is_short(id)).map_or(Ok(()), Err)
}
