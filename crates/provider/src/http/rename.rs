//! `max_tokens` under its new name.
//!
//! OpenAI's reasoning models refuse `max_tokens` and want `max_completion_tokens`; most compatible hosts
//! know only the former. Which it is cannot be told from a model's name, so the refusal tells.

use ship_message::json::{Json, Object};

/// The body with `max_tokens` renamed, at its place. Nothing if it has none.
pub(crate) fn with_max_completion_tokens(body: &str) -> Option<String> {
    let Ok(Json::Object(object)) = Json::parse(body) else { return None };
    object.get("max_tokens")?;
    let renamed: Object = object
        .into_entries()
        .into_iter()
        .map(|(key, value)| match key.as_ref() {
            "max_tokens" => ("max_completion_tokens".into(), value),
            _ => (key, value),
        })
        .collect();
    // Every key stays at its place, so this is what compiling with the new name gives.
    Some(Json::from(renamed).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_field_of_the_body_itself_is_renamed() {
        let body = r#"{"model":"o3","max_tokens":7,"messages":[{"content":"\"max_tokens\":7","max_tokens":1}]}"#;
        assert_eq!(
            with_max_completion_tokens(body).unwrap(),
            r#"{"model":"o3","max_completion_tokens":7,"messages":[{"content":"\"max_tokens\":7","max_tokens":1}]}"#
        );
        assert_eq!(with_max_completion_tokens(r#"{"model":"o3"}"#), None);
        assert_eq!(with_max_completion_tokens("no json"), None);
    }
}
