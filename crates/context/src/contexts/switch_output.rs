//! Describes a switch to the model.

use ship_message::json::{Json, Object};
use ship_record::ContextId;

/// Returns the output of a switching call: the active context, and the one that was left.
pub fn switch_output(
    left: (&ContextId, &str),
    active: (&ContextId, &str),
    messages_loaded: usize,
) -> Json {
    let named = |(context, title): (&ContextId, &str)| {
        Json::Object(Object::from([("contextId", context.as_str()), ("title", title)]))
    };
    let note = match messages_loaded {
        0 => {
            "You are in a clean context now. Answer the person's message above; do not switch again for it."
        }
        _ => {
            "You are back in this context now; its messages are above. Go on from them with the person's \
             message; do not switch again for it."
        }
    };
    Json::Object(Object::from([
        ("active", named(active)),
        ("left", named(left)),
        ("note", note.into()),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_what_was_left() {
        let left: ContextId = "c_20260205_a".parse().unwrap();
        let active: ContextId = "c_20260205_b".parse().unwrap();
        let output = switch_output((&left, "The plan"), (&active, "Dinner"), 0);
        assert_eq!(
            output.to_string(),
            r#"{"active":{"contextId":"c_20260205_b","title":"Dinner"},"left":{"contextId":"c_20260205_a","title":"The plan"},"note":"You are in a clean context now. Answer the person's message above; do not switch again for it."}"#
        );
    }
}
