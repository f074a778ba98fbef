//! Answers of OpenAI that are no completions.

use super::super::Refusal;
use super::{error_body, refuse};

fn error(
    rule: &'static str,
    status: u16,
    kind: &str,
    code: Option<&str>,
    message: &str,
) -> Refusal {
    Refusal { status, body: error_body(kind, code, None, message), rule }
}

/// A key that is none of theirs.
pub fn invalid_key() -> Refusal {
    let message = "Incorrect API key provided: sk-...**. You can find your API key at https://platform.openai.com/account/api-keys.";
    error("key", 401, "invalid_request_error", Some("invalid_api_key"), message)
}

/// Refuses a request without a key.
pub fn missing_key() -> Refusal {
    let message = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from https://platform.openai.com/account/api-keys.";
    error("key_missing", 401, "invalid_request_error", None, message)
}

/// A place from where they serve nobody.
pub fn forbidden() -> Refusal {
    let code = Some("unsupported_country_region_territory");
    let message = "Country, region, or territory not supported";
    error("forbidden", 403, "invalid_request_error", code, message)
}

/// A model that they do not have.
pub fn model_not_found(model: &str) -> Refusal {
    let message = format!("The model `{model}` does not exist or you do not have access to it.");
    error("model", 404, "invalid_request_error", Some("model_not_found"), &message)
}

/// Too much in a minute.
pub fn rate_limited() -> Refusal {
    let message = "Rate limit reached for gpt-test in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4500. Please try again in 7s. Visit https://platform.openai.com/account/rate-limits to learn more.";
    error("rate", 429, "tokens", Some("rate_limit_exceeded"), message)
}

/// No money left. Waiting does not help.
pub fn quota() -> Refusal {
    let message = "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.";
    error("quota", 429, "insufficient_quota", Some("insufficient_quota"), message)
}

/// A limit on spending that the owner has set.
pub fn billing() -> Refusal {
    let code = Some("billing_hard_limit_reached");
    error("billing", 400, "invalid_request_error", code, "Billing hard limit has been reached")
}

/// Words that they do not answer.
pub fn content_policy() -> Refusal {
    let message = "Your request was rejected as a result of our safety system.";
    error("policy", 400, "invalid_request_error", Some("content_policy_violation"), message)
}

/// Something broke on their side.
pub fn server_error() -> Refusal {
    let message = "The server had an error while processing your request. Sorry about that!";
    error("server", 500, "server_error", None, message)
}

/// Too many want something.
pub fn overloaded() -> Refusal {
    let message = "The engine is currently overloaded, please try again later";
    error("overloaded", 503, "server_error", None, message)
}

/// A request that does not fit, in the words given.
pub(super) fn overflow(message: String) -> Refusal {
    refuse("window", Some("context_length_exceeded"), Some("messages"), message)
}

/// A path that they do not serve.
pub(in super::super) fn unknown_path(method: &str, path: &str) -> Refusal {
    let message = format!("Invalid URL ({method} {path})");
    error("path", 404, "invalid_request_error", None, &message)
}
