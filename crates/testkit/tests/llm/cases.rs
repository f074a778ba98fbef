//! Cases of a rule: a request that breaks it, what the service says to that, and a neighbour that it takes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ship_testkit::llm::{Accepted, Refusal, Rules};

/// What judges.
pub(crate) type Judge = fn(&str, &Rules) -> Result<Accepted, Refusal>;

/// One case.
pub(crate) struct Case {
    pub(crate) rule: &'static str,
    pub(crate) refused: Value,
    pub(crate) body: Value,
    pub(crate) accepted: Value,
}

/// Holds each case against the judge.
pub(crate) fn hold(judge: Judge, rules: &Rules, cases: Vec<Case>) {
    for Case { rule, refused, body, accepted } in cases {
        let refusal = judge(&refused.to_string(), rules).expect_err(rule);
        assert_eq!(refusal.rule, rule, "{refusal:?}");
        assert_eq!((refusal.status, &refusal.body), (400, &body), "{rule}");
        let taken = judge(&accepted.to_string(), rules);
        assert!(taken.is_ok(), "the neighbour of {rule}: {taken:?}");
    }
}

/// Returns a request with some fields changed; null takes a field away.
pub(crate) fn with(mut request: Value, changes: Value) -> Value {
    let fields = request.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(fields.shift_remove(name)),
            value => drop(fields.insert(name.clone(), value.clone())),
        }
    }
    request
}

/// Returns a picture in base64: a PNG of this size, as far as its head goes.
pub(crate) fn png(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    base64(&bytes)
}

/// Writes bytes in base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the body that OpenAI's refusals have.
pub(crate) fn openai_error(code: Option<&str>, param: Option<&str>, message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}})
}

/// Returns the body that Anthropic's refusals have.
pub(crate) fn anthropic_error(message: &str) -> Value {
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
}
