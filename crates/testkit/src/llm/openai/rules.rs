//! The order in which a request is judged: key, JSON, the fields of the body, messages, tools, and the window.

use serde_json::Value;

use super::super::{Accepted, Auth, Refusal, Rules, prompt};
use super::{
    bad_value, empty_array, errors, messages, missing, oddities, pairing, refuse, strict, tools,
};

/// Judges the body of a request as `POST /v1/chat/completions` does.
///
/// # Errors
///
/// Gives what the service answers when it refuses.
pub fn judge_openai(body: impl AsRef<[u8]>, rules: &Rules) -> Result<Accepted, Refusal> {
    let body: Value = serde_json::from_slice(body.as_ref()).map_err(|_| not_json())?;
    if !body.is_object() {
        return Err(not_json());
    }
    judge_model(&body, rules)?;
    let list = judge_list(&body)?;
    for (at, message) in list.iter().enumerate() {
        messages::judge(at, message)?;
    }
    pairing::judge(list)?;
    tools::judge(&body)?;
    judge_options(&body)?;
    if rules.is_strict() {
        strict::judge(list, rules)?;
    }
    rules.oddities.iter().try_for_each(|oddity| oddities::judge(*oddity, &body, list))?;
    let input_tokens = judge_window(&body, rules)?;
    Ok(Accepted { body, input_tokens })
}

/// Judges the key.
pub(in super::super) fn judge_headers(
    authorization: Option<&str>,
    rules: &Rules,
) -> Result<(), Refusal> {
    let key = authorization.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    match (&rules.auth, key) {
        (Auth::None, _) => Ok(()),
        (_, None | Some("")) => Err(errors::missing_key()),
        (Auth::Key(right), Some(key)) if key != right => Err(errors::invalid_key()),
        (Auth::Key(_) | Auth::Any, Some(_)) => Ok(()),
    }
}

/// JSON that is none, and lone surrogates, which are none either.
fn not_json() -> Refusal {
    let message = "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)";
    refuse("json", None, None, message)
}

fn judge_model(body: &Value, rules: &Rules) -> Result<(), Refusal> {
    match body["model"].as_str() {
        None | Some("") => {
            Err(refuse("model_missing", None, None, "you must provide a model parameter"))
        }
        Some(model) if !rules.has_model(model) => Err(errors::model_not_found(model)),
        Some(_) => Ok(()),
    }
}

fn judge_list(body: &Value) -> Result<&[Value], Refusal> {
    match &body["messages"] {
        Value::Null => Err(missing("messages_missing", "messages")),
        Value::Array(list) if list.is_empty() => Err(empty_array("messages_empty", "messages")),
        Value::Array(list) => Ok(list),
        other => Err(super::wrong_type("messages_type", "messages", "an array of objects", other)),
    }
}

fn judge_options(body: &Value) -> Result<(), Refusal> {
    judge_max_tokens(body)?;
    let streamed = body["stream"].as_bool().unwrap_or(false);
    if !body["stream_options"].is_null() && !streamed {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(refuse("stream_options", None, Some("stream_options"), message));
    }
    match body["reasoning_effort"].as_str() {
        None | Some("none" | "minimal" | "low" | "medium" | "high" | "xhigh") => Ok(()),
        Some(other) => {
            let supported = "'none', 'minimal', 'low', 'medium', 'high', and 'xhigh'";
            Err(bad_value("reasoning_effort", "reasoning_effort", other, supported))
        }
    }
}

fn judge_max_tokens(body: &Value) -> Result<(), Refusal> {
    let (old, new) = (&body["max_tokens"], &body["max_completion_tokens"]);
    if !old.is_null() && !new.is_null() {
        let message =
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        let code = Some("invalid_parameter_combination");
        return Err(refuse("max_tokens_twice", code, Some("max_tokens"), message));
    }
    if !old.is_null() && reasons(body["model"].as_str().unwrap_or_default()) {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        let code = Some("unsupported_parameter");
        return Err(refuse("max_tokens_reasoning", code, Some("max_tokens"), message));
    }
    for (name, value) in [("max_tokens", old), ("max_completion_tokens", new)] {
        match value {
            Value::Null => {}
            value if value.as_i64().is_none() => {
                return Err(super::wrong_type("max_tokens_type", name, "an integer", value));
            }
            value if value.as_i64() < Some(1) => {
                let message = format!(
                    "Invalid '{name}': integer below minimum value. Expected a value >= 1, but got {value} instead."
                );
                let code = Some("integer_below_min_value");
                return Err(refuse("max_tokens_minimum", code, Some(name), message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a model of this name reasons, and so knows `max_completion_tokens` only.
fn reasons(model: &str) -> bool {
    ["o1", "o3", "o4", "gpt-5"].iter().any(|prefix| model.starts_with(prefix))
}

fn judge_window(body: &Value, rules: &Rules) -> Result<Option<u64>, Refusal> {
    let asked = [&body["max_tokens"], &body["max_completion_tokens"]];
    let asked = asked.iter().find_map(|value| value.as_u64()).unwrap_or(0);
    if let Some(max) = rules.max_output.filter(|max| asked > *max) {
        let message = format!(
            "max_tokens is too large: {asked}. This model supports at most {max} completion tokens, whereas you provided {asked}."
        );
        return Err(refuse("max_output", Some("invalid_value"), Some("max_tokens"), message));
    }
    let Some(window) = rules.window else { return Ok(None) };
    let enough = window.saturating_sub(asked);
    let segments = prompt::openai(body);
    let input = prompt::total_unless_below(&segments, rules.token_factor, enough);
    match input {
        Some(input) if input > window => Err(errors::overflow(format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {input} tokens. Please reduce the length of the messages."
        ))),
        Some(input) if input > enough => {
            let sum = input.saturating_add(asked);
            Err(errors::overflow(format!(
                "This model's maximum context length is {window} tokens. However, you requested {sum} tokens ({input} in the messages, {asked} in the completion). Please reduce the length of the messages or completion."
            )))
        }
        input => Ok(input),
    }
}
