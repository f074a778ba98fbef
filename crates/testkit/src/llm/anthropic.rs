//! Anthropic's messages, from the side of the service.

pub(super) mod answer;
mod blocks;
mod caching;
pub mod errors;
mod images;
mod messages;
mod options;
mod pairing;
mod rules;
mod thinking;
mod tools;

pub use rules::judge_anthropic;
pub(super) use rules::judge_headers;

use serde_json::{Value, json};

use super::Refusal;

/// Builds a refusal of the kind that all broken rules give: status 400, `invalid_request_error`.
fn refuse(rule: &'static str, message: impl Into<String>) -> Refusal {
    let body = error_body("invalid_request_error", &message.into());
    Refusal { status: 400, body, rule }
}

/// Builds a body as nearly all of Anthropic's errors have it.
fn error_body(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn missing(rule: &'static str, place: &str) -> Refusal {
    refuse(rule, format!("{place}: Field required"))
}

/// Refuses fields that are not in a list, as every object of this API does.
fn judge_fields(value: &Value, known: &[&str], place: &str) -> Result<(), Refusal> {
    let fields = value.as_object().into_iter().flat_map(|fields| fields.keys());
    match fields.into_iter().find(|field| !known.contains(&field.as_str())) {
        None => Ok(()),
        Some(field) => {
            let dot = if place.is_empty() { "" } else { "." };
            Err(refuse(
                "extra_field",
                format!("{place}{dot}{field}: Extra inputs are not permitted"),
            ))
        }
    }
}
