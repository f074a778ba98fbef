//! Answers of Anthropic that are no messages.

use serde_json::json;

use super::super::Refusal;
use super::error_body;

fn error(rule: &'static str, status: u16, kind: &str, message: &str) -> Refusal {
    Refusal { status, body: error_body(kind, message), rule }
}

/// A key that is none of theirs.
pub fn invalid_key() -> Refusal {
    error("key", 401, "authentication_error", "invalid x-api-key")
}

/// Refuses a request without a key.
pub fn missing_key() -> Refusal {
    error("key_missing", 401, "authentication_error", "x-api-key header is required")
}

/// No credit left. The status does not say so.
pub fn credit() -> Refusal {
    let message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.";
    error("credit", 400, "invalid_request_error", message)
}

/// Something is wrong with the payment.
pub fn billing() -> Refusal {
    let message = "There is an issue with your billing or payment information.";
    error("billing", 402, "billing_error", message)
}

/// A key that may not do this.
pub fn forbidden() -> Refusal {
    let message = "Your API key does not have permission to use the specified resource.";
    error("forbidden", 403, "permission_error", message)
}

/// A model that they do not have.
pub fn model_not_found(model: &str) -> Refusal {
    error("model", 404, "not_found_error", &format!("model: {model}"))
}

/// Two requests got in each other's way.
pub fn conflict() -> Refusal {
    error("conflict", 409, "conflict_error", "Conflict")
}

/// More bytes than they read. This body alone has no `type` at the top.
pub fn too_large() -> Refusal {
    let body = json!({"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}});
    Refusal { status: 413, body, rule: "body_size" }
}

/// Too much in a minute.
pub fn rate_limited() -> Refusal {
    let message = "This request would exceed your organization's rate limit of 30000 input tokens per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.";
    error("rate", 429, "rate_limit_error", message)
}

/// Too much in a month. Waiting does not help, and no header says how long to.
pub fn spend_limit() -> Refusal {
    let mut refusal = error(
        "spend_limit",
        429,
        "rate_limit_error",
        "You have reached your specified API usage limits.",
    );
    refusal.body["error"]["details"] = json!({"error_code": "enforced_spend_limit_reached"});
    refusal
}

/// Words that they do not answer with.
pub fn content_policy() -> Refusal {
    let message = "Output blocked by content filtering policy";
    error("policy", 400, "invalid_request_error", message)
}

/// Something broke on their side.
pub fn server_error() -> Refusal {
    error("server", 500, "api_error", "Internal server error")
}

/// It took too long.
pub fn timeout() -> Refusal {
    error("timeout", 504, "timeout_error", "Request timed out")
}

/// Too many want something.
pub fn overloaded() -> Refusal {
    error("overloaded", 529, "overloaded_error", "Overloaded")
}

/// A path that they do not serve.
pub(in super::super) fn unknown_path() -> Refusal {
    error("path", 404, "not_found_error", "Not Found")
}
