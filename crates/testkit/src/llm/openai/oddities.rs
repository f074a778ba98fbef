//! What single OpenAI-compatible hosts refuse although OpenAI takes it, in their words.

use serde_json::{Value, json};

use super::super::{Oddity, Refusal, prompt::list};
use super::refuse;

/// Judges a request as a host with this oddity does.
pub(super) fn judge(oddity: Oddity, body: &Value, messages: &[Value]) -> Result<(), Refusal> {
    match oddity {
        Oddity::NoUserAfterTool => judge_after_tool(messages),
        Oddity::StrictTemplate => judge_template(messages),
        Oddity::NoTextLists => judge_text_lists(messages),
        Oddity::NoStreamOptions => match body["stream_options"].is_null() {
            true => Ok(()),
            false => Err(refuse(
                "no_stream_options",
                None,
                None,
                "Extra inputs are not permitted: stream_options",
            )),
        },
        Oddity::NoTools => judge_tools(body, messages),
        Oddity::NineCharIds => judge_ids(messages),
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
        false => {
            let message = "Conversation roles must alternate user/assistant/user/assistant/...";
            Err(Refusal { status: 500, ..refuse("strict_template", None, None, message) })
        }
    }
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

fn judge_ids(messages: &[Value]) -> Result<(), Refusal> {
    let calls = messages.iter().flat_map(|message| list(&message["tool_calls"]));
    let ids = calls.map(|call| &call["id"]).chain(messages.iter().map(|it| &it["tool_call_id"]));
    let is_short = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match ids.filter_map(Value::as_str).find(|id| !is_short(id)) {
        None => Ok(()),
        Some(id) => Err(mistral(
            "nine_char_ids",
            "3280",
            &format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."),
        )),
    }
}
