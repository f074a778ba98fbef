//! OpenAI's chat completions, from the side of the service.

pub(super) mod answer;
pub mod errors;
mod images;
mod messages;
mod oddities;
mod pairing;
mod rules;
mod strict;
mod tools;

pub(super) use rules::judge_headers;
pub use rules::judge_openai;

use serde_json::{Value, json};

use super::Refusal;

/// Builds a refusal of the kind that all broken rules give: status 400, `invalid_request_error`.
fn refuse(
    rule: &'static str,
    code: Option<&str>,
    param: Option<&str>,
    message: impl Into<String>,
) -> Refusal {
    let body = error_body("invalid_request_error", code, param, &message.into());
    Refusal { status: 400, body, rule }
}

/// Builds a body as all of OpenAI's errors have it.
fn error_body(kind: &str, code: Option<&str>, param: Option<&str>, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

fn missing(rule: &'static str, param: &str) -> Refusal {
    let message = format!("Missing required parameter: '{param}'.");
    refuse(rule, Some("missing_required_parameter"), Some(param), message)
}

fn wrong_type(rule: &'static str, param: &str, expected: &str, found: &Value) -> Refusal {
    let found = super::rules::a_type(found);
    let message =
        format!("Invalid type for '{param}': expected {expected}, but got {found} instead.");
    refuse(rule, Some("invalid_type"), Some(param), message)
}

fn empty_array(rule: &'static str, param: &str) -> Refusal {
    let message = format!(
        "Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    );
    refuse(rule, Some("empty_array"), Some(param), message)
}

fn too_long(rule: &'static str, param: &str, max: usize, found: usize) -> Refusal {
    let message = format!(
        "Invalid '{param}': string too long. Expected a string with maximum length {max}, but got a string with length {found} instead."
    );
    refuse(rule, Some("string_above_max_length"), Some(param), message)
}

fn bad_value(rule: &'static str, param: &str, found: &str, supported: &str) -> Refusal {
    let message = format!("Invalid value: '{found}'. Supported values are: {supported}.");
    refuse(rule, Some("invalid_value"), Some(param), message)
}

/// A name of a function, in a tool or in a call of one.
fn judge_name(name: &Value, param: &str) -> Result<(), Refusal> {
    let Some(text) = name.as_str() else {
        return Err(match name {
            Value::Null => missing("name_missing", param),
            found => wrong_type("name_type", param, "a string", found),
        });
    };
    if !super::rules::is_plain_name(text) {
        let message = format!(
            "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(refuse("name_pattern", Some("invalid_value"), Some(param), message));
    }
    if text.len() > 64 {
        return Err(too_long("name_length", param, 64, text.len()));
    }
    Ok(())
}
